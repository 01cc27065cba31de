"""The counts of hosts that are kept: whatever moves a URL, they are what counting every URL gives."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, open_for_writing
from gossamer.errors import DiskFull
from gossamer.model.batch import Batch, BulkChange
from gossamer.model.requeue import RequeueOrder
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds
from gossamer.reports.records import HOST_SORTS, HostFilter
from gossamer.reports.table.status import HostQueries
from gossamer.store.table.bulk_changes import drop_dead, requeue_dead
from tests.backends.sqlite.sqlite_store import START, Store, candidate, settlement

OUTCOMES = (UrlState.STORED, UrlState.DUPLICATE, UrlState.MISSING, UrlState.EXCLUDED, UrlState.DEAD, UrlState.QUEUED)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "crawl.db")
    yield store
    store.close()


Counts = dict[str, tuple[int, int, int, int, int]]
"""Of each host: URLs that are queued, stored, were answered, are known, are excluded."""


def counted(store: Store) -> Counts:
    """By going through every URL."""
    rows = store.rows(
        "SELECT h.host, sum(state = 0), sum(state = 1), sum(visits > 0), count(*), sum(state = 6)"
        " FROM urls u JOIN hosts h ON h.id = u.host_id GROUP BY h.id"
    )
    return {str(host): tuple(figures) for host, *figures in rows}  # type: ignore[misc]


def kept(store: Store) -> Counts:
    """As the rows of the hosts have it."""
    rows = HostQueries(store.reading).rows(HostFilter(), "queued")
    return {row.host: (row.queued, row.stored, row.fetched, row.known, row.excluded.total()) for row in rows}


def commit_some(store: Store, chance: random.Random, step: int, host_of: dict[int, int]) -> None:
    """What a crawl might do next: URLs enter, visits end in any way, what is due or ordered is queued again."""
    batch = Batch(candidates=[candidate(f"h{chance.randrange(5)}.test", chance.randrange(400)) for _ in range(6)])
    queued = [int(str(row[0])) for row in store.rows("SELECT id FROM urls WHERE state = 0")]
    for url_id in chance.sample(queued, min(4, len(queued))):
        state = chance.choice(OUTCOMES)
        body = b"%d of %d" % (url_id, step) if state is UrlState.STORED else None
        status = None if state is UrlState.EXCLUDED or chance.random() < 0.3 else 200
        made = settlement(url_id, state, host_of[url_id], body=body)
        batch.settle(made._replace(status=status, available_at=Instant(START + step), reason=state.word))
    if step % 5 == 0:
        batch.requeue = RequeueOrder(store.now, 3, include_missing=True)
    if step % 7 == 0:
        dead = [int(str(row[0])) for row in store.rows("SELECT id FROM urls WHERE state = 7")]
        batch.bulk_changes.append(
            BulkChange(tuple(dead[:2]), UrlState.DEAD, chance.choice((UrlState.QUEUED, UrlState.EXCLUDED)))
        )
    store.writer.commit(batch, store.now)
    store.clock.advance(Seconds(1.0))


def hosts_of(store: Store) -> dict[int, int]:
    return {int(str(url)): int(str(host)) for url, host in store.rows("SELECT id, host_id FROM urls")}


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_crawl_does_the_counts_are_those_of_counting_everything(store: Store, seed: int) -> None:
    chance = random.Random(seed)

    for step in range(40):
        commit_some(store, chance, step, hosts_of(store))

        assert kept(store) == counted(store)
    assert {state for (state,) in store.rows("SELECT DISTINCT state FROM urls")} >= set(OUTCOMES)


def test_a_commit_that_is_rolled_back_counts_nothing(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    before = kept(store)

    store.captures.full_after = 0
    with pytest.raises(DiskFull):
        store.writer.commit(
            Batch(candidates=[candidate("a.test", 3)], settlements=[settlement(1, body=b"x")]), store.now
        )

    assert kept(store) == before == counted(store)


def test_dead_letters_that_are_requeued_or_dropped_at_rest_are_counted(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate(f"{n % 2}.test", n) for n in range(6)]), store.now)
    store.writer.commit(Batch(settlements=[settlement(n, UrlState.DEAD, 2 - n % 2) for n in range(1, 7)]), store.now)
    with closing(open_for_writing(store.path)) as db:
        requeue_dead(SqliteDatabase(db), store.now, store.ordering.standing, host="0.test")
        drop_dead(SqliteDatabase(db), store.now, store.ordering.standing, host="1.test")

    assert kept(store) == counted(store) == {"0.test": (3, 0, 0, 3, 0), "1.test": (0, 0, 0, 3, 3)}


def test_a_url_that_is_known_already_is_not_counted_again(store: Store) -> None:
    for numbers in ((1, 2), (2, 3, 3), (1,)):
        store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in numbers]), store.now)

    assert kept(store) == counted(store) == {"a.test": (3, 0, 0, 3, 0)}


@pytest.mark.parametrize("sort", HOST_SORTS)
def test_hosts_come_in_the_order_that_their_rows_say(store: Store, sort: str) -> None:
    chance = random.Random(7)
    for step in range(30):
        commit_some(store, chance, step, hosts_of(store))
    store.writer_db.execute("UPDATE hosts SET next_contact = id % 3")
    key = HOST_SORTS[sort]

    rows = HostQueries(store.reading).rows(HostFilter(), sort)

    assert rows == sorted(rows, key=lambda row: (key(row), row.host))
    assert HostQueries(store.reading).rows(HostFilter(), sort, offset=1, limit=2) == rows[1:3]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (HostFilter(), ["a.test", "b.a.test", "ba.test"]),
        (HostFilter(contains="a.t"), ["a.test", "b.a.test", "ba.test"]),
        (HostFilter(contains="b"), ["b.a.test", "ba.test"]),
        (HostFilter(contains="%"), []),
        (HostFilter(host="A.test."), ["a.test"]),
        (HostFilter(host="*.a.test"), ["b.a.test"]),
        (HostFilter(host="nowhere.test"), []),
    ],
)
def test_hosts_are_chosen_by_name(store: Store, wanted: HostFilter, found: list[str]) -> None:
    hosts = ("a.test", "ba.test", "b.a.test")
    store.writer.commit(Batch(candidates=[candidate(host, n) for n, host in enumerate(hosts)]), store.now)

    assert [row.host for row in HostQueries(store.reading).rows(wanted, "host")] == found
    assert HostQueries(store.reading).count(wanted) == len(found)
