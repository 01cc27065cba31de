"""Counting links: each once, when it is due, whatever happens in between."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.errors import DiskFull, StoreFailed
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.best_first import BestFirst
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Importance, Novelty
from gossamer.model.batch import Batch, Linked, Moved
from gossamer.model.facts import BIRTH_CREDIT, credit_per_link
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds
from gossamer.store.row_formats import unpack_numbers
from gossamer.store.table.link_counts import LinkedPage, pages_bytes, pages_from
from tests.backends.table_store import AnyTables, Store, candidate, links_of, settlement, sqlite_only

ENOUGH = 10


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    """Six URLs on each of two domains, ids and fingerprints 1-6 and 7-12; links are put off until there are ten."""
    store = Store(tables, Ordering(), targets_at_once=ENOUGH)
    fill(store)
    yield store
    store.close()


def fill(store: Store) -> None:
    found = [candidate("a.test", n) for n in range(1, 7)] + [candidate("www.b.org", n) for n in range(7, 13)]
    store.writer.commit(Batch(candidates=found), store.now)


def commit_links(store: Store, page: int, *targets: tuple[str, int]) -> tuple[list[Moved], list[Linked]]:
    """The page is fetched and has these links."""
    batch = Batch(links=[links_of(page, 1 if page < 7 else 2, *targets)])
    batch.settle(settlement(page, UrlState.STORED, 1 if page < 7 else 2))
    committed = store.writer.commit(batch, store.now)
    return committed.moved, committed.linked


def counts(store: Store) -> dict[int, tuple[int, int]]:
    """The URLs that have links, with how many, and how many from other domains."""
    rows = store.db.execute("SELECT id, links, links_from_others FROM urls WHERE links > 0")
    return {url_id: (links, others) for url_id, links, others in rows}


def test_links_are_counted_when_there_are_enough(store: Store) -> None:
    menu = [("a.test", n) for n in (2, 3, 4, 5, 6)]

    assert commit_links(store, 1, *menu[:4], ("www.b.org", 7)) == ([], [])
    assert counts(store) == {}

    _, linked = commit_links(store, 7, *menu)
    assert counts(store) == {2: (2, 1), 3: (2, 1), 4: (2, 1), 5: (2, 1), 6: (1, 1), 7: (1, 1)}
    assert sorted(linked) == [Linked(1, 9, 5), Linked(2, 1, 1)]
    assert store.value("SELECT count(*) FROM uncounted") == 0


def test_links_are_counted_after_some_seconds_even_if_there_are_few(store: Store) -> None:
    store.clock.advance(Seconds(19.0))
    commit_links(store, 1, ("a.test", 2))
    assert counts(store) == {}

    store.clock.advance(Seconds(1.0))
    store.writer.commit(Batch(candidates=[candidate("a.test", 99)]), store.now)
    assert counts(store) == {2: (1, 0)}


def test_links_that_wait_are_counted_on_closing(store: Store) -> None:
    commit_links(store, 1, ("a.test", 2))

    store.writer.close()

    assert counts(store) == {2: (1, 0)}


@sqlite_only
def test_a_crash_after_any_commit_neither_loses_nor_doubles_a_link(store: Store, tmp_path: Path) -> None:
    expected = dict.fromkeys(range(1, 13), 0)
    for page in range(1, 13):
        targets = [n for n in range(1, 13) if n != page and (n * page) % 3]
        commit_links(store, page, *[("a.test" if n < 7 else "www.b.org", n) for n in targets])
        for target in targets:
            expected[target] += 1

        for times in (1, 2):  # and another crash, right after the next start
            directory = tmp_path / f"crash-{page}-{times}"
            directory.mkdir()
            for file in tmp_path.glob("crawl.db*") if times == 1 else (tmp_path / f"crash-{page}-1").iterdir():
                shutil.copy(file, directory)
            again = Store(directory / "crawl.db", Ordering(), targets_at_once=ENOUGH)
            assert {n: links for n, (links, _) in counts(again).items()} == {n: e for n, e in expected.items() if e}
            again.writer_db.close()
            again.loader.close()


def test_a_count_that_is_rolled_back_is_done_by_the_next_commit(store: Store) -> None:
    commit_links(store, 1, *[("a.test", n) for n in (2, 3, 4, 5, 6)])
    store.captures.flush_fails = True
    with pytest.raises(DiskFull):
        commit_links(store, 2, *[("a.test", n) for n in (1, 3, 4, 5, 6)])
    store.captures.flush_fails = False
    assert counts(store) == {}

    commit_links(store, 2, *[("a.test", n) for n in (1, 3, 4, 5, 6)])
    assert counts(store) == {1: (1, 0), 2: (1, 0), 3: (2, 0), 4: (2, 0), 5: (2, 0), 6: (2, 0)}


def test_targets_that_are_not_in_the_table_are_in_the_graph_and_make_no_rows(store: Store) -> None:
    before = store.rows("SELECT id, host FROM hosts"), store.rows("SELECT id, domain FROM domains")
    targets = [("a.test", 50), ("other.a.test", 51), ("c.test", 52)]

    _, linked = commit_links(store, 1, *targets, ("a.test", 2))

    assert before == (store.rows("SELECT id, host FROM hosts"), store.rows("SELECT id, domain FROM domains"))
    assert store.value("SELECT targets FROM links WHERE url_id = 1") is not None
    assert linked == []
    store.writer.close()
    assert counts(store) == {2: (1, 0)}
    assert store.rows("SELECT links, links_from_others FROM domains WHERE id = 1") == [(3, 0)]


def test_the_graph_holds_the_targets_as_little_endian_numbers(store: Store) -> None:
    commit_links(store, 1, ("a.test", 2), ("b.org", -3))

    stored = store.db.execute("SELECT targets FROM links WHERE url_id = 1")[0][0]

    assert stored == b"\x02\0\0\0\0\0\0\0" + b"\xfd" + b"\xff" * 7
    assert unpack_numbers(stored) == [2, -3]


def test_a_domain_that_is_met_later_counts_from_then_on(store: Store) -> None:
    commit_links(store, 1, ("new.test", 20))
    store.writer.commit(Batch(candidates=[candidate("new.test", 20)]), store.now)
    commit_links(store, 2, ("new.test", 20))

    store.writer.close()

    assert store.rows("SELECT links FROM urls WHERE fingerprint = 20") == [(1,)]


def test_a_page_that_is_fetched_again_counts_only_what_is_new_on_it(tables: AnyTables) -> None:
    store = Store(tables, Novelty())
    fill(store)
    commit_links(store, 1, ("a.test", 2), ("a.test", 3))

    moved, linked = commit_links(store, 1, ("a.test", 3), ("a.test", 4), ("www.b.org", 7))

    assert counts(store) == {2: (1, 0), 3: (1, 0), 4: (1, 0), 7: (1, 1)}
    assert sorted(linked) == [Linked(1, 1, 0), Linked(2, 1, 1)]
    assert {move.url_id for move in moved} == {4, 7}
    stored = store.db.execute("SELECT targets FROM links WHERE url_id = 1")[0][0]
    assert unpack_numbers(stored) == [3, 4, 7]
    store.close()


def test_credit_flows_from_page_to_page_within_a_batch(tables: AnyTables) -> None:
    store = Store(tables, Importance())
    fill(store)
    batch = Batch(links=[links_of(1, 1, ("a.test", 2), ("a.test", 3)), links_of(2, 1, ("a.test", 3))])
    batch.settle(settlement(1))
    batch.settle(settlement(2))

    moved = store.writer.commit(batch, store.now).moved

    half = credit_per_link(BIRTH_CREDIT, 2)
    third = BIRTH_CREDIT + half + credit_per_link(BIRTH_CREDIT + half, 1)
    assert store.rows("SELECT credit FROM urls WHERE id IN (1, 2, 3) ORDER BY id") == [(0,), (0,), (third,)]
    assert moved == [Moved(1, 3, 0, -float(third), third)]  # type: ignore[arg-type]
    store.close()


def test_a_url_that_waits_for_a_date_keeps_its_place_and_gets_its_score(tables: AnyTables) -> None:
    store = Store(tables, Novelty())
    fill(store)
    until = store.now + 123.456
    again = settlement(2, UrlState.QUEUED)._replace(available_at=Instant(until), reason="slow")
    store.writer.commit(Batch(settlements=[again]), store.now)

    moved, _ = commit_links(store, 1, ("a.test", 2))

    assert moved == [(1, 2, 1, until, 100)]
    assert store.rows("SELECT front, place, priority FROM urls WHERE id = 2") == [(1, until, 100.0)]
    store.close()


def test_scores_do_not_depend_on_the_order_in_which_links_are_found(tmp_path: Path) -> None:
    """Links of pages that were fetched: in any order, in any batches, counted at once or later, with a restart."""
    hosts = ("a.test", "www.a.test", "b.org")
    chance = random.Random(16)
    names = {number: hosts[number % 3] for number in range(1, 25)}
    pages = []
    for number in range(1, 9):
        targets = chance.sample(range(9, 25), chance.randint(1, 6))
        pages.append(links_of(number, 2 if number % 3 == 2 else 1, *((names[n], n) for n in targets)))
    found = set()
    for run in range(6):
        ordering = (Mercator, BestFirst)[run % 2]()
        store = Store(tmp_path / f"{run}.db", ordering, targets_at_once=chance.choice((1, 10, 1000)))
        first = [candidate(names[n], n, found_on=max(0, n - 6)) for n in range(1, 25)]
        for number in range(0, 24, 3):
            store.writer.commit(Batch(candidates=first[number : number + 3]), store.now)
        homes = store.rows("SELECT id, host_id FROM urls WHERE id < 9")
        fetched = [settlement(int(str(n)), host_id=int(str(host_id)))._replace(status=200) for n, host_id in homes]
        store.writer.commit(Batch(settlements=fetched), store.now)
        chance.shuffle(pages)
        at = 0
        while at < len(pages):
            size = chance.randint(1, 4)
            store.writer.commit(Batch(links=pages[at : at + size]), store.now)
            at += size
            if chance.random() < 0.4:
                store.close()
                store.open()
        store.close()
        store.open()
        rows = store.rows("SELECT id, link_sum, steps, ordinal, links FROM urls ORDER BY id")
        numbers = store.rows("SELECT host, number FROM hosts ORDER BY id")
        found.add((*rows, *numbers))
        store.close()

    assert len(found) == 1
    assert len({row[2] for row in rows}) > 2 and numbers == [("www.a.test", 0), ("b.org", 0), ("a.test", 1)]


def test_pages_come_back_from_bytes_as_they_were() -> None:
    pages = [LinkedPage(1, 2, 9, 1, 0, [-5, 2**63 - 1], [], []), LinkedPage(7, 2, 0, 0, 1, [], [-(2**63), 3], [8, 9])]

    assert list(pages_from(pages_bytes(pages))) == pages
    assert list(pages_from(b"")) == []


def test_bytes_that_are_no_numbers_are_a_failure_of_the_store() -> None:
    with pytest.raises(StoreFailed, match="7 bytes"):
        unpack_numbers(b"1234567")
