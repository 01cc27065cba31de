"""`gossamer simulate --recrawl`: what is asked for is compared, drawn and printed, and what cannot be is refused."""

import json
from pathlib import Path

import pytest

from gossamer.cli import main

SMALL = ["simulate", "--recrawl", "--pages", "150", "--days", "40", "--sets", "1"]


def test_the_policies_stand_side_by_side_with_the_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--policy", "optimal", "--policy", "fixed"]) == 0

    shown = [line.split()[0] for line in capsys.readouterr().out.splitlines()[3:]]
    assert shown == ["policy", "optimum", "optimal", "fixed", "known-rates"]


def test_the_figures_are_there_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--cap", "0.2", "--redrawn", "0.3", "--cycle", "7", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["days"], found["cycle"]) == (150, 40, 7)
    assert 0 < found["optimum"] < 1
    names = [policy["policy"] for policy in found["policies"]]
    assert names == ["optimal", "fixed", "nutch-adaptive", "stormcrawler-adaptive", "known-rates"]
    assert all(0 < policy["weighted"] <= 1 and len(policy["curve"]) == 73 for policy in found["policies"])


def test_the_curves_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--policy", "optimal", "--plot", str(tmp_path / "fresh.svg")]) == 0

    drawn = (tmp_path / "fresh.svg").read_text(encoding="utf-8")
    assert drawn.count("<polyline") > 10
    assert ">known-rates<" in drawn


def test_recorded_changes_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text("a\t1\t1.5 9.25\na\t2\t\nb\t1\t30.0\n", encoding="utf-8")

    assert main(["simulate", "--recrawl", "--changes", str(file), "--cycle", "5", "--sets", "1", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["hosts"], found["days"]) == (3, 2, 31)


def test_the_simulated_web_is_visited_as_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    web = ["--web", "simweb", "--pages", "200", "--hosts", "8", "--days", "60", "--sets", "1"]
    assert main(["simulate", "--recrawl", *web, "--policy", "optimal", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["world"].startswith("simweb-8x200-1")
    assert 150 < found["pages"] < 200  # some are redirects, missing or forbidden
    assert (found["hosts"], found["days"]) == (8, 60)
    assert 0.3 < found["policies"][0]["weighted"] <= 1


@pytest.mark.parametrize("text", ["a\t1\t5 3\n", "a\t1\tx\n", "no tabs\n", "a\t1\t\n", "a\t1\t-1 3\n", ""])
def test_a_file_that_is_none_of_changes_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text(text, encoding="utf-8")

    assert main(["simulate", "--recrawl", "--changes", str(file)]) == 2
    assert "mine.tsv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--recrawl", "--policy", "weekly"], "weekly"),
        (["--recrawl", "--cycle", "0"], "--cycle"),
        (["--recrawl", "--cap", "2"], "--cap"),
        (["--recrawl", "--cap", "0"], "--cap"),
        (["--recrawl", "--web", "simweb", "--zipf", "1"], "--zipf"),
        (["--recrawl", "--web", "simweb", "--changes", "missing.tsv"], "--changes"),
        (["--recrawl", "--pages", "0"], "--pages"),
        (["--recrawl", "--changes", "missing.tsv"], "missing.tsv"),
        (["--recrawl", "--changes", "missing.tsv", "--days", "5"], "--days"),
        (["--recrawl", "graph.txt"], "GRAPH"),
        (["--policy", "optimal"], "--recrawl"),
        (["--recrawl", "--plot", "x.pdf"], "--plot"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(
    options: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *options]) == 2
    assert named in capsys.readouterr().err
