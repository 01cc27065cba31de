"""The hub: what it forwards, when it knows that all work is done, and page quotas."""

from typing import Any

import pytest

from gossamer.errors import GossamerError
from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.hub import (
    ACKNOWLEDGED,
    ALLOW,
    ENDED,
    FAILED,
    OPEN,
    QUOTA,
    RESTARTED,
    SNAPSHOT,
    START,
    STATE,
    STOP,
    URLS,
    Activity,
    Hub,
    WorkerState,
)


class RecordingLink:
    """A link to a worker that records what was sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, ...]] = []

    def send(self, *message: Any) -> None:
        self.sent.append(message)

    def last(self, what: str) -> Any:
        return [message[1:] for message in self.sent if message[0] == what][-1]

    def count(self, what: str) -> int:
        return sum(1 for message in self.sent if message[0] == what)


class Room:
    """A hub with workers in it."""

    def __init__(self, workers: int = 3, max_pages: int | None = None) -> None:
        self.done = 0
        self.errors: list[GossamerError] = []
        self.opened = 0
        self.hub = Hub([WorkerState() for _ in range(workers)], max_pages, self._opened, self._done, self.errors.append)
        self.links = [RecordingLink() for _ in range(workers)]
        for number, link in enumerate(self.links):
            self.hub.on_started(number, link)

    def _opened(self) -> None:
        assert not any(link.count(START) for link in self.links)
        self.opened += 1

    def _done(self) -> None:
        self.done += 1

    def open(self, *pages: int) -> "Room":
        for number, n in enumerate(pages or [0] * len(self.links)):
            self.hub.on_message(number, OPEN, n)
        return self

    def report(self, number: int, activity: Activity, pages: int = 0) -> None:
        self.hub.on_message(number, STATE, activity, pages)


def test_no_worker_contacts_a_host_before_all_shares_are_open() -> None:
    room = Room()
    room.hub.on_message(0, OPEN, 0)
    room.hub.on_message(2, OPEN, 0)
    assert [link.count(START) for link in room.links] == [0, 0, 0]
    room.hub.on_message(1, OPEN, 0)
    assert [link.count(START) for link in room.links] == [1, 1, 1]
    assert room.opened == 1


def test_urls_and_answers_are_carried_with_the_name_of_their_sender() -> None:
    room = Room().open()
    room.hub.on_message(0, URLS, 2, ["a lot"])
    room.hub.on_message(2, ACKNOWLEDGED, 0, 17)
    assert room.links[2].sent[-1] == (URLS, 0, ["a lot"])
    assert room.links[0].sent[-1] == (ACKNOWLEDGED, 2, 17)


def test_all_is_done_when_all_rest_and_not_before() -> None:
    room = Room().open()
    room.report(0, Activity.RESTING)
    room.report(1, Activity.RESTING)
    room.report(0, Activity.WORKING)
    room.report(2, Activity.RESTING)
    assert room.done == 0
    room.report(0, Activity.RESTING)
    assert (room.done, room.hub.finished) == (1, True)


def test_a_worker_that_has_died_is_not_taken_for_one_that_rests() -> None:
    room = Room().open()
    room.report(0, Activity.RESTING)
    room.hub.on_death(0)
    room.report(1, Activity.RESTING)
    room.report(2, Activity.RESTING)
    assert room.done == 0


def test_what_is_for_a_dead_worker_is_dropped_and_asked_for_again_when_it_is_back() -> None:
    room = Room().open()
    room.hub.on_death(1)
    room.hub.on_message(0, URLS, 1, ["a lot"])
    reborn = RecordingLink()
    room.hub.on_started(1, reborn)
    room.hub.on_message(0, URLS, 1, ["a lot"])  # it is not open yet
    assert reborn.sent == []
    room.hub.on_message(1, OPEN, 5)
    assert reborn.count(START) == 1
    assert room.links[0].sent[-1] == (RESTARTED, 1)
    assert room.links[2].sent[-1] == (RESTARTED, 1)


def test_half_of_the_pages_is_shared_out_and_the_rest_goes_to_workers_that_need_it() -> None:
    room = Room(2, max_pages=100).open()
    assert [links.last(ALLOW) for links in room.links] == [(25,), (25,)]
    room.report(0, Activity.FULL, 25)
    assert room.links[0].last(ALLOW) == (50,)
    room.hub.on_message(0, QUOTA, 50)
    room.report(0, Activity.FULL, 50)
    assert room.links[0].last(ALLOW) == (63,)
    assert sum(seat.allowed for seat in room.hub.workers) <= 100


def test_what_a_resting_worker_does_not_need_is_given_to_others_to_the_last_page() -> None:
    room = Room(2, max_pages=100).open()
    pages = [0, 3]
    room.report(1, Activity.RESTING, 3)
    for _ in range(40):
        allowed = room.hub.workers[0].allowed
        pages[0] = allowed
        room.report(0, Activity.FULL, allowed)
        if room.links[1].last(ALLOW) == (3,) and room.hub.workers[1].reclaiming:
            room.hub.on_message(1, QUOTA, 3)
    assert pages == [97, 3]
    assert (room.done, room.hub.finished) == (1, False)


def test_a_worker_that_got_something_to_do_meanwhile_keeps_what_is_under_way() -> None:
    room = Room(2, max_pages=8).open()
    room.report(1, Activity.RESTING, 0)
    room.report(0, Activity.FULL, 2)
    room.hub.on_message(0, QUOTA, 4)
    room.report(0, Activity.FULL, 4)
    room.report(0, Activity.FULL, room.hub.workers[0].allowed)
    room.report(0, Activity.FULL, room.hub.workers[0].allowed)
    assert room.links[1].last(ALLOW) == (0,)
    room.report(1, Activity.WORKING, 0)
    room.hub.on_message(1, QUOTA, 1)  # a visit was out already
    assert sum(seat.allowed for seat in room.hub.workers) <= 8
    assert room.hub.workers[1].allowed == 1


def test_pages_of_former_runs_count() -> None:
    room = Room(2, max_pages=100).open(60, 20)
    assert [links.last(ALLOW) for links in room.links] == [(65,), (25,)]


@pytest.mark.parametrize("pages", [(100, 0), (60, 60)])
def test_with_all_pages_stored_it_is_over_at_once(pages: tuple[int, int]) -> None:
    room = Room(2, max_pages=100).open(*pages)
    room.report(0, Activity.FULL, pages[0])
    room.report(1, Activity.FULL, pages[1])
    assert (room.done, room.hub.finished) == (1, False)


def test_the_last_snapshot_of_a_worker_is_kept() -> None:
    room = Room().open()
    room.hub.on_message(0, SNAPSHOT, Snapshot(at=Instant(1.0), pages=3))
    room.hub.on_message(0, ENDED, Snapshot(at=Instant(2.0), pages=4))
    shown = room.hub.workers[0].snapshot
    assert shown is not None
    assert shown.pages == 4
    assert room.hub.workers[0].ended


def test_an_error_of_a_worker_is_passed_on() -> None:
    room = Room().open()
    room.hub.on_message(1, FAILED, GossamerError("no room"))
    assert [str(error) for error in room.errors] == ["no room"]


def test_stop_is_sent_to_all_workers_and_nothing_is_started_after_it() -> None:
    room = Room()
    room.hub.stop()
    room.open()
    assert [links.count(STOP) for links in room.links] == [1, 1, 1]
    assert [link.count(START) for link in room.links] == [0, 0, 0]
