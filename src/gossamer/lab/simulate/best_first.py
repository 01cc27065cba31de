"""The exact queue of a best-first ordering, whose scores change. Hot: benchmarks/bench_orderings.py.

A page's score is its own part plus a term that it shares with all pages of its site. Each site has a heap by the own
part; another heap has each site's best page with the term added. A changed term moves one entry, not thousands.
"""

from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush

from gossamer.frontier.lazy_heap import LazyHeap

_ENTRY_BITS = 40
_ENTRY = (1 << _ENTRY_BITS) - 1
_LAST = 1 << _ENTRY_BITS  # after every place whose score is not negative


def place_of(score: int, entry: int) -> int:
    return entry - (score << _ENTRY_BITS)


def entry_of(place: int) -> int:
    return place & _ENTRY


class BestFirst:
    """Waiting pages, best first; among equals the oldest entry. Every change is O(log n).

    Invariant: a waiting page has exactly one valid place in the heap of its site: the one in `_place`.
    """

    def __init__(self, site_of: Sequence[int], term: Callable[[int], int] | None = None) -> None:
        """`term` gives the shared part of a site's scores. It may fall without notice; a rise must be reported
        (`raise_site`)."""
        self._site_of = site_of
        self._term = term
        self._entries = 0
        self._place: dict[int, int] = {}  # by page
        self._page_at: dict[int, int] = {}  # by entry
        self._heaps: dict[int, list[int]] = {}  # by site
        self._sites = LazyHeap(self._offer)
        self._resting: set[int] = set()

    def __contains__(self, page: int) -> bool:
        return page in self._place

    def __len__(self) -> int:
        return len(self._place)

    def add(self, page: int, score: int = 0, entry: int | None = None) -> None:
        """Add a page. `entry` is its age if several queues share one counter; small is old."""
        if entry is None:
            entry = self._entries
            self._entries += 1
        self._place[page] = place = place_of(score, entry)
        self._page_at[entry] = page
        site = self._site_of[page]
        heappush(self._heaps.setdefault(site, []), place)
        self._promise(site, place)

    def lift(self, pages: Iterable[int], amount: int) -> None:
        """Raise the own part of all `pages` that wait; others are ignored. `amount` is not negative."""
        if not amount:
            return
        step = place_of(amount, 0)
        places, site_of, heaps = self._place, self._site_of, self._heaps
        best: dict[int, int] = {}
        for page in pages:
            place = places.get(page)
            if place is not None:
                places[page] = place = place + step
                site = site_of[page]
                heappush(heaps[site], place)
                if place < best.get(site, _LAST):
                    best[site] = place
        for site, place in best.items():
            self._promise(site, place)

    def change(self, page: int, score: int) -> None:
        """Set the own part of a waiting page, higher or lower than before. Its age stays."""
        old = self._place[page]
        place = place_of(score, entry_of(old))
        if place == old:
            return
        self._place[page] = place
        site = self._site_of[page]
        heappush(self._heaps[site], place)
        # A fall is corrected at the top of the heap.
        if place < old:
            self._promise(site, place)

    def raise_site(self, site: int) -> None:
        """The term of the site has risen."""
        place = self._best_of(site)
        if place is not None:
            self._promise(site, place)

    def first(self) -> int | None:
        """The place of the page that `take` would return."""
        found = self._sites.first()
        return None if found is None else found[0]

    def take(self) -> int | None:
        """Remove and return the best page of all sites that do not rest; None if there is none."""
        found = self._sites.first()
        return None if found is None else self.take_at(found[1])

    def take_at(self, site: int) -> int | None:
        """Remove and return the best page of one site; None if it rests or has none."""
        place = None if site in self._resting else self._best_of(site)
        if place is None:
            return None
        page = self._page_at[entry_of(place)]
        # The entry of the site stays: its next page has a lower score, which is corrected at the top of the heap.
        self.remove(page)
        return page

    def remove(self, page: int) -> None:
        """Remove a page. Its places in the heaps become invalid."""
        del self._page_at[entry_of(self._place.pop(page))]

    def rest(self, site: int) -> None:
        """Take no page of the site until `wake`."""
        self._resting.add(site)
        self._sites.withdraw(site)

    def wake(self, site: int) -> None:
        self._resting.discard(site)
        self.raise_site(site)

    def _promise(self, site: int, place: int) -> None:
        if site not in self._resting:
            self._sites.raise_to(site, self._with_term(site, place))

    def _offer(self, site: int) -> int | None:
        place = self._best_of(site)
        return None if place is None else self._with_term(site, place)

    def _with_term(self, site: int, place: int) -> int:
        return place if self._term is None else place + place_of(self._term(site), 0)

    def _best_of(self, site: int) -> int | None:
        """The place of the site's best page; drops invalid places before it."""
        heap = self._heaps.get(site)
        if heap is None:
            return None
        while heap:
            place = heap[0]
            page = self._page_at.get(entry_of(place))
            if page is not None and self._place[page] == place:
                return place
            heappop(heap)
        del self._heaps[site]
        return None
