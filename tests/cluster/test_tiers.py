"""The breaker of a cache tier as a state machine, against a slow twin."""

import os
import random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gossamer.cluster.tiers import TierBreaker, TierPolicy
from gossamer.model.units import Seconds

POLICY = TierPolicy()
MACHINES = int(os.environ.get("GOSSAMER_MACHINES", "30"))


class SlowTier:
    """Keeps everything that was reported, and applies the definition to it."""

    def __init__(self) -> None:
        self.history: list[tuple[str, float]] = []  # since the tier was last opened or closed
        self.is_open = False

    def report(self, what: str, now: float) -> bool:
        """True if that opens or closes the tier."""
        if what.endswith("probe") is not self.is_open:
            return False
        self.history.append((what, now))
        needed = ["good probe"] * 2 if self.is_open else ["failure"] * 3
        if [each for each, _ in self.history[-len(needed) :]] != needed:
            return False
        self.is_open = not self.is_open
        self.history = [("opened", now)] if self.is_open else []
        return True

    def pause(self) -> float:
        """The longest pause before the next probe: a second, twice as long after every bad probe in a row."""
        bad = 0
        for what, _ in reversed(self.history):
            if what != "bad probe":
                break
            bad += 1
        return min(2.0**bad, 10.0)


class TierMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 100))
    def begin(self, seed: int) -> None:
        self.tier, self.slow = TierBreaker(POLICY, random.Random(seed)), SlowTier()
        self.now = 1000.0

    @rule(by=st.sampled_from([0.0, 0.01, 1.0, 7.5]))
    def time_passes(self, by: float) -> None:
        self.now += by

    @rule()
    def succeed(self) -> None:
        self.tier.on_success()
        self.slow.report("success", self.now)

    @rule()
    def fail(self) -> None:
        assert self.tier.on_failure(self.now) == self.slow.report("failure", self.now)

    @rule(good=st.booleans())
    def probe(self, good: bool) -> None:
        closes = self.slow.report("good probe" if good else "bad probe", self.now)

        assert self.tier.on_probe(good, self.now) == closes

    @invariant()
    def both_agree(self) -> None:
        if not hasattr(self, "tier"):
            return
        assert self.tier.is_open == self.slow.is_open
        if not self.slow.is_open:
            assert self.tier.next_probe is None
        else:
            assert self.tier.next_probe is not None
            since, pause = self.slow.history[-1][1], self.slow.pause()
            assert since + 0.8 * pause <= self.tier.next_probe <= since + pause


TierMachine.TestCase.settings = settings(max_examples=MACHINES, stateful_step_count=60)
TestTier = TierMachine.TestCase


@pytest.fixture
def tier() -> TierBreaker:
    return TierBreaker(TierPolicy(jitter=0.0), random.Random(0))


def test_the_third_failure_in_a_row_opens_the_tier(tier: TierBreaker) -> None:
    assert [tier.on_failure(0.0), tier.on_failure(0.0)] == [False, False]
    tier.on_success()

    assert [tier.on_failure(0.0), tier.on_failure(0.0), tier.on_failure(5.0)] == [False, False, True]
    assert tier.is_open and tier.next_probe == 6.0


def test_probes_come_later_each_time_and_two_good_ones_close_the_tier(tier: TierBreaker) -> None:
    for _ in range(3):
        tier.on_failure(0.0)
    pauses = []
    for _ in range(6):
        tier.on_probe(False, 100.0)
        pauses.append((tier.next_probe or 0.0) - 100.0)

    assert pauses == [2.0, 4.0, 8.0, 10.0, 10.0, 10.0]
    assert not tier.on_probe(True, 200.0) and tier.next_probe == 201.0
    assert tier.on_probe(True, 201.0) and not tier.is_open


def test_pauses_of_several_workers_differ() -> None:
    def pause(seed: int) -> Seconds:
        tier = TierBreaker(POLICY, random.Random(seed))
        for _ in range(3):
            tier.on_failure(0.0)
        return Seconds(tier.next_probe or 0.0)

    assert len({pause(seed) for seed in range(10)}) == 10
