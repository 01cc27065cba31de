import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gossamer.cli import main
from gossamer.simulate.policies import POLICIES

Captured = pytest.CaptureFixture[str]
SMALL = ["simulate", "--web", "simweb", "--hosts", "12", "--pages", "400"]
SVG = "{http://www.w3.org/2000/svg}"


def test_the_table_of_a_simulated_web_is_the_same_every_time(capsys: Captured) -> None:
    assert main(SMALL) == 0
    one = capsys.readouterr().out
    assert main(SMALL) == 0

    assert capsys.readouterr().out == one
    assert one.count("no politeness") == one.count("a site rests 20 slots") == 1
    for order in (*POLICIES, "all-sorted"):
        assert len(re.findall(rf"^  {order}( +\d+\.\d){{5}}$", one, flags=re.MULTILINE)) == 2


def test_another_seed_is_another_web(capsys: Captured) -> None:
    main([*SMALL, "--order", "bfs"])
    one = capsys.readouterr().out
    main([*SMALL, "--order", "bfs", "--seed", "2"])

    assert capsys.readouterr().out != one


def test_json_has_every_order_and_no_order_beats_the_sorted_one(capsys: Captured) -> None:
    main([*SMALL, "--json", "--rest", "0", "--sets", "2", "--seeds", "5"])

    found = json.loads(capsys.readouterr().out)
    shares = {curve["order"]: curve["shares"] for curve in found["curves"]}
    assert shares.keys() == {*POLICIES, "all-sorted"}
    assert (found["sets"], found["seeds"], found["graph"]["sites"]) == ([1, 2], 5, 12)
    for row in shares.values():
        assert row == sorted(row)
        assert all(mine <= best + 1e-9 for mine, best in zip(row, shares["all-sorted"], strict=True))


def test_the_drawing_is_well_formed_and_has_a_line_and_a_name_for_each_order(tmp_path: Path, capsys: Captured) -> None:
    drawing = tmp_path / "a&b.svg"

    main([*SMALL, "--order", "bfs", "--order", "importance", "--rest", "0", "--rest", "5", "--svg", str(drawing)])

    root = ElementTree.parse(drawing).getroot()
    assert root.tag == f"{SVG}svg"
    assert len(root.findall(f".//{SVG}polyline")) == 4
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names.count("bfs") == names.count("importance") == 2
    assert {"no politeness", "a site rests 5 slots"} <= set(names)


def test_a_graph_file_is_replayed(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "g").write_text("3\n1 2\n0\n0\n")

    assert main(["simulate", str(tmp_path / "g"), "--order", "bfs", "--seeds", "1"]) == 0

    assert capsys.readouterr().out.startswith("g: 3 pages, 4 links, 1 sites\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to simulate: give a graph file or --web simweb"),
        (["nowhere"], "cannot read the graph nowhere: No such file or directory"),
        (["g", "--web", "simweb"], "--web simweb takes no files"),
        (["g", "--pages", "5"], "--pages is about the simulated web"),
        (["--web", "other"], "argument --web: invalid choice: 'other'"),
        ([*SMALL[1:], "--order", "best"], "--order: 'best' is none of mercator, bfs"),
        ([*SMALL[1:], "--rest", "-1"], "--rest: must be at least 0, not -1"),
        ([*SMALL[1:], "--sets", "0"], "--sets: must be at least 1, not 0"),
        ([*SMALL[1:], "--svg", "no/such/place.svg", "--order", "bfs"], "cannot write no/such/place.svg"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(words: list[str], message: str, capsys: Captured) -> None:
    assert main(["simulate", *words]) == 2

    err = capsys.readouterr().err
    assert err.startswith(f"gossamer: error: {message}")
    assert err.count("\n") == 1
