"""Orderings of users: the example of the documents, installed as a package of its own, and packages that are broken."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.cli.main import main
from gossamer.config.plugins import ORDERINGS_GROUP, orderings
from gossamer.errors import UsageError
from gossamer.frontier.orderings import ORDERINGS, Ordering
from gossamer.lab.simulate.graph import LinkGraph, graph_of_web, pagerank, with_domains
from gossamer.lab.simulate.knowledge import CrawlFacts
from gossamer.lab.simulate.policies import policy_of
from gossamer.lab.simulate.replay import POINTS, crawl_order, seed_pages
from gossamer.lab.simweb.config import preset
from tests.plugin_folder import PluginFolder, documented_plugin, plugin_folder

WEB = ["--web", "simweb", "--hosts", "12", "--pages", "400"]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PluginFolder]:
    with plugin_folder(tmp_path, monkeypatch) as made:
        yield made


def example() -> tuple[str, dict[str, str]]:
    code, entries = documented_plugin("An ordering", ORDERINGS_GROUP)
    assert code.count("\n") <= 18
    return code, entries


def shortest_first(graph: LinkGraph, seeds: list[int], rest: int = 0) -> list[int]:
    """What the page says in words, sorted anew at every step."""
    lengths = [len(url) for url in graph.urls or ()]
    entered, fetched = list(seeds), list[int]()
    free_at: dict[int, int] = {}
    slot = 0
    while len(fetched) < len(entered):
        ready = [p for p in entered if p not in fetched and free_at.get(graph.site_of[p], 0) <= slot]
        if ready:
            visits = [graph.domain_of[graph.site_of[page]] for page in fetched]
            best = min(ready, key=lambda p: lengths[p] + 10 * visits.count(graph.domain_of[graph.site_of[p]]))
            fetched.append(best)
            free_at[graph.site_of[best]] = slot + rest
            entered += [link for link in graph.links_of(best) if link not in entered]
        slot += 1
    return fetched


def test_the_example_of_the_documents_orders_a_crawl_as_its_formula_says(
    site: PluginFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    code, entries = example()
    site.install("short_first", code, ORDERINGS_GROUP, entries)
    web = graph_of_web(preset("demo", hosts=12, pages=400, max_host_pages=0))
    graph = with_domains(web)
    seeds = seed_pages(graph, 10, 1)

    for rest in (0, 5):
        known = CrawlFacts(graph.site_of, graph.suffix_of, graph.urls, domain_of=graph.domain_of)
        policy = policy_of(orderings()["short-first"])(known)
        assert list(crawl_order(graph, policy, seeds, rest=rest)) == shortest_first(graph, seeds, rest)

    assert main(["simulate", *WEB, "--order", "short-first", "--rest", "0", "--sets", "1", "--json"]) == 0
    (curve,) = json.loads(capsys.readouterr().out)["curves"]
    ranks = pagerank(graph)
    first = shortest_first(graph, seeds)
    expected = [100 * sum(ranks[page] for page in first[: round(graph.pages * x / 100)]) for x in POINTS]
    assert curve["shares"] == pytest.approx(expected, abs=0.001)


BROKEN = {
    "absent": ("no_such_module:Thing", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
    "falls": ("broken:no_such_name", "cannot be imported: AttributeError"),
    "other": ("broken:Other", "is not a subclass of gossamer.frontier.orderings.Ordering"),
    "made": ("broken:made", "is not a subclass of gossamer.frontier.orderings.Ordering"),
    "needy": ("broken:Needy", "cannot be constructed: TypeError"),
    "nameless": ("broken:Nameless", "has another name, 'bfs'"),
}
BROKEN_CODE = """
from gossamer.frontier.orderings import Ordering

class Other: ...
class Nameless(Ordering): ...
class Needy(Ordering):
    def __init__(self, something): ...
made = Ordering()
"""


def test_a_broken_ordering_is_told_by_name_when_it_is_asked_for_and_the_others_work(
    site: PluginFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    code, entries = example()
    site.install("short_first", code, ORDERINGS_GROUP, entries)
    site.install("broken", BROKEN_CODE, ORDERINGS_GROUP, {name: value for name, (value, _) in BROKEN.items()})

    found = orderings()

    assert found.keys() == {*ORDERINGS, *BROKEN, "short-first"}
    assert [found[name]().name for name in (*ORDERINGS, "short-first")] == [*ORDERINGS, "short-first"]
    for name, (value, complaint) in BROKEN.items():
        with pytest.raises(UsageError, match=re.escape(f"the ordering {name!r} ({value} of broken) {complaint}")):
            found[name]()
        assert main(["simulate", *WEB, "--order", name]) == 2
        assert f"gossamer: error: the ordering {name!r}" in capsys.readouterr().err
    assert main(["simulate", *WEB, "--order", "bfs", "--sets", "1"]) == 0


def test_the_names_of_our_own_orderings_cannot_be_taken(site: PluginFolder) -> None:
    site.install(
        "pirate",
        "from gossamer.frontier.orderings import Ordering\nclass Pirate(Ordering):\n    name = 'mercator'\n",
        ORDERINGS_GROUP,
        {"mercator": "pirate:Pirate"},
    )

    assert type(orderings()["mercator"]()) is ORDERINGS["mercator"]


def test_without_packages_of_users_there_are_our_own_orderings() -> None:
    found = orderings()

    assert all(isinstance(found[name](), Ordering) for name in ORDERINGS)


def test_an_order_that_nobody_has_is_told_with_those_that_there_are(
    site: PluginFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    code, entries = example()
    site.install("short_first", code, ORDERINGS_GROUP, entries)

    assert main(["simulate", *WEB, "--order", "long-first"]) == 2

    err = capsys.readouterr().err
    assert "--order: 'long-first' is none of mercator, best-first, bfs" in err
    assert "short-first" in err
