"""What is shown of a worker, by its last heartbeat."""

from gossamer.model.cache_fault import CacheFault
from gossamer.observe.workers import COLUMNS, WorkerFigures, WorkerStatus, describe_worker, worker_cells, worker_object


def worker(figures: WorkerFigures, *, now: float, alive: bool = True, state: str = "active") -> WorkerStatus:
    return WorkerStatus(
        epoch=2**62,
        name="one",
        recorded_state=state,
        alive=alive,
        weight=1.0,
        joined=0.0,
        version="1",
        commits=3,
        pages=12,
        partitions=5,
        figures=figures,
        now=now,
    )


def test_a_lease_runs_down_between_heartbeats_and_a_worker_without_one_is_silent() -> None:
    figures = WorkerFigures(at=100.0, lease=8.0, rate=2.5, in_flight=4)
    beating, silent = worker(figures, now=103.0), worker(figures, now=109.0)

    assert (beating.lease, beating.state, beating.rate) == (5.0, "active", 2.5)
    assert (silent.lease, silent.state, silent.rate) == (0.0, "silent", 0.0)
    assert worker_object(silent)["in_flight"] == 0


def test_a_worker_that_has_just_joined_or_is_gone_is_not_silent() -> None:
    assert worker(WorkerFigures(), now=100.0).state == "active"
    assert worker(WorkerFigures(at=1.0), now=100.0, alive=False, state="dead").state == "dead"


def test_a_worker_that_has_given_up_its_partitions_is_leaving() -> None:
    draining = worker(WorkerFigures(at=99.0, lease=8.0), now=100.0, state="draining")

    assert draining.state == "draining"
    assert draining._replace(partitions=0).state == "leaving"
    assert draining._replace(partitions=0, now=108.0).state == "silent"


def test_a_worker_that_has_had_no_lease_for_long_does_not_run() -> None:
    figures = WorkerFigures(at=100.0, lease=8.0)

    assert worker(figures, now=117.9).may_run
    assert not worker(figures, now=118.1).may_run
    assert not worker(figures, now=101.0, alive=False, state="left").may_run
    assert worker(WorkerFigures(), now=5.0).may_run


def test_figures_of_another_version_are_read_as_far_as_they_are_known() -> None:
    assert WorkerFigures.decode('{"rate": 1.5, "colour": "red"}') == WorkerFigures(rate=1.5)
    assert WorkerFigures.decode(WorkerFigures(pid=3, error="x").encode()) == WorkerFigures(pid=3, error="x")


def test_the_description_has_the_last_error_and_its_age() -> None:
    figures = WorkerFigures(
        at=99.0,
        lease=8.0,
        rate=2.5,
        commit_seconds=0.012,
        cache=CacheFault.SLOW,
        machine="m1",
        error="away",
        error_at=90.0,
    )

    said = describe_worker(worker(figures, now=100.0))
    assert said == (
        "5 partitions, 2.5 pages/s, lease 7.0 s, commit 12 ms, cache slow, on m1; last error: 10.0 s ago: away"
    )


def test_a_long_error_is_cut_in_a_list_and_whole_in_the_object() -> None:
    failing = worker(WorkerFigures(at=99.0, lease=0.0, error=200 * "x", error_at=90.0), now=100.0)

    assert len(COLUMNS.line(*worker_cells(failing))) < 220
    assert worker_cells(failing)[-1] == f"10.0 s ago: {79 * 'x'}…"
    assert worker_object(failing)["error"] == 200 * "x"
    assert "lease 0.0 s" in describe_worker(failing)
