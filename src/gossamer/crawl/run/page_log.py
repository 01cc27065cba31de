"""The page log: a line for each visit as it is committed (`--log-pages`).

    2026-11-17T13:23:54.156Z   0.5862    0      11465  200       http://portal.test/

Time, priority (the ordering's score when the page was chosen), depth, size in bytes, status and URL, as `gossamer
pages` prints them.
"""

import fcntl
import os
import stat
from collections.abc import Iterator

from gossamer.crawl.events import Outcome
from gossamer.model.states import UrlState
from gossamer.observe import formatter
from gossamer.observe.log import LineLog

STANDARD_OUTPUT = "-"
PATIENCE = 5.0
"""Seconds to wait for a slow reader at the end of the crawl."""

_STDOUT = 1
_ATOMIC = 4096  # bytes that a pipe takes in one piece (PIPE_BUF), so that lines of several workers are not mixed


class PageLog(LineLog):
    """A subscriber that writes lines to a file or to standard output, each in one piece.

    The crawl never waits for it. Lines wait in memory, up to 4 MB; beyond that, and while they cannot be written (the
    disk is full, the reader is gone), they are lost and counted. A line that a full disk cuts off is taken back.
    """

    def __init__(self, target: str, *, flush_every: float = 0.2) -> None:
        """A file, which is appended to, or `-`. Raises OSError for a file that cannot be opened."""
        if target == STANDARD_OUTPUT:
            self._file: int | None = os.dup(_STDOUT)
        else:
            self._file = os.open(target, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._is_regular = stat.S_ISREG(os.fstat(self._file).st_mode)
        if self._is_regular:
            _end_last_line(self._file)
        super().__init__(flush_every)

    @property
    def saturation(self) -> float:
        """The crawl does not slow down for it."""
        return 0.0

    def publish(self, outcome: Outcome) -> None:
        """Log a visit. URLs that were excluded without a response have no line."""
        if outcome.status is None and outcome.state is UrlState.EXCLUDED:
            return
        status = outcome.reason or outcome.state.word if outcome.status is None else str(outcome.status)
        at = formatter.date_time(outcome.at)
        line = formatter.page_line(at, outcome.priority, outcome.depth, outcome.size, status, outcome.url)
        self.put(line.encode("utf-8", "backslashreplace") + b"\n")

    # --- in the thread -------------------------------------------------------------------------------

    def _write(self, lines: list[bytes]) -> None:
        written = 0
        try:
            for chunk, number in _chunks(lines):
                self._write_chunk(chunk)
                written += number
        except OSError as error:
            self.problem = self.problem or (error.strerror or str(error))
            self.lost += len(lines) - written

    def _write_chunk(self, chunk: bytes) -> None:
        """All lines of the chunk or, in a file, none. Raises OSError."""
        assert self._file is not None
        if not self._is_regular:
            _write_all(self._file, chunk)
            return
        fcntl.flock(self._file, fcntl.LOCK_EX)  # other workers append too
        try:
            end = os.fstat(self._file).st_size
            try:
                _write_all(self._file, chunk)
            except OSError:
                os.ftruncate(self._file, end)
                raise
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _close_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _end_last_line(file: int) -> None:
    """Complete a line that a crash has cut off."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        os.write(file, b"\n")


def _write_all(file: int, rest: bytes) -> None:
    while rest:
        rest = rest[os.write(file, rest) :]


def _chunks(lines: list[bytes]) -> Iterator[tuple[bytes, int]]:
    """The lines in chunks that are written in one piece, and the number of lines of each."""
    chunk, number = b"", 0
    for line in lines:
        if number and len(chunk) + len(line) > _ATOMIC:
            yield chunk, number
            chunk, number = b"", 0
        chunk += line
        number += 1
    yield chunk, number
