"""A cache that fails in every way in the middle of a crawl: the same pages as without it, no error, and it is used
again by itself (X5).

`GOSSAMER_CACHE_FAULTS` says how often each of them happens (2 unless it is set).
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import uvloop

from gossamer.backends.redis import connection
from gossamer.backends.redis import tier as tiers
from gossamer.cluster.tiers import TierPolicy
from gossamer.config.load import make_config
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.run import assemble
from gossamer.crawl.run.session import Session, session
from gossamer.lab.simweb.audit import ground_truth
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.model.units import Seconds
from gossamer.observe.display import NoDisplay
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import read_arguments
from tests.backends.redis.slow_proxy import SlowProxy
from tests.integration.crawl_checks import check_archive, check_outcomes
from tests.integration.crawl_process import PATIENCE, Json, gossamer, small_web, wait_until
from tests.redis_server import running_redis, running_sentinels

pytestmark = pytest.mark.service

FAULTS = int(os.environ.get("GOSSAMER_CACHE_FAULTS", "2"))
BEFORE = 40  # pages until the fault


@pytest.fixture(scope="module")
def web() -> Iterator[SimwebProcess]:
    config = small_web(
        seed=21,
        hosts=16,
        pages=150 * FAULTS,
        fault_rate=0.0,
        crawl_delay_seconds=0.0,
        slow_seconds=0.0,
        duplicate_rate=0.2,
    )
    with SimwebProcess(config) as served:
        yield served


@pytest.fixture(autouse=True)
def small_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes come soon, and most duplicates are found through the cache."""
    monkeypatch.setattr(tiers, "POLICY", TierPolicy(first_pause=Seconds(0.05), longest_pause=Seconds(0.2)))
    monkeypatch.setattr(tiers, "MARKER_SECONDS", 0.05)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(assemble, "CONTENTS_IN_MEMORY", 80)


KINDS = {
    "killed": {"away"},
    "hanging": {"slow", "away"},
    "full": {"out_of_memory"},
    "replica": {"read_only"},
    "password": {"password", "away"},  # connections are closed first
}
"""What may be said to be wrong, by what is done to the server."""


class Fault(NamedTuple):
    """What goes wrong with a cache, and how that ends."""

    begin: Callable[[], object]
    end: Callable[[], object] = lambda: None
    is_noticed: bool = True
    is_waited_for: bool = False  # the crawl is paused meanwhile


class Result(NamedTuple):
    """What came of a crawl."""

    pages: list[Json]
    events: list[Json]
    last: Snapshot


def crawl(folder: Path, web: SimwebProcess, url: str | None, *faults: Fault, timeout: float = 0.05) -> Result:
    """A whole crawl, with these faults one after the other."""
    options: dict[str, object] = {"dir": str(folder / "crawl"), "dns": web.dns_address, "allow_private": True}
    options |= {"scope": "tld:test", "delay": 0.05, "delay_factor": 0.0, "retry": {"delay": 1.0}}
    if url is not None:
        options["cache"] = {"url": url, "timeout": timeout}
    config = make_config(options, {})

    async def main() -> Snapshot:
        seeds = read_arguments(web.seeds, canonicaliser_for(config).canonicalise)
        async with session(config, seeds, False, NoDisplay()) as opened:
            running = asyncio.create_task(opened.crawl.engine.run())
            for number, fault in enumerate(faults):
                await until(opened, lambda: opened.crawl.engine.pages >= BEFORE * (number + 1))  # noqa: B023
                await suffer(opened, fault)
            await asyncio.wait_for(running, PATIENCE)
            return opened.watch.last_snapshot()

    last = uvloop.run(main())
    events = [json.loads(line) for line in (folder / "crawl" / "crawl.log").read_text().splitlines()]
    return Result(gossamer("pages", "--dir", folder / "crawl", "--json").lines, events, last)


async def suffer(opened: Session, fault: Fault) -> None:
    """The crawl goes on until the fault has been noticed, and is paused from then until the cache is used again."""
    engine, cache = opened.crawl.engine, opened.crawl.cache
    assert cache is not None
    engine.pause(fault.is_waited_for)
    await asyncio.to_thread(fault.begin)
    if fault.is_noticed:
        await until(opened, lambda: cache.counts().fault is not None)
        engine.pause(True)
    await asyncio.to_thread(fault.end)
    await until(opened, lambda: cache.counts().fault is None)
    engine.pause(False)


async def until(opened: Session, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            assert not opened.crawl.engine.over.is_set(), "the crawl has ended before"
            await asyncio.sleep(0.002)


def check(folder: Path, web: SimwebProcess, result: Result) -> None:
    """The crawl is whole, and has had no error."""
    check_outcomes(ground_truth(web.web()), result.pages)
    check_archive(folder / "crawl", web.web(), result.pages)
    assert result.last.finished and result.last.errors == {}
    assert "crawl.failed" not in {event["event"] for event in result.events}


def changes(result: Result) -> list[object]:
    return [event["event"] for event in result.events if event["event"] in ("cache.open", "cache.closed")]


def faults(result: Result) -> set[object]:
    return {event["fault"] for event in result.events if event["event"] == "cache.open"}


def test_with_and_without_a_cache_a_crawl_finds_the_same(web: SimwebProcess, tmp_path: Path) -> None:
    without = crawl(tmp_path / "without", web, None)
    away = crawl(tmp_path / "away", web, "redis://127.0.0.1:1")
    with running_redis(tmp_path / "redis") as server:
        cached = crawl(tmp_path / "with", web, server.url, timeout=60.0)

    for name, result in (("without", without), ("away", away), ("with", cached)):
        check(tmp_path / name, web, result)
    assert without.last.internals.contents_cached == away.last.internals.contents_cached == 0
    assert cached.last.internals.contents_cached > 0
    assert (changes(without), changes(away)) == ([], ["cache.open"])
    assert away.last.cache_fault == "away" and cached.last.cache_fault is None


@pytest.mark.parametrize("kind", ["killed", "flushed", "hanging", "full", "replica", "password"])
def test_a_crawl_goes_on_without_its_cache_and_uses_it_again(web: SimwebProcess, tmp_path: Path, kind: str) -> None:
    with running_redis(tmp_path / "redis") as server:
        client = server.client()

        def lock() -> None:
            client.config_set("requirepass", "secret")
            client.client_kill_filter(_type="normal", skipme=True)

        fault = {
            "killed": Fault(server.kill, server.start),
            "flushed": Fault(client.flushall, is_noticed=False),
            "hanging": Fault(server.hang, server.wake),
            "full": Fault(lambda: client.config_set("maxmemory", 1), lambda: client.config_set("maxmemory", 0)),
            "replica": Fault(lambda: client.replicaof("127.0.0.1", "1"), lambda: client.replicaof("NO", "ONE")),
            "password": Fault(lock, lambda: client.config_set("requirepass", "")),
        }[kind]

        result = crawl(tmp_path, web, server.url, *[fault] * FAULTS)

    check(tmp_path, web, result)
    if kind in ("flushed", "killed"):
        assert result.last.cache_emptied > 0 and "cache.emptied" in {event["event"] for event in result.events}
    if fault.is_noticed:
        found = changes(result)
        assert len(found) >= 2 * FAULTS
        assert found == ["cache.open", "cache.closed"] * (len(found) // 2)
        assert faults(result) <= KINDS[kind] and result.last.cache_failures.keys() & KINDS[kind]
        assert sum(result.last.cache_failures.values()) >= 3 * FAULTS
    assert "secret" not in (tmp_path / "crawl" / "crawl.log").read_text()


def test_a_crawl_follows_its_cache_to_the_server_that_sentinel_promotes(web: SimwebProcess, tmp_path: Path) -> None:
    with running_sentinels(tmp_path / "redis") as group:
        fault = Fault(group.primary.kill)
        result = crawl(tmp_path, web, group.url, fault)
        assert group.current() == group.replica.port
        assert group.replica.client().dbsize() > 0

    check(tmp_path, web, result)
    assert changes(result)[:2] == ["cache.open", "cache.closed"]


def test_a_crawl_follows_its_cache_when_sentinel_is_ordered_to_fail_over(web: SimwebProcess, tmp_path: Path) -> None:
    with running_sentinels(tmp_path / "redis") as group:

        def fail_over() -> None:
            group.fail_over()
            wait_until(lambda: group.current() == group.replica.port, "the fail-over")
            wait_until(group.is_whole, "the former primary to replicate")

        result = crawl(tmp_path, web, group.url, Fault(fail_over, is_noticed=False, is_waited_for=True))
        # What is replicated is not the script itself, so this one was called by the crawl.
        calls = group.replica.client().info("commandstats")["cmdstat_eval"]["calls"]

    check(tmp_path, web, result)
    assert calls > 0 and result.last.cache_fault is None


@pytest.mark.parametrize("delay", [0.03, 0.06, 0.2])
def test_a_crawl_does_not_depend_on_how_slow_its_cache_is(
    web: SimwebProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delay: float
) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 5.0)
    with running_redis(tmp_path / "redis") as server, SlowProxy(server.port) as proxy:
        proxy.delay = delay
        result = crawl(tmp_path, web, proxy.url)

    check(tmp_path, web, result)
    if delay > 0.05:
        assert result.last.cache_failures["slow"] >= 3 and "slow" in faults(result)
        assert result.last.internals.contents_cached == 0  # no answer came in time


def test_a_cache_that_is_slow_for_a_while_is_used_again(web: SimwebProcess, tmp_path: Path) -> None:
    with running_redis(tmp_path / "redis") as server, SlowProxy(server.port) as proxy:

        def become(delay: float) -> None:
            proxy.delay = delay

        result = crawl(tmp_path, web, proxy.url, *[Fault(lambda: become(0.06), lambda: become(0.0))] * FAULTS)

    check(tmp_path, web, result)
    assert "slow" in faults(result) and result.last.cache_failures["slow"] >= 3


def test_the_command_takes_the_cache_and_reports_its_state(tmp_path: Path, web: SimwebProcess) -> None:
    with running_redis(tmp_path / "redis", {"requirepass": "secret"}) as server:
        command = ["crawl", *web.seeds, "--dir", tmp_path / "crawl", "--dns", web.dns_address, "--allow-private"]
        command += ["--max-pages", 30, "--delay", 0.01, "--delay-factor", 0, "--json", "--quiet"]
        ended = gossamer(*command, "--cache", server.url.replace("//", "//:secret@"))

        assert ended.status == 0, ended.err
        assert (ended.report["cache_failing"], ended.report["announced"]) == (False, 0)
        wait_until(lambda: server.client().dbsize(), "entries")
    assert "secret" not in ended.out + ended.err + (tmp_path / "crawl" / "crawl.log").read_text()


def test_a_url_that_is_no_cache_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    ended = gossamer("crawl", "http://x.test/", "--dir", tmp_path / "crawl", "--cache", "memcached://:secret@h/")

    assert ended.status == 2 and not (tmp_path / "crawl").exists()
    assert "--cache: the scheme is unknown" in ended.err and "secret" not in ended.err
