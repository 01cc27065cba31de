"""A crawl by several workers is the crawl that one worker would have made."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.crawl.run.directory import parts_of
from gossamer.crawl.run.opener import CrawlLocation, open_part
from gossamer.filter.domains import registrable_domain
from gossamer.lab.simweb.audit import audit, ground_truth
from gossamer.model.units import HostKey, Seconds
from tests.integration.crawl_checks import CONTRACT_KEYS
from tests.integration.crawl_process import Command, Scene, gossamer, scene, small_web, wait_for_requests
from tests.workers.worker_crawls import (
    WORKERS,
    check_crawl,
    events,
    is_gone,
    pages_of_parts,
    processes,
    wait_for_workers,
)

pytestmark = pytest.mark.service

DELAY, FACTOR, MAX_ADAPTIVE = Seconds(0.03), 10.0, Seconds(30.0)
TOLERANCE = 0.002  # of clocks in several processes

WEB = small_web(
    seed=5,
    hosts=40,
    pages=260,
    duplicate_rate=0.0,
    shared_address_hosts=0.5,
    crawl_delay_hosts=0.05,
    crawl_delay_seconds=0.3,
    slow_hosts=0.05,
    slow_seconds=0.05,
)
OPTIONS = ("--delay", DELAY, "--delay-factor", FACTOR, "--workers", WORKERS)


def fingerprint_keys(directory: Path) -> set[int]:
    """Of all workers."""
    keys = set()
    for part in parts_of(directory):
        with closing(open_part(CrawlLocation(part))) as reader:
            keys.add(reader.urls.fingerprint_key())
    return keys


def test_the_whole_web_is_crawled_politely_and_each_domain_by_one_worker(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, OPTIONS) as stage:
        ended = gossamer(*stage.command)

        assert ended.status == 0, ended.err
        report = ended.report
        assert set(report) >= CONTRACT_KEYS
        assert report["finished"] is True
        assert report["politeness_violations"] == 0
        assert report["pages"] == ground_truth(stage.web.web()).documents
        check_crawl(stage)
        web = stage.web.web()
    requests = stage.web.requests()
    found = audit(
        requests,
        min_delay=DELAY,
        delay_factor=FACTOR,
        max_adaptive_delay=MAX_ADAPTIVE,
        crawl_delays=web.crawl_delays(),
        tolerance=TOLERANCE,
    )
    assert [str(violation) for violation in found] == []
    assert Counter(r.host for r in requests if r.target == "/robots.txt").most_common(1)[0][1] == 1

    domains = [
        {registrable_domain(HostKey(str(page["host"]))) for page in pages_of_parts(tmp_path / "crawl" / f"worker-{k}")}
        for k in range(1, WORKERS + 1)
    ]
    assert sum(map(len, domains)) == len(set.union(*domains))
    assert [e["event"] for e in events(stage) if e["event"] == "worker.lost"] == []
    assert all(is_gone(process) for process in processes(stage).values())
    assert len(fingerprint_keys(tmp_path / "crawl")) == 1


def test_a_limit_of_pages_holds_for_all_workers_together_and_more_may_come_later(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, OPTIONS) as stage:
        first = gossamer(*stage.command, "--max-pages", 100)
        assert (first.status, first.report["pages"], first.report["finished"]) == (0, 100, False)

        more = gossamer("crawl", *stage.resume, "--max-pages", 150)
        assert (more.status, more.report["pages"], more.report["run_pages"]) == (0, 150, 50)

        rest = gossamer("crawl", *stage.resume, "--max-pages", 100_000)
        assert rest.report["finished"] is True
        assert rest.report["pages"] == ground_truth(stage.web.web()).documents


def test_the_directory_knows_how_many_workers_and_which_seeds_it_is_for(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, ["--max-pages", 20]) as stage:
        assert gossamer(*stage.command, "--workers", WORKERS).status == 0
        layout = json.loads((stage.dir / "workers.json").read_text())
        assert layout["workers"] == WORKERS

        other = gossamer(*stage.command, "--workers", 2)
        assert other.status == 1
        assert "holds a crawl by 3 workers, not by 2" in other.err

        resumed = gossamer(*stage.command)
        assert resumed.status == 0, resumed.err
        assert resumed.report["run_pages"] == 0

        stranger = gossamer("crawl", "http://stranger.test/", *stage.resume)
        assert stranger.status == 1
        assert "http://stranger.test/ is not one of its seeds" in stranger.err

        added = gossamer("crawl", "http://stranger.test/", *stage.resume, "--add-seeds")
        assert added.status == 0, added.err


def test_a_crawl_by_one_worker_is_not_continued_by_several(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, ["--max-pages", 20]) as stage:
        assert gossamer(*stage.command).status == 0
        several = gossamer(*stage.command, "--workers", 2)
    assert several.status == 1
    assert "holds a crawl by one worker, not by 2" in several.err


@pytest.mark.parametrize(("given", "told"), [("0", "at least 1, not 0"), ("65", "at most 64, not 65")])
def test_an_impossible_number_of_workers_is_refused_by_name(given: str, told: str, tmp_path: Path) -> None:
    ended = gossamer("crawl", "http://one.test/", "--dir", tmp_path / "crawl", "--workers", given)
    assert ended.status == 2
    assert "--workers" in ended.err
    assert told in ended.err
    assert not (tmp_path / "crawl").exists()


def test_interrupted_it_finishes_what_is_in_flight_and_goes_on_later(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, OPTIONS) as stage:
        with Command(*stage.command) as crawler:
            wait_for_workers(stage, crawler)
            wait_for_requests(stage, crawler, 60)
            crawler.strike(2)
            ended = crawler.ended()
        assert ended.status == 130
        assert ended.report["finished"] is False
        assert all(is_gone(process) for process in processes(stage).values())

        assert gossamer(*stage.command).report["finished"] is True
        check_crawl(stage)


def scope_of(stage: Scene) -> set[str]:
    return {str(page["host"]) for page in pages_of_parts(stage.dir)}


def test_a_scope_by_seeds_holds_in_every_part(tmp_path: Path) -> None:
    with scene(tmp_path, WEB, [*OPTIONS]) as stage:
        command = [*stage.command]
        command[command.index("tld:test")] = "host"
        ended = gossamer(*command)
        assert ended.status == 0, ended.err
        seeds = {seed.split("/")[2].partition(":")[0] for seed in stage.web.seeds}
        assert scope_of(stage) == seeds
