"""`push`: as `importance`, but credit that falls on a fetched page goes on along its links. Needs all links kept."""

from collections import deque
from collections.abc import Sequence

from gossamer.model.facts import BIRTH_CREDIT, CREDIT_UNIT, credit_handed_on
from gossamer.simulate.best_first import BestFirst
from gossamer.simulate.policies.ports import Setting
from gossamer.simulate.policies.queued import Queued

ENOUGH = CREDIT_UNIT * 3 // 10
"""A fetched page hands its credit on when it has more than this. Less is more exact, and costs more."""


class Push(Queued):
    """score = credit of the page + 1 / (1 + pages of its site fetched so far).

    The credit of a waiting page is its PageRank on the known graph, where pages without links absorb it, short of at
    most what fetched pages have and have not handed on yet. Every hand-on uses credit up, so it ends.
    """

    def __init__(self, setting: Setting, enough: int = ENOUGH) -> None:
        self._enough = enough
        self._site_of = setting.site_of
        self._visits = [0] * len(setting.suffix_of)
        self._queue = BestFirst(setting.site_of, self._term)
        self._links: dict[int, Sequence[int]] = {}  # of fetched pages
        self.credit = [BIRTH_CREDIT] * len(setting.site_of)  # by page
        self.handed_on = 0  # links along which credit has gone: what the policy costs

    def found(self, page: int, source: int | None) -> None:
        self._queue.add(page, self.credit[page])

    def fetched(self, page: int, links: Sequence[int]) -> None:
        self._visits[self._site_of[page]] += 1
        self._links[page] = links
        credit, enough = self.credit, self._enough
        waiting = deque([page] if links else [])
        raised: dict[int, None] = {}
        while waiting:
            giver = waiting.popleft()
            targets = self._links[giver]
            share = credit_handed_on(credit[giver], len(targets))
            credit[giver] = 0
            self.handed_on += len(targets)
            for target in targets:
                before = credit[target]
                credit[target] = before + share
                if target in self._queue:
                    raised[target] = None
                elif before <= enough < before + share and self._links[target]:
                    waiting.append(target)
        for target in raised:
            self._queue.change(target, credit[target])

    def _term(self, site: int) -> int:
        return CREDIT_UNIT // (1 + self._visits[site])
