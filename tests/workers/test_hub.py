"""The hub between workers: what it carries, when it knows that all is done, and who may store how many pages."""

from typing import Any

import pytest

from gossamer.errors import GossamerError
from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot
from gossamer.workers.hub import (
    ALLOW,
    BACK,
    ENDED,
    FAILED,
    GO,
    HAS,
    KEPT,
    OPEN,
    SHOWN,
    STATE,
    STOP,
    URLS,
    Doing,
    Hub,
    WorkerState,
)


class Ears:
    """A worker's end: what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def tell(self, *message: Any) -> None:
        self.told.append(message)

    def last(self, what: str) -> Any:
        return [message[1:] for message in self.told if message[0] == what][-1]

    def heard(self, what: str) -> int:
        return sum(1 for message in self.told if message[0] == what)


class Room:
    """A hub with workers in it."""

    def __init__(self, workers: int = 3, max_pages: int | None = None) -> None:
        self.done = 0
        self.errors: list[GossamerError] = []
        self.opened = 0
        self.hub = Hub([WorkerState() for _ in range(workers)], max_pages, self._opened, self._done, self.errors.append)
        self.ears = [Ears() for _ in range(workers)]
        for number, ears in enumerate(self.ears):
            self.hub.seated(number, ears)

    def _opened(self) -> None:
        assert not any(ears.heard(GO) for ears in self.ears)
        self.opened += 1

    def _done(self) -> None:
        self.done += 1

    def open(self, *pages: int) -> "Room":
        for number, n in enumerate(pages or [0] * len(self.ears)):
            self.hub.hear(number, OPEN, n)
        return self

    def tell(self, number: int, doing: Doing, pages: int = 0) -> None:
        self.hub.hear(number, STATE, doing, pages)


def test_nobody_contacts_a_host_before_all_have_opened_their_parts() -> None:
    room = Room()
    room.hub.hear(0, OPEN, 0)
    room.hub.hear(2, OPEN, 0)
    assert [ears.heard(GO) for ears in room.ears] == [0, 0, 0]
    room.hub.hear(1, OPEN, 0)
    assert [ears.heard(GO) for ears in room.ears] == [1, 1, 1]
    assert room.opened == 1


def test_urls_and_answers_are_carried_with_the_name_of_their_sender() -> None:
    room = Room().open()
    room.hub.hear(0, URLS, 2, ["a lot"])
    room.hub.hear(2, HAS, 0, 17)
    assert room.ears[2].told[-1] == (URLS, 0, ["a lot"])
    assert room.ears[0].told[-1] == (HAS, 2, 17)


def test_all_is_done_when_all_rest_and_not_before() -> None:
    room = Room().open()
    room.tell(0, Doing.RESTING)
    room.tell(1, Doing.RESTING)
    room.tell(0, Doing.WORKING)
    room.tell(2, Doing.RESTING)
    assert room.done == 0
    room.tell(0, Doing.RESTING)
    assert (room.done, room.hub.finished) == (1, True)


def test_a_worker_that_has_died_is_not_taken_for_one_that_rests() -> None:
    room = Room().open()
    room.tell(0, Doing.RESTING)
    room.hub.died(0)
    room.tell(1, Doing.RESTING)
    room.tell(2, Doing.RESTING)
    assert room.done == 0


def test_what_is_for_a_dead_worker_is_dropped_and_asked_for_again_when_it_is_back() -> None:
    room = Room().open()
    room.hub.died(1)
    room.hub.hear(0, URLS, 1, ["a lot"])
    reborn = Ears()
    room.hub.seated(1, reborn)
    room.hub.hear(0, URLS, 1, ["a lot"])  # it is not open yet
    assert reborn.told == []
    room.hub.hear(1, OPEN, 5)
    assert reborn.heard(GO) == 1
    assert room.ears[0].told[-1] == (BACK, 1)
    assert room.ears[2].told[-1] == (BACK, 1)


def test_half_of_the_pages_is_shared_out_and_the_rest_goes_to_whoever_needs_it() -> None:
    room = Room(2, max_pages=100).open()
    assert [ears.last(ALLOW) for ears in room.ears] == [(25,), (25,)]
    room.tell(0, Doing.FULL, 25)
    assert room.ears[0].last(ALLOW) == (50,)
    room.hub.hear(0, KEPT, 50)
    room.tell(0, Doing.FULL, 50)
    assert room.ears[0].last(ALLOW) == (63,)
    assert sum(seat.allowed for seat in room.hub.seats) <= 100


def test_what_a_resting_worker_does_not_need_is_given_to_others_to_the_last_page() -> None:
    room = Room(2, max_pages=100).open()
    pages = [0, 3]
    room.tell(1, Doing.RESTING, 3)
    for _ in range(40):
        allowed = room.hub.seats[0].allowed
        pages[0] = allowed
        room.tell(0, Doing.FULL, allowed)
        if room.ears[1].last(ALLOW) == (3,) and room.hub.seats[1].asked_back:
            room.hub.hear(1, KEPT, 3)
    assert pages == [97, 3]
    assert (room.done, room.hub.finished) == (1, False)


def test_a_worker_that_got_something_to_do_meanwhile_keeps_what_is_under_way() -> None:
    room = Room(2, max_pages=8).open()
    room.tell(1, Doing.RESTING, 0)
    room.tell(0, Doing.FULL, 2)
    room.hub.hear(0, KEPT, 4)
    room.tell(0, Doing.FULL, 4)
    room.tell(0, Doing.FULL, room.hub.seats[0].allowed)
    room.tell(0, Doing.FULL, room.hub.seats[0].allowed)
    assert room.ears[1].last(ALLOW) == (0,)
    room.tell(1, Doing.WORKING, 0)
    room.hub.hear(1, KEPT, 1)  # a visit was out already
    assert sum(seat.allowed for seat in room.hub.seats) <= 8
    assert room.hub.seats[1].allowed == 1


def test_pages_of_former_runs_count() -> None:
    room = Room(2, max_pages=100).open(60, 20)
    assert [ears.last(ALLOW) for ears in room.ears] == [(65,), (25,)]


@pytest.mark.parametrize("pages", [(100, 0), (60, 60)])
def test_with_all_pages_stored_it_is_over_at_once(pages: tuple[int, int]) -> None:
    room = Room(2, max_pages=100).open(*pages)
    room.tell(0, Doing.FULL, pages[0])
    room.tell(1, Doing.FULL, pages[1])
    assert (room.done, room.hub.finished) == (1, False)


def test_the_last_moment_of_a_worker_stays_known() -> None:
    room = Room().open()
    room.hub.hear(0, SHOWN, Snapshot(at=Instant(1.0), pages=3))
    room.hub.hear(0, ENDED, Snapshot(at=Instant(2.0), pages=4))
    shown = room.hub.seats[0].shown
    assert shown is not None
    assert shown.pages == 4
    assert room.hub.seats[0].ended


def test_an_error_of_a_worker_is_passed_on() -> None:
    room = Room().open()
    room.hub.hear(1, FAILED, GossamerError("no room"))
    assert [str(error) for error in room.errors] == ["no room"]


def test_stopping_is_told_to_all_and_nothing_is_begun_after_it() -> None:
    room = Room()
    room.hub.stop()
    room.open()
    assert [ears.heard(STOP) for ears in room.ears] == [1, 1, 1]
    assert [ears.heard(GO) for ears in room.ears] == [0, 0, 0]
