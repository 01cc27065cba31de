"""The counts of hosts that are kept: whatever moves a URL, they are what counting every URL gives."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_store import START, Store, candidate, settlement

from gossamer.backends.sqlite import host_index
from gossamer.backends.sqlite.database import open_for_reading, open_for_writing
from gossamer.backends.sqlite.dead_letters import DeadFilter
from gossamer.backends.sqlite.host_index import HostIndex, HostStanding
from gossamer.backends.sqlite.host_reports import HostReports
from gossamer.backends.sqlite.orders import drop_dead, requeue_dead
from gossamer.errors import DiskFull
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds
from gossamer.store.changes import Again, Batch, Order

OUTCOMES = (UrlState.STORED, UrlState.DUPLICATE, UrlState.MISSING, UrlState.EXCLUDED, UrlState.DEAD, UrlState.QUEUED)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "crawl.db")
    yield store
    store.close()


def counted(path: Path) -> list[HostStanding]:
    """By going through every URL."""
    with closing(open_for_reading(path)) as db:
        reports = HostReports(db, path)
        return [row.standing for row in reports.rows(reports.counts())]


def looked(index: HostIndex, path: Path) -> list[HostStanding]:
    with closing(open_for_reading(path)) as db:
        return index.look(db)


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
        batch.again = Again(store.now, 3, missing=True)
    if step % 7 == 0:
        dead = [int(str(row[0])) for row in store.rows("SELECT id FROM urls WHERE state = 7")]
        batch.orders.append(Order(tuple(dead[:2]), UrlState.DEAD, chance.choice((UrlState.QUEUED, UrlState.EXCLUDED))))
    store.writer.commit(batch, store.now)
    store.clock.advance(Seconds(1.0))


def hosts_of(store: Store) -> dict[int, int]:
    return {int(str(url)): int(str(host)) for url, host in store.rows("SELECT id, host_id FROM urls")}


@pytest.mark.parametrize("seed", range(5))
def test_whatever_a_crawl_does_the_counts_are_those_of_counting_everything(store: Store, seed: int) -> None:
    chance = random.Random(seed)
    index = HostIndex(store.path)

    for step in range(40):
        commit_some(store, chance, step, hosts_of(store))

        assert looked(index, store.path) == counted(store.path)
    assert looked(HostIndex(store.path), store.path) == counted(store.path)  # one that has just begun


def test_a_commit_that_is_rolled_back_counts_nothing(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2)]), store.now)
    index = HostIndex(store.path)
    before = looked(index, store.path)

    store.captures.full_after = 0
    with pytest.raises(DiskFull):
        store.writer.commit(
            Batch(candidates=[candidate("a.test", 3)], settlements=[settlement(1, body=b"x")]), store.now
        )

    assert looked(index, store.path) == before == counted(store.path)


def test_dead_letters_that_are_requeued_or_dropped_at_rest_are_counted(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate(f"{n % 2}.test", n) for n in range(6)]), store.now)
    store.writer.commit(Batch(settlements=[settlement(n, UrlState.DEAD, 2 - n % 2) for n in range(1, 7)]), store.now)
    with closing(open_for_writing(store.path)) as db:
        requeue_dead(db, DeadFilter(host="0.test"), store.now, store.ordering.standing)
        drop_dead(db, DeadFilter(host="1.test"), store.now, store.ordering.standing)

    found = looked(HostIndex(store.path), store.path)

    assert found == counted(store.path)
    assert [(each.queued, each.excluded) for each in found] == [(3, 0), (0, 3)]


def test_a_large_crawl_is_first_counted_in_short_reads(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_index, "_URLS_AT_ONCE", 7)
    store.writer.commit(Batch(candidates=[candidate(f"h{n % 3}.test", n) for n in range(50)]), store.now)

    assert looked(HostIndex(store.path), store.path) == counted(store.path)


def test_a_second_look_reads_only_the_urls_that_came_since(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(40)]), store.now)
    index = HostIndex(store.path)
    looked(index, store.path)
    store.writer.commit(Batch(candidates=[candidate("a.test", 99)]), store.now)

    with closing(open_for_reading(store.path)) as db:
        asked: list[str] = []
        db.set_trace_callback(asked.append)
        (found,) = index.look(db)

    assert found.known == 41
    assert [text for text in asked if "count(*)" in text] == [
        "SELECT host_id, count(*) FROM urls WHERE id > 40 AND id <= 41 GROUP BY host_id"
    ]
