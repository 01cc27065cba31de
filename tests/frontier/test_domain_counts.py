"""Counts of the domains whose hosts are in memory, and their bounds."""

from gossamer.frontier.domain_counts import DomainTable
from gossamer.model.facts import DomainFacts
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, HostKey, Instant

DOMAIN = 7
SUFFIX = 3


def record(host_id: int = 1, domain_id: int = DOMAIN, visits: int = 0, links: int = 0) -> HostRecord:
    host = HostKey(f"h{host_id}.test")
    return HostRecord(HostId(host_id), host, domain_id, DomainFacts(visits, links), SUFFIX, Instant(0.0), 0.0, None)


def test_visits_are_counted_by_domain_while_any_of_its_hosts_is_in_memory() -> None:
    table = DomainTable()
    table.enter(record(1, visits=3), commit=1)
    table.enter(record(2, visits=3), commit=1)

    table.count_visit(DOMAIN, SUFFIX)
    table.leave(DOMAIN)

    assert table[DOMAIN].visits == 4


def test_what_was_counted_is_forgotten_with_the_last_host_of_a_domain() -> None:
    table = DomainTable()
    table.enter(record(1, visits=3), commit=1)
    table.leave(DOMAIN)

    table.enter(record(1, visits=5), commit=2)

    assert table[DOMAIN].visits == 5
    assert len(table) == 1


def test_a_million_domains_that_come_and_go_leave_nothing_behind() -> None:
    table = DomainTable()

    for number in range(1_000_000):
        table.enter(record(number, domain_id=number), commit=1)
        table.leave(number)

    assert len(table) == 0
    assert not table._hosts


def test_links_that_a_load_did_not_know_of_are_added_to_what_it_brings() -> None:
    table = DomainTable()
    table.begin_load()
    table.count_links(5, DOMAIN, 2, 1)
    table.count_links(6, DOMAIN, 1, 0)

    table.enter(record(1, links=12), commit=5)
    table.end_load()

    assert table[DOMAIN].links == 13


def test_a_domain_left_while_a_load_is_under_way_is_not_taken_for_what_it_was_before() -> None:
    """The load may have been read before the last visits to the domain were committed."""
    table = DomainTable()
    table.enter(record(1, visits=3), commit=1)
    table.begin_load()
    table.count_visit(DOMAIN, SUFFIX)
    table.leave(DOMAIN)

    table.enter(record(2, visits=3), commit=1)
    table.end_load()

    assert table[DOMAIN].visits == 4


def test_a_domain_left_during_a_load_that_does_not_bring_it_back_is_forgotten() -> None:
    table = DomainTable()
    table.enter(record(1), commit=1)
    table.begin_load()
    table.leave(DOMAIN)

    table.end_load()

    assert len(table) == 0


def test_visits_of_a_suffix_go_on_from_what_was_stored() -> None:
    table = DomainTable({SUFFIX: 10})
    table.enter(record(1), commit=1)

    table.count_visit(DOMAIN, SUFFIX)

    assert table.suffix_visits[SUFFIX] == 11
