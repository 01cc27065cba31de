"""`gossamer simulate --recrawl`: what is asked for is compared, drawn and printed, and what cannot be is refused."""

import gzip
import json
from pathlib import Path

import pytest

from gossamer.cli.main import main

SMALL = ["simulate", "--recrawl", "--pages", "150", "--days", "40", "--sets", "1"]


def test_the_policies_stand_side_by_side_with_the_optimum(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--policy", "optimal", "--policy", "fixed"]) == 0

    table, *over_time = capsys.readouterr().out.split("\n\n")[1:]
    assert [line.split()[0] for line in table.splitlines()] == ["policy", "optimum", "optimal", "fixed", "known-rates"]
    assert over_time[0] == "over time"
    for block, title in zip(over_time[1:], ("weighted,", "plain,"), strict=True):
        rows = [line.split() for line in block.splitlines()]
        assert [row[0] for row in rows] == [title, "optimal", "fixed", "known-rates"]
        assert rows[0][-1] == "40"
        assert all(0 <= float(share) <= 100 for row in rows[1:] for share in row[1:])
        assert {len(row) for row in rows[1:]} == {7}


def test_the_second_half_of_the_time_is_the_mean_of_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--policy", "fixed"]) == 0

    table, _, weighted, plain = capsys.readouterr().out.split("\n\n")[1:]
    whole = next(line.split() for line in table.splitlines() if line.split()[0] == "fixed")
    for block, column in ((weighted, 1), (plain, 3)):
        shares = [float(share) for share in block.splitlines()[1].split()[1:]]
        assert sum(shares[3:]) / 3 == pytest.approx(float(whole[column]), abs=1.5)


def test_the_figures_are_there_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--cap", "0.2", "--redrawn", "0.3", "--cycle", "7", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["pages"], found["days"], found["cycle"]) == (150, 40, 7)
    assert 0 < found["optimum"] < 1
    names = [policy["policy"] for policy in found["policies"]]
    assert names == ["adaptive", "optimal", "fixed", "nutch-adaptive", "stormcrawler-adaptive", "known-rates"]
    assert all(0 < policy["weighted"] <= 1 and len(policy["curve"]) == 73 for policy in found["policies"])
    assert all(len(policy["plain_curve"]) == 73 for policy in found["policies"])
    assert 0 < found["optimum_plain"] < 1


def test_the_curves_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--policy", "optimal", "--plot", str(tmp_path / "fresh.svg")]) == 0

    drawn = (tmp_path / "fresh.svg").read_text(encoding="utf-8")
    assert drawn.count("<polyline") > 10
    assert drawn.count(">known-rates<") == 2
    assert ">by importance<" in drawn and ">each page alike<" in drawn


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


@pytest.mark.parametrize(
    "text",
    [
        "a\t1\t5 3\n",
        "a\t1\tx\n",
        "no tabs\n",
        "a\t1\t\n",
        "a\t1\t-1 3\n",
        "",
        "a\t1\tnan\n",
        "a\t1\t1 inf\n",
        "a\t1\t1.7e9\n",
        "\n",
    ],
)
def test_a_file_that_is_none_of_changes_is_named(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.tsv"
    file.write_text(text, encoding="utf-8")

    assert main(["simulate", "--recrawl", "--changes", str(file)]) == 2
    assert "mine.tsv" in capsys.readouterr().err


def test_packed_changes_are_known_by_what_they_hold_and_not_by_their_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, named = tmp_path / "mine.tsv", tmp_path / "plain.gz"
    file.write_bytes(gzip.compress(b"a\t1\t1.5 9.25\r\n\nb\t1\t30.0\n\n"))
    named.write_bytes(b"a\t1\t1.5 9.25\nb\t1\t30.0\n")
    damaged = tmp_path / "damaged.gz"
    damaged.write_bytes(file.read_bytes()[:12] + b"\xff\xff\xff" + file.read_bytes()[15:])

    for path in (file, named):
        assert main(["simulate", "--recrawl", "--changes", str(path), "--cycle", "5", "--sets", "1", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["pages"] == 2
    assert main(["simulate", "--recrawl", "--changes", str(damaged)]) == 2
    assert "damaged.gz" in capsys.readouterr().err


def test_a_budget_too_small_for_a_price_is_that_of_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--recrawl", "--pages", "1", "--cycle", "300", "--sets", "3", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["optimum"] > 0


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
        (["--recrawl", "--plot", "/nowhere/x.svg"], "/nowhere"),
        (["--recrawl", "--cycle", "1e9"], "--cycle"),
        (["--recrawl", "--cycle", "1e-6"], "--cycle"),
        (["--recrawl", "--cap", "1e-9"], "--cap"),
        (["--recrawl", "--zipf", "-1"], "0 or more"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(
    options: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *options]) == 2
    assert named in capsys.readouterr().err
