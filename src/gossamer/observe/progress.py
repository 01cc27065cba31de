"""How far a long command is: one line on standard error, written over and over on a terminal, not at all elsewhere."""

from typing import TextIO

from gossamer.clock import Clock
from gossamer.observe import words

INTERVAL = 0.2  # seconds between two states of the line


class ProgressLine:
    """Shows `done` of `total`. Costs next to nothing when it is called often."""

    def __init__(self, stream: TextIO, clock: Clock, what: str, *, shown: bool = True) -> None:
        self._stream = stream
        self._clock = clock
        self._what = what
        self._shown = shown and stream.isatty()
        self._next = 0.0
        self._began = clock.monotonic()
        self._written = False

    @property
    def seconds(self) -> float:
        return self._clock.monotonic() - self._began

    def show(self, done: int, total: int, more: str = "") -> None:
        if not self._shown or self._clock.monotonic() < self._next:
            return
        self._next = self._clock.monotonic() + INTERVAL
        part = f"{min(done / total, 1.0):4.0%}" if total else ""
        self._stream.write(f"\r\x1b[K{self._what} {part} {words.span(self.seconds)} {more}".rstrip())
        self._stream.flush()
        self._written = True

    def clear(self) -> None:
        """Take the line away, before something else is written or at the end."""
        if self._written:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._written = False
