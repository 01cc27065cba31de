"""Whoever listens hears what is committed, once; and what is kept for that is bounded."""

from gossamer.crawl.events import Outcome, OutcomeEvents
from gossamer.model.batch import Batch
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url


class Ear:
    saturation = 0.0
    fill = QueueDepth(3, 10)

    def __init__(self) -> None:
        self.heard: list[str] = []

    def publish(self, outcome: Outcome) -> None:
        self.heard.append(outcome.url)


def visit(number: int) -> Visit:
    url = Url(f"http://h{number}.test/")
    task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
    return Visit(HostId(number), HostKey(f"h{number}.test"), 1, task, None, 0.0)


def settle(events: OutcomeEvents, *numbers: int, retired: tuple[int, ...] = ()) -> None:
    batch = Batch()
    for number in numbers:
        batch.settle(Settlement(HostId(number), number, 0, UrlState.DEAD, Instant(0.0)))
    events.handed_over(batch)
    events.committed([HostId(number) for number in retired])


def listening() -> tuple[OutcomeEvents, Ear]:
    events, ear = OutcomeEvents(), Ear()
    events.subscribe(ear)
    return events, ear


def test_an_outcome_is_told_when_it_is_committed_and_once() -> None:
    events, ear = listening()
    events.visit_begins(visit(1))
    assert ear.heard == []

    settle(events, 1)
    settle(events, 1)

    assert ear.heard == ["http://h1.test/"]


def test_a_visit_that_went_back_into_its_queue_is_told_when_it_is_made_again() -> None:
    events, ear = listening()
    events.visit_begins(visit(1))
    settle(events)
    events.visit_begins(visit(1))

    settle(events, 1)

    assert ear.heard == ["http://h1.test/"]


def test_nothing_is_kept_of_hosts_that_have_left_memory() -> None:
    events, ear = listening()
    for number in range(1000):
        events.visit_begins(visit(number))
        settle(events, retired=(number,))

    assert len(events._under_way) == 0
    settle(events, 5)
    assert ear.heard == []


def test_what_is_settled_with_the_retreat_of_its_host_is_told_all_the_same() -> None:
    events, ear = listening()
    events.visit_begins(visit(1))

    settle(events, 1, retired=(1,))

    assert ear.heard == ["http://h1.test/"]


def test_an_audience_is_as_full_as_its_fullest_listener() -> None:
    events, _ = listening()

    assert events.fill == QueueDepth(3, 10)
    assert OutcomeEvents().fill == QueueDepth(0)
