"""Shares of partitions: proportional, the same for all workers, and reached by moving no more than must move."""

import os
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.cluster.share import shares, shortfall, surplus
from gossamer.model.units import Epoch

MACHINES = int(os.environ.get("GOSSAMER_MACHINES", "30"))
WEIGHTS = st.dictionaries(st.integers(1, 2**63 - 1).map(Epoch), st.sampled_from([0.5, 1.0, 1.5, 2.0, 8.0]), min_size=1)


def slow_shares(partitions: int, weights: dict[Epoch, float]) -> dict[Epoch, int]:
    """One partition after the other goes to the worker that is furthest below its exact part, as long as everybody has
    less than a whole partition too much."""
    total = sum(map(Fraction, weights.values()))
    exact = {epoch: partitions * Fraction(weight) / total for epoch, weight in weights.items()}
    found = {epoch: int(part) for epoch, part in exact.items()}
    for _ in range(partitions - sum(found.values())):
        furthest = min(exact, key=lambda epoch: (found[epoch] - exact[epoch], epoch))
        found[furthest] += 1
    return found


@given(st.integers(1, 8192), WEIGHTS)
def test_shares_add_up_and_are_exact_to_a_partition(partitions: int, weights: dict[Epoch, float]) -> None:
    found = shares(partitions, weights)

    assert found == slow_shares(partitions, weights)
    assert found == shares(partitions, dict(reversed(weights.items())))
    assert sum(found.values()) == partitions
    for epoch, weight in weights.items():
        assert abs(found[epoch] - partitions * weight / sum(weights.values())) < 1


def test_no_worker_is_left_without_partitions_by_rounding() -> None:
    found = shares(256, {Epoch(number): 1.0 for number in range(1, 32)})

    assert sorted(found.values()) == [8] * 23 + [9] * 8


def test_with_the_surplus_of_partitions_its_part_of_the_hosts_is_given_up() -> None:
    assert surplus({1: 5, 2: 0, 3: 7, 4: 0}, 3) == [2]
    assert surplus({1: 5, 2: 0, 3: 7, 4: 0}, 2) == [2, 1]
    assert surplus({1: 5, 2: 0}, 2) == []
    assert [shortfall(2, 5), shortfall(5, 2)] == [3, 0]


class BalanceMachine(RuleBasedStateMachine):
    """Workers join, leave and die, and act one at a time by what they saw last, which may be long ago."""

    @initialize(partitions=st.sampled_from([1, 7, 16, 40]))
    def begin(self, partitions: int) -> None:
        self.partitions = partitions
        self.owner: dict[int, Epoch | None] = dict.fromkeys(range(partitions))
        self.members: dict[Epoch, float] = {}
        self.seen: dict[Epoch, dict[Epoch, float]] = {}
        self.last = 0

    @rule(weight=st.sampled_from([1.0, 2.0, 0.5]))
    def join(self, weight: float) -> None:
        self.last += 1
        self.members[Epoch(self.last)] = weight
        self.seen[Epoch(self.last)] = dict(self.members)

    @precondition(lambda self: self.members)
    @rule(which=st.integers(0, 99))
    def go(self, which: int) -> None:
        gone = sorted(self.members)[which % len(self.members)]
        del self.members[gone], self.seen[gone]
        self.owner = {part: None if epoch == gone else epoch for part, epoch in self.owner.items()}

    @precondition(lambda self: self.members)
    @rule(which=st.integers(0, 99))
    def look(self, which: int) -> None:
        epoch = sorted(self.members)[which % len(self.members)]
        self.seen[epoch] = dict(self.members)

    @precondition(lambda self: self.members)
    @rule(which=st.integers(0, 99))
    def act(self, which: int) -> None:
        self.balance(sorted(self.members)[which % len(self.members)])

    def balance(self, epoch: Epoch) -> int:
        """One worker gives up or takes. Returns how many partitions it has given up."""
        share = shares(self.partitions, self.seen[epoch])[epoch]
        owned = {part: part % 3 for part, owner in self.owner.items() if owner == epoch}
        given = surplus(owned, share)
        for part in given:
            self.owner[part] = None
        free = [part for part, owner in self.owner.items() if owner is None]
        for part in free[: shortfall(len(owned), share)]:
            self.owner[part] = epoch
        return len(given)

    @precondition(lambda self: self.members)
    @rule()
    def settle(self) -> None:
        """Everybody looks, and acts twice: once to give up, once to take."""
        should = shares(self.partitions, self.members)
        before = {epoch: list(self.owner.values()).count(epoch) for epoch in self.members}
        self.seen = {epoch: dict(self.members) for epoch in self.members}

        given = sum(self.balance(epoch) for epoch in sorted(self.members))
        given_later = sum(self.balance(epoch) for epoch in sorted(self.members, reverse=True))

        assert given == sum(max(before[epoch] - should[epoch], 0) for epoch in self.members)
        assert given_later == 0
        assert {epoch: list(self.owner.values()).count(epoch) for epoch in self.members} == should

    @invariant()
    def only_members_own_partitions(self) -> None:
        if hasattr(self, "owner"):
            assert set(self.owner.values()) - {None} <= self.members.keys()


BalanceMachine.TestCase.settings = settings(max_examples=MACHINES, stateful_step_count=30)
TestBalance = BalanceMachine.TestCase
