"""When the crawl counts as loaded, and that this does not flap."""

import random
from itertools import pairwise

import pytest

from gossamer.clock import VirtualClock
from gossamer.crawl.slots import HIGH_AFTER, NORMAL_AFTER, LoadDetector
from gossamer.frontier.selector import Load
from gossamer.model.units import Seconds

EVERY = Seconds(0.25)


class Looking:
    """A detector that is called four times a second, as the engine does."""

    def __init__(self) -> None:
        self.clock = VirtualClock(0.0)
        self.watch = LoadDetector()
        self.seen: list[tuple[float, Load]] = []

    def for_seconds(self, seconds: float, busy: float, saturation: float) -> Load:
        for _ in range(int(seconds / EVERY)):
            self.look(busy, saturation)
        return self.watch.load

    def look(self, busy: float, saturation: float) -> None:
        load, _ = self.watch.check(self.clock.monotonic(), busy, saturation)
        self.seen.append((self.clock.monotonic(), load))
        self.clock.advance(EVERY)

    @property
    def switches(self) -> list[float]:
        return [after[0] for before, after in pairwise(self.seen) if before[1] is not after[1]]


def loaded() -> Looking:
    looking = Looking()
    assert looking.for_seconds(2, 1.0, 0.0) is Load.HIGH
    return looking


@pytest.mark.parametrize(
    ("busy", "saturation", "reason"),
    [
        (1.0, 0.0, "all fetch slots busy for 1 s"),
        (0.2, 0.8, "a queue 80% full for 1 s"),
        (1.0, 1.0, "all fetch slots busy for 1 s"),
    ],
)
def test_all_slots_busy_or_a_full_queue_for_a_second_is_high_load(busy: float, saturation: float, reason: str) -> None:
    looking = Looking()

    looking.for_seconds(3, busy, saturation)

    assert looking.switches == [HIGH_AFTER]
    assert looking.watch.reason == reason


@pytest.mark.parametrize(("busy", "saturation"), [(0.99, 0.0), (0.0, 0.79), (0.99, 0.79), (0.0, 0.0)])
def test_anything_less_is_normal_however_long_it_lasts(busy: float, saturation: float) -> None:
    assert Looking().for_seconds(100, busy, saturation) is Load.NORMAL


def test_a_short_rest_restarts_the_second() -> None:
    looking = Looking()

    for _ in range(20):
        looking.for_seconds(0.75, 1.0, 0.0)
        looking.look(0.95, 0.0)

    assert looking.switches == []


def test_the_slots_and_the_queues_may_take_turns_in_being_full() -> None:
    looking = Looking()

    for _ in range(3):
        looking.look(1.0, 0.1)
        looking.look(0.5, 0.9)

    assert looking.switches == [HIGH_AFTER]


def test_load_is_normal_again_after_two_calm_seconds() -> None:
    looking = loaded()

    looking.for_seconds(5, 0.5, 0.1)

    assert looking.switches == [HIGH_AFTER, 2.0 + NORMAL_AFTER]
    assert looking.watch.reason == "fewer than 90% of the fetch slots busy and no queue 60% full for 2 s"


@pytest.mark.parametrize(("busy", "saturation"), [(0.9, 0.0), (0.0, 0.6), (0.99, 0.79)])
def test_between_the_bounds_high_load_stays_high(busy: float, saturation: float) -> None:
    assert loaded().for_seconds(100, busy, saturation) is Load.HIGH


def test_a_swing_between_the_bounds_and_full_never_flaps() -> None:
    looking = loaded()

    for _ in range(50):
        looking.for_seconds(1.75, 0.2, 0.2)
        looking.for_seconds(0.25, 0.95, 0.7)

    assert looking.switches == [HIGH_AFTER]


def test_whatever_happens_high_load_lasts_two_seconds_and_normal_load_one() -> None:
    chance = random.Random(3)
    looking = Looking()

    for _ in range(5_000):
        calm = chance.random() < 0.5
        busy = 0.1 if calm else chance.choice((0.95, 1.0))
        looking.for_seconds(chance.choice((0.25, 1.0, 3.0)), busy, chance.uniform(0.0, 0.5 if calm else 1.0))

    gaps = [after - before for before, after in pairwise(looking.switches)]
    assert len(gaps) > 100
    assert min(gaps[0::2]) >= NORMAL_AFTER  # the first switch is to high load
    assert min(gaps[1::2]) >= HIGH_AFTER
