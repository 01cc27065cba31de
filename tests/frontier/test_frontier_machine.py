"""The frontier as a state machine: whatever happens, nothing is lost, repeated or rude.

Hypothesis chooses what happens and shrinks what goes wrong; the checks are the world's. `GOSSAMER_MACHINES` sets how
many runs there are.
"""

import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.frontier.decisions import FrontierLimits
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.model.task import Visit
from gossamer.model.units import HostKey
from tests.frontier.frontier_world import MovingClasses, Points, World

HOSTS = st.integers(1, 5)
FRONTS = st.integers(0, 2)
ADDRESSES = st.sampled_from(["10.0.0.1", "10.0.0.2"])
WHICH = st.integers(0, 10)


def two_domains(host: HostKey) -> str:
    return f"domain{sum(host.encode()) % 2}.test"


class FrontierMachine(RuleBasedStateMachine):
    world: World

    @initialize(
        max_hosts=st.sampled_from([1, 2, 8]),
        quantum=st.sampled_from([1, 3]),
        ordering=st.sampled_from([MovingClasses(), Points()]),
        urls=st.lists(st.tuples(HOSTS, FRONTS)),
        per_domain=st.booleans(),
    )
    def begin(
        self, max_hosts: int, quantum: int, ordering: Ordering, urls: list[tuple[int, int]], per_domain: bool
    ) -> None:
        limits = FrontierLimits(max_hosts=max_hosts, quantum=quantum, long_rest=6.0)
        self.world = World(limits, ordering=ordering, domain_of=two_domains if per_domain else None)
        for host_id, front in urls:
            self.world.discover(host_id, front)

    @rule(host_id=HOSTS, front=FRONTS, count=st.sampled_from([1, 6]))
    def discover(self, host_id: int, front: int, count: int) -> None:
        for _ in range(count):
            self.world.discover(host_id, front)

    @rule(which=st.integers(0, 60), by=st.integers(1, 2))
    def lift(self, which: int, by: int) -> None:
        self.world.lift(which, by)

    @rule()
    def begin_load(self) -> None:
        self.world.begin_load()

    @precondition(lambda self: self.world.order is not None)
    @rule()
    def read(self) -> None:
        self.world.read()

    @precondition(lambda self: self.world.answer is not None)
    @rule()
    def deliver(self) -> None:
        self.world.deliver()

    @rule()
    def begin_commit(self) -> None:
        self.world.begin_commit()

    @precondition(lambda self: self.world.dated is not None)
    @rule()
    def apply(self) -> None:
        self.world.apply()

    @precondition(lambda self: self.world.applied is not None)
    @rule()
    def report(self) -> None:
        self.world.report()

    @rule()
    def settle_everything(self) -> None:
        self.world.settle_everything()

    @rule(address=st.none() | ADDRESSES)
    def next_turn(self, address: str | None) -> None:
        if isinstance(self.world.take_turn(), Visit) and address is not None:
            self.world.enter(len(self.world.out) - 1, address)

    @precondition(lambda self: self.world.out)
    @rule(which=WHICH, took=st.sampled_from([0.01, 0.3, 2.0]), asked=st.none() | st.sampled_from([2.0, 10.0]))
    def finish(self, which: int, took: float, asked: float | None) -> None:
        self.world.finish(which, self.world.contact(took, retry_after=asked))

    @precondition(lambda self: self.world.out)
    @rule(which=WHICH, again=st.booleans())
    def finish_without_contact(self, which: int, again: bool) -> None:
        self.world.finish(which, None, again=again)

    @precondition(lambda self: self.world.out)
    @rule(which=WHICH)
    def finish_and_put_back(self, which: int) -> None:
        self.world.finish(which, self.world.contact(0.1), again=True)

    @precondition(lambda self: self.world.out)
    @rule(which=WHICH, wait=st.sampled_from([0.0, 0.5, 20.0]))
    def finish_to_try_again_later(self, which: int, wait: float) -> None:
        self.world.finish(which, self.world.contact(0.1), again_at=self.world.now + wait)

    @rule(seconds=st.sampled_from([0.001, 0.7, 3.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.pass_time(seconds)

    @precondition(lambda self: self.world.held_hosts)
    @rule(which=WHICH, seconds=st.sampled_from([0.5, 5.0, 50.0]))
    def delay(self, which: int, seconds: float) -> None:
        hosts = self.world.held_hosts
        self.world.delay(hosts[which % len(hosts)], seconds)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @invariant()
    def everything_is_in_its_place(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.run_dry()


FrontierMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("GOSSAMER_MACHINES", "200")),
    stateful_step_count=40,
    deadline=None,
    derandomize="GOSSAMER_MACHINES" not in os.environ,  # the suite is the same each time; a longer run is not
    suppress_health_check=[HealthCheck.too_slow],
)
TestFrontier = FrontierMachine.TestCase
