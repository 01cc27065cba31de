"""Orders to compare with, which no crawl has: one best-first queue carries them out."""

from collections.abc import Sequence

from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.ports import Setting

_RANK_UNITS = 10**15


class Queued:
    """A policy with one queue. By itself: the oldest entry first, whatever is learnt."""

    def __init__(self, setting: Setting) -> None:
        self._queue = BestFirst(setting.site_of)

    def found(self, page: int, source: int | None) -> None:
        self._queue.add(page)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        pass

    def best(self) -> int | None:
        return self._queue.take()

    def rest(self, site: int) -> None:
        self._queue.rest(site)

    def wake(self, site: int) -> None:
        self._queue.wake(site)


class Backlink(Queued):
    """`backlink`: most links from fetched pages first."""

    def fetched(self, page: int, links: Sequence[int]) -> None:
        self._queue.lift(links, 1)


class Omniscient(Queued):
    """`omniscient`: of the known pages the one of highest true PageRank. No crawler can; it shows what order can do."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._ranks = setting.ranks

    def found(self, page: int, source: int | None) -> None:
        self._queue.add(page, int(self._ranks[page] * _RANK_UNITS))
