"""The lines before hosts: URLs that were queued again and wait for their turn. Is a host too slow for what is due?

How late a visit is counts from when its URL could stand in line: from its date, or from when the dates up to that were
looked at, if the budget or a stop held them up. What is left of it is the host's doing, and moves the host's price
(`recrawl.price`).

A line is short: what finds ROOM others before it comes later, under every policy, so that no host fills the queue and
keeps the others from being visited.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Final

from gossamer.model.units import DAY, HostId, Instant
from gossamer.recrawl.price import MAX_HOSTS, HostPrices

MAX_BACKLOG: Final = 32
"""URLs that wait in the line of a host; of one that is kept busy, more than come up while the next are read."""

_ORDERS = 64  # looks at what is due that are remembered: of what was due before, the first of them
_LEAST_BETWEEN = 1.0  # seconds between visits of a host of which nothing is known
_SMOOTH = 0.1  # the share of the latest visit in the mean time between them
_PATIENCE = 0.5  # of how late a URL is already: where nothing is known of its host, it is not looked at again sooner
_MAX_LATENESS = DAY
_SURE = 0.8  # of the time that a line should take: better to look a little too soon than to let a host be idle
_SOON = 1.0


class HostBacklogs:
    """Owned by the event loop; the store's thread may look. Memory is bounded by what is queued at a time."""

    def __init__(self, now: Instant) -> None:
        self.prices = HostPrices()
        self.waiting: dict[HostId, int] = {}  # as many stand in line there
        self.blocked = 0  # of all that wait, those before hosts with a price of their own
        self._intervals: dict[
            HostId, tuple[float, float]
        ] = {}  # the last visit to a line, 0 if none waits; seconds between
        self._start = now
        self._scanned_up_to: list[float] = []
        self._scanned_at: list[float] = []  # 0: in time

    def update_price(
        self, host_id: HostId, *, now: Instant, before: Instant, gap: float, usual: float, pages: int
    ) -> float:
        """The visit `gap` seconds after that of `before` takes place now. The price of the host's visits from now on,
        where that of the crawl is `usual`. `pages`: as many of it were visited twice or more."""
        date = before + gap
        late = max(0.0, now - max(date, self._since(date)))
        prices = self.prices
        was = host_id in prices
        price = prices.update(host_id, gap=gap / DAY, late=late / DAY, usual=usual, pages=pages)
        if (host_id in prices) is not was:
            n = self.waiting.get(host_id, 0)
            self.blocked = max(0, self.blocked + (-n if was else n))
        return price

    def _since(self, date: float) -> float:
        """Since when what is due at this date can have been in line; what was queued before we began, since then."""
        at = bisect_left(self._scanned_up_to, date)
        return max(self._start, self._scanned_at[at]) if at < len(self._scanned_at) else self._start

    def on_scanned(self, up_to: float, now: Instant) -> None:
        """All dates until then have been looked at, and what is due was queued or put off."""
        if self._scanned_up_to and up_to <= self._scanned_up_to[-1]:
            return
        at = 0.0 if now - up_to < _SOON else now
        if not at and self._scanned_at and not self._scanned_at[-1]:
            self._scanned_up_to[-1] = up_to  # as before, we are in time
            return
        self._scanned_up_to.append(up_to)
        self._scanned_at.append(at)
        del self._scanned_up_to[:-_ORDERS], self._scanned_at[:-_ORDERS]

    def on_requeued(self, hosts: Mapping[HostId, int]) -> None:
        """So many more stand in line."""
        for host_id, n in hosts.items():
            self.waiting[host_id] = self.waiting.get(host_id, 0) + n
            if host_id in self.prices:
                self.blocked += n

    def on_visited(self, host_id: HostId, now: float) -> None:
        """One of them has been visited."""
        n = self.waiting.get(host_id, 0)
        if n > 1:
            self.waiting[host_id] = n - 1
            self._update_interval(host_id, now)
        elif n:
            del self.waiting[host_id]
            if host_id in self._intervals:
                self._intervals[host_id] = (0.0, self._intervals[host_id][1])
        if n and self.blocked and host_id in self.prices:
            self.blocked -= 1

    def _update_interval(self, host_id: HostId, now: float) -> None:
        """Others wait there still: how long from visit to visit?"""
        last, between = self._intervals.get(host_id, (0.0, 0.0))
        if last and now > last:
            between += (now - last - between) * (_SMOOTH if between else 1.0)
        elif not last and host_id not in self._intervals and len(self._intervals) >= MAX_HOSTS:
            del self._intervals[next(iter(self._intervals))]
        self._intervals[host_id] = (now, between)

    def drop_host(self, host_id: HostId) -> None:
        """The host has no back queue any more: nobody stands in line there that we know of."""
        n = self.waiting.pop(host_id, 0)
        if n and host_id in self._intervals:
            self._intervals[host_id] = (0.0, self._intervals[host_id][1])
        if n and host_id in self.prices:
            self.blocked = max(0, self.blocked - n)

    def clear(self) -> None:
        """Nothing waits anywhere."""
        self.waiting.clear()
        self._intervals.clear()
        self.blocked = 0

    def slot_free_at(self, host_id: HostId, before: int, now: float, date: float) -> float:
        """When there is room in line for a URL that has so many before it, and was due at `date`."""
        between = self._intervals.get(host_id, (0.0, 0.0))[1]
        if between:
            return now + max(_SOON, _SURE * before * between)
        # How slow the host is will be known after two visits. Until then what is put off must not come up all the time.
        late = min(now - max(date, self._start), _MAX_LATENESS)
        return now + max(_SOON, _SURE * before * _LEAST_BETWEEN, _PATIENCE * late)
