"""Counting: every figure once, for this run and, with its transaction, for the crawl."""

from collections import Counter
from collections.abc import Mapping

from gossamer.model.batch import Batch
from gossamer.model.states import UrlState


class Counters:
    """Totals of the crawl as far as they will be committed. Owned by the event loop."""

    def __init__(self, committed: Mapping[str, int]) -> None:
        self.total: Counter[str] = Counter(committed)
        self.run: Counter[str] = Counter()

    def count(self, batch: Batch, name: str, n: int = 1) -> None:
        """Count something that is committed with `batch`."""
        batch.counters[name] += n
        self.total[name] += n
        self.run[name] += n

    def moved(self, old: UrlState, new: UrlState, n: int = 1) -> None:
        """URLs change state; the store counts this itself."""
        before, after = old.counter, new.counter
        for counts in (self.total, self.run):
            counts[before] -= n
            counts[after] += n

    def ordered(self, counts: Mapping[str, int]) -> None:
        """Orders of an operator were committed, and this was added to the counters."""
        self.total.update(counts)
        self.run.update(counts)

    def queued_again(self, was: UrlState, urls: int) -> None:
        """URLs were queued again and that is committed; the store counts this itself."""
        for counts in (self.total, self.run):
            counts[was.counter] -= urls
            counts[UrlState.QUEUED.counter] += urls

    def discovered(self, urls: int, hosts: int) -> None:
        """New URLs and hosts were committed; the store counts this itself."""
        for counts in (self.total, self.run):
            counts["discovered"] += urls
            counts["state:queued"] += urls
            counts["hosts"] += hosts

    def by_reason(self, kind: str) -> dict[str, int]:
        """`kind:reason` counters as reason -> count, the largest first."""
        found = {name[len(kind) + 1 :]: n for name, n in self.total.items() if name.startswith(kind + ":") and n}
        return dict(sorted(found.items(), key=lambda item: -item[1]))
