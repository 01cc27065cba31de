"""Subscribers receive every outcome once, after its commit; what is held for them is bounded."""

from gossamer.crawl.events import Outcome, OutcomeEvents
from gossamer.model.batch import Batch, Committed
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

NOW = Instant(0.0)


class Recorder:
    saturation = 0.0
    fill = QueueDepth(3, 10)

    def __init__(self) -> None:
        self.urls: list[str] = []

    def publish(self, outcome: Outcome) -> None:
        self.urls.append(outcome.url)


def settle(events: OutcomeEvents, *numbers: int) -> None:
    for number in numbers:
        url = Url(f"http://h{number}.test/")
        task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
        visit = Visit(HostId(number), HostKey(f"h{number}.test"), 1, task, None, 0.0)
        events.settled(visit, Settlement(HostId(number), number, 0, UrlState.DEAD, NOW), None, True)


def commit(events: OutcomeEvents) -> None:
    events.before_commit(Batch(), NOW)
    events.committed(Committed(1, [], [], [], [], [], 0, 0, 0, 0.0))


def subscribed() -> tuple[OutcomeEvents, Recorder]:
    events, recorder = OutcomeEvents(), Recorder()
    events.subscribe(recorder)
    return events, recorder


def test_an_outcome_is_published_once_after_its_commit() -> None:
    events, recorder = subscribed()
    settle(events, 1)
    assert recorder.urls == []

    commit(events)
    commit(events)

    assert recorder.urls == ["http://h1.test/"]


def test_outcomes_are_published_in_the_order_in_which_they_were_settled() -> None:
    events, recorder = subscribed()
    settle(events, 2, 1, 3)

    commit(events)

    assert recorder.urls == ["http://h2.test/", "http://h1.test/", "http://h3.test/"]


def test_what_is_settled_during_a_commit_waits_for_the_next() -> None:
    events, recorder = subscribed()
    settle(events, 1)
    events.before_commit(Batch(), NOW)
    settle(events, 2)
    events.committed(Committed(1, [], [], [], [], [], 0, 0, 0, 0.0))
    assert recorder.urls == ["http://h1.test/"]

    commit(events)

    assert recorder.urls == ["http://h1.test/", "http://h2.test/"]


def test_nothing_is_held_without_a_subscriber() -> None:
    events, recorder = subscribed()
    settle(events, 1)
    events.unsubscribe(recorder)
    settle(events, 2)

    events.subscribe(recorder)
    commit(events)

    assert recorder.urls == []


def test_events_are_as_full_as_their_fullest_subscriber() -> None:
    events, _ = subscribed()

    assert events.fill == QueueDepth(3, 10)
    assert OutcomeEvents().fill == QueueDepth(0)
