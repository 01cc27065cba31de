"""Limits and rules of a crawl, counted where they show: at the server and in the archive."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.filter.domains import registrable_domain
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.model.units import HostKey
from tests.integration.crawl_checks import archived_urls, check_everything, page_requests, walked
from tests.integration.crawl_process import Scene, gossamer, scene, small_web
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

# Without redirects, duplicates and faults, so that what is within reach can be said from the links alone.
PLAIN = {
    "redirect_rate": 0.0,
    "duplicate_rate": 0.0,
    "fault_rate": 0.0,
    "slow_hosts": 0.0,
    "crawl_delay_hosts": 0.0,
    "shared_address_hosts": 0.0,
}


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimwebProcess]:
    """One web for all of them, of hosts that share domains and hosts that do not."""
    log = tmp_path_factory.mktemp("plain") / "requests.log"
    with SimwebProcess(small_web(seed=61, hosts=40, pages=300, seed_hosts=2, **PLAIN), log=log) as served:
        yield served


def stage_on(web: SimwebProcess, folder: Path, *options: object, toml: str = "") -> Scene:
    return Scene(folder, web, ["--delay", 0.02, *options], toml)


# --- pages and depth ----------------------------------------------------------------------------------


def test_max_pages_is_met_exactly_and_the_crawl_goes_on_from_there(tmp_path: Path) -> None:
    with scene(tmp_path / "web", small_web(seed=62)) as stage:
        for limit in (1, 37, 38):
            ended = gossamer(*stage.command, "--max-pages", limit)

            assert ended.status == 0, ended.err
            assert ended.report["pages"] == limit
            assert ended.report["finished"] is False
            assert archived_urls(stage.dir).total() == limit
        again = gossamer(*stage.command, "--max-pages", 20)
        assert (again.status, again.report["pages"], again.report["run_pages"]) == (0, 38, 0)
        ended = gossamer(*stage.command)

    check_everything(stage, stage.web.requests())
    assert ended.report["finished"] is True


def test_more_adds_to_the_pages_that_are_stored(web: SimwebProcess, tmp_path: Path) -> None:
    stage = stage_on(web, tmp_path)

    ended = [gossamer("crawl", web.seeds[0], *stage.resume, "--more", more) for more in (4, 3)]

    assert [(one.status, one.report["pages"], one.report["stopped"]) for one in ended] == [
        (0, 4, "page_limit"),
        (0, 7, "page_limit"),
    ]
    refused = gossamer("crawl", web.seeds[0], *stage.resume, "--more", 3, "--max-pages", 9)
    assert (refused.status, "--more: cannot be combined with --max-pages" in refused.err) == (2, True)


def test_fewer_pages_than_min_pages_are_a_failure_and_the_report_says_what_became_of_the_seeds(tmp_path: Path) -> None:
    with SmallServer({"/": Answer(status=302, headers={"location": "/home"}), "/home": page("home")}) as site:
        fixed = ["--dir", tmp_path / "crawl", "--allow-private", "--delay", 0.01, "--json", "--quiet"]
        command = ["crawl", f"{site.base}/", f"{site.base}/none", *fixed]
        enough, too_few = (gossamer(*command, "--min-pages", least) for least in (1, 2))

    assert (enough.status, too_few.status) == (0, 3)
    assert too_few.err == "gossamer: error: 1 page stored, fewer than --min-pages 2\n"
    for ended in (enough, too_few):
        assert ended.report["stopped"] == "finished"
        assert ended.report["seeds"] == {"given": 2, "stored": 1, "failed": {"status_404": 1}}


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_max_depth_ends_the_crawl_so_many_links_from_a_seed(web: SimwebProcess, tmp_path: Path, depth: int) -> None:
    stage = stage_on(web, tmp_path, "--max-depth", depth)

    ended = gossamer("crawl", web.seeds[0], *stage.resume)

    found = {str(p["url"]): p["depth"] for p in stage.pages()}
    assert ended.report["finished"] is True
    assert found == walked(web.web(), web.seeds[:1], max_depth=depth)
    excluded = ended.report["excluded"]
    assert isinstance(excluded, dict) and excluded["depth_limit"] > 0


# --- scope --------------------------------------------------------------------------------------------

CLUSTER = "cluster0.test"


def in_domains_of(seeds: tuple[str, ...], host: str) -> bool:
    domains = {registrable_domain(HostKey(seed.split("/")[2].partition(":")[0])) for seed in seeds}
    return registrable_domain(HostKey(host)) in domains


@pytest.mark.parametrize("scope", ["host", "domain", "tld:test", "any", "tld:nz", f"host:portal.test,domain:{CLUSTER}"])
def test_the_scope_says_which_hosts_are_entered(web: SimwebProcess, tmp_path: Path, scope: str) -> None:
    stage = stage_on(web, tmp_path, "--scope", scope)
    # One of the hosts of a domain that has several; the portal links to all of them.
    member = next(u for u in (f"{h.base}/" for h in web.web().hosts) if f".{CLUSTER}" in u)
    seeds = (web.seeds[0], member)

    ended = gossamer("crawl", *seeds, *stage.resume)

    entered = {
        "host": lambda host: host in {s.split("/")[2].partition(":")[0] for s in seeds},
        "domain": lambda host: in_domains_of(seeds, host),
        "tld:test": lambda host: True,
        "any": lambda host: True,
        "tld:nz": lambda host: False,
    }.get(scope, lambda host: host == "portal.test" or host.endswith("." + CLUSTER))
    expected = walked(web.web(), seeds, enters=entered)
    assert ended.status == 0, ended.err
    assert {str(p["url"]) for p in stage.pages()} == set(expected)
    hosts = {str(p["host"]) for p in stage.pages()}
    assert len(hosts) == (2 if scope in ("host", "tld:nz") else 40 if scope in ("tld:test", "any") else len(hosts))
    if scope == "domain":
        assert 2 < len(hosts) < 40


def test_a_seed_out_of_scope_is_on_record_but_never_asked_for(tmp_path: Path) -> None:
    with SmallServer({"/": page("home")}) as server:
        ended = gossamer(
            "crawl", f"{server.base}/", "--scope", "tld:nz", "--allow-private", "--json", "--dir", tmp_path
        )

    assert ended.report["pages"] == 0
    assert ended.report["excluded"] == {"out_of_scope": 1}
    assert server.asked == []


# --- caps and endings ---------------------------------------------------------------------------------


def test_no_domain_sees_more_page_requests_than_allowed(tmp_path: Path) -> None:
    cap = 6
    with scene(tmp_path / "web", small_web(seed=63, hosts=30, pages=300), ["--max-per-domain", cap]) as stage:
        stopped = gossamer(*stage.command, "--max-pages", 25)  # the count outlives the process
        ended = gossamer(*stage.command)
        rows = stage.pages()

    requests = page_requests(stage.web.requests())
    by_domain = Counter(registrable_domain(request.host) for request in requests)
    excluded = Counter(registrable_domain(HostKey(str(p["host"]))) for p in rows if p["reason"] == "domain_limit")
    assert stopped.report["finished"] is False
    assert ended.report["finished"] is True
    assert max(by_domain.values()) == cap
    assert excluded and all(by_domain[domain] == cap for domain in excluded)


def test_files_with_unwanted_endings_are_not_asked_for(tmp_path: Path) -> None:
    wanted = ["/a.html", "/b.pdf", "/c", "/d.txt", "/e.png/f", "/g?file=h.zip"]
    unwanted = ["/i.zip", "/j.PNG", "/k.tar.gz", "/l.jpg?size=9", "/m.mp4#start"]
    site = {"/": links(*wanted, *unwanted), **{path: page(path) for path in wanted}}
    with SmallServer(site) as server:
        ended = gossamer(
            "crawl", f"{server.base}/", "--allow-private", "--delay", 0.02, "--json", "--dir", tmp_path / "usual"
        )
        usual = server.paths()
        server.asked.clear()
        (tmp_path / "own.toml").write_text('[filter]\nexclude_extensions = [".pdf", "TXT"]\n')
        own = [f"{server.base}/", "--config", tmp_path / "own.toml", "--dir", tmp_path / "own"]
        gossamer("crawl", *own, "--allow-private", "--delay", 0.02)

    excluded = ended.report["excluded"]
    assert isinstance(excluded, dict) and excluded["extension"] == len(unwanted)
    assert sorted(usual) == sorted(["/robots.txt", "/", *wanted])
    assert {"/i.zip", "/j.PNG"} < set(server.paths())
    assert not {"/b.pdf", "/d.txt"} & set(server.paths())


# --- order --------------------------------------------------------------------------------------------


def test_breadth_first_visits_every_host_in_the_order_of_discovery(web: SimwebProcess, tmp_path: Path) -> None:
    stage = stage_on(web, tmp_path, "--order", "bfs")

    ended = gossamer(*stage.command)

    assert ended.report["finished"] is True
    assert inversions(stage) == 0


def inversions(stage: Scene) -> int:
    """How often a host was asked for a page before one that was discovered earlier."""
    visits: dict[str, list[str]] = {}
    for p in stage.pages():  # in order of discovery
        if p["fetched_at"] is not None:
            visits.setdefault(str(p["host"]), []).append(str(p["fetched_at"]))
    return sum(later < earlier for dates in visits.values() for earlier, later in pairwise(dates))
