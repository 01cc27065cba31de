"""`importance`: online page importance, as damped credit that flows along links, and a term for new sites."""

from collections import defaultdict
from collections.abc import Sequence

from gossamer.simulate.policies.ports import Setting
from gossamer.simulate.policies.queued import Queued

UNIT = 10**9
"""One credit. Whole numbers, so that the order is the same on every machine."""

BIRTH = UNIT * 15 // 100
"""A page is born with 1 - 0.85: without it, pages deep in a site would count for nothing."""

BETA = UNIT
"""The site term of a site never visited."""


class Importance(Queued):
    """score = credit of the page + 1 / (1 + pages of its site fetched so far).

    A page that is fetched hands 0.85 of its credit to its links in equal parts. What falls on fetched pages is lost.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting, self._term)
        self._fetched: defaultdict[int, int] = defaultdict(int)  # by site
        self._credit: dict[int, int] = {}  # of the pages taken and not yet fetched

    def found(self, page: int, source: int | None) -> None:
        self._queue.add(page, BIRTH)

    def fetched(self, page: int, links: Sequence[int]) -> None:
        self._fetched[self._site_of[page]] += 1
        credit = self._credit.pop(page)
        if links:
            self._queue.lift(links, credit * 85 // (100 * len(links)))

    def best(self) -> int | None:
        page = self._queue.take()
        if page is not None:
            self._credit[page] = self._queue.taken_score
        return page

    def _term(self, site: int) -> int:
        return BETA // (1 + self._fetched.get(site, 0))
