"""`mercator`: three classes of priority, served 60 to 30 to 10, and the oldest first within a class."""

from collections.abc import Sequence

from gossamer.frontier.priority import Mercator as Prioritiser
from gossamer.frontier.selector import Selector, SelectorRatios
from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.ports import Setting

OTHER_SITE = 10
"""A link from another site counts as so many: it was not made by the page's own menu."""

_HALF = 10  # so many links are worth half of what links can be worth at all


class Mercator:
    """The crawl's own front queues, with its prioritiser where pages have URLs.

    Where they have none, the score is 0.7 * x / (x + 10) + 0.3 / (1 + depth), with x the links seen so far, those
    from other sites ten times: what URLs say about pages is replaced by what links say. Classes have the crawl's own
    bounds. A page whose links lift it into a higher class takes its age along.
    """

    def __init__(self, setting: Setting) -> None:
        self._site_of = setting.site_of
        self._urls = setting.urls
        self._prioritiser = Prioritiser()
        self._selector = Selector(SelectorRatios())
        self._fronts = [BestFirst(setting.site_of) for _ in range(self._prioritiser.fronts)]
        self._entries = 0
        self._depth: dict[int, int] = {}
        self._links: dict[int, int] = {}
        self._entry: dict[int, int] = {}
        self._front: dict[int, int] = {}

    def found(self, page: int, source: int | None) -> None:
        self._depth[page] = 0 if source is None else self._depth[source] + 1
        self._links[page] = 0
        self._entry[page] = self._entries
        self._entries += 1
        self._enter(page, self._class_of(page))

    def fetched(self, page: int, links: Sequence[int]) -> None:
        if self._urls is not None:
            return
        own = self._site_of[page]
        for link in links:
            front = self._front.get(link)
            if front is not None:
                self._links[link] += 1 if self._site_of[link] == own else OTHER_SITE
                if front and (higher := self._class_of(link)) < front:
                    self._fronts[front].remove(link)
                    self._enter(link, higher)

    def best(self) -> int | None:
        waiting = [number for number, front in enumerate(self._fronts) if front.first() is not None]
        if not waiting:
            return None
        page = self._fronts[self._selector.draw(waiting)].take()
        assert page is not None  # it was waiting
        for known in (self._front, self._entry, self._links):
            del known[page]
        return page

    def rest(self, site: int) -> None:
        for front in self._fronts:
            front.rest(site)

    def wake(self, site: int) -> None:
        for front in self._fronts:
            front.wake(site)

    def _enter(self, page: int, front: int) -> None:
        self._front[page] = front
        self._fronts[front].add(page, entry=self._entry[page])

    def _class_of(self, page: int) -> int:
        return self._prioritiser.front_of(self._score(page))

    def _score(self, page: int) -> float:
        depth = self._depth[page]
        if self._urls is not None:
            return self._prioritiser.score(self._urls[page], depth)
        links = self._links[page]
        return round(0.7 * links / (links + _HALF) + 0.3 / (1 + depth), 4)
