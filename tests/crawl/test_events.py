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

    def tell(self, outcome: Outcome) -> None:
        self.heard.append(outcome.url)


def visit(number: int) -> Visit:
    url = Url(f"http://h{number}.test/")
    task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
    return Visit(HostId(number), HostKey(f"h{number}.test"), 1, task, None, 0.0)


def settle(audience: OutcomeEvents, *numbers: int, retired: tuple[int, ...] = ()) -> None:
    batch = Batch()
    for number in numbers:
        batch.settle(Settlement(HostId(number), number, 0, UrlState.DEAD, Instant(0.0)))
    audience.handed_over(batch)
    audience.committed([HostId(number) for number in retired])


def listening() -> tuple[OutcomeEvents, Ear]:
    audience, ear = OutcomeEvents(), Ear()
    audience.join(ear)
    return audience, ear


def test_an_outcome_is_told_when_it_is_committed_and_once() -> None:
    audience, ear = listening()
    audience.visit_begins(visit(1))
    assert ear.heard == []

    settle(audience, 1)
    settle(audience, 1)

    assert ear.heard == ["http://h1.test/"]


def test_a_visit_that_went_back_into_its_queue_is_told_when_it_is_made_again() -> None:
    audience, ear = listening()
    audience.visit_begins(visit(1))
    settle(audience)
    audience.visit_begins(visit(1))

    settle(audience, 1)

    assert ear.heard == ["http://h1.test/"]


def test_nothing_is_kept_of_hosts_that_have_left_memory() -> None:
    audience, ear = listening()
    for number in range(1000):
        audience.visit_begins(visit(number))
        settle(audience, retired=(number,))

    assert len(audience._under_way) == 0
    settle(audience, 5)
    assert ear.heard == []


def test_what_is_settled_with_the_retreat_of_its_host_is_told_all_the_same() -> None:
    audience, ear = listening()
    audience.visit_begins(visit(1))

    settle(audience, 1, retired=(1,))

    assert ear.heard == ["http://h1.test/"]


def test_an_audience_is_as_full_as_its_fullest_listener() -> None:
    audience, _ = listening()

    assert audience.fill == QueueDepth(3, 10)
    assert OutcomeEvents().fill == QueueDepth(0)
