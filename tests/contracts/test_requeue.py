"""URLs that have a date: they are queued when it comes, know their past, and keep what is on record of them."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteDatabase, named_queries
from gossamer.frontier.back_queue import RankedUrls
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.batch import Batch
from gossamer.model.loads import HostRequest, LoadRequest
from gossamer.model.requeue import DueUrl, Postponement, RequeueOrder
from gossamer.model.settlement import PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import PreviousVisit, Task
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds
from gossamer.store.table.metadata import Metadata
from tests.backends.sqlite.sqlite_store import START, AnyTables, Store, candidate, settlement


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    yield store
    store.close()


def stored_with_dates(store: Store, dates: list[float]) -> None:
    """A page of its own for each date, stored."""
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, len(dates) + 1)]), store.now)
    pages = [
        settlement(n, body=b"page %d" % n)._replace(available_at=Instant(START + date), planned_gap=date, etag='"1"')
        for n, date in enumerate(dates, 1)
    ]
    store.writer.commit(Batch(settlements=pages), store.now)


def tasks_of(store: Store) -> list[Task]:
    wanted = HostRequest(HostId(1), False, ((0, (-math.inf, 0), 1000),), Instant(math.inf))
    return store.loader.load(LoadRequest((), (wanted,))).hosts[0].classes[0][1]


def test_what_is_due_is_queued_the_longest_overdue_first(store: Store) -> None:
    stored_with_dates(store, [50.0, 10.0, 99.0, 30.0])
    store.clock.advance(Seconds(60.0))

    committed = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 100)), store.now)

    assert list(committed.requeued) == [(UrlState.STORED, 3)]
    assert committed.next_due == START + 99.0
    assert [task.url_id for task in tasks_of(store)] == [2, 4, 1]
    rows = store.rows("SELECT name, value FROM counters WHERE name LIKE 'state:%' OR name = 'refreshing'")
    counts = {row[0]: row[1] for row in rows}
    assert (counts["state:queued"], counts["state:stored"], counts["refreshing"]) == (3, 1, 3)


def test_no_more_are_queued_than_are_ordered(store: Store) -> None:
    stored_with_dates(store, [10.0, 20.0, 30.0])
    store.clock.advance(Seconds(60.0))

    first = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 2)), store.now)
    second = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 2)), store.now)
    third = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 2)), store.now)

    assert [list(each.requeued) for each in (first, second, third)] == [
        [(UrlState.STORED, 2)],
        [(UrlState.STORED, 1)],
        [],
    ]
    assert third.next_due == math.inf


def test_what_comes_due_next_may_be_queued_early_after_half_of_its_gap_and_the_shortest_one(store: Store) -> None:
    stored_with_dates(store, [100.0, 119.0, 121.0, 130.0])
    store.clock.advance(Seconds(60.0))

    not_yet = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 10, early_after=Seconds(61.0))), store.now)
    committed = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 10, early_after=Seconds(5.0))), store.now)

    assert list(not_yet.requeued) == []
    assert list(committed.requeued) == [(UrlState.STORED, 2)]
    assert committed.next_due == START + 121.0
    assert [task.url_id for task in tasks_of(store)] == [1, 2]
    assert store.rows("SELECT max(available_at - ?) < 61.0 FROM urls WHERE state = 0", START) == [(1,)]


def test_what_goes_ahead_stands_before_everything_that_waits(store: Store) -> None:
    stored_with_dates(store, [10.0])
    store.writer.commit(Batch(candidates=[candidate("a.test", 9)]), store.now)
    store.clock.advance(Seconds(60.0))

    store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9, at_front=True)), store.now)

    assert [task.url_id for task in tasks_of(store)] == [1, 2]


def test_the_missing_are_queued_where_they_are_meant(store: Store) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", 1)]), store.now)
    gone = settlement(1, UrlState.MISSING)._replace(status=404, available_at=Instant(START + 5))
    store.writer.commit(Batch(settlements=[gone]), store.now)
    store.clock.advance(Seconds(60.0))

    without = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9)), store.now)
    with_them = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9, include_missing=True)), store.now)

    assert (list(without.requeued), without.next_due) == ([], math.inf)
    assert list(with_them.requeued) == [(UrlState.MISSING, 1)]


def test_a_url_knows_what_came_of_its_last_visit(store: Store) -> None:
    stored_with_dates(store, [10.0])
    store.writer.commit(Batch(candidates=[candidate("a.test", 9)]), store.now)
    store.clock.advance(Seconds(60.0))
    store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9)), store.now)

    new, again = tasks_of(store)

    assert again.previous == PreviousVisit(
        1, 0, UrlState.STORED, None, Instant(START), b"page 1", etag='"1"', planned_gap=10.0
    )
    assert again.previous.has_document
    assert new.previous is None


def test_what_has_not_changed_keeps_everything_but_its_date(store: Store) -> None:
    stored_with_dates(store, [10.0])
    before = store.rows("SELECT size, digest, title, warc_offset FROM visits")
    store.clock.advance(Seconds(60.0))
    store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9)), store.now)
    again = Settlement(
        HostId(1), 1, 0, UrlState.STORED, store.now, status=304, kept=True, rate_shape=0.5, rate_span=7.0
    )

    store.writer.commit(Batch(settlements=[again]), store.now)

    assert store.rows("SELECT size, digest, title, warc_offset FROM visits") == before
    assert store.rows("SELECT at, etag FROM visits") == [(START + 60.0, '"1"')]
    assert store.rows("SELECT state, visits, changes, memory_one, memory_two, was FROM urls") == [
        (1, 2, 0, 0.5, 7.0, None)
    ]


@pytest.mark.parametrize("state", [UrlState.QUEUED, UrlState.DEAD])
def test_a_try_in_vain_leaves_what_is_on_record_of_a_document(store: Store, state: UrlState) -> None:
    stored_with_dates(store, [10.0])
    before = store.rows("SELECT * FROM visits")
    store.clock.advance(Seconds(60.0))
    store.writer.commit(Batch(requeue=RequeueOrder(store.now, 9)), store.now)
    failed = Settlement(HostId(1), 1, 0, state, store.now, 1, Instant(store.now + 5), "server_error", status=503)

    store.writer.commit(Batch(settlements=[failed]), store.now)

    assert store.rows("SELECT * FROM visits") == before
    if state is UrlState.QUEUED:
        (task,) = tasks_of(store)
        assert task.previous is not None and task.previous.has_document


def test_a_url_that_is_queued_for_another_reason_is_not_taken_for_one_that_we_have(store: Store) -> None:
    stored_with_dates(store, [10.0])
    store.writer_db.execute("UPDATE urls SET state = 0")  # as `verify --repair` does when a record is lost

    (task,) = tasks_of(store)

    assert task.previous is not None and not task.previous.has_document


def test_what_was_learnt_and_decided_is_committed_with_the_batch(store: Store) -> None:
    stored_with_dates(store, [10.0])

    store.writer.commit(
        Batch(change_histories={HostId(1): "[1]"}, facts={"recrawl": "2.0"}, requeue=RequeueOrder(store.now, 1)),
        store.now,
    )

    assert store.value("SELECT changing FROM hosts") == "[1]"
    assert store.value("SELECT value FROM facts WHERE name = 'recrawl'") == "2.0"


def test_what_a_policy_wrote_down_is_forgotten_under_another_one_only(store: Store) -> None:
    stored_with_dates(store, [10.0])
    known = settlement(1, body=b"page 1")._replace(rate_shape=0.5, rate_span=7.0)
    facts = Metadata(SqliteDatabase(store.writer_db))
    facts.set_memory_format("optimal")
    store.writer.commit(Batch(settlements=[known]), store.now)

    memories = []
    for policy in ("optimal", "fixed"):
        facts.set_memory_format(policy)
        memories.append(store.rows("SELECT memory_one, memory_two FROM urls"))

    assert memories == [[(0.5, 7.0)], [(None, None)]]


@pytest.mark.parametrize("name", ["due_again", "due_early", "due_missing", "next_again", "next_missing"])
def test_dates_are_found_without_looking_at_more_rows_than_are_due(tmp_path: Path, name: str) -> None:
    sql = named_queries("queries.sql")[name]
    values = (START + 20.0, 10)[: sql.count("?")]
    steps = []
    for number in (1_000, 20_000):
        store = Store(tmp_path / f"{number}.db")
        store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, number + 1)]), store.now)
        store.writer_db.execute(
            "UPDATE urls SET state = CASE id % 2 WHEN 0 THEN 1 ELSE 4 END, available_at = ? + id", (START,)
        )
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        store.db.set_progress_handler(count, 1)
        store.db.execute(sql, values).fetchall()
        store.db.set_progress_handler(None, 0)
        steps.append(counted)
        store.close()

    assert steps[1] <= 1.2 * steps[0]


@pytest.mark.parametrize("name", [name for name, make in ORDERINGS.items() if make().by_score])
def test_what_goes_ahead_goes_before_whatever_has_the_best_score(tables: AnyTables, name: str) -> None:
    store = Store(tables, ORDERINGS[name]())
    stored_with_dates(store, [10.0])
    waiting = [candidate("a.test", number) for number in range(2, 40)]
    linked = [PageLinks(1, 1, [Fingerprint(number)] * 9, [HostKey("a.test")] * 9) for number in range(2, 40)]
    store.writer.commit(Batch(candidates=waiting, links=linked), store.now)
    store.clock.advance(Seconds(60.0))

    plain = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 1)), store.now).requeued
    store.writer.commit(Batch(settlements=[settlement(1)._replace(available_at=store.now)]), store.now)
    ahead = store.writer.commit(Batch(requeue=RequeueOrder(store.now, 1, at_front=True)), store.now).requeued

    ranked = RankedUrls()
    for front in (0, 1):
        wanted = HostRequest(HostId(1), False, ((front, (-math.inf, 0), 1000),), Instant(math.inf))
        for task in store.loader.load(LoadRequest((), (wanted,))).hosts[0].classes[0][1]:
            ranked.add(task)
    assert [list(each) for each in (plain, ahead)] == [[(UrlState.STORED, 1)]] * 2
    assert (len(ranked), ranked.pop().url_id) == (39, 1)
    store.close()


# --- hosts that are dear, and lines ------------------------------------------------------------------------------


def test_what_is_put_off_keeps_its_place_in_the_table_and_is_not_queued(store: Store) -> None:
    stored_with_dates(store, [10.0, 20.0, 30.0])
    store.clock.advance(Seconds(60.0))
    asked: list[tuple[int, int, float | None]] = []

    def when(page: DueUrl, before: int, now: Instant) -> Postponement | None:
        asked.append((page.url_id, before, page.planned_gap))
        later = {1: Postponement(Instant(START + 500.0), Seconds(500.0)), 2: Postponement(Instant(START + 400.0))}
        return later.get(page.url_id)

    store.writer._postpone = when
    order = RequeueOrder(store.now, 9, priced_hosts={HostId(1)}, max_backlog=5)
    committed = store.writer.commit(Batch(requeue=order), store.now)

    assert asked == [(1, 0, 10.0), (2, 0, 20.0), (3, 1, 30.0)]
    assert (list(committed.requeued), committed.requeued_by_host) == ([(UrlState.STORED, 1)], {1: 1})
    assert list(committed.postponed) == [(10.0, 500.0), (20.0, None)]
    assert committed.next_due == START + 400.0
    rows = store.rows("SELECT available_at, planned, state FROM urls ORDER BY id")
    assert [tuple(row) for row in rows[:2]] == [(START + 500.0, 500.0, 1), (START + 400.0, 20.0, 1)]


def test_of_a_host_that_is_not_dear_it_is_asked_from_a_full_line_on(store: Store) -> None:
    stored_with_dates(store, [10.0, 20.0, 30.0, 40.0])
    store.clock.advance(Seconds(60.0))
    asked: list[tuple[int, int]] = []

    def when(page: DueUrl, before: int, now: Instant) -> Postponement | None:
        asked.append((page.url_id, before))
        return Postponement(Instant(now + before))

    store.writer._postpone = when
    order = RequeueOrder(store.now, 9, max_backlog=3, backlogs={HostId(1): 1})
    committed = store.writer.commit(Batch(requeue=order), store.now)

    assert asked == [(3, 3), (4, 4)]
    assert committed.requeued_by_host == {1: 2}
    assert committed.next_due == store.now + 3.0


def test_a_dear_host_is_visited_early_only_if_nobody_stands_in_line_there(store: Store) -> None:
    stored_with_dates(store, [121.0])
    store.clock.advance(Seconds(90.0))
    order = RequeueOrder(store.now, 9, early_after=Seconds(5.0), priced_hosts={HostId(1)}, max_backlog=5)

    with_a_line = store.writer.commit(Batch(requeue=order._replace(backlogs={HostId(1): 1})), store.now)
    without = store.writer.commit(Batch(requeue=order), store.now)

    assert (list(with_a_line.requeued), list(without.requeued)) == ([], [(UrlState.STORED, 1)])
