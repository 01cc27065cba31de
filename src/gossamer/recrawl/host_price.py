"""The price of a visit to a host that allows fewer visits than its pages ask for.

Nobody tells how many visits a host allows: its delay, its answers, the hosts that share its address and the new pages
that it has as well decide it together. What can be seen is how long a due visit had to wait for its turn there. A page
that was to be visited after g days and got its turn after g + late has had its gap stretched by (g + late) / g, and the
mean of that over the visits of a host is what its pages ask for, as a multiple of what it allows. So the price of a
host whose visits come late is moved by the logarithm of the stretch, as `price` moves that of the crawl by what is
asked for and what may be spent; if they come in time it falls, until it is that of the crawl and is forgotten.

Both the crawl and `simulate` use this. Times are in days.
"""

from collections.abc import Collection
from math import exp, log1p
from typing import Final

from gossamer.recrawl.price import MAX_PRICE

MOST: Final = 10_000
"""Hosts that have a price of their own: if there are more, those that have had one the longest lose it."""

LATE: Final = 0.02  # of its gap: a visit that had to wait no longer is in time
_LAG = 0.5  # of its pages: a host's price needs so many visits to correct what it sees
_FALL = 0.3  # what a visit in time counts as: the logarithm of how much less is asked for than is allowed, at a guess
_STRETCH = 0.7  # the logarithm of the longest stretch that counts: pages of short gaps would be all that matters
_FEW = 50  # pages: with fewer, a price would jump


class HostPrices:
    """The prices of hosts, by number, where they are not that of the crawl. Does no IO and reads no clock.

    Always true: `of` is never below the usual price, and no more than `most` hosts are kept. Another thread may ask.
    """

    __slots__ = ("_most", "_own", "hosts")

    def __init__(self, most: int = MOST) -> None:
        """`most` is at least one."""
        self._own: dict[int, float] = {}
        self.hosts: Collection[int] = self._own.keys()  # those that have one: asked at every visit
        self._most = most

    def __len__(self) -> int:
        return len(self._own)

    def __contains__(self, host: object) -> bool:
        return host in self._own

    def of(self, host: int, usual: float) -> float:
        """The price of a visit to this host; `usual` is that of the crawl."""
        own = self._own.get(host)
        return usual if own is None or own < usual else own

    def remember(self, host: int, price: float) -> None:
        """A host had this price before a restart. What is known already stays."""
        if price > 0 and host not in self._own:
            self._keep(host, price)

    def visited(self, host: int, *, gap: float, late: float, usual: float, pages: int) -> float:
        """A page that was to be visited after `gap` days was, and has had to wait for its turn on this host for another
        `late` days. The price of the host from now on. `pages`: as many of the host were visited twice or more."""
        own = self._own.get(host)
        in_time = late <= LATE * gap
        if own is None:
            if in_time:
                return usual
            own = usual
        seen = -_FALL
        if not in_time:
            seen = min(log1p(late / gap), _STRETCH) if gap > 0 else _STRETCH
        price = min(max(own, usual) * exp(seen / (_LAG * max(pages, _FEW))), MAX_PRICE)
        if price < usual:
            self._own.pop(host, None)
            return usual
        self._keep(host, price)
        return price

    def _keep(self, host: int, price: float) -> None:
        if host not in self._own and len(self._own) >= self._most:
            del self._own[next(iter(self._own))]
        self._own[host] = price
