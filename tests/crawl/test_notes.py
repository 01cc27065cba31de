"""What the crawl notes about hosts, and what it takes over from the store."""

import pytest

from gossamer.crawl.notes import Notes, is_current
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, HostKey, Instant, Origin
from gossamer.store.changes import RobotsRecord

ORIGIN = Origin("http://a.test")


def record(host_id: int = 1, domain_id: int = 7, accesses: int = 0) -> HostRecord:
    return HostRecord(HostId(host_id), HostKey(f"h{host_id}.test"), domain_id, accesses, Instant(0.0), 0.0, None)


def robots(status: int, body: bytes = b"") -> RobotsRecord:
    return RobotsRecord(ORIGIN, HostId(1), status, Instant(100.0), Instant(900.0), body)


@pytest.mark.parametrize("status", [200, 301, 308, 404])
def test_an_answer_that_opened_a_host_opens_it_after_a_restart(status: int) -> None:
    answer = Notes("gossamer").remembered(robots(status))

    assert not answer.closed
    assert answer.verdict("/page").allowed


def test_rules_that_were_stored_hold_after_a_restart_until_they_expire() -> None:
    answer = Notes("gossamer").remembered(robots(200, b"User-agent: *\nDisallow: /x"))

    assert not answer.verdict("/x/y").allowed
    assert is_current(answer, Instant(899.0))
    assert not is_current(answer, Instant(900.0))


def test_accesses_are_counted_by_domain_while_any_of_its_hosts_is_in_memory() -> None:
    notes = Notes("gossamer")
    notes.begin(record(1, accesses=3), [])
    notes.begin(record(2, accesses=3), [])

    notes.count_access(7)
    notes.end(HostId(1))

    assert notes.accesses(7) == 4


def test_what_was_counted_is_forgotten_with_the_last_host_of_a_domain() -> None:
    notes = Notes("gossamer")
    notes.begin(record(1, accesses=3), [])
    notes.end(HostId(1))

    notes.begin(record(1, accesses=5), [])

    assert notes.accesses(7) == 5
