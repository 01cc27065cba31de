"""Which URLs are queued again, how many at a time, and when a crawl is over. On a real store and a virtual clock."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.config.policies import recrawl_rules_for
from gossamer.config.sections import RecrawlRuleSection, RecrawlSection
from gossamer.crawl.observers import Observers
from gossamer.crawl.requeue import LOW_MARK, MAX_REQUEUED, STALLED_AFTER, Requeue
from gossamer.crawl.visit.settle import Counters
from gossamer.model.batch import Batch, Committed
from gossamer.model.states import UrlState
from gossamer.model.task import PreviousVisit, Task, Visit
from gossamer.model.units import DAY, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.recrawl.budget import TOKENS
from gossamer.recrawl.due import MAX_BACKLOG
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.price import price_from
from gossamer.store.table.requeue import LOOK_AHEAD
from gossamer.store.threads import WriterThread
from tests.backends.sqlite.sqlite_store import START, Store, candidate, settlement

KEEP = RecrawlSection(keep_fresh=True, discovery_share=0.0)
ONCE = RecrawlSection(discovery_share=0.0)
LONG = Instant(START + 10**9)
HOUR = 3600.0


class Scene:
    """A store with stored pages, and what queues them again. Commits happen when the test says so."""

    def __init__(
        self, store: Store, settings: RecrawlSection, tokens: str | None = None, policy: str = "fixed"
    ) -> None:
        self.store = store
        self.counters = Counters(store.loader.counters())
        self.thread = WriterThread(store.writer, store.clock, Observers(store.clock))
        price = price_from(None, settings, 1.0, store.now)
        plans = RecrawlPlanner(settings, RECRAWL_POLICIES[policy](), recrawl_rules_for(settings), price)
        self.requeue = Requeue(settings, plans, self.thread, self.counters, store.now, tokens)

    def step(self) -> int:
        """What the crawl does when `next_check_at` has come, and the commit of it. How many URLs were queued."""
        if self.store.now >= self.requeue.next_check_at:
            self.requeue.schedule(self.store.now)
        batch, self.thread.batch = self.thread.batch, Batch()
        if batch.requeue is None:
            return 0
        self.requeue.before_commit(batch, self.store.now)
        committed: Committed = self.store.writer.commit(batch, self.store.now)
        self.requeue.committed(committed)
        return sum(n for _, n in committed.requeued)

    def visited(self, number: int, again: Instant | None = LONG, *, new: bool = False) -> None:
        """`number` visits, each of which results in a stored page."""
        before = None if new else PreviousVisit(1, 0, UrlState.STORED, None, Instant(START), b"x")
        task = Task(1, Fingerprint(1), Url("http://a.test/1"), 0, 0.0, 0.0, 1, 0, 0, previous=before)
        visit = Visit(HostId(1), HostKey("a.test"), 1, task, None, 0.1)
        for _ in range(number):
            self.requeue.settled(visit, settlement(1)._replace(available_at=again), None, True)
            self.counters.move(UrlState.QUEUED, UrlState.STORED)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "crawl.db")
    yield store
    store.close()


def with_pages(store: Store, dates: list[float]) -> Store:
    count = len(dates)
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, count + 1)]), store.now)
    pages = [
        settlement(n, body=b"%d" % n)._replace(available_at=Instant(START + date), planned_gap=date)
        for n, date in enumerate(dates, 1)
    ]
    store.writer.commit(Batch(settlements=pages), store.now)
    return store


def test_a_crawl_without_dates_is_over_at_once(store: Store) -> None:
    for settings in (ONCE, KEEP):
        scene = Scene(with_pages(store, []), settings)

        assert scene.step() == 0
        assert scene.requeue.is_over


def test_one_that_runs_once_queues_what_was_due_when_it_began_and_no_more(store: Store) -> None:
    with_pages(store, [-5.0, 5.0])
    scene = Scene(store, ONCE)

    queued = scene.step()
    store.clock.advance(Seconds(60.0))  # now the other one is due as well

    assert (queued, scene.step()) == (1, 0)
    assert scene.requeue.is_over


def test_one_that_runs_once_retries_missing_urls_that_come_due_before_its_end_and_waits_for_no_others(
    store: Store,
) -> None:
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in (1, 2, 3)]), store.now)
    missing = [
        settlement(n, UrlState.MISSING)._replace(available_at=Instant(START + date))
        for n, date in ((1, 50.0), (2, 60.0), (3, 5000.0))
    ]
    store.writer.commit(Batch(settlements=missing), store.now)
    scene = Scene(store, ONCE)
    while not scene.requeue.is_over:
        assert scene.step() == 0

    scene.step()
    assert scene.requeue.next_check_at == START + 50.0
    store.clock.advance(Seconds(55.0))
    queued = scene.step()
    assert not scene.requeue.on_queue_empty() or scene.requeue.next_check_at == 0.0

    store.clock.advance(Seconds(10.0))
    assert (queued, scene.step(), scene.step()) == (1, 1, 0)
    assert scene.requeue.is_over


def test_one_that_keeps_fresh_waits_for_the_next_date(store: Store) -> None:
    with_pages(store, [-5.0, 50.0])
    scene = Scene(store, KEEP)

    queued = scene.step()
    scene.requeue.schedule(store.now)

    assert queued == 1
    assert not scene.requeue.is_over
    assert scene.requeue.next_check_at == START + 50.0
    store.clock.advance(Seconds(50.0))
    assert scene.step() == 1


def test_a_date_that_a_visit_brings_may_be_the_next_one(store: Store) -> None:
    with_pages(store, [50.0])
    scene = Scene(store, KEEP)
    scene.step()

    scene.visited(1, Instant(START + 20.0), new=True)
    scene.requeue.schedule(store.now)

    assert scene.requeue.next_check_at == START + 20.0


def test_no_more_wait_than_a_batch_and_the_mark_below_which_more_are_queued(store: Store) -> None:
    with_pages(store, [-1.0] * (2 * MAX_REQUEUED))
    scene = Scene(store, KEEP)

    first, second = scene.step(), scene.step()
    scene.visited(MAX_REQUEUED - LOW_MARK + 1)
    third = scene.step()

    assert (first, second, third) == (MAX_REQUEUED, 0, MAX_REQUEUED)


def test_a_budget_is_never_exceeded_and_used_as_far_as_anything_is_due(store: Store) -> None:
    with_pages(store, [-1.0] * 900)
    scene = Scene(store, RecrawlSection(keep_fresh=True, discovery_share=0.0, budget=240.0))
    total = 0
    for hour in range(48):
        total += scene.step()
        scene.visited(scene.requeue.backlog)
        assert total <= 240.0 / 24 * (hour + 1) + 1e-6
        store.clock.advance(Seconds(3600.0))

    assert total == 480


def test_a_budget_that_is_left_unused_pays_for_early_visits(store: Store) -> None:
    with_pages(store, [8 * HOUR] * 400)  # all planned for the same moment
    scene = Scene(store, RecrawlSection(keep_fresh=True, discovery_share=0.0, budget=240.0), policy="optimal")
    made = []
    for _ in range(8):
        store.clock.advance(Seconds(HOUR - 1.0))
        made.append(sum(scene.step() for _ in range(3)))
        scene.visited(scene.requeue.backlog)

    assert made[:3] == [0, 0, 0]  # half of the gap has not passed
    assert all(5 <= number <= 10 for number in made[4:])  # of ten in an hour


@pytest.mark.parametrize("policy", ["fixed", "optimal"])
def test_without_a_price_or_with_a_gap_that_is_a_rule_nothing_is_early(store: Store, policy: str) -> None:
    with_pages(store, [8 * HOUR] * 40)
    rules = () if policy == "fixed" else (RecrawlRuleSection(pattern="*", interval=8 * HOUR),)
    settings = RecrawlSection(keep_fresh=True, discovery_share=0.0, budget=240.0, rules=rules)
    scene = Scene(store, settings, policy=policy)
    scene.step()
    store.clock.advance(Seconds(7 * HOUR))

    assert scene.step() == 0
    assert scene.requeue.next_check_at == START + 8 * HOUR


def test_what_was_spent_of_a_budget_is_remembered(store: Store) -> None:
    with_pages(store, [-1.0] * 50)
    settings = RecrawlSection(keep_fresh=True, discovery_share=0.0, budget=240.0)
    scene = Scene(store, settings)
    spent = scene.step()
    batch = Batch(settlements=[settlement(1)])
    scene.requeue.before_commit(batch, store.now)

    again = Scene(store, settings, batch.facts[TOKENS])

    assert spent == 10
    assert again.step() == 0


def test_one_that_runs_once_leaves_what_its_budget_does_not_pay_for(store: Store) -> None:
    with_pages(store, [-1.0] * 50)
    scene = Scene(store, RecrawlSection(budget=20.0))

    assert scene.step() == 20
    scene.visited(20)
    scene.requeue.schedule(store.now)
    assert scene.requeue.is_over


def test_while_new_urls_wait_they_get_their_share(store: Store) -> None:
    with_pages(store, [-1.0] * 1_100)
    settings = RecrawlSection(keep_fresh=True, discovery_share=0.5, refresh_share=0.0)
    store.writer.commit(Batch(candidates=[candidate("b.test", n) for n in range(5_000, 8_000)]), store.now)
    scene = Scene(store, settings)

    first = scene.step()
    scene.visited(first)
    store.clock.advance(Seconds(2.0))
    without_credit = scene.step()
    scene.visited(40, new=True)
    store.clock.advance(Seconds(2.0))

    assert first == MAX_REQUEUED
    assert without_credit == 0
    assert scene.step() == 40


@pytest.mark.parametrize(("dear", "share"), [(False, 0.1), (True, 0.8)])
def test_while_both_wait_visits_go_to_those_that_are_worth_more_but_for_a_floor(
    store: Store, dear: bool, share: float
) -> None:
    with_pages(store, [-1.0] * 4_000)
    store.writer.commit(Batch(candidates=[candidate("b.test", n) for n in range(5_000, 12_000)]), store.now)
    scene = Scene(store, RecrawlSection(keep_fresh=True, discovery_share=0.2), policy="optimal")
    if dear:
        scene.requeue.planner.price.price = 1e6
    scene.visited(scene.step())  # what may be queued before anything is known of shares
    new = again = 0
    for _ in range(30):
        scene.visited(20, new=True)
        store.clock.advance(Seconds(2.0))
        queued = scene.step()
        scene.visited(queued)
        new, again = new + 20, again + queued

    assert again / (again + new) == pytest.approx(share, abs=0.02)


def test_what_is_requeued_while_new_urls_wait_does_not_wait_behind_them(store: Store) -> None:
    with_pages(store, [-1.0])
    alone, with_new = Scene(store, KEEP), Scene(store, KEEP)
    with_new.counters.total["state:queued"] += 1_000

    for scene in (alone, with_new):
        scene.requeue.schedule(store.now)

    orders = [scene.thread.batch.requeue for scene in (alone, with_new)]
    assert [order is not None and order.at_front for order in orders] == [False, True]


def test_refreshing_alone_uses_up_no_credit_for_the_time_when_new_urls_come(store: Store) -> None:
    with_pages(store, [-1.0] * 3 * MAX_REQUEUED)
    scene = Scene(store, RecrawlSection(keep_fresh=True), policy="optimal")
    for _ in range(2):
        scene.visited(scene.step())
    scene.counters.total["state:queued"] += 1_000

    scene.visited(90, new=True)
    store.clock.advance(Seconds(2.0))

    assert scene.step() >= 10


def test_changed_settings_apply_at_once(store: Store) -> None:
    with_pages(store, [-1.0] * 500 + [90.0])
    scene = Scene(store, ONCE)

    scene.requeue.change_to(RecrawlSection(keep_fresh=True, budget=24.0), store.now)
    nothing_saved = scene.step()
    store.clock.advance(Seconds(7_200.0))

    assert nothing_saved == 0
    assert scene.step() == 1  # an hour's worth at most
    assert not scene.requeue.is_over
    assert scene.requeue.rates.budget == 24.0
    scene.requeue.change_to(KEEP, store.now)
    scene.visited(1)
    assert scene.step() == 500


def test_a_crawl_is_not_held_up_by_urls_that_were_settled_otherwise(store: Store) -> None:
    with_pages(store, [-1.0] * (LOW_MARK + 5) + [70.0])
    scene = Scene(store, KEEP)
    scene.step()
    scene.counters.total["state:queued"] = 0

    over = scene.requeue.on_queue_empty()
    scene.requeue.schedule(store.now)

    assert not over
    assert scene.requeue.next_check_at == START + 70.0 < math.inf


def with_hosts(store: Store, hosts: list[list[float]], state: UrlState = UrlState.STORED) -> Store:
    """Pages of several hosts, by their dates from the start on. All were visited ten days before."""
    number, settled = 1, []
    for host_id, dates in enumerate(hosts, 1):
        store.writer.commit(
            Batch(candidates=[candidate(f"h{host_id}.test", number + k) for k in range(len(dates))]), store.now
        )
        for date in dates:
            page = settlement(number, host_id=host_id, state=state, body=b"%d" % number)
            settled.append(page._replace(available_at=Instant(START + date), planned_gap=10 * DAY + date))
            number += 1
    store.writer.commit(Batch(settlements=settled), store.now)
    return store


def queued_by_host(store: Store) -> dict[int, int]:
    return dict(store.db.execute("SELECT host_id, count(*) FROM urls WHERE state = 0 GROUP BY host_id").fetchall())


def scene_of(store: Store, settings: RecrawlSection, policy: str) -> Scene:
    scene = Scene(store, settings, policy=policy)
    store.writer._postpone = scene.requeue.planner.dates.postpone
    return scene


@pytest.mark.parametrize("state", [UrlState.STORED, UrlState.MISSING])
@pytest.mark.parametrize("policy", RECRAWL_POLICIES)
def test_a_host_with_much_that_is_due_does_not_keep_others_from_being_queued(
    store: Store, policy: str, state: UrlState
) -> None:
    with_hosts(store, [[-500.0 + k for k in range(400)], [-5.0]], state)
    scene = scene_of(store, KEEP, policy)

    queued = scene.step()

    assert queued == MAX_BACKLOG + 1
    assert queued_by_host(store) == {1: MAX_BACKLOG, 2: 1}
    assert scene.step() == 0
    assert scene.requeue.next_check_at > store.now  # the others come when there is room
    scene.visited(MAX_BACKLOG)
    store.clock.advance(Seconds(60.0))
    assert 0 < scene.step() <= MAX_BACKLOG


@pytest.mark.parametrize("policy", RECRAWL_POLICIES)
def test_of_a_crawl_that_runs_once_no_host_keeps_others_from_being_queued_either(store: Store, policy: str) -> None:
    with_hosts(store, [[-5000.0 + k for k in range(2 * MAX_REQUEUED)], [-50.0] * 40, [-5.0]])
    dates = store.rows("SELECT id, available_at FROM urls ORDER BY id")
    scene = scene_of(store, ONCE, policy)

    for _ in range(3):
        scene.step()

    assert queued_by_host(store) == {1: MAX_BACKLOG, 2: MAX_BACKLOG, 3: 1}
    assert store.rows("SELECT id, available_at FROM urls ORDER BY id") == dates  # nothing is put off


def test_one_that_runs_once_queues_all_that_is_due_however_much_is_on_one_host(store: Store) -> None:
    with_hosts(store, [[-5000.0 + k // 7 for k in range(3000)], [-50.0] * 40, [100.0]])
    scene = scene_of(store, ONCE, "optimal")

    steps = 0
    while not scene.requeue.is_over:
        scene.step()
        scene.visited(scene.requeue.backlog)
        steps += 1

    assert queued_by_host(store) == {1: 3000, 2: 40}
    assert steps < 20


def test_one_that_runs_once_looks_again_when_dates_were_brought_forward(store: Store) -> None:
    with_hosts(store, [[-50.0] * 3])
    scene = scene_of(store, ONCE, "optimal")
    scene.requeue.committed(store.writer.commit(Batch(), store.now)._replace(reported=1))

    scene.step()
    over = scene.requeue.is_over
    scene.step()

    assert (over, scene.requeue.is_over) == (False, True)


def test_if_what_is_queued_hardly_moves_more_is_queued(store: Store) -> None:
    with_hosts(store, [[-500.0] * 20] * 60 + [[-5.0]])  # many hosts, none of which has too long a line
    scene = scene_of(store, KEEP, "fixed")

    assert (scene.step(), scene.step()) == (MAX_REQUEUED, 0)
    scene.visited(LOW_MARK // 4)
    scene.step()
    store.clock.advance(Seconds(STALLED_AFTER))
    assert scene.step() == 0  # it moves
    assert scene.requeue.next_check_at == store.now + STALLED_AFTER
    store.clock.advance(Seconds(STALLED_AFTER))

    assert scene.step() == 1201 - MAX_REQUEUED <= LOW_MARK
    assert queued_by_host(store)[61] == 1


def test_when_the_price_has_fallen_far_everything_is_replanned(store: Store) -> None:
    with_hosts(store, [[100 * DAY] * (LOOK_AHEAD + 100)])
    scene = scene_of(store, RecrawlSection(keep_fresh=True, discovery_share=0.0, budget=5000.0), "optimal")
    plans = scene.requeue.planner
    store.writer._replan = plans.dates.replan
    for _ in range(LOOK_AHEAD + 100):
        plans.price.on_planned(None, 20.0)
    scene.step()
    demand = plans.price.demand
    plans.price.step(store.now / DAY + 0.001)
    plans.price.price = 0.01

    steps = 0
    store.clock.advance(Seconds(1.0))
    while plans.price.has_fallen() or scene.requeue._replan_cursor is not None:
        scene.step()
        store.clock.advance(Seconds(1.0))
        steps += 1

    assert steps == 2  # a thousand at a time
    latest = store.value("SELECT max(available_at) FROM urls")
    assert isinstance(latest, float)
    assert latest < START + DAY
    assert plans.price.demand > 10 * demand


def test_without_a_budget_nothing_is_replanned(store: Store) -> None:
    with_hosts(store, [[10 * DAY] * 5])
    scene = scene_of(store, KEEP, "optimal")
    scene.requeue.planner.price.price *= 0.01
    scene.step()

    assert scene.requeue._replan_cursor is None
