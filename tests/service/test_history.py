"""Data for the dashboard: the last minutes, the details of the frontier, and bounds on both."""

import random
from dataclasses import replace
from typing import Any, cast

import pytest

from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Instant
from gossamer.observe.snapshot import REST_BOUNDS, Internals, Snapshot
from gossamer.service.event_stream import (
    CHARTED,
    KEPT,
    QUANTILES,
    History,
    Latencies,
    quantile,
    targets,
)
from gossamer.sketch import Durations, Spread


def at(second: float, pages: int = 0) -> Snapshot:
    return Snapshot(at=Instant(1_000_000.0 + second), elapsed=second, run_pages=pages)


def test_one_sample_per_second_is_kept_however_many_snapshots_come() -> None:
    history = History()
    for look in range(41):
        history.add(at(look / 4, pages=look * 25))

    rows = history.rows()

    assert [round((row[0] or 0.0) - 1_000_000.0) for row in rows] == list(range(11))
    assert {row[1] for row in rows[1:]} == {100.0}


def test_failures_are_charted_by_the_second_over_the_last_few() -> None:
    history = History()
    for second in range(20):
        history.add(replace(at(second), errors={"dns_nxdomain": 4, "server_error": 3 * min(second, 10)}))

    charted = [sample[-1] for sample in history.rows()]

    assert charted[1:11] == [3.0] * 10  # what a former run has met does not count
    assert charted[11:] == [2.4, 1.8, 1.2, 0.6, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_no_more_than_the_last_minutes_are_kept() -> None:
    history = History()
    for second in range(3 * KEPT):
        history.add(at(second))

    assert len(history.rows()) == KEPT
    assert history.rows()[-1][0] == 1_000_000.0 + 3 * KEPT - 1


def test_details_have_the_cooldowns_of_hosts_and_the_shares_of_classes() -> None:
    history = History()
    now = replace(at(1.0), hosts_parked=7, queues={"documents": QueueDepth(30, 40)}, urls_by_front=(1, 2, 3))
    history.add(now)
    rests = tuple(range(len(REST_BOUNDS) + 1))
    found = history.details(now, rests, (6, 3, 1))

    assert found["rests"] == {"bounds": REST_BOUNDS, "hosts": rests}
    assert found["targets"] == [60.0, 30.0, 10.0] and found["hosts_parked"] == 7
    assert found["queues"] == [["documents", 30, 0.75]]
    assert found["sample"] == [1_000_001.0, 0.0, 0, None, None, None, 0.0]


def test_targets_are_shares_of_a_hundred_and_only_for_the_classes_they_are_meant_for() -> None:
    assert targets((6, 3, 1), 3) == [60.0, 30.0, 10.0]
    assert targets((6, 3, 1), 2) == [] and targets((), 0) == []


def test_times_are_those_of_the_last_seconds_not_of_the_whole_run() -> None:
    history, thinking = History(), Durations()
    for second in range(200):
        for _ in range(10):
            thinking.note_seconds(0.1 if second < 100 else 1.6)
        now = replace(at(second), internals=Internals(phases={CHARTED: thinking.spread(), "tls": Spread()}))
        history.add(now)
    rows = history.rows()
    (_, rate, median, _, most), none = cast(list[list[Any]], history.details(now, (), ())["phases"])

    assert rows[0][3:6] == [None, None, None]
    assert [0.065 < (sample[3] or 0) < 0.132 for sample in rows[1:100]] == [True] * 99
    assert [1.0 < (sample[3] or 0) < (sample[5] or 0) < 2.1 for sample in rows[106:]] == [True] * 94
    assert rate == 10.0 and 1.0 < median < most < 2.1
    assert none == ["tls", 0.0, None, None, None]


def test_a_quantile_is_true_to_the_class_it_falls_into() -> None:
    chance = random.Random(7)
    for _ in range(50):
        took = [chance.lognormvariate(-3.0, 1.5) for _ in range(500)]
        durations = Durations()
        for each in took:
            durations.note_seconds(each)
        for share in QUANTILES:
            true = sorted(took)[min(int(share * len(took)), len(took) - 1)]
            assert 0.45 * true < quantile(durations.spread().counts, share) < 2.2 * true


def test_when_little_was_measured_the_quantiles_are_that() -> None:
    durations = Durations()
    durations.note(1)
    assert quantile(durations.spread().counts, 0.5) <= 1e-6
    with pytest.raises(ValueError, match="all counts are zero"):
        quantile(Spread().counts, 0.5)
    assert Latencies().over(5.0) == []
