"""Two hundred healthy hosts among a hundred hostile ones: the healthy are crawled completely, and nobody is wronged.

How much of their rate the healthy hosts keep is measured by benchmarks/bench_mixed.py.
"""

import asyncio
import gc
import signal
import tomllib
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from gossamer.backends.sqlite.driver import connect
from gossamer.config.load import make_config
from gossamer.crawl.run.assemble import assemble
from gossamer.extract.large_pages import LargePages
from gossamer.filter.canonical import Canonical, Canonicaliser
from gossamer.seed.lists import Seed
from tests.hostile.mixed_web import HOSTILE, MixedWeb
from tests.hostile.survival import (
    LARGEST_GROWTH,
    MIB,
    check_crawl,
    check_memory,
    on_a_loop,
    resident,
    under_watch,
)
from tests.integration.crawl_process import Command, Constants, Ended, Json, gossamer, wait_until

HEALTHY, PAGES = 200, 5
TOML = """
[fetch]
connect_timeout = 1.0
head_timeout = 1.0
idle_timeout = 1.0
total_timeout = 3.0
max_body_bytes = 1000000
[retry]
delay = 0.2
"""
SOON = Constants({"gossamer.config.fetchers.TLS_TIMEOUT": 1.0, "gossamer.config.policies.MAX_RETRY_DELAY": 1.0})


def crawled(folder: Path) -> tuple[Ended, MixedWeb]:
    """Crawl until every healthy page was asked for, and every hostile host that can be asked."""
    toml, seeds = folder / "gossamer.toml", folder / "seeds.txt"
    toml.write_text(TOML)
    with MixedWeb(folder / "requests.log", healthy=HEALTHY, pages=PAGES) as web:
        seeds.write_text("\n".join(web.seeds))
        fixed = ["--dir", folder / "crawl", "--config", toml, "--dns", web.dns_address, "--allow-private"]
        options = ["--seeds", seeds, "--delay", 0.1, "--delay-factor", 1, "--json", "--quiet"]
        with Command("crawl", *fixed, *options, SOON) as crawler:
            wait_until(lambda: (web.is_done and not web.unmet()) or not crawler.runs, "all hosts")
            if crawler.runs:
                crawler.process.send_signal(signal.SIGINT)
            return crawler.ended(), web


class ParserMemory(NamedTuple):
    """What the process that parses large pages takes before it has one: 22 MiB, of which 12 are shared libraries. What
    it takes for its pages comes on top, and counts as growth."""

    reported: int  # in the report of a crawl
    unshared: int  # in `resident`


async def parser_memory() -> ParserMemory:
    parser = LargePages()
    before = resident()
    try:
        await parser.extract(b"<p>small</p>", "text/html", "http://healthy.test/")
        return ParserMemory(parser.peak_bytes, resident() - before)
    finally:
        await parser.close()


def failures(directory: Path) -> dict[tuple[str, str], int]:
    """Name and path of pages of healthy hosts that could not be had at once, and how often they could not."""
    with closing(connect(directory / "crawl.db", read_only=True)) as db:
        query = "SELECT u.url FROM failures f JOIN urls u ON u.id = f.url_id WHERE u.url LIKE 'http://healthy%'"
        urls = [urlsplit(url) for (url,) in db.execute(query)]
    return dict(Counter((str(url.hostname), url.path) for url in urls))


@pytest.mark.service
def test_healthy_hosts_are_crawled_completely_among_hostile_ones(tmp_path: Path) -> None:
    ended, web = crawled(tmp_path)
    pages: list[Json] = gossamer("pages", "--dir", tmp_path / "crawl", "--json").lines

    assert ended.status in (0, 130), ended.err
    assert "Traceback" not in ended.err
    assert sum(HOSTILE.values()) == 100
    assert web.unmet() == set()
    # States add up (G6), no gap was too short by the crawler's own audit (G11), its log is clean (G10).
    check_crawl(tmp_path / "crawl")
    # 110 MiB of so many healthy hosts: `make demo` reports it of 150. They have no large page, so no parser either.
    check_memory(ended.report, usual=110 * MIB + on_a_loop(parser_memory()).reported)
    assert ended.report["politeness_violations"] == 0
    healthy = Counter(str(each["state"]) for each in pages if str(each["url"]).startswith("http://healthy"))
    assert healthy == {"stored": HEALTHY * PAGES}
    # Hostile hosts disturb nobody into asking twice: what was asked for again had failed, by the crawl's record.
    asked = Counter(row[:2] for row in web.healthy_pages())
    assert {place: times - 1 for place, times in asked.items() if times > 1} == failures(tmp_path / "crawl")
    # And none of them holds more than one slot, whatever it does.
    assert set(web.most_at_once.values()) == {1}


@pytest.mark.service
def test_healthy_hosts_are_crawled_while_more_hosts_than_there_are_slots_say_nothing(tmp_path: Path) -> None:
    toml, seeds = tmp_path / "gossamer.toml", tmp_path / "seeds.txt"
    toml.write_text("[fetch]\nhead_timeout = 100.0\ntotal_timeout = 100.0\n")
    silent = 10
    with MixedWeb(tmp_path / "requests.log", healthy=6, pages=5, hostile={"silent": silent}) as web:
        seeds.write_text("\n".join(web.seeds))
        fixed = ["--dir", tmp_path / "crawl", "--config", toml, "--dns", web.dns_address, "--allow-private"]
        options = ["--seeds", seeds, "--delay", 0.05, "--delay-factor", 0, "--concurrency", 4, "--json", "--quiet"]
        constants = Constants({"gossamer.crawl.visit.request.ROBOTS_TIMEOUT": 100.0})
        with Command("crawl", *fixed, *options, constants) as crawler:
            wait_until(lambda: web.is_done or not crawler.runs, "the healthy hosts")
            given_up = [row for row in web.requests() if row[0].startswith("silent") and row[3] - row[2] > 50.0]
            assert crawler.runs
            crawler.strike(signal.SIGINT)  # the first of two signals determines the status
            crawler.process.send_signal(signal.SIGTERM)
            ended = crawler.ended()

    assert web.is_done
    assert given_up == []  # nobody had to wait for the end of a silent visit
    assert ended.status == 130, ended.err
    assert set(web.most_at_once.values()) == {1}


@pytest.mark.service
def test_the_loop_is_never_held_and_memory_is_bounded_while_every_kind_of_hostile_host_is_crawled(
    tmp_path: Path,
) -> None:
    canonicaliser = Canonicaliser()

    max_growth = LARGEST_GROWTH + on_a_loop(parser_memory()).unshared

    async def crawl(web: MixedWeb, directory: Path) -> None:
        options = {"dir": str(directory), "allow_private": True, "delay": 0.05, "concurrency": 20}
        found = [canonicaliser.canonicalise(url) for url in web.seeds]
        seeds = [Seed(url.url, url.host, "test") for url in found if isinstance(url, Canonical)]
        config = make_config(tomllib.loads(TOML), {**options, "dns": web.dns_address})
        async with under_watch(max_growth):  # G1, G2 in CPU time, G3
            crawl = assemble(config, seeds)
            running = asyncio.create_task(crawl.engine.run())
            try:
                while not (running.done() or (web.is_done and not web.unmet())):
                    await asyncio.wait((running,), timeout=0.1)
                crawl.engine.stop()
                await running
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
                await crawl.close()
            assert crawl.audit.violations == 0

    # The first crawl of a process takes 20 MiB whatever its hosts are like; the growth permitted is for hostile ones.
    for name, hostile in (("healthy", {}), ("mixed", dict.fromkeys(HOSTILE, 2))):
        with MixedWeb(tmp_path / f"{name}.log", healthy=10, pages=PAGES, hostile=hostile) as web:
            on_a_loop(crawl(web, tmp_path / name))

        assert web.is_done and web.unmet() == set()
        gc.collect()  # what is left of this crawl is not the memory of the next
