"""Settling a visit: the one place where an outcome enters the open batch. Hot: benchmarks/bench_crawl.py."""

from gossamer.crawl.counters import CrawlState
from gossamer.crawl.observers import Observers
from gossamer.model.document import ProcessedDocument
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Visit
from gossamer.recrawl.planner import RecrawlPlanner

_QUEUED, _EXCLUDED = UrlState.QUEUED, UrlState.EXCLUDED  # looking up a member costs as much as a call


class Settler:
    """Settles visits, with a document or without. Owned by the event loop."""

    def __init__(self, state: CrawlState, planner: RecrawlPlanner, observers: Observers) -> None:
        self._store = state.store
        self._counters = state.counters
        self._planner = planner
        self._observers = observers

    def settle(
        self,
        visit: Visit,
        settlement: Settlement,
        document: ProcessedDocument | None = None,
        *,
        requested: bool = False,
        counted: bool = False,
    ) -> None:
        """Plan the next visit, add the settlement to the open batch, tell the observers and count, in this order.

        The plan of a `document` is part of its settlement already. `requested`: the URL itself was requested, as it is
        for every document. `counted`: the caller has counted the reason.
        """
        batch, counters = self._store.batch, self._counters
        if document is None:
            settlement = self._planner.plan_settlement(visit, settlement)
        batch.settle(settlement)
        self._observers.settled(visit, settlement, document, requested or document is not None)
        if document is not None:
            batch.add_links(document.candidates, document.links)
            for name, n in document.counters():
                counters.count(batch, name, n)
        elif settlement.reason is not None and not counted:
            kind = "excluded:" if settlement.state is _EXCLUDED else "error:"
            counters.count(batch, kind + settlement.reason)
        counters.move(_QUEUED, settlement.state)
        self._store.nudge()
