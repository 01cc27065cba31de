"""The observer protocol of a crawl: which objects are notified of hosts, visits and commits, and in which order.

A host is loaded, its visits start and are settled, their batch is handed over and committed, and at last the host is
retired. The engine, `visit.settle`, the store's writer, the resolver, the cache and the politeness audit publish events
through `Observers`; nothing else is wired by hand.
"""

from collections.abc import Callable, Sequence

from gossamer.clock import Clock
from gossamer.errors import StoreFailed
from gossamer.frontier.selector import Load
from gossamer.model.batch import Batch, Committed, RobotsRecord
from gossamer.model.cache_fault import CacheFault
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.task import HostRecord, Visit
from gossamer.model.units import HostId, Instant
from gossamer.observe.audit import Violation
from gossamer.observe.snapshot import ReadmissionCounts


class CrawlObserver:
    """Ignores every event; an observer overrides what concerns it. Methods are called on the event loop and must not
    wait."""

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        """A host has got a back queue; this is what the store has of it."""

    def visit_started(self, visit: Visit) -> None:
        """A visit holds a slot from now on."""

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        """The outcome of a visit is in the open batch. `document` is None where none was processed; `requested` says
        whether the URL itself was requested."""

    def before_commit(self, batch: Batch, now: Instant) -> None:
        """The open batch is about to be handed to the store; this is the last chance to add to it."""

    def committed(self, committed: Committed) -> None:
        """The batch of the last `before_commit` is committed."""

    def host_retired(self, host_id: HostId) -> None:
        """The host has given up its back queue, and that is committed. Called before `committed`."""

    def store_failing(self, error: StoreFailed | None) -> None:
        """A commit failed and is tried again; None: one has succeeded since."""

    def store_slow(self, slow: bool) -> None:
        """The commit under way takes very long, or has ended after that."""

    def dns_failing(self, failing: bool) -> None:
        """No name server answers any more, or one does again."""

    def cache_failing(self, fault: CacheFault | None, reason: str) -> None:
        """The cache fails for this reason and is not used any more; None: it is used again."""

    def cache_emptied(self) -> None:
        """The cache has lost everything, or is another one."""

    def load_changed(self, load: Load, reason: str) -> None:
        """The selector has another load; the reason is in words."""

    def politeness_violated(self, violation: Violation) -> None:
        """The audit has found a request that started too early."""

    def readmission_changed(self, counts: ReadmissionCounts | None) -> None:
        """Rules have become wider and the pages to be read again are counted, or all of them have been read."""


class Observers:
    """Publishes to observers in the order in which they subscribed. Methods that an observer inherits from
    `CrawlObserver` are not called: two of the events happen with every visit."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._host_loaded: list[Callable[[HostRecord, Sequence[RobotsRecord]], None]] = []
        self._visit_started: list[Callable[[Visit], None]] = []
        self._settled: list[Callable[[Visit, Settlement, ProcessedDocument | None, bool], None]] = []
        self._before_commit: list[Callable[[Batch, Instant], None]] = []
        self._committed: list[Callable[[Committed], None]] = []
        self._host_retired: list[Callable[[HostId], None]] = []
        self._all: list[CrawlObserver] = []  # for events that are rare

    def subscribe(self, *observers: CrawlObserver) -> None:
        self._all += observers
        for observer in observers:
            if _overrides(observer, "host_loaded"):
                self._host_loaded.append(observer.host_loaded)
            if _overrides(observer, "visit_started"):
                self._visit_started.append(observer.visit_started)
            if _overrides(observer, "settled"):
                self._settled.append(observer.settled)
            if _overrides(observer, "before_commit"):
                self._before_commit.append(observer.before_commit)
            if _overrides(observer, "committed"):
                self._committed.append(observer.committed)
            if _overrides(observer, "host_retired"):
                self._host_retired.append(observer.host_retired)

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        for observe in self._host_loaded:
            observe(record, robots)

    def visit_started(self, visit: Visit) -> None:
        for observe in self._visit_started:
            observe(visit)

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        for observe in self._settled:
            observe(visit, settlement, document, requested)

    def before_commit(self, batch: Batch) -> None:
        now = self._clock.now()
        for observe in self._before_commit:
            observe(batch, now)

    def committed(self, committed: Committed) -> None:
        """Publish the hosts that were retired, then the commit itself."""
        for host_id in committed.retired:
            for retire in self._host_retired:
                retire(host_id)
        for observe in self._committed:
            observe(committed)

    def store_failing(self, error: StoreFailed | None) -> None:
        for observer in self._all:
            observer.store_failing(error)

    def store_slow(self, slow: bool) -> None:
        for observer in self._all:
            observer.store_slow(slow)

    def dns_failing(self, failing: bool) -> None:
        for observer in self._all:
            observer.dns_failing(failing)

    def cache_failing(self, fault: CacheFault | None, reason: str) -> None:
        for observer in self._all:
            observer.cache_failing(fault, reason)

    def cache_emptied(self) -> None:
        for observer in self._all:
            observer.cache_emptied()

    def load_changed(self, load: Load, reason: str) -> None:
        for observer in self._all:
            observer.load_changed(load, reason)

    def politeness_violated(self, violation: Violation) -> None:
        for observer in self._all:
            observer.politeness_violated(violation)

    def readmission_changed(self, counts: ReadmissionCounts | None) -> None:
        for observer in self._all:
            observer.readmission_changed(counts)


def _overrides(observer: CrawlObserver, event: str) -> bool:
    return getattr(type(observer), event) is not getattr(CrawlObserver, event)
