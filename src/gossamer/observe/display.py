"""Progress of a crawl or a long command on standard error.

`LiveDisplay` redraws a view of the crawl on a terminal, `PlainLines` prints a line every few seconds to a pipe or a
file, `NoDisplay` prints nothing; `choose_display` picks one. `ProgressLine` shows the progress of a command such as
`export`, on a terminal only.
"""

from contextlib import suppress
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live

from gossamer.clock import Clock
from gossamer.observe import formatter
from gossamer.observe.snapshot import Rates, ReadmissionCounts, Snapshot
from gossamer.observe.terminal_view import Shares, draw, running_workers


class Terminal(Console):
    """A rich console that applies only our own styles and ignores a broken pipe (rich would end the process, and the
    crawl with it)."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(file=stream, highlight=False)

    def on_broken_pipe(self) -> None:
        self.quiet = True

    @property
    def is_interactive_terminal(self) -> bool:
        """Whether to use colours. Checks the stream as well: FORCE_COLOR makes rich treat a pipe as a terminal."""
        return self.file.isatty() and self.is_terminal

    @property
    def supports_live_view(self) -> bool:
        """Whether the cursor can be moved and block characters can be shown."""
        return self.is_interactive_terminal and not self.is_dumb_terminal and self.encoding.startswith("utf")


_REFRESH = 0.25  # seconds between two redraws
_PLAIN_EVERY = 5.0


class Display(Protocol):
    """Shows snapshots. They arrive in order of time, as often as the caller likes."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None:
        """Show nothing more and restore the terminal. Safe to call twice."""
        ...


class SelectorShares(Protocol):
    @property
    def shares(self) -> tuple[float, ...]: ...

    @property
    def shares_under_load(self) -> tuple[float, ...]: ...


class DisplayConfig(Protocol):
    """The part of the configuration that the choice of a display needs."""

    @property
    def quiet(self) -> bool: ...

    @property
    def frontier(self) -> SelectorShares: ...


class ReadmissionLines:
    """What to say about a pass over refused links: a line when it begins, and some when it is complete."""

    def __init__(self) -> None:
        self._said: tuple[str, bool] | None = None

    def new_lines(self, counts: ReadmissionCounts | None) -> list[str]:
        """The lines that were not returned before."""
        if counts is None or (counts.changes, counts.complete) == self._said:
            return []
        lines = []
        if self._said is None or self._said[0] != counts.changes or self._said[1]:
            pages = formatter.number_of(counts.pages, "page")
            lines.append(f"Rules are wider ({counts.changes}): reading {pages} again for refused links")
        if counts.complete:
            if counts.unreadable:
                which = "; ".join(counts.unreadable_files)
                lines.append(f"{formatter.number_of(counts.unreadable, 'page')} could not be read: {which}")
            lines.append(f"{formatter.number_of(counts.returned, 'URL')} queued")
        self._said = counts.changes, counts.complete
        return [formatter.printable(line) for line in lines]


class CacheWarnings:
    """What to say when the cache begins to fail, or fails for another reason."""

    def __init__(self) -> None:
        self._said = ""

    def new_lines(self, problem: str) -> list[str]:
        """The lines that were not returned before."""
        if problem in ("", self._said):
            return []
        self._said = problem
        return [formatter.printable(f"warning: the cache fails ({problem}); the crawl goes on without it")]


class LiveDisplay:
    """Redraws the view in place and removes it at the end; the report is printed where it was."""

    def __init__(self, console: Console, shares: Shares) -> None:
        self._console = console
        self._shares = shares
        self._rates = Rates()
        self._drawn_at = float("-inf")
        self._size = console.size
        # With redirection, what others print to standard output would go to standard error.
        self._live = Live(
            console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False
        )
        self._open = False
        self._closed = False
        self._readmission, self._cache = ReadmissionLines(), CacheWarnings()

    def update(self, snapshot: Snapshot) -> None:
        """Draws at most four times a second; costs 2 to 4 ms when it does."""
        self._rates.note(snapshot)
        due = snapshot.at - self._drawn_at >= _REFRESH or snapshot.finished
        if self._closed or not due:
            return
        self._drawn_at = snapshot.at
        for line in self._new_lines(snapshot):
            self._console.print(line, markup=False, highlight=False)
        size = self._console.size
        # The last column and the last row stay free, so that no terminal wraps or scrolls.
        lines = draw(snapshot, self._rates, self._shares, size.width - 1, size.height - 1)
        try:
            if self._open and size != self._size:
                # The terminal may have rewrapped our lines, so counting them no longer finds the top: clear the screen.
                self._console.clear()
            self._size = size
            if not self._open:
                self._live.start()
                self._open = True
            self._live.update(Group(*lines), refresh=True)
        except OSError:  # the terminal is gone; the crawl is not
            self._closed = True

    def _new_lines(self, snapshot: Snapshot) -> list[str]:
        return [*self._readmission.new_lines(snapshot.readmission), *self._cache.new_lines(snapshot.cache_problem)]

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
        self._printed_at = float("-inf")
        self._readmission, self._cache = ReadmissionLines(), CacheWarnings()

    def update(self, snapshot: Snapshot) -> None:
        self._rates.note(snapshot)
        lines = self._readmission.new_lines(snapshot.readmission) + self._cache.new_lines(snapshot.cache_problem)
        if lines:
            with suppress(OSError):
                print(*lines, sep="\n", file=self._stream, flush=True)
        if snapshot.at - self._printed_at >= self._every:
            self._printed_at = snapshot.at
            try:
                print(plain_line(snapshot, self._rates), file=self._stream, flush=True)
            except OSError:  # the reader is gone; the crawl goes on
                self._printed_at = float("inf")

    def close(self) -> None:
        pass


class NoDisplay:
    """For `--quiet`."""

    def update(self, snapshot: Snapshot) -> None:
        pass

    def close(self) -> None:
        pass


def plain_line(snapshot: Snapshot, rates: Rates) -> str:
    own = "this worker " if snapshot.is_of_one_of_several else ""
    parts = [
        formatter.clock_time(snapshot.elapsed),
        formatter.number_of(snapshot.pages, "page"),
        f"{own}{formatter.rate(rates.pages_now)}/s (mean {formatter.rate(rates.pages_mean)})",
        f"queued {formatter.count(snapshot.queued)}",
        f"in flight {formatter.count(snapshot.in_flight)}",
        f"hosts {formatter.count(snapshot.hosts_known)}",
        formatter.size(snapshot.bytes),
    ]
    if snapshot.refreshed:
        fresh = snapshot.freshness.fresh
        known = "" if fresh is None else f" ({100 * fresh:.0f} % fresh)"
        parts.append(f"recrawled {formatter.count(snapshot.refreshed)}{known}")
    if errors := sum(snapshot.errors.values()):
        parts.append(f"errors {formatter.count(errors)}")
    if snapshot.dead:
        parts.append(f"dead {formatter.count(snapshot.dead)}")
    if snapshot.politeness_violations:
        parts.append(f"POLITENESS VIOLATIONS {formatter.count(snapshot.politeness_violations)}")
    if snapshot.load == "high":
        parts.append("high load")
    if snapshot.workers_wanted:
        parts.append(running_workers(snapshot))
    if snapshot.stopping:
        parts.append("stopping")
    if snapshot.failing and not snapshot.delivering:
        parts.append(f"failing: {', '.join(snapshot.failing)}")
    if snapshot.waiting_for:
        parts.append(f"waiting for {formatter.printable(snapshot.waiting_for)}")
    return "  ".join(parts)


def choose_display(config: DisplayConfig, stream: TextIO, *, shared: bool = False) -> Display:
    """No display with `--quiet`, the live view on a capable terminal, plain lines otherwise: also on a terminal that is
    `shared` with other output."""
    if config.quiet:
        return NoDisplay()
    console = Terminal(stream)
    if console.supports_live_view and not shared:
        return LiveDisplay(console, Shares(config.frontier.shares, config.frontier.shares_under_load))
    return PlainLines(stream)


INTERVAL = 0.2  # seconds between two updates of the line


class ProgressLine:
    """One line with the share of the work that is done. Cheap enough to be called for every item."""

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
        shown = f"{self._what} {part} {formatter.span(self.seconds)} {more}".rstrip()
        self._stream.write(f"\r\x1b[K{formatter.printable(shown)}")
        self._stream.flush()
        self._written = True

    def clear(self) -> None:
        """Remove the line, before other output or at the end."""
        if self._written:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._written = False
