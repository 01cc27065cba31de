"""What the hostile web's cases say in seconds. A busy machine may break these, so `make soak` runs them."""

import gzip
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.extract.charset import encoding_of_label
from gossamer.extract.sitemaps import ReadLimits, read_list
from gossamer.fetch.http.body import payload
from gossamer.fetch.robots import parse_robots
from gossamer.filter.canonical import canonicalise
from gossamer.model.outcome import Response
from gossamer.model.units import Instant, Seconds, Url
from tests.effort import cpu_seconds
from tests.hostile.small_crawl import SmallCrawl
from tests.hostile.test_hostile_bodies import brotli_bomb, gzip_bomb, zstd_bomb
from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer
from tests.service.service_process import Service

pytestmark = pytest.mark.timed

NOW = Instant(1_800_000_000.0)


def test_rb_14_a_rule_made_of_stars_takes_a_millisecond() -> None:
    found = parse_robots(b"User-agent: *\nDisallow: /*a*a*a*a*a*a*a*b\n", "gossamer")

    assert cpu_seconds(lambda: found.allows("/" + "a" * 200)) <= 0.001


@pytest.mark.parametrize("url", ["http://h.test/" + "a" * 1_000_000, "http://" + "ä" * 1_900 + ".test/"])
def test_ur_07_and_15_a_monstrous_link_takes_a_millisecond(url: str) -> None:
    assert cpu_seconds(lambda: canonicalise(url)) <= 0.001


@pytest.mark.parametrize("label", ["\0utf-8", "rot13", "zlib", "idna", "undefined", "x" * 10_000])
def test_bd_11_a_label_takes_five_milliseconds(label: str) -> None:
    assert cpu_seconds(lambda: encoding_of_label(label)) <= 0.005


@pytest.mark.parametrize(
    ("coding", "bomb"), [("gzip", gzip_bomb), ("br", brotli_bomb), ("zstd", zstd_bomb)], ids=["BD-01", "BD-02", "zstd"]
)
def test_bd_01_and_02_a_bomb_takes_two_seconds(coding: str, bomb: Callable[[], bytes]) -> None:
    headers, url = {"content-encoding": coding}, Url("http://x.test/")
    answer = Response(
        url,
        200,
        request_head=b"",
        head=b"",
        wire_body=bomb(),
        headers=headers,
        address="127.0.0.1",
        started=NOW,
        took=Seconds(0.0),
    )

    assert cpu_seconds(lambda: payload(answer)) <= 2.0


def test_sm_05_a_bomb_takes_five_seconds() -> None:
    body = gzip.compress(b"<urlset><url><loc>/a</loc></url>" + b" " * (64 << 20), 1)

    assert cpu_seconds(lambda: list(read_list(body, NOW, content_type=None, limits=ReadLimits()))) <= 5.0


def test_rt_03_a_host_that_is_parked_costs_no_work(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        return Answer("busy", 429, {"Retry-After": "999999999999"}) if path == "/" else NOTHING

    crawl = SmallCrawl(tmp_path)
    with SmallServer(site) as server, Command(*crawl.command([server.base + "/"])) as crawler:
        wait_until(lambda: "/" in server.paths() or not crawler.runs, "the first request")
        pause = threading.Event()
        pause.wait(1.0)
        before = cpu_of(crawler.process.pid)
        pause.wait(2.0)
        spent = cpu_of(crawler.process.pid) - before
        assert crawler.runs  # it waits for the host

    assert spent <= 0.5


def cpu_of(process_id: int) -> float:
    with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_tr_11_a_new_seed_is_fetched_before_four_others(tmp_path: Path) -> None:
    def site(path: str, before: int) -> Answer:
        return Answer("", 404) if path == "/robots.txt" else Answer(f"<title>{path}</title>{path}")

    with SmallServer(site, "127.0.8.21") as trap, SmallServer(site, "127.0.8.22") as fresh:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("".join(f"{trap.base}/{n}/{n * 7919 % 100_000}\n" for n in range(100_000)))
        options = ["--dir", tmp_path / "crawl", "--allow-private", "--delay", 0.02, "--json", "--quiet"]
        gossamer("crawl", "--seeds", seeds, *options, "--max-pages", 1)
        with Service(tmp_path / "crawl", "--delay", 0.5) as service:
            wait_until(lambda: len(trap.asked) >= 6, "requests to the trap")
            before = len(trap.asked)
            service.post("/seed/urls", {"urls": [f"{fresh.base}/new"]})
            wait_until(lambda: "/new" in fresh.paths(), "the new seed")
            meanwhile = len(trap.asked) - before

    # One each half second; its own robots.txt and the gap after it come first.
    assert meanwhile <= 4
