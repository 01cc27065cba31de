"""Lease and watch as state machines, on clocks that have nothing in common, against slow twins."""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.cluster.lease import Lease, LeaseTerms
from gossamer.cluster.watch import Silent, Watch
from gossamer.model.units import Epoch, Seconds

TERMS = LeaseTerms(Seconds(10.0))
MACHINES = int(os.environ.get("GOSSAMER_MACHINES", "30"))
STEPS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 5.0, 5.5, 8.0, 10.0, 12.0, 40.0])
OFFSETS = st.sampled_from([0.0, -1e6, 17.0, 1e9])


class SlowWatch:
    """Keeps everything that was read, and applies the definition to it."""

    def __init__(self) -> None:
        self.readings: list[tuple[float, dict[Epoch, int]]] = []

    def observe(self, beats: dict[Epoch, int], now: float) -> list[Silent]:
        if self.readings and not 0 <= now - self.readings[-1][0] <= TERMS.reading:
            self.readings = []
        self.readings.append((now, beats))
        return [Silent(epoch, beat) for epoch, beat in beats.items() if now - self._since(epoch, beat) >= TERMS.silence]

    def _since(self, epoch: Epoch, beat: int) -> float:
        same = 0
        for _, beats in reversed(self.readings):
            if beats.get(epoch) != beat:
                break
            same += 1
        return self.readings[-same][0]


class LeaseMachine(RuleBasedStateMachine):
    """One worker sends heartbeats, another watches it. Heartbeats take any time to arrive, their answers too, and both
    may be lost. Whatever happens, a worker that is declared dead has no lease."""

    @initialize(worker=OFFSETS, watcher=OFFSETS)
    def begin(self, worker: float, watcher: float) -> None:
        self.time = 0.0
        self.worker_offset, self.watcher_offset = worker, watcher
        self.lease = Lease(TERMS)
        self.watch, self.slow_watch = Watch(TERMS), SlowWatch()
        self.beat = 0  # in the table
        self.alive = True
        self.sent: list[float] = []  # heartbeats on their way
        self.answers: list[float] = []  # on their way back
        self.answered: list[float] = []
        self.revoked = False
        self.read: int | None = None  # by the watcher, which has not looked at its clock yet
        self.silent: list[Silent] = []

    @rule(by=STEPS)
    def time_passes(self, by: float) -> None:
        self.time += by

    @rule()
    def send(self) -> None:
        self.sent.append(self.time + self.worker_offset)

    @precondition(lambda self: self.sent)
    @rule(lost=st.booleans())
    def arrive(self, lost: bool) -> None:
        sent = self.sent.pop(0)
        if self.alive:
            self.beat += 1
            if not lost:
                self.answers.append(sent)

    @precondition(lambda self: self.answers)
    @rule(which=st.integers(0, 5))
    def answer(self, which: int) -> None:
        sent = self.answers.pop(which % len(self.answers))
        self.lease.renew(sent)
        self.answered.append(sent)

    @rule()
    def look(self) -> None:
        self.read = self.beat

    @precondition(lambda self: self.read is not None)
    @rule()
    def observe(self) -> None:
        assert self.read is not None
        beats, now = {Epoch(1): self.read}, self.time + self.watcher_offset
        self.silent = self.watch.observe(beats, now)
        self.read = None

        assert self.silent == self.slow_watch.observe(beats, now)

    @rule()
    def outage(self) -> None:
        self.watch.restart()
        self.slow_watch.readings = []

    @precondition(lambda self: self.silent)
    @rule()
    def declare(self) -> None:
        if self.silent[0].beat == self.beat:
            self.alive = False

    @rule(late=st.booleans())
    def hang(self, late: bool) -> None:
        now = self.time + self.worker_offset
        turned = now - TERMS.heartbeat - (0.5 if late else 0.0)

        assert self.lease.may_renew(now, turned) == (not late and not self.revoked)

    @precondition(lambda self: not self.alive)
    @rule()
    def revoke(self) -> None:
        self.lease.revoke()
        self.revoked = True

    @invariant()
    def a_lease_is_what_its_heartbeats_allow(self) -> None:
        if not hasattr(self, "lease"):
            return
        now = self.time + self.worker_offset
        valid = [] if self.revoked else self.answered

        assert self.lease.may_start(now) == any(now < sent + 8.0 for sent in valid)
        assert self.lease.end() == max((sent + 10.0 for sent in valid), default=float("-inf"))

    @invariant()
    def no_worker_is_declared_dead_that_has_a_lease(self) -> None:
        if hasattr(self, "lease") and not self.alive:
            now = self.time + self.worker_offset

            assert not self.lease.may_start(now)
            assert self.lease.end() <= now


LeaseMachine.TestCase.settings = settings(max_examples=MACHINES, stateful_step_count=60)
TestLeaseAndWatch = LeaseMachine.TestCase


class WatchMachine(RuleBasedStateMachine):
    """Several workers come, go and fall silent before the eyes of one."""

    @initialize()
    def begin(self) -> None:
        self.watch, self.slow_watch = Watch(TERMS), SlowWatch()
        self.now = 0.0
        self.beats: dict[Epoch, int] = {}

    @rule(epoch=st.integers(1, 3), by=st.integers(0, 1))
    def beat(self, epoch: int, by: int) -> None:
        self.beats[Epoch(epoch)] = self.beats.get(Epoch(epoch), 0) + by

    @rule(epoch=st.integers(1, 3))
    def leave(self, epoch: int) -> None:
        self.beats.pop(Epoch(epoch), None)

    @rule(by=st.sampled_from([0.0, 1.0, 2.5, 4.0, 5.0, 5.1]))
    def observe(self, by: float) -> None:
        self.now += by

        assert self.watch.observe(dict(self.beats), self.now) == self.slow_watch.observe(dict(self.beats), self.now)


WatchMachine.TestCase.settings = settings(max_examples=MACHINES // 2, stateful_step_count=40)
TestWatch = WatchMachine.TestCase


def test_a_worker_that_is_silent_for_longer_than_a_lease_is_found_by_one_that_keeps_reading() -> None:
    watch = Watch(TERMS)

    found = [watch.observe({Epoch(1): 7}, now) for now in (0.0, 4.0, 8.0, 11.9, 12.0)]

    assert found == [[], [], [], [], [Silent(Epoch(1), 7)]]


def test_partitions_of_owners_that_die_again_and_again_wait_longer_each_time() -> None:
    assert TERMS.waits_after_deaths() == [0.0, 0.0, 0.0, 2.0, 4.0, 8.0, 10.0]
