"""What one part of a crawl finds for the others: on record with its page, put out once, kept until it is delivered.

Domains fall to partitions by the length of their names here: `aa.test` (7) is ours, `b.test` (6) is another's.
"""

from collections.abc import Iterator

import pytest

from gossamer.errors import StoreFailed
from gossamer.model.batch import Batch, Committed
from gossamer.model.partition import WorkerShare
from gossamer.model.units import Fingerprint, Instant, Url
from tests.backends.table_store import AnyTables, Store, candidate, links_of

OURS, THEIRS = WorkerShare(1, 2), 0


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    made = Store(tables, part=OURS)
    yield made
    made.close()


def commit(store: Store, **parts: object) -> Committed:
    return store.writer.commit(Batch(**parts), store.now)  # type: ignore[arg-type]


def waiting(store: Store) -> list[str]:
    return [str(o.url) for o in store.loader.outbox_urls(THEIRS, 0, 100)]


def test_what_belongs_to_another_part_is_put_out_once_and_kept_until_it_is_delivered(store: Store) -> None:
    first = commit(store, candidates=[candidate("aa.test", 1), candidate("b.test", 2), candidate("b.test", 3)])
    assert (first.new_urls, first.outboxed) == (1, 2)
    assert store.rows("SELECT url FROM urls") == [("http://aa.test/0/1",)]
    assert waiting(store) == ["http://b.test/0/2", "http://b.test/0/3"]

    again = commit(store, candidates=[candidate("b.test", 3), candidate("b.test", 4)])
    assert (again.new_urls, again.outboxed) == (0, 1)
    lot = store.loader.outbox_urls(THEIRS, 0, 2)
    commit(store, delivered={THEIRS: lot[-1].id})
    assert waiting(store) == ["http://b.test/0/4"]
    assert commit(store, candidates=[candidate("b.test", 2)]).outboxed == 0


def test_the_same_url_twice_in_a_batch_is_put_out_once(store: Store) -> None:
    assert commit(store, candidates=[candidate("b.test", 2), candidate("b.test", 2)]).outboxed == 1
    assert waiting(store) == ["http://b.test/0/2"]


def test_it_goes_with_the_page_that_it_was_found_on(store: Store) -> None:
    commit(store, candidates=[candidate("aa.test", 1)])
    page = int(str(store.value("SELECT id FROM urls")))
    commit(store, candidates=[candidate("b.test", 2, found_on=page), candidate("b.test", 3)])
    assert [o.page for o in store.loader.outbox_urls(THEIRS, 0, 9)] == ["http://aa.test/0/1", None]


def test_nothing_is_known_here_of_hosts_that_belong_elsewhere(store: Store) -> None:
    commit(store, candidates=[candidate("aa.test", 1)])
    commit(
        store, candidates=[candidate("b.test", 2, found_on=1)], links=[links_of(1, 1, ("b.test", 2), ("aa.test", 1))]
    )
    assert store.rows("SELECT host FROM hosts") == [("aa.test",)]
    assert store.loader.counters()["hosts"] == 1
    assert store.loader.counters()["discovered"] == 1


def test_a_commit_that_fails_puts_nothing_out(store: Store) -> None:
    store.captures.flush_fails = True
    with pytest.raises(StoreFailed):
        commit(store, candidates=[candidate("b.test", 2)])
    store.captures.flush_fails = False
    assert waiting(store) == []
    assert commit(store, candidates=[candidate("b.test", 2)]).outboxed == 1


def test_numbers_are_never_given_again(store: Store) -> None:
    commit(store, candidates=[candidate("b.test", 2)])
    (first,) = store.loader.outbox_urls(THEIRS, 0, 9)
    commit(store, delivered={THEIRS: first.id})
    commit(store, candidates=[candidate("b.test", 3)])
    (second,) = store.loader.outbox_urls(THEIRS, first.id, 9)
    assert second.id > first.id
    assert store.loader.has_outbox_urls()


def test_what_comes_from_another_part_remembers_its_page(store: Store) -> None:
    page = Url("http://b.test/")
    come = candidate("aa.test", 1)._replace(page=page, modified=Instant(5.0))
    assert commit(store, candidates=[come, come]).new_urls == 1
    assert store.rows("SELECT u.url, b.page FROM brought b JOIN urls u ON u.id = b.url_id") == [(come.url, page)]

    known = candidate("aa.test", 1)._replace(page=Url("http://b.test/other"))
    commit(store, candidates=[known, candidate("aa.test", 9)])
    assert store.rows("SELECT page FROM brought") == [(page,)]


def test_a_part_that_owns_everything_puts_nothing_out(tables: AnyTables) -> None:
    store = Store(tables, part=WorkerShare(0, 1))
    many = [candidate(host, number) for number, host in enumerate(["aa.test", "b.test", "ccc.test"], start=1)]
    assert commit(store, candidates=many).new_urls == 3
    assert not store.loader.has_outbox_urls()
    store.close()


class MovingShare:
    """A `PartitionOwner` that gives partitions up and takes them over. Those of others have numbers of their own."""

    def __init__(self, *owned: int) -> None:
        self.number = 1
        self.owned = set(owned)

    def owner_of(self, partition: int) -> int:
        return self.number if partition in self.owned else 100 + partition

    def owns(self, partition: int) -> bool:
        return partition in self.owned


def test_urls_follow_their_partition_when_it_changes_hands(tables: AnyTables) -> None:
    share = MovingShare(7)
    store = Store(tables, part=share)
    commit(store, candidates=[candidate("aa.test", 1), candidate("b.test", 2)])

    share.owned = {6}
    moved = commit(store, candidates=[candidate("aa.test", 3), candidate("b.test", 4)])

    assert (moved.new_urls, moved.outboxed) == (1, 1)
    assert store.rows("SELECT url FROM urls ORDER BY url") == [("http://aa.test/0/1",), ("http://b.test/0/4",)]
    assert [str(o.url) for o in store.loader.outbox_urls(106, 0, 9)] == ["http://b.test/0/2"]
    assert [str(o.url) for o in store.loader.outbox_urls(107, 0, 9)] == ["http://aa.test/0/3"]
    store.close()


def test_ten_thousand_urls_are_divided_and_none_is_lost(store: Store) -> None:
    many = [candidate("aa.test" if n % 3 else "b.test", n) for n in range(1, 10_001)]
    done = commit(store, candidates=many)
    assert done.new_urls + done.outboxed == 10_000
    out = store.loader.outbox_urls(THEIRS, 0, 10_000)
    assert len(out) == done.outboxed == 3_333
    assert {Fingerprint(int(o.url.rsplit("/", 1)[1])) for o in out} == {n for n in range(1, 10_001) if n % 3 == 0}
