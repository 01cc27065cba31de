"""Traps, TR-09, TR-11 and TR-12, as whole crawls. The others are in tests/integration/test_trap_crawl.py."""

from itertools import pairwise
from pathlib import Path

import pytest

from tests.hostile.dns_stage import naming
from tests.hostile.small_crawl import SmallCrawl
from tests.integration.crawl_process import gossamer, wait_until
from tests.integration.small_server import Answer, SmallServer, links
from tests.name_server import NXDOMAIN, A, Reply, a
from tests.service.service_process import Service

pytestmark = pytest.mark.service

ADDRESS = "127.0.8.21"
DELAY = 0.03
HOSTS = 40
QUEUED = 20_000  # `make soak` has a million (tests/service/test_service_load.py)


def test_tr_09_hosts_that_share_an_address_share_its_delay(tmp_path: Path) -> None:
    def zone(host: str, kind: int) -> Reply:
        return (a(ADDRESS) if kind == A else Reply()) if host.endswith(".test") else Reply(code=NXDOMAIN)

    def site(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return Answer("", 404)
        return links(*(f"http://h{n}.site{n}.test:{server.port}/{n}" for n in range(HOSTS)), f"/here{before}{path}")

    with SmallServer(site, ADDRESS) as server, naming(zone) as names:
        options: list[object] = ["--dns", names.address, "--allow-private", "--scope", "tld:test", "--json", "--quiet"]
        options += ["--delay", DELAY, "--delay-factor", 0, "--max-depth", 1, "--dir", tmp_path / "crawl"]
        ended = gossamer("crawl", f"http://first.test:{server.port}/", *options)

    asked = sorted(server.asked, key=lambda each: each.at)
    assert ended.status == 0, ended.err
    assert ended.report["hosts"] == HOSTS + 1
    # By the server's clock: the next request has arrived after the last answer was about to leave.
    assert all(later.at - earlier.answered_at >= 0.9 * DELAY for earlier, later in pairwise(asked))


def test_tr_11_a_new_seed_does_not_wait_behind_a_full_frontier(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        return Answer("", 404) if path == "/robots.txt" else Answer(f"<title>{path}</title>{path}")

    with SmallServer(site, ADDRESS) as trap, SmallServer(site, "127.0.8.22") as fresh:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("".join(f"{trap.base}/{n}/{n * 7919 % QUEUED}\n" for n in range(QUEUED)))
        options = ["--dir", tmp_path / "crawl", "--allow-private", "--delay", 0.02, "--json", "--quiet"]
        filled = gossamer("crawl", "--seeds", seeds, *options, "--max-pages", 1)
        with Service(tmp_path / "crawl", "--delay", 0.5) as service:
            wait_until(lambda: len(trap.asked) >= 3, "requests to the trap")
            added = service.post("/seed/urls", {"urls": [f"{fresh.base}/new"]})
            wait_until(lambda: "/new" in fresh.paths(), "the new seed")
            asked = len(trap.asked)

    assert int(str(filled.report["queued"])) > 0.9 * QUEUED
    assert added.json["accepted"] == 1
    assert asked < 0.01 * QUEUED  # behind all of them it would come in three hours


def test_tr_12_spellings_that_mean_one_page_are_one_and_others_are_kept_apart(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        if path == "/":
            spelt = ("/Page", "/page", "/p%61ge", f"{server.base}//page", "/./page", "/page?", "/page#x", "/page/")
            return links(*spelt)
        return Answer("", 404) if path == "/robots.txt" else Answer(f"<title>{path}</title>{path} {before}")

    crawl = SmallCrawl(tmp_path / "spellings")
    with SmallServer(site, ADDRESS) as server:
        crawl.run(server.base + "/")
        base, asked = server.base, sorted(server.paths())

    stored = sorted(str(page["url"]).removeprefix(base) for page in crawl.pages() if page["state"] == "stored")
    assert stored == ["/", "//page", "/Page", "/page", "/page/"]
    assert asked == ["/", "/Page", "/page", "/page", "/page/", "/robots.txt"]  # Python's server reads // as one slash
