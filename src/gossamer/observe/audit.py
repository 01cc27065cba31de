"""The crawler's own audit of its politeness.

It shares no code and no state with the frontier: it is told when a request starts and ends, works out for
itself how long the host had to be left alone, and counts what came too early. Zero is the only good figure.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.model.units import HostKey, Instant, Seconds

TOLERANCE = 0.001  # seconds; sums of floats differ in their last digits
_KEPT_VIOLATIONS = 10


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that should not have been made when it was."""

    kind: str  # "host busy", "host too soon", "address busy" or "address too soon"
    key: str  # the host or the address
    at: Instant
    allowed_at: Instant | None  # None: not before the request that was under way had ended

    def __str__(self) -> str:
        early = "" if self.allowed_at is None else f" by {self.allowed_at - self.at:.3f} s"
        return f"{self.kind}{early}: {self.key}"


@dataclass(slots=True)
class _Watched:
    """A host or an address. Nothing may start before `free_at`, nor while `busy` is above 0."""

    free_at: float = 0.0
    busy: int = 0


class PolitenessAudit:
    """Watches hosts and the addresses they share.

    Remembers at least the last `remembered` of each that were contacted, and for up to eight times as many whatever
    still has to be left alone; only beyond that does it forget a gap that has not passed, which `unwatched` counts.
    """

    def __init__(
        self,
        *,
        min_delay: Seconds,
        factor: float,
        max_adaptive_delay: Seconds,
        max_retry_after: Seconds,
        remembered: int = 50_000,
        on_violation: Callable[[Violation], None] | None = None,
    ) -> None:
        self._min_delay = min_delay
        self._factor = factor
        self._max_adaptive_delay = max_adaptive_delay
        self._max_retry_after = max_retry_after
        self.on_violation = on_violation
        self._hosts = _Memory(remembered)
        self._addresses = _Memory(remembered)
        self.requests = 0
        self.violations = 0
        self.first: list[Violation] = []

    def __len__(self) -> int:
        return len(self._hosts) + len(self._addresses)

    @property
    def unwatched(self) -> int:
        return self._hosts.unwatched + self._addresses.unwatched

    def request_starts(self, host: HostKey, address: str | None, at: Instant) -> None:
        """A request of any kind (robots.txt too) goes out now."""
        self.requests += 1
        self._begin(self._hosts, "host", host, at)
        if address is not None:
            self._begin(self._addresses, "address", address, at)

    def request_ended(
        self,
        host: HostKey,
        address: str | None,
        at: Instant,
        took: Seconds,
        crawl_delay: Seconds | None = None,
        retry_after: Seconds | None = None,
        *,
        contacted: bool = True,
        min_delay: Seconds | None = None,
    ) -> None:
        """The answer is complete, or there will be none. `contacted` False: the host saw nothing of us after all.
        `min_delay` is what the operator set for this host; if it is the longer one it does not bind its neighbours."""
        adaptive = min(took * self._factor, self._max_adaptive_delay)
        own = self._min_delay if min_delay is None else min_delay
        load = max(min(own, self._min_delay), adaptive)
        asked = max(own, crawl_delay or 0.0, min(retry_after or 0.0, self._max_retry_after))
        self._end(self._hosts, host, at + max(load, asked) if contacted else 0.0, at)
        if address is not None:
            # Crawl-delay and Retry-After are the word of one site; the machine behind it rests for its load only.
            self._end(self._addresses, address, at + load if contacted else 0.0, at)

    def must_rest(self, host: HostKey | None, address: str | None, until: Instant) -> None:
        """What is known from before a restart: neither may be contacted before then."""
        for memory, key in ((self._hosts, host), (self._addresses, address)):
            if key is not None:
                watched = memory.of(key, 0.0)  # nothing is known to have passed
                watched.free_at = max(watched.free_at, until)

    def _begin(self, memory: "_Memory", what: str, key: str, at: Instant) -> None:
        watched = memory.of(key, at)
        if watched.busy:
            self._found(Violation(f"{what} busy", key, at, None))
        elif at < watched.free_at - TOLERANCE:
            self._found(Violation(f"{what} too soon", key, at, Instant(watched.free_at)))
        watched.busy += 1

    def _end(self, memory: "_Memory", key: str, free_at: float, now: Instant) -> None:
        watched = memory.of(key, now)
        watched.busy = max(watched.busy - 1, 0)
        watched.free_at = max(watched.free_at, free_at)

    def _found(self, violation: Violation) -> None:
        self.violations += 1
        if len(self.first) < _KEPT_VIOLATIONS:
            self.first.append(violation)
        if self.on_violation is not None:
            self.on_violation(violation)


class _Memory:
    """Hosts or addresses by name, the least recently contacted first. Bounded."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._most = 8 * remembered
        self._sweep_at = remembered
        self._watched: dict[str, _Watched] = {}
        self.unwatched = 0

    def __len__(self) -> int:
        return len(self._watched)

    def of(self, key: str, now: float) -> _Watched:
        watched = self._watched.pop(key, None)
        if watched is None:
            if len(self._watched) >= self._sweep_at:
                self._sweep(now)
            watched = _Watched()
        self._watched[key] = watched  # at the end: the most recent
        return watched

    def _sweep(self, now: float) -> None:
        """Drop the oldest whose gap has passed, until a tenth of the room is free.

        Amortised O(1): where little could be dropped the next sweep waits until there is half as much again.
        """
        room = max(self._remembered * 9 // 10, 1)
        excess = len(self._watched) - room
        for key in [k for k, w in self._watched.items() if not w.busy and w.free_at <= now][:excess]:
            del self._watched[key]
        if len(self._watched) >= self._most:
            idle = [k for k, w in self._watched.items() if not w.busy]
            for key in idle[: self._most // 2]:
                del self._watched[key]
                self.unwatched += 1
        left = len(self._watched)
        self._sweep_at = self._remembered if left <= room else min(max(self._remembered, left * 3 // 2), self._most)
