"""The one kind of console we write to.

Progress while a crawl runs: a live picture on a terminal, a line now and then elsewhere, or nothing.

How far a long command is: one line on standard error, written over and over on a terminal, not at all elsewhere.
"""

from contextlib import suppress
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live

from gossamer.clock import Clock
from gossamer.observe import formatting
from gossamer.observe.snapshot import Rates, Snapshot
from gossamer.observe.terminal_view import Shares, draw


class Terminal(Console):
    """Rich's console, but for two things: it styles only what we style, and a reader that has gone away silences it
    (rich would end the process, and with it the crawl)."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(file=stream, highlight=False)

    def on_broken_pipe(self) -> None:
        self.quiet = True

    @property
    def is_for_people(self) -> bool:
        """Whether colours are in place. Asked of the stream too: FORCE_COLOR makes rich take a pipe for a terminal."""
        return self.file.isatty() and self.is_terminal

    @property
    def shows_pictures(self) -> bool:
        """Whether the cursor can be moved and bars can be shown."""
        return self.is_for_people and not self.is_dumb_terminal and self.encoding.startswith("utf")


_REFRESH = 0.25  # seconds; at most four pictures a second
_PLAIN_EVERY = 5.0


class Display(Protocol):
    """Shown snapshots in order of time, as often as anyone likes."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None:
        """Nothing is shown afterwards; the terminal is as it was. Safe to call twice."""
        ...


class SelectorShares(Protocol):
    @property
    def shares(self) -> tuple[float, ...]: ...

    @property
    def shares_under_load(self) -> tuple[float, ...]: ...


class DisplayConfig(Protocol):
    """What the choice of a display needs of the configuration."""

    @property
    def quiet(self) -> bool: ...

    @property
    def frontier(self) -> SelectorShares: ...


class LiveDisplay:
    """Draws the picture in place and takes it away again at the end: the report follows where it stood."""

    def __init__(self, console: Console, shares: Shares) -> None:
        self._console = console
        self._shares = shares
        self._rates = Rates()
        self._drawn_at = float("-inf")
        self._size = console.size
        # Redirecting would put what others print to standard output on standard error.
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._open = False
        self._closed = False

    def update(self, snapshot: Snapshot) -> None:
        """Draws at most four times a second; costs 2 to 4 ms when it does."""
        self._rates.note(snapshot)
        due = snapshot.at - self._drawn_at >= _REFRESH or snapshot.finished
        if self._closed or not due:
            return
        self._drawn_at = snapshot.at
        size = self._console.size
        # The last column and the last row stay free, so that no terminal wraps or scrolls.
        lines = draw(snapshot, self._rates, self._shares, size.width - 1, size.height - 1)
        try:
            if self._open and size != self._size:
                # Lines that the terminal has wrapped anew cannot be found again by counting: begin on a clean screen.
                self._console.clear()
            self._size = size
            if not self._open:
                self._live.start()
                self._open = True
            self._live.update(Group(*lines), refresh=True)
        except OSError:  # the terminal is gone; the crawl is not
            self._closed = True

    def close(self) -> None:
        if self._open and not self._closed:
            with suppress(OSError):
                self._live.stop()
        self._closed = True


class PlainLines:
    """One line every few seconds, for logs and pipes."""

    def __init__(self, stream: TextIO, every: float = _PLAIN_EVERY) -> None:
        self._stream = stream
        self._every = every
        self._rates = Rates()
        self._told_at = float("-inf")

    def update(self, snapshot: Snapshot) -> None:
        self._rates.note(snapshot)
        if snapshot.at - self._told_at >= self._every:
            self._told_at = snapshot.at
            try:
                print(plain_line(snapshot, self._rates), file=self._stream, flush=True)
            except OSError:  # nobody reads this any more; the crawl goes on
                self._told_at = float("inf")

    def close(self) -> None:
        pass


class NoDisplay:
    """For `--quiet`."""

    def update(self, snapshot: Snapshot) -> None:
        pass

    def close(self) -> None:
        pass


def plain_line(snapshot: Snapshot, rates: Rates) -> str:
    parts = [
        formatting.clock_time(snapshot.elapsed),
        f"{formatting.count(snapshot.pages)} pages",
        f"{formatting.rate(rates.pages_now)}/s (mean {formatting.rate(rates.pages_mean)})",
        f"queued {formatting.count(snapshot.queued)}",
        f"in flight {formatting.count(snapshot.in_flight)}",
        f"hosts {formatting.count(snapshot.hosts_known)}",
        formatting.size(snapshot.bytes),
    ]
    if snapshot.refreshed:
        fresh = snapshot.freshening.fresh
        known = "" if fresh is None else f" ({100 * fresh:.0f} % fresh)"
        parts.append(f"again {formatting.count(snapshot.refreshed)}{known}")
    if errors := sum(snapshot.errors.values()):
        parts.append(f"errors {formatting.count(errors)}")
    if snapshot.dead:
        parts.append(f"dead {formatting.count(snapshot.dead)}")
    if snapshot.politeness_violations:
        parts.append(f"POLITENESS VIOLATIONS {formatting.count(snapshot.politeness_violations)}")
    if snapshot.load == "high":
        parts.append("high load")
    if snapshot.stopping:
        parts.append("stopping")
    if snapshot.waiting_for:
        parts.append(f"waiting for {formatting.printable(snapshot.waiting_for)}")
    return "  ".join(parts)


def choose_display(config: DisplayConfig, stream: TextIO) -> Display:
    """Quiet: nothing. A terminal that can move its cursor and show bars: the live picture. Otherwise lines."""
    if config.quiet:
        return NoDisplay()
    console = Terminal(stream)
    if console.shows_pictures:
        return LiveDisplay(console, Shares(config.frontier.shares, config.frontier.shares_under_load))
    return PlainLines(stream)


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
        self._stream.write(f"\r\x1b[K{self._what} {part} {formatting.span(self.seconds)} {more}".rstrip())
        self._stream.flush()
        self._written = True

    def clear(self) -> None:
        """Take the line away, before something else is written or at the end."""
        if self._written:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._written = False
