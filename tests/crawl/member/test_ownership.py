"""What a worker owns and visits, and the first contact of a host that it has taken over."""

from collections.abc import Callable
from typing import TypeVar, cast

import pytest

from gossamer.clock import VirtualClock
from gossamer.cluster.handover import Released
from gossamer.cluster.lease import LeaseTerms
from gossamer.cluster.membership import Taken
from gossamer.cluster.partitions import Partitions
from gossamer.config.hosts import HostSettings, HostSettingsTable
from gossamer.crawl.member.first_contact import FirstContacts, rest_policy_for
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.facts import DomainFacts
from gossamer.model.loads import HostLoaded
from gossamer.model.partition import ID_BITS
from gossamer.model.task import HostRecord
from gossamer.model.units import Epoch, HostId, HostKey, Instant, Seconds
from gossamer.store.ports import Database
from gossamer.store.table.writer import TableWriter

T = TypeVar("T")

POLITENESS, TERMS = PolitenessPolicy(), LeaseTerms()


class Writer(TableWriter):
    """A writer without tables."""

    def __init__(self) -> None:
        pass

    def run(self, work: Callable[[Database], T]) -> T:
        raise AssertionError("nothing may be written")


def host_of(partition: int) -> HostLoaded:
    """A host that was contacted shortly before its partition was taken over."""
    host_id = HostId(partition << ID_BITS | 1)
    record = HostRecord(host_id, HostKey("x.test"), 1, DomainFacts(), 1, Instant(5.0), 0.1, None)
    return HostLoaded(host_id, record, [], [])


@pytest.fixture
def ownership() -> PartitionOwnership:
    """Of partitions 0 and 2 of four."""
    policy = rest_policy_for(POLITENESS, TERMS)
    found = PartitionOwnership(4, Partitions(Epoch(7), policy, TERMS.long_life))
    found.adopt([Taken(0, Released.GIVEN), Taken(2, Released.DEAD)], Instant(100.0))
    return found


def test_a_partition_that_is_given_up_is_owned_until_then_but_not_visited(ownership: PartitionOwnership) -> None:
    assert ownership.visit_all_but([0]) == {2}

    assert ownership.owns(0)
    assert not ownership.visits(0)
    assert not ownership.takes_orders
    assert ownership.visit_owned() == {0, 2}
    assert ownership.visits(0)


def test_a_worker_that_has_retired_takes_no_partitions(ownership: PartitionOwnership) -> None:
    ownership.retire()

    assert (len(ownership), ownership.owned.numbers, ownership.visited.numbers) == (0, [], [])
    assert ownership.take(Writer(), 4, VirtualClock()) == []


def test_a_host_rests_after_the_death_of_its_last_owner(ownership: PartitionOwnership) -> None:
    policy = rest_policy_for(POLITENESS, TERMS)
    contacts = FirstContacts(ownership, policy, POLITENESS, HostSettingsTable(), "gossamer")

    first = [contacts.loaded(host_of(partition)).record for partition in (1, 2)]

    assert [record and record.next_contact for record in first] == [5.0, 100.0 + policy.longest_gap]


def test_a_delay_that_the_operator_has_set_for_a_host_holds_after_a_death(ownership: PartitionOwnership) -> None:
    policy = rest_policy_for(POLITENESS, TERMS)
    delays = HostSettingsTable(HostSettings(min_delay=Seconds(policy.longest_gap + 60.0)))
    contacts = FirstContacts(ownership, policy, POLITENESS, delays, "gossamer")

    first = [contacts.loaded(host_of(partition)).record for partition in (0, 2)]

    assert [record and record.next_contact for record in first] == [100.0 + policy.longest_gap + 60.0] * 2


def test_partitions_where_contacts_were_cut_off_are_left_as_by_a_dead_worker(ownership: PartitionOwnership) -> None:
    given: list[object] = []

    class Statements:
        def execute(self, name: str, *values: object) -> int:
            given.append((name, *values[1:]))
            return 2

    policy = rest_policy_for(POLITENESS, TERMS)
    found = PartitionOwnership(4, Partitions(Epoch(7), policy, TERMS.long_life))
    found.adopt([Taken(0, Released.GIVEN), Taken(2, Released.GIVEN)], Instant(100.0))

    found.cut_off([2, 3])
    found.give_all(cast(Database, Statements()))
    found.cut_off(None)
    found.give_all(cast(Database, Statements()))

    assert given == [("give_partitions", [0, 2], ["given", "dead"]), ("give_partitions", [0, 2], ["dead", "dead"])]
