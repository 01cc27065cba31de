"""The engine: which visits it starts and when, when it commits, how it ends, and what survives a failure."""

import asyncio
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gossamer.crawl.document.processor import DocumentProcessor
from gossamer.errors import DiskFull, GossamerError, StoreFailed
from gossamer.model.batch import Batch, Committed
from gossamer.model.units import HostKey, Instant, Url
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter
from tests.crawl.scripted_crawl import HOME, ScriptedCrawl, crawled, html, opened, run_in_step
from tests.crawl.scripted_fetcher import HANG, Step, response

HOSTS = [f"http://{name}.test/" for name in "abcdef"]
TREE: dict[str, Step] = {
    HOME: html("/1", "/2", title="home"),
    HOME + "1": html("/11", "/12", title="1"),
    HOME + "2": html("/21", title="2"),
    HOME + "11": html(title="11"),
    HOME + "12": html(title="12"),
    HOME + "21": html(title="21"),
}


NO_GAPS: dict[str, Any] = {"delay": 0.0, "delay_factor": 0.0}
"""Every host is ready at every time, so that the order of visits depends on the frontier alone."""


def site(urls: list[str]) -> dict[str, Step]:
    return {url: html(title=url) for url in urls}


def paths(crawl: ScriptedCrawl) -> list[str]:
    return [url.removeprefix(HOME) for url in crawl.requests]


class Writes:
    """Watches the commits of a store, and lets some of them fail."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self.times: list[float] = []
        self.failures: list[Exception] = []  # for the next commits
        self.always: Exception | None = None
        commit = TableWriter.commit

        def watched(writer: TableWriter, batch: Batch, now: Instant) -> Committed:
            self.times.append(now)
            if self.always is not None:
                raise self.always
            if self.failures:
                raise self.failures.pop()
            self.sizes.append(len(batch.settlements))
            return commit(writer, batch, now)

        patch.setattr(TableWriter, "commit", watched)


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> Writes:
    return Writes(monkeypatch)


def run_expecting(
    directory: Path,
    script: dict[str, Step],
    error: type[BaseException],
    act: Callable[[ScriptedCrawl], None] = lambda crawl: None,
    **settings: Any,
) -> ScriptedCrawl:
    """Crawl until it fails with `error`."""

    async def main() -> ScriptedCrawl:
        async with opened(directory, script, **settings) as crawl:
            act(crawl)
            with pytest.raises(error):
                await crawl.crawl.engine.run()
            return crawl

    return run_in_step(main())


# --- starting visits -------------------------------------------------------------------------------


def test_with_one_slot_visits_start_in_the_order_of_the_frontier_breadth_first(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, TREE, concurrency=1, order="bfs")

    assert paths(crawl) == ["", "1", "2", "11", "12", "21"]


def test_with_one_slot_visits_start_in_the_order_of_the_frontier_depth_first(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, TREE, concurrency=1, order="dfs")

    depths = [len(path) for path in paths(crawl)]
    assert depths[:3] == [0, 1, 2]
    assert depths.index(2) < len(depths) - 1 - depths[::-1].index(1)  # a grandchild before the second child


def test_with_one_slot_a_page_is_processed_before_the_next_visit_is_chosen(tmp_path: Path) -> None:
    """Depth first, the link of a page comes before the other seed, which is ready all the time."""
    script = {seed: html(seed + "child", title=seed) for seed in HOSTS[:2]}
    script |= site([seed + "child" for seed in HOSTS[:2]])
    crawl = crawled(tmp_path, script, seeds=HOSTS[:2], concurrency=1, order="dfs", **NO_GAPS)

    first, second, *_ = crawl.requests
    assert first in HOSTS and second == first + "child"


@pytest.mark.parametrize("concurrency", [1, 2, 4])
def test_no_more_visits_are_under_way_than_there_are_slots_and_all_slots_are_used(
    tmp_path: Path, concurrency: int
) -> None:
    under_way: list[int] = []

    def watch(crawl: ScriptedCrawl) -> None:
        requested = crawl.fetcher.on_request

        def on_request(request: Any) -> None:
            requested(request)
            under_way.append(crawl.crawl.engine.in_flight)

        crawl.fetcher.on_request = on_request

    crawled(tmp_path, site(HOSTS), watch, seeds=HOSTS, concurrency=concurrency)

    assert max(under_way) == concurrency


def test_a_host_has_one_visit_at_a_time(tmp_path: Path) -> None:
    urls = [HOME + str(number) for number in range(5)]
    crawl = crawled(tmp_path, site(urls), seeds=urls, concurrency=10)

    times = sorted(crawl.times)
    assert all(later - earlier >= 1.0 for earlier, later in pairwise(times))


def test_late_visits_do_not_keep_the_slots_of_others(tmp_path: Path) -> None:
    """Two hosts accept a request and never answer; with two slots the others are visited all the same."""
    silent = {url + "robots.txt": HANG for url in HOSTS[:2]}

    async def main() -> ScriptedCrawl:
        async with opened(tmp_path, {**silent, **site(HOSTS[2:])}, seeds=HOSTS, concurrency=2) as crawl:
            crawl.when(lambda: set(crawl.requests) == set(HOSTS[2:]), crawl.crawl.engine.stop)
            await crawl.crawl.engine.run()
            return crawl

    crawl = run_in_step(main())

    assert max(at for url, (at, *_) in crawl.request_times.items() if url in HOSTS) < 20.0
    assert crawl.states() == {**dict.fromkeys(HOSTS[:2], "queued"), **dict.fromkeys(HOSTS[2:], "stored")}


# --- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 10])
def test_the_page_limit_is_reached_and_not_exceeded(tmp_path: Path, concurrency: int) -> None:
    crawl = crawled(tmp_path, site(HOSTS), seeds=HOSTS, concurrency=concurrency, max_pages=4)

    assert sorted(crawl.states().values()) == ["queued"] * 2 + ["stored"] * 4
    assert len(crawl.requests) == 4
    assert not crawl.crawl.engine.finished


def test_visits_under_way_count_for_the_page_limit_as_if_each_were_a_page(tmp_path: Path) -> None:
    async def main() -> int:
        script = {**site(HOSTS[:1]), **dict.fromkeys(HOSTS[1:], HANG)}
        async with opened(tmp_path, script, seeds=HOSTS, max_pages=4) as crawl:
            running = asyncio.create_task(crawl.crawl.engine.run())
            await asyncio.sleep(30.0)
            requests = len(crawl.requests)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return requests

    assert run_in_step(main()) == 4


def test_a_crawl_that_is_cancelled_sends_no_further_request(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        async with opened(tmp_path, dict.fromkeys(HOSTS, HANG), seeds=HOSTS, concurrency=2, max_pages=2) as crawl:
            running = asyncio.create_task(crawl.crawl.engine.run())
            await asyncio.sleep(30.0)
            before = len(crawl.fetcher.requests)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await asyncio.sleep(30.0)
            return before, len(crawl.fetcher.requests)

    before, after = run_in_step(main())

    assert before == after


def test_a_page_that_turns_out_to_be_none_does_not_count_for_the_page_limit(tmp_path: Path) -> None:
    script = {**site(HOSTS), HOSTS[0]: response(404), HOSTS[1]: response(404)}
    crawl = crawled(tmp_path, script, seeds=HOSTS, max_pages=4)

    assert sorted(crawl.states().values()) == ["missing"] * 2 + ["stored"] * 4


def test_a_full_consumer_stops_new_visits_until_it_has_room(tmp_path: Path) -> None:
    def fill_for_a_while(crawl: ScriptedCrawl) -> None:
        def full() -> None:
            crawl.saturation = 1.0
            asyncio.get_running_loop().call_later(500.0, room)

        def room() -> None:
            crawl.saturation = 0.0
            crawl.crawl.engine.pump_soon()

        crawl.when(lambda: crawl.requests == [HOME], full)

    crawl = crawled(tmp_path, TREE, fill_for_a_while)

    times = sorted(crawl.times)
    assert times[2] - times[1] >= 500.0
    assert set(crawl.states().values()) == {"stored"}


# --- pause and resume ------------------------------------------------------------------------------


def test_a_paused_crawl_starts_no_visits_and_goes_on_when_it_is_resumed(tmp_path: Path) -> None:
    def pause_for_a_while(crawl: ScriptedCrawl) -> None:
        engine = crawl.crawl.engine

        def pause() -> None:
            engine.pause(True)
            asyncio.get_running_loop().call_later(500.0, engine.pause, False)

        crawl.when(lambda: crawl.requests == [HOME], pause)

    crawl = crawled(tmp_path, TREE, pause_for_a_while)

    times = sorted(crawl.times)
    assert times[2] - times[1] >= 500.0
    assert set(crawl.states().values()) == {"stored"}
    assert crawl.crawl.engine.finished


def test_what_is_under_way_when_a_crawl_is_paused_is_committed(tmp_path: Path) -> None:
    found: list[str] = []

    async def main() -> None:
        async with opened(tmp_path, TREE) as crawl:
            engine = crawl.crawl.engine
            crawl.when(lambda: crawl.requests == [HOME], lambda: engine.pause(True))
            running = asyncio.create_task(engine.run())
            await asyncio.sleep(100.0)
            found.extend(crawl.states().values())
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run_in_step(main())

    assert found == ["stored", "queued", "queued"]


# --- loading ---------------------------------------------------------------------------------------


def test_more_hosts_than_fit_into_memory_are_loaded_when_there_is_room(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, site(HOSTS), seeds=HOSTS, frontier={"max_hosts": 2})

    assert crawl.states() == dict.fromkeys(HOSTS, "stored")
    assert crawl.crawl.engine.finished


def test_more_urls_of_a_host_are_loaded_when_its_queue_is_low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    urls = [HOME + str(number) for number in range(300)]
    loads: list[int] = []
    load = TableLoader.load

    def watched(loader: TableLoader, order: Any) -> Any:
        loaded = load(loader, order)
        loads.append(sum(len(tasks) for host in loaded.hosts for _, tasks, _ in host.classes))
        return loaded

    monkeypatch.setattr(TableLoader, "load", watched)

    crawl = crawled(tmp_path, {}, seeds=urls, filter={"exclude": ("*",)})

    assert set(crawl.states().values()) == {"excluded"}
    assert sum(loads) == 300
    assert max(loads) < 300


# --- commits ---------------------------------------------------------------------------------------


def test_a_full_batch_is_committed_at_once(tmp_path: Path, writes: Writes) -> None:
    """Visits that end without a request settle hundreds of URLs within one instant."""
    urls = [f"http://host-{number}.test/" for number in range(600)]
    crawl = crawled(tmp_path, {}, seeds=urls, filter={"exclude": ("*",)})

    assert set(crawl.states().values()) == {"excluded"}
    settled = [size for size in writes.sizes if size]
    assert sum(settled) == 600
    assert 256 <= settled[0] <= 256 + 80
    assert writes.times[1] - writes.times[0] < 0.05  # the first commit is that of the seeds


def test_pages_that_end_at_about_the_same_time_share_a_commit(tmp_path: Path, writes: Writes) -> None:
    crawl = crawled(tmp_path, site(HOSTS), seeds=HOSTS)

    assert len(crawl.committed) == 6
    assert max(writes.sizes) > 1


def test_everything_is_committed_when_a_crawl_ends(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, TREE)

    assert set(crawl.states().values()) == {"stored"}
    assert len(crawl.committed) == len(TREE)
    assert crawl.crawl.store.is_idle
    assert len(crawl.crawl.engine.documents) == 0
    assert crawl.crawl.engine.finished


def test_a_crawl_that_is_stopped_finishes_and_commits_what_is_under_way(tmp_path: Path) -> None:
    def stop_at_three(crawl: ScriptedCrawl) -> None:
        crawl.when(lambda: len(crawl.requests) == 3, crawl.crawl.engine.stop)

    crawl = crawled(tmp_path, site(HOSTS), stop_at_three, seeds=HOSTS, concurrency=3)

    stored = [url for url, state in crawl.states().items() if state == "stored"]
    assert stored and sorted(stored) == sorted(set(crawl.requests))
    assert not crawl.crawl.engine.finished
    assert crawl.crawl.store.is_idle


def test_a_stopped_crawl_goes_on_where_it_ended(tmp_path: Path) -> None:
    first = crawled(tmp_path, TREE, lambda crawl: crawl.when(lambda: len(crawl.requests) == 2, crawl.crawl.engine.stop))
    second = crawled(tmp_path, TREE, seeds=())

    assert set(second.states().values()) == {"stored"}
    assert sorted(first.requests + second.requests) == sorted(TREE)


# --- failures --------------------------------------------------------------------------------------


def test_a_commit_that_fails_is_tried_again_and_nothing_is_lost(tmp_path: Path, writes: Writes) -> None:
    def fail_three_times(crawl: ScriptedCrawl) -> None:
        crawl.when(lambda: crawl.requests == [HOME], lambda: writes.failures.extend([StoreFailed("busy")] * 3))

    crawl = crawled(tmp_path, TREE, fail_three_times)

    assert writes.failures == []
    assert set(crawl.states().values()) == {"stored"}
    assert sorted(crawl.requests) == sorted(TREE)


def test_nothing_is_fetched_while_commits_fail(tmp_path: Path, writes: Writes) -> None:
    """Other hosts are ready; but what they answer could not be stored."""

    def fail_for_ten_seconds(crawl: ScriptedCrawl) -> None:
        def fail() -> None:
            writes.always = StoreFailed("busy")
            asyncio.get_running_loop().call_later(10.0, recover)

        def recover() -> None:
            writes.always = None

        crawl.when(lambda: len(crawl.requests) == 1, fail)

    script = {HOME: html(*HOSTS[1:]), **site(HOSTS[1:])}
    crawl = crawled(tmp_path, script, fail_for_ten_seconds)

    assert all(at <= 2.0 or at >= 10.0 for at in crawl.times)
    assert set(crawl.states().values()) == {"stored"}


def test_a_store_that_does_not_recover_ends_the_crawl_and_the_next_run_loses_nothing(
    tmp_path: Path, writes: Writes
) -> None:
    def fail_from_now_on() -> None:
        writes.always = StoreFailed("broken")

    run_expecting(
        tmp_path, TREE, StoreFailed, lambda crawl: crawl.when(lambda: crawl.requests == [HOME], fail_from_now_on)
    )
    writes.always = None
    crawl = crawled(tmp_path, TREE, seeds=())

    assert crawl.states() == dict.fromkeys(TREE, "stored")


def test_a_full_disk_ends_the_crawl_without_another_try(tmp_path: Path, writes: Writes) -> None:
    def fill_the_disk() -> None:
        writes.always = DiskFull("no space left on device")

    crawl = run_expecting(
        tmp_path, TREE, DiskFull, lambda crawl: crawl.when(lambda: crawl.requests == [HOME], fill_the_disk)
    )

    assert crawl.requests == [HOME]
    assert writes.times[-1] - writes.times[-2] < 2.0


def test_a_failed_load_ends_the_crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StoreFailed("cannot read")

    monkeypatch.setattr(TableLoader, "load", fail)

    crawl = run_expecting(tmp_path, TREE, StoreFailed)

    assert crawl.fetcher.urls == []


def test_a_fetcher_that_raises_ends_the_crawl_and_the_next_run_loses_nothing(tmp_path: Path) -> None:
    def raise_it() -> None:
        raise ZeroDivisionError

    run_expecting(
        tmp_path, TREE, ZeroDivisionError, lambda crawl: crawl.when(lambda: len(crawl.requests) == 3, raise_it)
    )
    crawl = crawled(tmp_path, TREE, seeds=())

    assert crawl.states() == dict.fromkeys(TREE, "stored")


def test_a_document_that_cannot_be_processed_because_of_a_bug_ends_the_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(DocumentProcessor, "as_new", fail)

    crawl = run_expecting(tmp_path, TREE, ZeroDivisionError)

    assert crawl.states() == {HOME: "queued"}


def test_a_crawl_whose_counters_say_that_urls_are_lost_fails_loudly(tmp_path: Path) -> None:
    def count_one_too_many(crawl: ScriptedCrawl) -> None:
        crawl.crawl.counters.total["state:queued"] += 1

    run_expecting(tmp_path, TREE, GossamerError, count_one_too_many)


# --- keeping open ----------------------------------------------------------------------------------


def add_url(crawl: ScriptedCrawl, url: str, host: str) -> None:
    store = crawl.crawl.store
    store.batch.candidates.append(crawl.crawl.admission.admit_seed(Url(url), HostKey(host)))
    store.nudge()


def test_a_crawl_that_is_kept_open_waits_for_more_and_visits_it(tmp_path: Path) -> None:
    script = {**site(HOSTS[:2])}

    def keep_open(crawl: ScriptedCrawl) -> None:
        crawl.crawl.engine.keep_open()
        asyncio.get_running_loop().call_later(500.0, add_url, crawl, HOSTS[1], "b.test")
        asyncio.get_running_loop().call_later(900.0, crawl.crawl.engine.stop)

    crawl = crawled(tmp_path, script, keep_open)

    assert crawl.states() == dict.fromkeys(HOSTS[:2], "stored")
    assert 500.0 <= crawl.request_times[HOSTS[1]][0] < 510.0
    assert crawl.clock.now() - crawl.began >= 900.0


def test_a_crawl_that_is_kept_open_does_not_end_at_its_page_limit(tmp_path: Path) -> None:
    def keep_open(crawl: ScriptedCrawl) -> None:
        crawl.crawl.engine.keep_open()
        asyncio.get_running_loop().call_later(900.0, crawl.crawl.engine.stop)

    crawl = crawled(tmp_path, site(HOSTS), keep_open, seeds=HOSTS, max_pages=2)

    assert sorted(crawl.states().values()).count("stored") == 2
    assert crawl.clock.now() - crawl.began >= 900.0


def test_the_numbers_of_hosts_in_memory_and_of_visits_under_way_are_reported_with_their_bounds(tmp_path: Path) -> None:
    async def main() -> tuple[tuple[int, int], tuple[int, int]]:
        silent = {url + "robots.txt": HANG for url in HOSTS}
        limits = {"max_hosts": 50}
        async with opened(tmp_path, silent, seeds=HOSTS, concurrency=10, frontier=limits) as crawl:
            running = asyncio.create_task(crawl.crawl.engine.run())
            await asyncio.sleep(5.0)
            hosts, visits = crawl.crawl.engine.fills
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return (hosts.items, hosts.most_items), (visits.items, visits.most_items)

    hosts, visits = run_in_step(main())

    assert hosts == (6, 50)
    assert visits[0] == 6 and visits[1] >= 10
