import gzip
import json
import re
import sys
from contextlib import closing
from pathlib import Path
from statistics import stdev
from xml.etree import ElementTree

import pytest

from gossamer.backends.sqlite.driver import open_for_writing
from gossamer.cli.main import main
from gossamer.cli.simulate import graph_of_crawl
from gossamer.crawl.run.location import CrawlLocation
from gossamer.lab.simulate.graph import LinkGraph, graph_of_web, pagerank, read_graph, without_urls
from gossamer.lab.simulate.knowledge import CrawlFacts
from gossamer.lab.simulate.policies import POLICIES
from gossamer.lab.simulate.replay import Plan, compare, crawl_order
from gossamer.lab.simweb.config import preset
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from tests.lab.simulate.stored_crawls import domain, links, url

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
        assert len(re.findall(rf"^  {order} ( +\d+\.\d( ±\d+\.\d)?){{5}} *$", one, flags=re.MULTILINE)) == 2


def test_urls_next_to_a_graph_are_read_unless_they_are_to_be_left_out(tmp_path: Path, capsys: Captured) -> None:
    graph, urls = tmp_path / "small.graph-txt", tmp_path / "small.urls.gz"
    graph.write_text("6\n1 2 3 4 5\n" + "\n" * 5)
    deep = [f"http://a.test/{'d/' * level}" for level in (0, 5, 4, 3, 2, 1)]

    def shares(*words: str) -> list[float]:
        command = [
            "simulate",
            str(graph),
            "--order",
            "best-first",
            "--rest",
            "0",
            "--sets",
            "1",
            "--seeds",
            "1",
            "--json",
        ]
        assert main([*command, *words]) == 0
        curve = json.loads(capsys.readouterr().out)["curves"][0]
        assert curve["errors"] == [0.0] * 5
        return list(curve["shares"])

    without = shares()
    urls.write_bytes(gzip.compress("".join(f"{url}\n" for url in deep).encode()))
    assert shares("--no-urls") == without
    pages = [1, 2, 3, 4, 5]
    assert first_pages(read_graph(graph), pages) == [5, 4, 3, 2, 1]
    assert first_pages(without_urls(read_graph(graph)), pages) == pages
    for text, message in (
        ("http://a.test/\n" * 5, "has 5 lines, but the graph has 6 pages"),
        ("a\n" * 6, "line 1: 'a'"),
    ):
        urls.write_bytes(gzip.compress(text.encode()))
        assert main(["simulate", str(graph)]) == 2
        assert message in capsys.readouterr().err


def first_pages(graph: LinkGraph, pages: list[int]) -> list[int]:
    """The order of these pages, after page 0."""
    policy = POLICIES["best-first"](CrawlFacts(graph.site_of, graph.suffix_of, graph.urls))
    return [page for page in crawl_order(graph, policy, [0]) if page in pages]


def test_standard_errors_are_those_of_the_sets(capsys: Captured) -> None:
    words = [*SMALL, "--order", "bfs", "--rest", "0", "--json", "--sets"]
    main([*words, "3"])
    (curve,) = json.loads(capsys.readouterr().out)["curves"]

    graph = graph_of_web(preset("demo", hosts=12, pages=400, max_host_pages=0))
    ranks = pagerank(graph)
    found = [compare(graph, ranks, Plan(("bfs",), sets=(n,)), lambda _: None)[0].shares for n in (1, 2, 3)]
    for at in range(5):
        assert curve["errors"][at] == pytest.approx(stdev(shares[at] for shares in found) / 3**0.5, abs=0.001)


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

    main([*SMALL, "--order", "bfs", "--order", "importance", "--rest", "0", "--rest", "5", "--plot", str(drawing)])

    root = ElementTree.parse(drawing).getroot()
    assert root.tag == f"{SVG}svg"
    thick = [line for line in root.iter(f"{SVG}polyline") if float(line.attrib["stroke-width"]) > 1]
    curves = [line for line in thick if len(line.attrib["points"].split()) > 2]
    assert len(curves) == 4
    assert len({line.attrib["stroke"] for line in curves}) == 2
    assert len({line.attrib.get("stroke-dasharray") for line in curves}) == 2
    names = [text.text for text in root.iter(f"{SVG}text")]
    assert names.count("bfs") == names.count("importance") == 2
    assert {"no politeness", "a site rests 5 slots"} <= set(names)


def test_recrawl_without_numpy_names_the_extra(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)  # as if it were not installed

    assert main(["simulate", "--recrawl"]) == 2
    assert (
        capsys.readouterr().err
        == "gossamer: error: gossamer simulate --recrawl needs numpy: pip install 'gossamer[lab]'\n"
    )
    assert main([*SMALL, "--order", "bfs"]) == 0  # orders need nothing more


def crawled(directory: Path) -> Path:
    """Two sites: the seed links to a hub and a leaf, and the hub to three more. The last was not fetched."""
    directory.mkdir()
    with closing(open_for_writing(directory / "crawl.db")) as db:
        domain(db, 1, 1)
        domain(db, 2, 1)
        url(db, 1, 1, via=Via.SEED)
        for number in (2, 3, 4, 5):
            url(db, number, 2)
        url(db, 6, 2, UrlState.QUEUED)
        links(db, 1, 2, 3)
        links(db, 3, 4, 5, 6)
        links(db, 4, 3)
    return directory


@pytest.mark.parametrize("words", [["{}"], ["--crawl", "{}"], ["--store", "sqlite:{}"]], ids=" ".join)
def test_the_links_of_a_crawl_are_replayed_from_its_own_seeds(
    words: list[str], tmp_path: Path, capsys: Captured
) -> None:
    directory = crawled(tmp_path / "mine")
    named = [word.format(directory) for word in words]

    assert main(["simulate", *named, "--order", "bfs"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("mine: 6 pages, 6 links, 2 sites\n")
    assert "the crawl's own 1 seed\n" in out
    main(["simulate", *named, "--order", "dfs", "--rest", "0", "--json"])
    found = json.loads(capsys.readouterr().out)
    # Half of the six pages: the seed, then the newest of each step: page 3, page 6.
    graph = graph_of_crawl(CrawlLocation(directory))
    ranks = pagerank(graph)
    assert found["curves"][0]["shares"][-1] == pytest.approx(100 * (ranks[0] + ranks[2] + ranks[5]), abs=0.001)
    assert found["seeds"] == 1


def test_random_seeds_can_be_asked_for_in_a_crawl_too(tmp_path: Path, capsys: Captured) -> None:
    directory = str(crawled(tmp_path / "mine"))

    assert main(["simulate", directory, "--order", "bfs", "--sets", "2"]) == 2
    assert "--sets: requires --seeds" in capsys.readouterr().err
    assert main(["simulate", directory, "--order", "bfs", "--sets", "2", "--seeds", "3"]) == 0
    assert "3 seeds, mean and standard error of 2 sets" in capsys.readouterr().out


def test_a_directory_without_a_crawl_and_a_crawl_without_seeds_are_told(tmp_path: Path, capsys: Captured) -> None:
    assert main(["simulate", "--crawl", str(tmp_path)]) == 1
    assert "there is no crawl here" in capsys.readouterr().err
    open_for_writing(tmp_path / "crawl.db").close()

    assert main(["simulate", str(tmp_path)]) == 2
    assert "has no seeds to start from" in capsys.readouterr().err


def test_a_graph_file_is_replayed(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "g").write_text("3\n1 2\n0\n0\n")

    assert main(["simulate", str(tmp_path / "g"), "--order", "bfs", "--seeds", "1"]) == 0

    assert capsys.readouterr().out.startswith("g: 3 pages, 4 links, 1 site\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to simulate: give a graph file, --crawl DIR, --store URL or --web simweb"),
        (["nowhere"], "cannot read the graph nowhere: No such file or directory"),
        (["g", "--web", "simweb"], "--web simweb: cannot be combined with"),
        (["g", "--pages", "5"], "--pages: requires --web simweb"),
        (["--web", "other"], "argument --web: invalid choice: 'other'"),
        ([*SMALL[1:], "--order", "best"], "--order: 'best' is none of mercator, best-first, bfs"),
        ([*SMALL[1:], "--rest", "-1"], "--rest: must be at least 0, not -1"),
        ([*SMALL[1:], "--sets", "0"], "--sets: must be at least 1, not 0"),
        ([*SMALL[1:], "--plot", "no/such/place.svg", "--order", "bfs"], "cannot write no/such/place.svg"),
        ([*SMALL[1:], "--plot", "orders.png"], "--plot: 'orders.png' must end in .svg"),
        (["--web", "simweb", "--crawl", "crawl"], "--web simweb: cannot be combined with"),
        (["g", "--crawl", "crawl"], "--crawl: cannot be combined with"),
        (["--crawl", "crawl", "--hosts", "5"], "--hosts: requires --web simweb"),
    ],
)
def test_what_cannot_be_simulated_is_said_in_one_line(words: list[str], message: str, capsys: Captured) -> None:
    assert main(["simulate", *words]) == 2

    err = capsys.readouterr().err
    assert err.startswith(f"gossamer: error: {message}")
    assert err.count("\n") == 1
