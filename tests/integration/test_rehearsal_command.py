"""`--rehearse` as a user has it: a crawl and a simulated web that share a clock, and what is refused."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from gossamer.clock import CLOCK_FILE, SteadyClock, clock_of
from tests.integration.crawl_process import Command, gossamer, wait_until

pytestmark = pytest.mark.service

DAY = 86_400.0


def test_weeks_pass_for_crawl_web_and_commands_alike_and_go_on_from_there(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    web = ("simweb", "--hosts", 4, "--pages", 30, "--clock", crawl / CLOCK_FILE)
    with Command(*web) as server:
        assert server.process.stdout is not None
        ready = json.loads(server.process.stdout.readline())
        command = ("crawl", *ready["seeds"], "--dir", crawl, "--dns", ready["dns"], "--scope", "tld:test", "--json")
        command += ("--quiet", "--allow-private", "--rehearse", 1_000_000)

        def ahead() -> float:
            return (clock_of(crawl).now() - SteadyClock().now()) / DAY

        with Command(*command, "--keep-fresh") as running:
            wait_until(lambda: ahead() > 30 or not running.runs, "a month")
            assert running.runs
            running.process.terminate()
            report = running.ended().report
        day = ahead()
        told = gossamer("status", "--dir", crawl, "--json").report["recrawl"]
        pages = gossamer("pages", "--dir", crawl, "--json").lines
        again = gossamer(*command)
        real = gossamer("crawl", "--dir", tmp_path / "other", *ready["seeds"], *command[4:6], "--max-pages", 3)

    assert int(str(report["refreshed"])) > len(pages)
    assert report["politeness_violations"] == 0
    assert isinstance(told, dict)
    assert told["overdue"] < told["scheduled"] / 2  # by the clock of the crawl
    latest = max(datetime.fromisoformat(str(page["fetched_at"])).timestamp() for page in pages if page["fetched_at"])
    assert latest > SteadyClock().now() + 20 * DAY
    assert ahead() > day - 0.01
    assert again.status == 0
    assert real.status == 0 and not (tmp_path / "other" / CLOCK_FILE).exists()


def test_a_crawl_of_the_world_does_not_become_a_rehearsal(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    fixed = ("--dir", tmp_path / "crawl", "--exclude-domain", "x.test", "--quiet")
    made = gossamer("crawl", "http://x.test/", *fixed, cwd=tmp_path)

    ended = gossamer("crawl", "--dir", tmp_path / "crawl", "--rehearse", 10, cwd=tmp_path)

    assert made.status == 0, made.err
    assert ended.status == 2
    assert "is not a time-lapse crawl" in ended.err and ended.err.count("\n") == 1


@pytest.mark.parametrize("speed", ["0.5", "-1", "fast"])
def test_a_clock_that_is_slower_than_the_worlds_is_refused(tmp_path: Path, speed: str) -> None:
    ended = gossamer("crawl", "http://x.test/", "--dir", tmp_path / "crawl", "--rehearse", speed, cwd=tmp_path)

    assert ended.status == 2
    assert "--rehearse" in ended.err
    assert not (tmp_path / "crawl").exists()
