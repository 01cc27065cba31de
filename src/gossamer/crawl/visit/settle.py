"""Settling a visit: the one place where an outcome enters the open batch, and the counters that it moves. Hot:
benchmarks/bench_crawl.py.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.frontier.frontier import Frontier
from gossamer.model.batch import Batch, Committed
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Visit
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.store.threads import WriterThread


class Counters(CrawlObserver):
    """Every counter of the crawl (`total`) and of this process (`run`), including what is in the open batch. Owned by
    the event loop."""

    def __init__(self, committed: Mapping[str, int]) -> None:
        self.total: Counter[str] = Counter(committed)
        self.run: Counter[str] = Counter()

    def count(self, batch: Batch, name: str, n: int = 1) -> None:
        """Add to a counter that is committed with `batch`."""
        batch.counters[name] += n
        self.total[name] += n
        self.run[name] += n

    def move(self, old: UrlState, new: UrlState, n: int = 1) -> None:
        """URLs change state. The store counts this itself when it commits."""
        before, after = old.counter, new.counter
        for counts in (self.total, self.run):
            counts[before] -= n
            counts[after] += n

    def committed(self, committed: Committed) -> None:
        """Add what the store has counted itself: new URLs and hosts, and the bulk changes of an operator."""
        for counts in (self.total, self.run):
            counts["discovered"] += committed.new_urls
            counts["state:queued"] += committed.new_urls
            counts["hosts"] += committed.new_hosts
            if committed.bulk_counts:
                counts.update(committed.bulk_counts)

    def rebase(self, others: Mapping[str, int]) -> None:
        """What other workers of the crawl have counted, now and before; this one's own counts are added."""
        self.total = Counter(others)
        self.total.update(self.run)

    def by_reason(self, kind: str) -> dict[str, int]:
        """The counters `kind:reason` as reason -> count, the largest first."""
        found = {name[len(kind) + 1 :]: n for name, n in self.total.items() if name.startswith(kind + ":") and n}
        return dict(sorted(found.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, slots=True)
class CrawlState:
    """What a visit changes: the frontier, the open batch of the store, and the counters; and the time."""

    frontier: Frontier
    store: WriterThread
    counters: Counters
    clock: Clock


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
