"""Takes secrets out of text before it is written down. Linear in the text's length.

The crawl's log: events with stable names, one JSON object a line.

Events are handed over in memory and written by a thread of its own, so that a slow disk never holds the event loop.
"""

import json
import os
import re
import threading
from pathlib import Path
from typing import BinaryIO

from gossamer.clock import Clock, SteadyClock
from gossamer.model.queue_depth import QueueDepth
from gossamer.observe.formatting import timestamp

HIDDEN = "***"

# `user:secret@` of a URL. Greedy up to the last @ of the authority, as URL parsers read it.
_USERINFO = re.compile(r"(?<=//)[^/?#\s\\]*@")
# The same without a scheme in front. Bounded, so that a long word costs no more than its length times a constant.
_PAIR = re.compile(r"[^\s/:@\"'=&?]{1,64}:[^\s/:@]{1,64}@")
# What an Authorization or cookie header carries, however it got into the text.
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
        # The @ may lie beyond the cut, so an authority without an end is not to be shown.
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


class EventLog:
    """Appends to `path`; at `rotate_bytes` it becomes `path`.1 and so on, of which `keep` are kept. Every line is whole
    and in one file, in order; what was cut off (a full disk, a crash) is a line of its own: no other is joined to it.

    What was noted is in the file a second later, and all of it after `close`. Nothing here raises into the crawl: what
    could not be written is counted in `lost`, and the first reason is kept in `problem` (and told once, on record, when
    writing succeeds again).
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
        self._flush_every = flush_every
        self._file: BinaryIO | None = None
        self._size = 0
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._buffer_lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._closing = threading.Event()
        self._told_lost = 0
        self.lost = 0
        self.problem: str | None = None
        self._thread = threading.Thread(target=self._write_for_ever, name="gossamer-log", daemon=True)
        self._thread.start()

    def event(self, name: str, **fields: Scalar) -> None:
        """Note that something happened. From any thread; never waits for the disk, never raises."""
        line = format_event(self._clock.now(), name, fields)
        with self._buffer_lock:
            if self._waiting_bytes + len(line) > _MAX_WAITING_BYTES:
                self.lost += 1  # the disk does not keep up; the crawl goes on
                return
            self._waiting.append(line)
            self._waiting_bytes += len(line)

    @property
    def fill(self) -> QueueDepth:
        """What waits to be written. When that is full, events are lost and counted: the crawl does not wait for it."""
        return QueueDepth(len(self._waiting), 0, self._waiting_bytes, _MAX_WAITING_BYTES)

    def flush(self) -> None:
        """Write what is waiting now."""
        with self._file_lock:
            with self._buffer_lock:
                lines, self._waiting, self._waiting_bytes = self._waiting, [], 0
            if lines:
                self._write(lines)

    def close(self) -> None:
        """Write everything and stop. Safe to call twice; events noted later are not written."""
        self._closing.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self.flush()
        with self._file_lock:
            self._let_go()

    # --- the thread's side ---------------------------------------------------------------------------

    def _write_for_ever(self) -> None:
        while not self._closing.wait(self._flush_every):
            self.flush()

    def _write(self, lines: list[bytes]) -> None:
        if self.lost > self._told_lost:
            missing: dict[str, Scalar] = {
                "lines": self.lost - self._told_lost,
                "reason": self.problem or "the disk is too slow",
            }
            lines = [format_event(self._clock.now(), "log.lost", missing), *lines]
        told = self.lost
        written = 0
        try:
            for chunk in self._chunks(lines):
                rest = chunk
                while rest:  # the last of the room on a disk takes a part of it
                    took = self._opened().write(rest) or 0
                    self._size += took
                    written += rest.count(b"\n", 0, took)
                    rest = rest[took:]
                if self._size >= self._rotate_bytes:
                    self._rotate()
            self._told_lost = told
        except OSError as error:
            self.problem = self.problem or (error.strerror or str(error))
            self.lost += len(lines) - written
            self._let_go()

    def _chunks(self, lines: list[bytes]) -> list[bytes]:
        """The lines in portions, none of which runs far beyond where a file is to be rotated."""
        per_chunk = max(self._rotate_bytes // MAX_LINE_BYTES // 4, 1)
        return [b"".join(lines[i : i + per_chunk]) for i in range(0, len(lines), per_chunk)]

    def _opened(self) -> BinaryIO:
        if self._file is None:
            # Unbuffered: after a failed write nothing may linger that a later one would put in the middle of a line.
            self._file = open(self._path, "a+b", buffering=0)  # noqa: SIM115 - lives as long as the log
            self._size = os.fstat(self._file.fileno()).st_size
            if self._size and os.pread(self._file.fileno(), 1, self._size - 1) != b"\n":
                self._size += self._file.write(b"\n") or 0  # somebody was cut off there
        return self._file

    def _rotate(self) -> None:
        self._let_go()
        for number in range(self._keep, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path if number == 1 else self._path.with_name(f"{self._path.name}.{number - 1}")
            if newer.exists():
                os.replace(newer, older)
        if self._keep == 0:
            self._path.unlink(missing_ok=True)

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def format_event(at: float, name: str, fields: dict[str, Scalar]) -> bytes:
    """One line: ASCII only, so that no control character of any standard survives; at most 1 KB; no secrets."""
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
        # JSON has no word for infinity.
        return round(value, 6) if value - value == 0.0 else str(value)
    return value


def _encoded(record: dict[str, Scalar]) -> bytes:
    return json.dumps(record, separators=(",", ":")).replace("\x7f", "\\u007f").encode("ascii") + b"\n"


def _cut(record: dict[str, Scalar]) -> bytes:
    """The same with its longest texts shortened, then with fields left out, until it fits. Says that it was cut."""
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
    """The beginning of `text` that takes at most `most` bytes when encoded (a character may take twelve)."""
    if len(text) * 12 <= most:
        return text
    used = 0
    for i, character in enumerate(text):
        used += len(json.dumps(character)) - 2
        if used > most:
            return text[:i]
    return text
