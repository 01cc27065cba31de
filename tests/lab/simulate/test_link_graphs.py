"""Graph files as their description says, and the simulated web's graph as its own truth says."""

import gzip
from pathlib import Path

import pytest

from gossamer.errors import UsageError
from gossamer.lab.simulate.graph import graph_of_web, read_graph
from gossamer.lab.simulate.replay import reachable
from gossamer.lab.simweb import SimWeb, ground_truth, preset

TEXT = "4\n1 2\n\n0 2 3\n1\n"


def write(path: Path, text: str, *, packed: bool = False) -> Path:
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_line_one_is_the_number_of_pages_and_each_other_line_the_links_of_a_page(tmp_path: Path, packed: bool) -> None:
    graph = read_graph(write(tmp_path / "tiny.graph-txt.gz", TEXT, packed=packed))

    assert [list(graph.links_of(page)) for page in range(graph.pages)] == [[1, 2], [], [0, 3], [1]]
    assert (graph.name, graph.pages, graph.links, graph.self_links, graph.sites) == ("tiny", 4, 5, 1, 1)


def test_sites_are_intervals_named_by_their_first_page(tmp_path: Path) -> None:
    sites = write(tmp_path / "mine.txt", "0\n1\n3\n")

    graph = read_graph(write(tmp_path / "g", TEXT), sites)

    assert list(graph.site_of) == [0, 1, 1, 2]
    assert graph.sites == 3


def test_sites_beside_the_graph_are_found(tmp_path: Path) -> None:
    write(tmp_path / "tiny.site-starts.txt", "0\n2\n")

    graph = read_graph(write(tmp_path / "tiny.graph-txt.gz", TEXT, packed=True))

    assert list(graph.site_of) == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the first line must be the number of pages"),
        ("many\n", "the first line must be the number of pages"),
        ("2\n1\n", "ends after 1 of 2 pages"),
        ("2\n1\nx\n", "line 3 is not a list of page numbers"),
        ("2\n1\n2\n", "line 3 links to a page that does not exist"),
        ("2\n1\n0\n1\n", "has more lines than 2 pages"),
        ("2\n-1\n0\n", "line 2 links to a page that does not exist"),
    ],
)
def test_a_file_that_is_no_graph_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_graph(write(tmp_path / "g", text))


@pytest.mark.parametrize("sites", ["", "1\n2\n", "0\n2\n1\n", "0\n4\n", "0\nx\n"])
def test_sites_that_cannot_be_are_refused(tmp_path: Path, sites: str) -> None:
    with pytest.raises(UsageError, match="sites"):
        read_graph(write(tmp_path / "g", TEXT), write(tmp_path / "s", sites))


def test_a_file_cut_short_or_missing_is_named(tmp_path: Path) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(TEXT.encode())[:-9])

    for path in (cut, tmp_path / "none"):
        with pytest.raises(UsageError, match=f"cannot read the graph {path}"):
            read_graph(path)


def test_the_graph_of_the_simulated_web_holds_what_a_correct_crawl_requests() -> None:
    config = preset("demo", hosts=20, pages=600, max_host_pages=0)
    truth = ground_truth(SimWeb(config))

    graph = graph_of_web(config)

    assert graph.urls is not None
    assert set(graph.urls) == truth.all_urls() - truth.forbidden
    number = {url: page for page, url in enumerate(graph.urls)}
    for url, target in truth.redirects.items():
        if target in number:
            assert list(graph.links_of(number[url])) == [number[target]]
    seeds = [number[url] for url in SimWeb(config).seeds()]
    assert reachable(graph, seeds) == graph.pages
