"""Hot: an ordering of the crawl by classes, served by the crawl's own selector (benchmarks/bench_orderings.py)."""

from collections.abc import Sequence

from gossamer.errors import UsageError
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.knowledge import Knowledge
from gossamer.simulate.policies.ports import Setting


class ByClass:
    """First in, first out in each class.

    As in a crawl, a page enters where the link that it was found by puts it. It is looked at again when its links
    reach 4, 16, 64, 256 and 1024, or those from other sites 1, 2, 4 and so on; if they lift it into a better class it
    goes to the end of that queue. None is moved to a worse one.
    """

    def __init__(self, ordering: Ordering, setting: Setting) -> None:
        self._ordering = ordering
        self._knowledge = Knowledge(setting)
        self._selector = Selector(_ratios(ordering.fronts))
        self._fronts = [BestFirst(setting.site_of) for _ in range(ordering.fronts)]
        self._front: dict[int, int] = {}  # by page that waits
        self._new: list[int] = []  # found on the page whose links are not counted yet
        self._turn = 0  # grows with every entry into any queue

    def found(self, page: int, source: int | None) -> None:
        self._knowledge.found(page, source)
        if source is not None and self._ordering.moved_by_links:
            self._new.append(page)
        else:
            self._enter(page, self._class_of(page))

    def fetched(self, page: int, links: Sequence[int]) -> None:
        known = self._knowledge
        known.fetched(page, links)
        if not self._ordering.moved_by_links:
            return
        # Those that are known already are older than those that are new.
        for link in sorted((link for link in links if self._front.get(link)), key=known.entry_of):
            if known.has_grown(link, page) and (better := self._class_of(link)) < self._front[link]:
                self._fronts[self._front[link]].remove(link)
                self._enter(link, better)
        for link in self._new:
            self._enter(link, self._class_of(link))
        self._new.clear()

    def best(self) -> int | None:
        waiting = [number for number, front in enumerate(self._fronts) if front.first() is not None]
        if not waiting:
            return None
        page = self._fronts[self._selector.draw(waiting)].take()
        assert page is not None  # it was waiting
        del self._front[page]
        return page

    def rest(self, site: int) -> None:
        for front in self._fronts:
            front.rest(site)

    def wake(self, site: int) -> None:
        for front in self._fronts:
            front.wake(site)

    def _enter(self, page: int, front: int) -> None:
        self._front[page] = front
        self._turn += 1
        self._fronts[front].add(page, entry=self._turn)

    def _class_of(self, page: int) -> int:
        front = self._ordering.front_of(self._ordering.score(self._knowledge.facts_of(page)))
        if not 0 <= front < len(self._fronts):
            classes = f"it has {len(self._fronts)} classes"
            raise UsageError(f"the ordering {self._ordering.name!r} put a URL into class {front}, but {classes}")
        return front


def _ratios(fronts: int) -> SelectorRatios:
    """The crawl's default shares; each class beyond them gets half of the share of the one before."""
    usual = SelectorRatios()
    normal, high = list(usual.normal), list(usual.high)
    while len(normal) < fronts:
        normal.append(normal[-1] / 2)
        high.append(high[-1] / 2)
    return SelectorRatios(tuple(normal), tuple(high))
