"""Counting: every figure once, for this run and, with its transaction, for the crawl."""

from collections import Counter
from collections.abc import Mapping

from gossamer.crawl.observers import NullObserver
from gossamer.model.batch import Batch, Committed
from gossamer.model.states import UrlState


class Counters(NullObserver):
    """Totals of the crawl as far as they will be committed. Owned by the event loop."""

    def __init__(self, committed: Mapping[str, int]) -> None:
        self.total: Counter[str] = Counter(committed)
        self.run: Counter[str] = Counter()

    def count(self, batch: Batch, name: str, n: int = 1) -> None:
        """Count something that is committed with `batch`."""
        batch.counters[name] += n
        self.total[name] += n
        self.run[name] += n

    def move(self, old: UrlState, new: UrlState, n: int = 1) -> None:
        """URLs change state; the store counts this itself."""
        before, after = old.counter, new.counter
        for counts in (self.total, self.run):
            counts[before] -= n
            counts[after] += n

    def committed(self, committed: Committed) -> None:
        """Count what the store has counted itself: new URLs and hosts, and the bulk changes of an operator."""
        for counts in (self.total, self.run):
            counts["discovered"] += committed.new_urls
            counts["state:queued"] += committed.new_urls
            counts["hosts"] += committed.new_hosts
            counts.update(committed.bulk_counts)

    def by_reason(self, kind: str) -> dict[str, int]:
        """`kind:reason` counters as reason -> count, the largest first."""
        found = {name[len(kind) + 1 :]: n for name, n in self.total.items() if name.startswith(kind + ":") and n}
        return dict(sorted(found.items(), key=lambda item: -item[1]))
