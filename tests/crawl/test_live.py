"""What a running crawl publishes of its last visits stays small, and a status is never written by two at a time."""

import asyncio
import os
import threading

from gossamer.crawl.events import Outcome
from gossamer.crawl.run.live import MOST_TEXT, OUTCOMES_KEPT, LivePublisher, RecentOutcomes
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Url
from gossamer.observe.snapshot import Snapshot, Status, SteeringStatus, decode_status, encode_status


def outcome(url: str, title: str | None = "title") -> Outcome:
    return Outcome(Url(url), UrlState.STORED, Instant(0.0), 0, 200, None, title, None, None)


def urls_of(recent: RecentOutcomes, room: int = MOST_TEXT) -> list[str]:
    return [shown["url"] for _, shown in recent.shown(room)]


def test_of_many_outcomes_the_last_are_published_with_their_numbers() -> None:
    recent = RecentOutcomes()
    for number in range(1, 1001):
        recent.publish(outcome(f"http://a.test/{number}"))

    found = recent.shown()

    assert [number for number, _ in found] == list(range(1001 - OUTCOMES_KEPT, 1001))
    assert found[-1][1]["url"] == "http://a.test/1000" and recent.number == 1000


def test_of_long_addresses_only_the_last_are_published() -> None:
    recent = RecentOutcomes()
    few = [f"http://a.test/{n}/" + "x" * 900 for n in range(9)]
    for url in few:
        recent.publish(outcome(url))

    assert urls_of(recent) == few
    assert urls_of(recent, 3_000) == few[-3:] and urls_of(recent, 10) == []


def test_a_title_that_is_no_text_is_published_as_text() -> None:
    recent = RecentOutcomes()
    recent.publish(outcome("http://a.test/", "half a \ud83d"))
    steering = SteeringStatus(outcomes=recent.shown())
    status = decode_status([encode_status(Status(1, Snapshot(at=Instant(0.0)), steering))], 1)

    assert status is not None and status.steering is not None
    assert status.steering.outcomes[0][1]["title"] == "half a ?"


class SlowStatus:
    """Takes each status when it is let through."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.writers = self.most_writers = 0
        self.may_write = threading.Semaphore(0)
        self.is_cleared = False
        self.has_two = threading.Event()

    def write(self, status: bytes) -> None:
        self.writers += 1
        self.most_writers = max(self.most_writers, self.writers)
        self.may_write.acquire()
        self.written.append(status)
        self.writers -= 1
        if len(self.written) == 2:
            self.has_two.set()

    def read(self) -> list[bytes]:
        return self.written[-1:]

    def clear(self) -> None:
        self.is_cleared = True

    def close(self) -> None: ...


def test_what_is_published_while_a_status_is_written_is_in_the_next_one() -> None:
    async def main() -> tuple[SlowStatus, list[float]]:
        slow, elapsed = SlowStatus(), iter(range(100))
        publisher = LivePublisher(slow, lambda: Snapshot(at=Instant(0.0), elapsed=next(elapsed)))
        publisher.publish()
        await asyncio.sleep(0)  # the first snapshot is taken
        for _ in range(5):
            publisher.publish()
        slow.may_write.release(100)
        await asyncio.to_thread(slow.has_two.wait, 60)
        await publisher.close()
        publisher.publish()
        found = [decode_status([text], os.getpid()) for text in slow.written]
        return slow, [status.snapshot.elapsed for status in found if status is not None]

    slow, elapsed = asyncio.run(main())

    assert elapsed == [0, 1] and slow.most_writers == 1 and slow.is_cleared


def test_what_is_said_to_have_taken_effect_is_in_the_snapshot() -> None:
    """A snapshot may be taken just before an order takes effect, and published just after it."""

    async def main() -> Status | None:
        slow = SlowStatus()
        slow.may_write.release(100)
        publisher = LivePublisher(slow, lambda: Snapshot(at=Instant(2.0), paused=True))
        publisher.steering = lambda snapshot: SteeringStatus(settings=2)
        publisher.publish(Snapshot(at=Instant(1.0), paused=False))
        await asyncio.sleep(0)  # it is handed to the thread
        await publisher.close()  # which does one thing after the other
        return decode_status(slow.written, os.getpid())

    found = asyncio.run(main())

    assert found is not None and found.steering is not None
    assert (found.steering.settings, found.snapshot.paused) == (2, True)
