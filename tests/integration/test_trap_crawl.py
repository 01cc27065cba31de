"""Whole crawls of traps, counted at the server: each ends, and what is honest beside them is not lost."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.crawl.document.queue import DocumentQueueLimits
from gossamer.filter.trap_budget import HOSTS_PER_DOMAIN
from gossamer.lab.simweb.config import SimWebConfig, preset
from gossamer.lab.simweb.endless import EndlessHosts
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.traps import KINDS, MANY_HOSTS
from tests.integration.crawl_process import PATIENCE, Command, Constants, Ended, Json, Scene, gossamer, scene

pytestmark = pytest.mark.service

AT_ONCE = ["--delay", 0, "--delay-factor", 0]
SCALE = 3
"""By which patience is smaller here than by default: the crawl is as much shorter, and so is what a trap gets."""

SCALED = f"[traps]\npatience = {150 // SCALE}\n"
FEW_HOSTS = Constants({"gossamer.config.policies.HOSTS_PER_DOMAIN": HOSTS_PER_DOMAIN // SCALE})
FEW = "calendar,sids,repeats,pairs,orders,facets,anything,hosts,paging"


class Trapped:
    """A finished crawl of a web of traps, and what its server saw."""

    def __init__(self, stage: Scene, ended: Ended, endless: EndlessHosts, requests: list[Request]) -> None:
        self.stage, self.ended, self.endless = stage, ended, endless
        self.asked: set[str] = set()
        self.of_trap: Counter[str] = Counter()  # its honest pages left out
        self.hosts: dict[str, set[str]] = {}
        honest = set().union(*endless.honest_urls().values())
        for request in requests:
            if request.target in ("/robots.txt", "/sitemap.xml"):
                continue
            kind = endless.kind_of(request.host)
            if kind is None:
                continue
            self.hosts.setdefault(kind[1], set()).add(request.host)
            url = endless.base_of(request.host) + request.target
            if url not in honest and not request.target.startswith("/item/"):
                self.of_trap[kind[1]] += 1
            self.asked.add(url)

    def lost(self) -> dict[str, int]:
        wanted = self.endless.honest_urls()
        return {host: len(urls - self.asked) for host, urls in wanted.items() if urls - self.asked}

    def hosts_shown(self, *options: object) -> list[Json]:
        ended = gossamer("hosts", "--dir", self.stage.dir, "--json", *options)
        assert ended.status == 0, ended.err
        return ended.lines


def crawled(folder: Path, config: SimWebConfig, toml: str, *constants: Constants) -> Iterator[Trapped]:
    with scene(folder, config, AT_ONCE, toml) as stage:
        with Command(*stage.command, *constants) as crawler:
            ended = crawler.ended(4 * PATIENCE)
        assert ended.status == 0, ended.err
        endless = stage.web.web().endless
        stage.web.__exit__(None, None, None)  # so that its log is complete
        yield Trapped(stage, ended, endless, stage.web.requests())


@pytest.fixture(scope="module")
def all_traps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trapped]:
    """Every kind of trap, beside honest hosts of hundreds of pages each."""
    yield from crawled(tmp_path_factory.mktemp("traps") / "web", preset("traps", large_pages=500), SCALED, FEW_HOSTS)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trapped]:
    """The traps that have numbers, with the usual patience."""
    config = preset("traps", large_pages=0, trap_kinds=FEW)
    yield from crawled(tmp_path_factory.mktemp("usual") / "web", config, "")


def test_there_are_more_than_ten_kinds_of_trap() -> None:
    assert len(KINDS) >= 10


def test_every_trap_ends_within_its_part_of_a_thousand_pages(all_traps: Trapped) -> None:
    assert all_traps.ended.report["finished"] is True
    assert all_traps.of_trap.keys() == KINDS.keys()
    assert {kind: n for kind, n in all_traps.of_trap.items() if n > 1_000 // SCALE and kind != "scripts"} == {}


def test_nothing_honest_is_lost_beside_them(all_traps: Trapped) -> None:
    assert all_traps.lost() == {}
    assert sum(len(urls) for urls in all_traps.endless.honest_urls().values()) > 2_500


def test_every_cut_is_shown_with_its_host_its_shape_and_its_figures(all_traps: Trapped) -> None:
    shown = {str(host["host"]): host for host in all_traps.hosts_shown("--cut")}

    finite = {"sids", "orders"}  # a few pages once what makes no difference is left out
    for kind in KINDS.keys() - finite - MANY_HOSTS:
        host = shown[all_traps.endless.trap_host(kind)]
        assert host["cuts"] or host["excluded"], kind
        for cut in host["cuts"]:  # type: ignore[attr-defined]
            assert cut["reason"].startswith("trap:") and cut["shape"].startswith("/") and "fetched" in cut["figures"]
    assert not [host for host in shown if host.startswith("large-")]


def test_a_url_that_was_cut_is_explained_by_rule_shape_and_figures(all_traps: Trapped) -> None:
    stage = all_traps.stage
    cut = next(page for page in stage.pages("--state", "excluded") if str(page["reason"]) == "trap:same")

    story = gossamer("explain", cut["url"], "--dir", stage.dir, "--config", stage.toml, "--json").report

    budget = next(verdict for verdict in story["verdicts"] if verdict["rule"] == "budget")  # type: ignore[attr-defined]
    assert story["reason"] == budget["reason"] == "trap:same"
    assert "fetched" in budget["detail"] and budget["detail"].startswith("/")


def test_a_parameter_that_chooses_nothing_is_learnt_and_told(all_traps: Trapped) -> None:
    """One URL in 64, chosen by the hash of a URL whose port is random, keeps the parameter: those are left out."""
    base = all_traps.endless.base_of(all_traps.endless.trap_host("referrers"))

    explained = (
        gossamer("explain", f"{base}/page?p=3&ref=never-seen-{n}", "--dir", all_traps.stage.dir, "--json").report
        for n in range(10)
    )

    identity = next(story["identity"] for story in explained if "in the sample" not in str(story["identity"]))
    assert isinstance(identity, dict) and identity["seen"] is True
    assert [name for name, _ in identity["ignored"]] == ["ref"]
    assert identity["ignored"][0][1].startswith("learned: 20 pairs")


def test_a_restart_remembers_what_was_cut_and_lifting_the_rule_gives_it_back(tmp_path: Path) -> None:
    few = preset("traps", large_pages=0, trap_kinds="copies,calendar")
    with scene(tmp_path / "web", few, AT_ONCE, SCALED) as stage:
        first = gossamer(*stage.command)
        again = gossamer(*stage.command)
        host = stage.web.web().endless.trap_host("calendar")
        stage.toml.write_text(f'{SCALED}[host."{host}"]\ntrap = false\n')
        cut = cut_urls(stage.dir, host)
        lifted = gossamer(*stage.command, "--max-pages", int(str(first.report["pages"])) + 100)

    assert first.report["finished"] is again.report["finished"] is True
    assert again.report["fetched"] == first.report["fetched"]
    assert cut > 50
    assert int(str(lifted.report["pages"])) == int(str(first.report["pages"])) + 100
    assert cut_urls(stage.dir, host) == 0


def cut_urls(directory: Path, host: str) -> int:
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        sql = "SELECT count(*) FROM urls u JOIN hosts h ON h.id = u.host_id WHERE h.host = ? AND u.reason LIKE 'trap:%'"
        return int(db.execute(sql, (host,)).fetchone()[0])


# --- the hostile cases by their ids -------------------------------------------------------------------


def test_tr_01_a_calendar_ends_and_the_rest_of_its_host_is_crawled(usual: Trapped) -> None:
    assert usual.of_trap["calendar"] <= 1_000
    assert usual.lost() == {}


def test_tr_02_session_ids_make_no_second_visit(usual: Trapped) -> None:
    numbers = {url.partition("newsId=")[2].partition("&")[0] for url in usual.asked if "newsId" in url}

    assert usual.of_trap["sids"] == len(numbers) == 40


def test_tr_03_and_04_paths_that_repeat_themselves_end(usual: Trapped) -> None:
    assert not [url for url in usual.asked if "/a/a/a/a/" in url or "/x/y/x/y/x/y/x/y/" in url]
    assert max(url.count("/") - 2 for url in usual.asked) <= 21
    assert usual.of_trap["repeats"] <= 1_000 and usual.of_trap["pairs"] <= 1_000


def test_tr_05_parameters_in_every_order_are_one_fetch(usual: Trapped) -> None:
    assert usual.of_trap["orders"] == 1


def test_tr_06_facets_end_within_a_thousand_pages(usual: Trapped) -> None:
    assert usual.of_trap["facets"] <= 1_000


def test_tr_07_any_path_with_the_same_text_ends_within_two_hundred_pages(usual: Trapped) -> None:
    host = usual.endless.trap_host("anything")
    reasons = {str(page["reason"]) for page in usual.stage.pages("--host", host, "--state", "excluded")}

    assert usual.of_trap["anything"] <= 200
    assert reasons == {"trap:same"}


def test_tr_08_endless_hosts_end_within_five_hundred(usual: Trapped) -> None:
    looked_up = usual.ended.report["dns_queries"]

    assert len(usual.hosts["hosts"]) <= 500
    assert isinstance(looked_up, int) and looked_up <= 2 * (500 + 20)


def test_tr_10_a_last_page_under_every_number_ends(usual: Trapped) -> None:
    assert usual.of_trap["paging"] <= 200


def test_tr_13_shapes_that_take_turns_end(all_traps: Trapped) -> None:
    assert all_traps.of_trap["rounds"] <= 1_000 // SCALE
    assert reasons_on(all_traps, "rounds") == {"trap:endless"}


def test_tr_14_pages_behind_redirects_end(all_traps: Trapped) -> None:
    assert all_traps.of_trap["detours"] <= 1_000 // SCALE
    assert reasons_on(all_traps, "detours") == {"trap:endless"}


def test_tr_15_a_new_script_in_every_link_ends(all_traps: Trapped) -> None:
    """Each of the first shapes has a budget of its own. Pages count when they are read: those that were fetched before
    the cut and wait for that come on top."""
    own_budgets, waiting = 192, DocumentQueueLimits().max_documents

    assert all_traps.of_trap["scripts"] <= 1_000 // SCALE + own_budgets + waiting
    assert reasons_on(all_traps, "scripts") == {"trap:endless"}


def test_tr_16_hosts_that_redirect_to_new_hosts_end(all_traps: Trapped) -> None:
    assert len(all_traps.hosts["movedhosts"]) <= HOSTS_PER_DOMAIN // SCALE


def reasons_on(trapped: Trapped, kind: str) -> set[str]:
    host = trapped.endless.trap_host(kind)
    return {str(page["reason"]) for page in trapped.stage.pages("--host", host, "--state", "excluded")}


def test_the_report_counts_what_was_cut_by_reason(usual: Trapped) -> None:
    excluded = json.loads(json.dumps(usual.ended.report["excluded"]))

    assert {"trap:same", "trap:hosts", "trap:repeats", "trap:facets"} <= excluded.keys()
