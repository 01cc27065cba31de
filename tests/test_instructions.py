"""`benchmarks.instructions`: what it makes of the counts. The counting itself is valgrind's."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks import instructions
from benchmarks.instructions import WORKLOADS, CannotCount, Workload, beyond, main, rows, total


def test_starting_up_does_not_count() -> None:
    crawl = Workload("whole_path", "whole path", "page", small=100, large=500)
    assert crawl.per_unit(3_000_000_000 + 100 * 6_000_000, 3_000_000_000 + 500 * 6_000_000) == 6_000_000
    frontier = Workload("frontier", "frontier", "URL", small=100, large=500, units_per_size=20)
    assert frontier.per_unit(7, 7 + 400 * 20 * 80_000) == 80_000


def test_the_count_is_the_sum_that_cachegrind_writes_last() -> None:
    assert total("cmd: python\nevents: Ir\nfl=a.c\nfn=f\n1 20\n2 22\nsummary: 42\n") == 42
    with pytest.raises(CannotCount):
        total("events: Ir\n")


def test_a_row_counts_as_changed_beyond_the_percentage_in_either_direction() -> None:
    earlier = {"whole_path": 100.0, "frontier": 100.0, "changed": 100.0, "unchanged": 100.0}
    found = {"whole_path": 101.9, "frontier": 98.1, "changed": 102.1, "unchanged": 97.9}
    assert beyond(found, earlier, 2.0) == ["changed", "unchanged"]
    assert beyond(found, earlier, 3.0) == []
    assert beyond({"policy": 1.0}, earlier, 2.0) == ["policy"]  # with nothing to compare it with


def test_the_table_shows_the_ratio_to_the_earlier_figures() -> None:
    _, line = rows({"frontier": 81_000.0}, {"frontier": 80_000.0})
    assert line.split() == ["frontier", "81,000", "80,000", "1.0125", "per", "URL"]
    _, line = rows({"frontier": 81_000.0}, {})
    assert line.split() == ["frontier", "81,000", "per", "URL"]


@pytest.mark.parametrize(("before", "status"), [(80_000.0, 0), (70_000.0, 1)])
def test_the_exit_status_says_whether_it_is_within_bounds(
    before: float, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program in place of valgrind reports the count that its command line calls for."""
    stand_in = tmp_path / "valgrind"
    stand_in.write_text(
        f"#!{sys.executable}\nimport sys\n"
        "path = next(word for word in sys.argv if 'out-file' in word).partition('=')[2]\n"
        "open(path, 'w').write(f'summary: {10**9 + int(sys.argv[-1]) * 20 * 80_000}\\n')\n"
    )
    stand_in.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "before.json").write_text(json.dumps({"instructions": {"frontier": before}}))
    now = tmp_path / "now.json"
    arguments = ["--only", "frontier", "--compare", str(tmp_path / "before.json"), "--json", str(now)]
    assert main(arguments) == status
    assert json.loads(now.read_text())["instructions"] == {"frontier": 80_000.0}
    assert ("more than 2 % apart: frontier" in capsys.readouterr().out) == bool(status)


def test_without_valgrind_it_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([]) == 2
    assert "apt-get install valgrind" in capsys.readouterr().err


def test_every_workload_can_be_run() -> None:
    assert {workload.name for workload in WORKLOADS} == set(instructions.RUNS)
