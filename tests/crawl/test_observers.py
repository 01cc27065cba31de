"""Which events of a crawl its observers receive, and in which order."""

from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.model.batch import Batch, Committed
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.task import Visit
from gossamer.model.units import HostId, Instant
from tests.crawl.scripted_crawl import HOME, ScriptedCrawl, crawled, html
from tests.crawl.scripted_fetcher import response


class Recorder(CrawlObserver):
    """Records the events of visits and commits."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.requested: list[bool] = []

    def visit_started(self, visit: Visit) -> None:
        self.events.append("visit_started")

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        self.events.append("settled")
        self.requested.append(requested)

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self.events.append("before_commit")

    def committed(self, committed: Committed) -> None:
        self.events.append("committed")

    def host_retired(self, host_id: HostId) -> None:
        self.events.append("host_retired")


def test_a_retired_host_is_published_before_its_commit() -> None:
    observers, recorder = Observers(VirtualClock()), Recorder()
    observers.subscribe(recorder)

    observers.committed(Committed(1, [], [], [HostId(1)], [], [], 0, 0, 0, 0.0))

    assert recorder.events == ["host_retired", "committed"]


def test_observers_are_called_in_the_order_in_which_they_subscribed() -> None:
    observers, order = Observers(VirtualClock()), []

    class Named(CrawlObserver):
        def __init__(self, name: str) -> None:
            self.name = name

        def before_commit(self, batch: Batch, now: Instant) -> None:
            order.append(self.name)

    observers.subscribe(Named("a"), Named("b"))
    observers.subscribe(Named("c"))

    observers.before_commit(Batch())

    assert order == ["a", "b", "c"]


def observed(directory: Path, robots: bytes) -> Recorder:
    """The events of a crawl of one page whose host has this robots.txt."""
    recorder = Recorder()

    def subscribe(crawl: ScriptedCrawl) -> None:
        crawl.crawl.engine.observers.subscribe(recorder)

    crawled(directory, {HOME: html(), f"{HOME}robots.txt": response(200, robots)}, subscribe)
    return recorder


def test_a_page_is_settled_as_requested_between_its_start_and_its_commit(tmp_path: Path) -> None:
    recorder = observed(tmp_path, b"")

    assert recorder.requested == [True]
    settled = recorder.events.index("settled")
    assert recorder.events[:settled].count("visit_started") == 2  # robots.txt took the first
    assert recorder.events[settled + 1 : settled + 3] == ["before_commit", "committed"]
    assert recorder.events.count("host_retired") <= 1


def test_a_url_that_robots_txt_excludes_is_settled_without_a_request(tmp_path: Path) -> None:
    recorder = observed(tmp_path, b"User-agent: *\nDisallow: /")

    assert recorder.requested == [False]
