"""Logs of a crawl. `EventLog` has events with stable names, one JSON object per line.

Lines are buffered in memory and written by a separate thread (`LineLog`), so that a slow disk never blocks the event
loop. Secrets are removed from all text of events first (`without_secrets`, linear in the length of the text).
"""

import json
import os
import re
import threading
from pathlib import Path
from typing import BinaryIO

from gossamer.clock import Clock, SteadyClock
from gossamer.model.queue_depth import QueueDepth
from gossamer.observe.formatter import timestamp

HIDDEN = "***"

# `user:secret@` of a URL. Greedy up to the last @ of the authority, as URL parsers read it.
_USERINFO = re.compile(r"(?<=//)[^/?#\s\\]*@")
# The same without a scheme in front. Bounded, so that a long word costs no more than its length times a constant.
_PAIR = re.compile(r"[^\s/:@\"'=&?]{1,64}:[^\s/:@]{1,64}@")
# The value of an Authorization or cookie header.
_HEADER = re.compile(
    r"((?:proxy-)?authorization|set-cookie|cookie)(\s{0,8}[:=]\s{0,8})"
    r"(?:(?:basic|bearer|digest|negotiate|token) {1,8})?[^\s,&]+",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"([?&;](?:access_token|refresh_token|id_token|auth_token|auth|token|api_?key|apikey|password|passwd|pwd|secret"
    r"|client_secret|signature|sig|x-amz-signature|x-amz-security-token|session|sessionid|sid|jsessionid|phpsessid)=)"
    r"[^&;#\s]+",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"(?<=//)[^/?#\s\\]*\Z")
_HINTS = ("//", "@", "=", ":")

_READ = 4096


def without_secrets(text: str) -> str:
    """At most the first 4096 characters of `text`, with userinfo, credentials and session tokens replaced."""
    if len(text) > _READ:
        # The @ may lie beyond the cut, so an authority without an end is hidden.
        text = _UNFINISHED.sub(HIDDEN, text[:_READ])
    if not any(hint in text for hint in _HINTS):
        return text
    text = _USERINFO.sub(HIDDEN + "@", text)
    text = _HEADER.sub(rf"\1\2{HIDDEN}", text)
    if "@" in text:
        text = _PAIR.sub(HIDDEN + "@", text)
    return _PARAMETER.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def names_a_secret(field: str) -> bool:
    """Whether a field of this name must never show its value."""
    return field.lower().replace("-", "_") in _SECRET_FIELDS


_SECRET_FIELDS = frozenset(
    {"authorization", "proxy_authorization", "cookie", "set_cookie", "password", "secret", "token"}
)


MAX_LINE_BYTES = 1024
_MAX_WAITING_BYTES = 4 * 1024 * 1024

Scalar = str | int | float | bool | None


class LineLog:
    """A bounded buffer of lines, and the thread that writes them. Subclasses say where to.

    No method raises: lines that could not be written are counted in `lost`, and the first reason is kept in `problem`.
    """

    def __init__(self, flush_every: float) -> None:
        self._flush_every = flush_every
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._buffer_lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._closing = threading.Event()
        self.lost = 0
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._run, name="gossamer-log", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Add a line to the buffer, from any thread. When the buffer is full, the line is lost."""
        with self._buffer_lock:
            if self._waiting_bytes + len(line) > _MAX_WAITING_BYTES:
                self.lost += 1  # the disk does not keep up; the crawl goes on
                return
            self._waiting.append(line)
            self._waiting_bytes += len(line)

    @property
    def fill(self) -> QueueDepth:
        """The buffer. When it is full, lines are dropped and counted; the crawl does not wait."""
        return QueueDepth(len(self._waiting), 0, self._waiting_bytes, _MAX_WAITING_BYTES)

    def flush(self) -> None:
        """Write the buffer now."""
        with self._file_lock:
            with self._buffer_lock:
                lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
            if lines:
                self._write(lines)

    def close(self, patience: float | None = None) -> None:
        """Write everything and stop. Safe to call twice; later lines are not written. After `patience` seconds, lines
        that are still not written are lost."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join(patience)
        if self._thread.is_alive() and patience is not None:  # it waits for a reader, perhaps for ever
            self.problem = self.problem or "its reader is too slow"
            with self._buffer_lock:
                self.lost += len(self._waiting)
            return
        self.flush()
        with self._file_lock:
            self._close_file()

    def _run(self) -> None:
        while not self._closing.wait(self._flush_every):
            self.flush()

    def _write(self, lines: list[bytes]) -> None:
        """Write the lines. Called by one thread at a time."""
        raise NotImplementedError

    def _close_file(self) -> None:
        raise NotImplementedError


class EventLog(LineLog):
    """Appends events to `path`. At `rotate_bytes` the file is renamed to `path`.1 and so on; `keep` old files are kept.
    Lines are complete, in order, and never split between files. A line cut off by a full disk or a crash stays on a
    line of its own.

    An event is in the file about a second later, and all events are after `close`. A `log.lost` event follows events
    that could not be written, when writing succeeds again.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock | None = None,
        *,
        rotate_bytes: int = 10_000_000,
        keep: int = 3,
        flush_every: float = 1.0,
    ) -> None:
        self._path = path
        self._clock = clock or SteadyClock()
        self._rotate_bytes = rotate_bytes
        self._keep = keep
        self._file: BinaryIO | None = None
        self._size = 0
        self._reported_lost = 0
        super().__init__(flush_every)

    def event(self, name: str, **fields: Scalar) -> None:
        """Log an event. May be called from any thread; never waits for the disk, never raises."""
        self.put(format_event(self._clock.now(), name, fields))

    # --- in the thread -------------------------------------------------------------------------------

    def _write(self, lines: list[bytes]) -> None:
        if self.lost > self._reported_lost:
            missing: dict[str, Scalar] = {
                "lines": self.lost - self._reported_lost,
                "reason": self.problem or "the disk is too slow",
            }
            lines = [format_event(self._clock.now(), "log.lost", missing), *lines]
        reported = self.lost
        written = 0
        try:
            for chunk in self._chunks(lines):
                rest = chunk
                while rest:  # an almost full disk may take only a part of it
                    took = self._open_file().write(rest) or 0
                    self._size += took
                    written += rest.count(b"\n", 0, took)
                    rest = rest[took:]
                if self._size >= self._rotate_bytes:
                    self._rotate()
            self._reported_lost = reported
        except OSError as error:
            self.problem = self.problem or (error.strerror or str(error))
            self.lost += len(lines) - written
            self._close_file()

    def _chunks(self, lines: list[bytes]) -> list[bytes]:
        """The lines in chunks, each small enough that the file does not grow far beyond the rotation size."""
        per_chunk = max(self._rotate_bytes // MAX_LINE_BYTES // 4, 1)
        return [b"".join(lines[i : i + per_chunk]) for i in range(0, len(lines), per_chunk)]

    def _open_file(self) -> BinaryIO:
        if self._file is None:
            # Unbuffered: after a failed write, no rest may stay in a buffer and end up in the middle of a later line.
            self._file = open(self._path, "a+b", buffering=0)  # noqa: SIM115 - lives as long as the log
            self._size = os.fstat(self._file.fileno()).st_size
            if self._size and os.pread(self._file.fileno(), 1, self._size - 1) != b"\n":
                self._size += self._file.write(b"\n") or 0  # the last line was cut off
        return self._file

    def _rotate(self) -> None:
        self._close_file()
        for number in range(self._keep, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if newer.exists():
                os.replace(newer, older)
        if self._keep == 0:
            self._path.unlink(missing_ok=True)

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def format_event(at: float, name: str, fields: dict[str, Scalar]) -> bytes:
    """One line of at most 1 KB, in ASCII without control characters or secrets."""
    record: dict[str, Scalar] = {"at": timestamp(at), "event": name}
    record.update((key, _safe(key, value)) for key, value in fields.items() if key not in record)
    line = _encoded(record)
    if len(line) > MAX_LINE_BYTES:
        line = _cut(record)
    return line


def _safe(key: str, value: Scalar) -> Scalar:
    if names_a_secret(key):
        return HIDDEN
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, float):
        # JSON cannot represent infinity.
        return round(value, 6) if value - value == 0.0 else str(value)
    return value


def _encoded(record: dict[str, Scalar]) -> bytes:
    return json.dumps(record, separators=(",", ":")).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def _cut(record: dict[str, Scalar]) -> bytes:
    """The record with long texts shortened, then with fields left out, until it fits; marked with `cut`."""
    record = {**record, "cut": True}
    texts = [key for key, value in record.items() if isinstance(value, str) and key not in ("at", "event")]
    for longest in (400, 200, 100, 50, 20):
        for key in texts:
            record[key] = _head(str(record[key]), longest)
        line = _encoded(record)
        if len(line) <= MAX_LINE_BYTES:
            return line
    for key in [key for key in record if key not in ("at", "event", "cut")][::-1]:
        del record[key]
        line = _encoded(record)
        if len(line) <= MAX_LINE_BYTES:
            return line
    return _encoded({"at": record["at"], "event": _head(str(record["event"]), 100), "cut": True})


def _head(text: str, most: int) -> str:
    """The beginning of `text` that takes at most `most` bytes as JSON (a character may take twelve)."""
    if len(text) * 12 <= most:
        return text
    used = 0
    for i, character in enumerate(text):
        used += len(json.dumps(character)) - 2
        if used > most:
            return text[:i]
    return text
