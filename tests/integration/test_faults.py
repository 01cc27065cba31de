"""A short run of `make faults`: one fault of the workers, of PostgreSQL, of Redis and of the object storage."""

import json

import pytest

from tests.faults.__main__ import main, recoveries, table, too_few
from tests.faults.schedule import REQUIRED, Event

pytestmark = pytest.mark.service


def test_a_crawl_by_four_workers_is_whole_after_faults_of_all_that_it_stands_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = main(["--minutes", "0.4", "--faults", "1", "--ttl", "2", "--seed", "1", "--json"])

    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == [], found
    assert status == 0
    assert found["documents"] > 300 and found["faults"] > 0
    assert all(kind["recovered"] == kind["faults"] for kind in found["kinds"].values())


def test_a_long_run_with_too_few_faults_of_a_kind_is_no_proof() -> None:
    events = [Event(f"{kind} (no replica)", 1.0) for kind, number in REQUIRED.items() for _ in range(number // 2)]

    assert too_few(events, 30) == []
    assert too_few(events[1:], 30) == ["worker killed: 99 times, 100 required"]
    assert too_few([], 10) == []


def test_the_table_has_the_quantiles_of_each_kind_and_what_is_wrong() -> None:
    events = [Event("worker killed", float(n), recovered=True, seconds=float(n)) for n in range(1, 101)]
    without_time = Event("worker killed", 101.0, recovered=True)
    found = recoveries([*events, without_time, Event("Redis killed", 1.0)])

    assert found["worker killed"] == {"faults": 101, "recovered": 101, "p50": 50.0, "p99": 99.0, "longest": 100.0}
    assert found["Redis killed"] == {"faults": 1, "recovered": 0}
    figures = dict.fromkeys(("seed", "seconds", "documents", "requests", "fetched_again", "copies", "orphans"), 1)
    shown = table(
        {
            **figures,
            "faults": 101,
            "kinds": found,
            "ended_by_themselves": {"status 1: no server": 2},
            "left_out": ["machine lost: not permitted"],
            "problems": ["stored twice: http://a.test/"],
        }
    )
    assert "worker killed                                 101    101   50.00   99.00   100.00" in shown
    assert "2 x status 1: no server" in shown and "not included: machine lost" in shown
    assert shown.endswith("PROBLEM: stored twice: http://a.test/")
