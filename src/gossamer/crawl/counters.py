"""The counters of a crawl, and the state that the parts of a visit share."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.crawl.observers import CrawlObserver
from gossamer.frontier.frontier import Frontier
from gossamer.model.batch import Batch, Committed
from gossamer.model.states import UrlState
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
            counts.update(committed.bulk_counts)

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
