"""Orders that one best-first queue carries out: what they share, and those which need nothing else."""

from collections.abc import Callable, Sequence

from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.ports import Setting

_RANK_UNITS = 10**15


class Queued:
    """A policy with one queue. By itself: the oldest entry first, whatever is learnt."""

    def __init__(self, setting: Setting, term: Callable[[int], int] | None = None) -> None:
        self._site_of = setting.site_of
        self._queue = BestFirst(setting.site_of, term)

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


class BreadthFirst(Queued):
    """`bfs`: first in, first out; every score is the same (document 000)."""


class DepthFirst(Queued):
    """`dfs`: the newest page of the host contacted last; when it has none, the newest of all, and its host next."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._met = 0
        self._host: int | None = None

    def found(self, page: int, source: int | None) -> None:
        self._met += 1
        self._queue.add(page, self._met)

    def best(self) -> int | None:
        page = None if self._host is None else self._queue.take_at(self._host)
        if page is None:
            page = self._queue.take()
        if page is not None:
            self._host = self._site_of[page]
        return page


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
