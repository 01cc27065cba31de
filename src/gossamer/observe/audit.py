"""Independent audit of politeness.

It shares no code and no state with the frontier. From the start and the end of each request it computes when the
host, its address and, if hosts of a domain share a delay, its domain may be contacted again, and counts requests that
start earlier. There must be none. A request that the fetcher sends again by itself, because the server refused it
unread, needs no delay; once is permitted.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gossamer.model.units import HostKey, Instant, Seconds

TOLERANCE = 0.001  # seconds; sums of floats differ in their last digits
_KEPT_VIOLATIONS = 10
_PERMITTED_REPEATS = 1


@dataclass(frozen=True, slots=True)
class Violation:
    """A request that started too early."""

    kind: str  # "host", "address" or "domain" with "busy" or "too soon", or "host asked again"
    key: str  # the host, address or domain
    at: Instant
    allowed_at: Instant | None  # None: not before the current request to the same key had ended, if at all

    def __str__(self) -> str:
        early = "" if self.allowed_at is None else f" by {self.allowed_at - self.at:.3f} s"
        return f"{self.kind}{early}: {self.key}"


@dataclass(slots=True)
class _Entry:
    """A host or an address. No request may start before `free_at`, or while `busy` is above 0."""

    free_at: float = 0.0
    busy: int = 0


class PolitenessAudit:
    """Checks the delays between requests to the same host and to the same address.

    Remembers at least the `remembered` most recently contacted of each. Entries whose delay has not passed are kept up
    to eight times that number; beyond it some are dropped, and `unwatched` counts them.
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
        domain_of: Callable[[HostKey], str] | None = None,
    ) -> None:
        """`domain_of`: requests to hosts of one domain are checked as requests to one host."""
        self._min_delay = min_delay
        self._factor = factor
        self._max_adaptive_delay = max_adaptive_delay
        self._max_retry_after = max_retry_after
        self._on_violation = on_violation
        self._hosts = _Memory(remembered)
        self._addresses = _Memory(remembered)
        self._domains = _Memory(remembered)
        self._domain_of = domain_of
        self.requests = 0
        self.violations = 0
        self.first: list[Violation] = []

    def __len__(self) -> int:
        return len(self._hosts) + len(self._addresses) + len(self._domains)

    @property
    def unwatched(self) -> int:
        return self._hosts.unwatched + self._addresses.unwatched + self._domains.unwatched

    def on_request_start(self, host: HostKey, address: str | None, at: Instant) -> None:
        """A request of any kind, robots.txt included, is sent."""
        self.requests += 1
        self._begin(self._hosts, "host", host, at)
        if address is not None:
            self._begin(self._addresses, "address", address, at)
        if self._domain_of is not None:
            self._begin(self._domains, "domain", self._domain_of(host), at)

    def on_request_end(
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
        """The response is complete, or the request has failed. `contacted` False: nothing was sent to the host.
        `min_delay` is the host's own setting; if it is longer than the default it does not apply to its address."""
        adaptive = min(took * self._factor, self._max_adaptive_delay)
        own = self._min_delay if min_delay is None else min_delay
        load = max(min(own, self._min_delay), adaptive)
        requested = max(own, crawl_delay or 0.0, min(retry_after or 0.0, self._max_retry_after))
        free_at = at + max(load, requested) if contacted else 0.0
        self._end(self._hosts, host, free_at, at)
        if self._domain_of is not None:
            self._end(self._domains, self._domain_of(host), free_at, at)
        if address is not None:
            # Crawl-delay and Retry-After apply to one site; for the machine behind it only the load counts.
            self._end(self._addresses, address, at + load if contacted else 0.0, at)

    def on_repeats(self, host: HostKey, repeats: int, at: Instant) -> None:
        """The fetcher has sent the current request again, this many times."""
        self.requests += repeats
        for _ in range(_PERMITTED_REPEATS, repeats):
            self._report(Violation("host asked again", host, at, None))

    def restore(self, host: HostKey | None, address: str | None, until: Instant) -> None:
        """After a restart: neither may be contacted before `until`, nor may the domain of the host."""
        domain = None if host is None or self._domain_of is None else self._domain_of(host)
        for memory, key in ((self._hosts, host), (self._addresses, address), (self._domains, domain)):
            if key is not None:
                entry = memory.entry(key, 0.0)  # no other delay is known to have passed
                entry.free_at = max(entry.free_at, until)

    def _begin(self, memory: "_Memory", what: str, key: str, at: Instant) -> None:
        entry = memory.entry(key, at)
        if entry.busy:
            self._report(Violation(f"{what} busy", key, at, None))
        elif at < entry.free_at - TOLERANCE:
            self._report(Violation(f"{what} too soon", key, at, Instant(entry.free_at)))
        entry.busy += 1

    def _end(self, memory: "_Memory", key: str, free_at: float, now: Instant) -> None:
        entry = memory.entry(key, now)
        entry.busy = max(entry.busy - 1, 0)
        entry.free_at = max(entry.free_at, free_at)

    def _report(self, violation: Violation) -> None:
        self.violations += 1
        if len(self.first) < _KEPT_VIOLATIONS:
            self.first.append(violation)
        if self._on_violation is not None:
            self._on_violation(violation)


class _Memory:
    """Bounded map of hosts or addresses, least recently contacted first."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._most = 8 * remembered
        self._sweep_at = remembered
        self._entries: dict[str, _Entry] = {}
        self.unwatched = 0

    def __len__(self) -> int:
        return len(self._entries)

    def entry(self, key: str, now: float) -> _Entry:
        """The entry for `key`, created if missing; it becomes the most recent one."""
        entry = self._entries.pop(key, None)
        if entry is None:
            if len(self._entries) >= self._sweep_at:
                self._sweep(now)
            entry = _Entry()
        self._entries[key] = entry
        return entry

    def _sweep(self, now: float) -> None:
        """Drop the oldest entries whose delay has passed, until a tenth of the room is free.

        Amortised O(1): if few could be dropped, the next sweep waits until there are half as many again.
        """
        room = max(self._remembered * 9 // 10, 1)
        excess = len(self._entries) - room
        for key in [k for k, w in self._entries.items() if not w.busy and w.free_at <= now][:excess]:
            del self._entries[key]
        if len(self._entries) >= self._most:
            idle = [k for k, w in self._entries.items() if not w.busy]
            for key in idle[: self._most // 2]:
                del self._entries[key]
                self.unwatched += 1
        left = len(self._entries)
        self._sweep_at = self._remembered if left <= room else min(max(self._remembered, left * 3 // 2), self._most)
