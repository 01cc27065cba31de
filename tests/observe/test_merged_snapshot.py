"""The snapshots of several workers merged into one."""

from dataclasses import fields

import pytest

from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Instant
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.observe.merged_snapshot import RunSnapshots, merge_snapshots, whole_snapshot
from gossamer.observe.snapshot import Internals, Snapshot, Status, to_contract
from gossamer.sketch import Durations


def snapshot(**figures: object) -> Snapshot:
    return Snapshot(**{"at": Instant(10.0), **figures})  # type: ignore[arg-type]


def test_what_was_done_is_added_up() -> None:
    whole = merge_snapshots([snapshot(pages=3, bytes=10, cpu_seconds=1.5), snapshot(pages=4, bytes=1)], finished=True)
    assert (whole.pages, whole.bytes, whole.cpu_seconds, whole.finished) == (7, 11, 1.5, True)


def test_what_workers_that_have_ended_had_reported_still_counts() -> None:
    def status(process: int, at: float, **figures: object) -> Status:
        return Status(process, snapshot(at=Instant(at), **figures))

    run = RunSnapshots()
    run.begin(100)
    one = status(1, 10.0, pages=120, run_pages=20, cpu_seconds=2.0, max_rss_bytes=5, politeness_violations=1)
    run.merge([one, status(2, 10.5, pages=130, run_pages=10, cpu_seconds=3.0, max_rss_bytes=6)])
    both = run.merge([one, status(3, 12.0, pages=140, run_pages=1, cpu_seconds=0.5, max_rss_bytes=2)])
    last = run.merge([one, status(3, 60.0, pages=150, run_pages=4, cpu_seconds=1.5, max_rss_bytes=4)])

    assert (both.run_pages, both.cpu_seconds, both.max_rss_bytes) == (40, 5.5, 11)
    assert (last.run_pages, last.cpu_seconds, last.max_rss_bytes, last.politeness_violations) == (50, 6.5, 11, 1)


def test_times_are_those_of_the_longest() -> None:
    whole = merge_snapshots(
        [snapshot(elapsed=3.0, worst_loop_lag=0.2), snapshot(elapsed=5.0, worst_loop_lag=0.1)], finished=False
    )
    assert (whole.elapsed, whole.worst_loop_lag) == (5.0, 0.2)


def test_trouble_of_one_is_trouble_of_the_crawl() -> None:
    whole = merge_snapshots([snapshot(), snapshot(store_failing=True, load="high", load_reason="busy")], finished=False)
    assert (whole.store_failing, whole.dns_failing, whole.load, whole.load_reason) == (True, False, "high", "busy")


def test_reasons_are_added_one_by_one_the_commonest_first() -> None:
    whole = merge_snapshots([snapshot(errors={"a": 1, "b": 1}), snapshot(errors={"b": 3, "c": 2})], finished=False)
    assert list(whole.errors.items()) == [("b", 4), ("c", 2), ("a", 1)]


def test_shares_are_of_all_turns_together() -> None:
    whole = merge_snapshots([snapshot(drawn=(6, 3, 1)), snapshot(drawn=(4, 5, 1))], finished=False)
    assert whole.drawn == (10, 8, 2)
    assert whole.selector_shares == (50.0, 40.0, 10.0)


def test_the_crawl_waits_only_when_all_do() -> None:
    assert merge_snapshots([snapshot(waiting_for="hosts"), snapshot()], finished=False).waiting_for == ""
    one = snapshot(at=Instant(100.0), waiting_for="a", hosts_waiting=3, next_contact=Instant(104.0))
    two = snapshot(at=Instant(100.0), waiting_for="b", hosts_waiting=2, next_contact=Instant(103.0), in_flight=1)
    assert merge_snapshots([one, two], finished=False).waiting_for == (
        "1 visit in flight, the delay of 5 hosts (first ready in 3.0 s)"
    )
    left = snapshot(waiting_for="x", delivering=True, spool_segments=4)
    assert merge_snapshots([left, one], finished=False).waiting_for == "a"
    assert merge_snapshots([left, left], finished=False).waiting_for.startswith("8 objects to be delivered to object")


def test_the_slowest_hosts_are_the_slowest_of_all() -> None:
    one = snapshot(slowest=tuple((f"a{n}", float(n)) for n in range(5, 0, -1)))
    two = snapshot(slowest=(("b", 3.5),))
    assert [host for host, _ in merge_snapshots([one, two], finished=False).slowest] == ["a5", "a4", "b", "a3", "a2"]


def test_queues_are_as_long_and_as_large_as_all_together() -> None:
    whole = merge_snapshots(
        [snapshot(queues={"batch": QueueDepth(1, 10)}), snapshot(queues={"batch": QueueDepth(4, 10, 5, 50)})],
        finished=False,
    )
    assert whole.queues == {"batch": QueueDepth(5, 20, 5, 50)}


def test_freshness_is_the_mean_over_pages_and_budgets_add_up() -> None:
    one = FreshnessMetrics(fresh=0.9, scheduled=300, budget=10.0, price=1.0, refreshes=5.0)
    two = FreshnessMetrics(fresh=0.5, scheduled=100, budget=10.0, price=3.0, refreshes=1.0)
    whole = merge_snapshots(
        [snapshot(pages=300, freshness=one), snapshot(pages=100, freshness=two)], finished=False
    ).freshness
    assert whole.fresh == pytest.approx(0.8)
    assert (whole.scheduled, whole.budget, whole.price, whole.budget_used) == (400, 20.0, 1.5, 0.3)


def test_the_snapshot_of_one_worker_is_that_of_the_crawl() -> None:
    alone = snapshot(pages=2, drawn=(1, 1), selector_shares=(50.0, 50.0), slowest=(("a", 1.0),), errors={"x": 1})
    assert merge_snapshots([alone], finished=False) == alone


def test_every_figure_is_merged() -> None:
    plain = snapshot()
    for field in fields(Snapshot):
        if type(getattr(plain, field.name)) in (int, float) and field.name not in ("at",):
            whole = merge_snapshots([snapshot(**{field.name: 2}), snapshot(**{field.name: 3})], finished=False)
            assert getattr(whole, field.name) in (3, 5), field.name
    assert to_contract(merge_snapshots([plain, plain], finished=False))["pages"] == 0


def test_of_workers_that_share_a_crawl_totals_are_the_latest_and_the_rest_is_added_up() -> None:
    older, newer = snapshot(at=9.0, pages=40, in_flight=3), snapshot(at=10.0, pages=42, in_flight=2)
    left_behind = snapshot(at=-100.0, pages=12, in_flight=5)  # by a worker that was killed
    whole = whole_snapshot([older, newer, left_behind])
    assert (whole.pages, whole.in_flight) == (42, 5)


def test_times_by_phase_are_those_of_all_workers() -> None:
    spread = Durations()
    spread.note(1000)
    internals = Internals(phases={"dns": spread.spread()}, links_new=2)
    whole = merge_snapshots([snapshot(internals=internals), snapshot(internals=internals)], finished=False).internals
    assert (whole.phases["dns"].number, whole.phases["dns"].seconds, whole.links_new) == (2, 0.002, 4)
