"""What the store knows about one URL, read by its indexes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import (
    SqliteDatabase,
    named_queries,
    open_for_reading,
    open_for_writing,
    open_reader,
)
from gossamer.config.overrides import OVERRIDES_KEY
from gossamer.errors import StoreFailed
from gossamer.filter.rules import EntryRules
from gossamer.filter.scope import parse_scope
from gossamer.model.facts import DomainFacts, UrlFacts
from gossamer.model.units import Domain, Fingerprint, HostKey, Origin, Url
from gossamer.model.url_record import MAX_FAILURES, MAX_STEPS, Bounded, DomainFact, Facts
from gossamer.reports.queries import scope_near
from gossamer.reports.table import explain
from gossamer.reports.table.explain import UrlQueries

HOST, DOMAIN, ORIGIN = HostKey("www.h.test"), Domain("h.test"), Origin("http://www.h.test")
NO_SCANS = {"SCAN (subquery-1)", "SCAN CONSTANT ROW"}
"""These read no table."""

URL = """INSERT INTO urls (id, host_id, domain_id, fingerprint, url, state, front, available_at, priority, depth, tries,
    hops, via, found_on, found_at, place, links, links_from_others, credit, visits, changes)
    VALUES (?, 1, 1, ?, ?, ?, 1, ?, 0.5, ?, 0, 0, ?, ?, 50.0, ?, 5, 2, 7, 4, 1)"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A seed, thirty pages each found on the one before, and five more in the queue."""
    db = open_for_writing(tmp_path / "crawl.db")
    db.execute("INSERT INTO facts VALUES ('fingerprint_key', '99')")
    db.execute("INSERT INTO facts VALUES ('order', 'balance')")
    db.execute("INSERT INTO facts VALUES (?, 'what was ordered')", (OVERRIDES_KEY,))
    db.execute("INSERT INTO suffixes VALUES (3, 'test', 40)")
    db.execute(
        "INSERT INTO domains (id, domain, partition, accesses, links, links_from_others, suffix_id)"
        " VALUES (1, 'h.test', 0, 12, 30, 6, 3)"
    )
    db.execute(
        "INSERT INTO hosts (id, host, domain_id, next_contact, last_took, address, rest_reason)"
        " VALUES (1, 'www.h.test', 1, 70.0, 0.25, '192.0.2.1', 'Retry-After')"
    )
    db.execute("INSERT INTO seeds VALUES ('http://www.h.test/1', 'x', 'seeds.txt, line 3', 40.0)")
    for n in range(1, 31):
        db.execute(URL, (n, n, f"http://www.h.test/{n}", 1, None, n - 1, 0 if n == 1 else 1, n - 1, 0))
    for n in range(31, 36):
        db.execute(URL, (n, n, f"http://www.h.test/{n}", 0, 100.0, 1, 1, 1, -float(n // 2)))
    db.executemany("INSERT INTO failures VALUES (30, ?, 'x', NULL, NULL)", [(float(n),) for n in range(25)])
    db.close()
    return tmp_path / "crawl.db"


@pytest.fixture
def reader(path: Path) -> Iterator[UrlQueries]:
    db = open_reader(path)
    yield UrlQueries(db)
    db.close()


def facts(reader: UrlQueries, *identities: int) -> Facts:
    return reader.facts(HOST, DOMAIN, "test", ORIGIN, [Fingerprint(n) for n in identities])


def test_every_statement_follows_an_index(path: Path) -> None:
    db = open_for_reading(path)
    for name, sql in named_queries("explain.sql").items():
        plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}", ["x"] * sql.count("?"))]
        assert [line for line in plan if line.startswith("SCAN") and line not in NO_SCANS] == [], (name, plan)
        assert not any("TEMP B-TREE" in line for line in plan), (name, plan)
    db.close()


def test_a_url_is_found_by_the_first_identity_that_is_known(reader: UrlQueries) -> None:
    assert reader.fingerprint_key() == 99
    for identities, found in (((7,), "7"), ((999, 8), "8"), ((9, 8), "9")):
        known = facts(reader, *identities).url
        assert known is not None
        assert known.url == f"http://www.h.test/{found}"
    assert facts(reader, 998, 999).url is None


def test_the_way_back_is_followed_so_far_and_no_further(reader: UrlQueries) -> None:
    far, near = facts(reader, 30).way, facts(reader, 4).way

    assert [step.url for step in near] == [f"http://www.h.test/{n}" for n in (3, 2, 1)]
    assert near[-1].seed is not None and near[-1].seed.where == "seeds.txt, line 3"
    assert len(far) == MAX_STEPS


def test_the_last_failures_are_told_oldest_first(reader: UrlQueries) -> None:
    found = facts(reader, 30)

    assert [failure.at for failure in found.failures] == [float(n) for n in range(5, 25)]
    assert (len(found.failures), found.earlier_failures) == (MAX_FAILURES, True)
    assert facts(reader, 29).earlier_failures is False


def test_a_place_in_the_queue_is_counted_by_place_then_discovery(reader: UrlQueries) -> None:
    queues = {n: facts(reader, n).queue for n in range(31, 36)}

    # Their places are -15, -16, -16, -17 and -17: the newest pairs are first, and in each the older.
    assert {n: queue.before.number for n, queue in queues.items() if queue} == {34: 0, 35: 1, 32: 2, 33: 3, 31: 4}
    last = queues[31]
    assert last is not None
    assert (last.of_class, last.of_host) == (Bounded(5), Bounded(5))
    assert facts(reader, 30).queue is None


def test_what_a_priority_rests_on_is_read(reader: UrlQueries) -> None:
    found = facts(reader, 31)

    assert found.url is not None
    assert found.url.learnt == UrlFacts(31, Url("http://www.h.test/31"), 1, 5, 2, 7, 4, 1)
    assert found.domain == DomainFact(DOMAIN, DomainFacts(12, 30, 6), 40)
    assert found.order == "balance"


def test_what_was_ordered_is_read_of_known_and_of_unknown_urls(reader: UrlQueries) -> None:
    assert facts(reader, 31).orders == facts(reader, 999).orders == "what was ordered"


def test_of_an_unknown_domain_the_visits_of_its_suffix_are_known(reader: UrlQueries) -> None:
    for suffix, visits in (("test", 40), ("elsewhere", 0)):
        found = reader.facts(HostKey("new.test"), Domain("new.test"), suffix, ORIGIN, [Fingerprint(999)])
        assert found.domain == DomainFact(Domain("new.test"), DomainFacts(), visits)
        assert (found.next_id, found.order) == (36, "balance")


def test_counting_ends_at_the_limit(reader: UrlQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explain, "MAX_COUNTED", 4)

    queue = facts(reader, 31).queue

    assert queue is not None
    assert (queue.before, queue.of_host) == (Bounded(4), Bounded(4, True))


def test_of_an_unknown_url_its_host_is_known_all_the_same(reader: UrlQueries) -> None:
    found = facts(reader, 999)

    assert found.host is not None
    assert (found.host.address, found.host.last_took, found.host.rest_reason) == ("192.0.2.1", 0.25, "Retry-After")
    assert found.domain.learnt.visits == 12


@pytest.mark.parametrize(
    ("scope", "host", "domain", "admitted"),
    [
        ("host", "www.h.test", "h.test", True),
        ("host", "h.test", "h.test", False),
        ("host", "ww.h.test", "h.test", False),
        ("domain", "other.h.test", "h.test", True),
        ("domain", "h.testing", "h.testing", False),
        ("domain", "ww.h.test.example", "test.example", False),
        ("host:a.test", "a.test", "a.test", True),
    ],
)
def test_the_scope_near_a_host_is_what_all_seeds_would_make_it(
    reader: UrlQueries, scope: str, host: str, domain: str, admitted: bool
) -> None:
    rules = EntryRules(scope=scope_near(parse_scope(scope), reader, HostKey(host), Domain(domain)))

    assert (rules.may_enter(Url(f"http://{host}/"), HostKey(host), 0) is None) == admitted


def test_a_database_that_cannot_be_read_is_the_stores_failure(path: Path) -> None:
    db = open_for_writing(path)
    db.execute("DROP TABLE seeds")

    with pytest.raises(StoreFailed):
        UrlQueries(SqliteDatabase(db)).seed_host(HOST)
    db.close()
