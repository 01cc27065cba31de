"""Rules that change between runs and during one, URLs that are missing, and URLs that are one in minimised form."""

import os
import signal
from pathlib import Path

import pytest
from running import Command, Constants, Scene, answered, gossamer, scene, small_web, wait_until

pytestmark = pytest.mark.service


def by_state(crawl: Scene) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for page in crawl.pages():
        found.setdefault(str(page["state"]), set()).add(str(page["url"]))
    return found


def test_queued_urls_are_held_to_the_rules_of_the_run_that_would_visit_them(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(fault_rate=0.0), ["--max-pages", 5]) as crawl:
        assert gossamer(*crawl.command).status == 0
        queued = {str(page["url"]) for page in crawl.pages("--state", "queued")}
        assert queued

        crawl.toml.write_text('[retry]\ndelay = 1.0\n[filter]\nexclude = ["*"]\n')
        ended = gossamer("crawl", *crawl.resume[:-2])

        assert ended.report["finished"] is True
        excluded = [page for page in crawl.pages("--state", "excluded") if page["reason"] == "pattern"]
        assert queued <= {str(page["url"]) for page in excluded}


def test_a_running_crawl_takes_new_rules_on_sighup(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(fault_rate=0.0, hosts=20, pages=600), ["--delay", 0.2]) as crawl:
        with Command(*crawl.command) as running:
            wait_until(lambda: answered(crawl.log) > 60, "the crawl to get going")
            crawl.toml.write_text('[retry]\ndelay = 1.0\n[filter]\nexclude = ["*"]\n')
            os.kill(running.process.pid, signal.SIGHUP)
            ended = running.ended()

        assert ended.status == 0
        assert ended.report["finished"] is True
        assert ended.report["excluded"]["pattern"] > 50  # type: ignore[index]
        assert '"rules.changed"' in (crawl.dir / "crawl.log").read_text()


def test_rules_that_cannot_be_used_change_nothing(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(fault_rate=0.0, hosts=8, pages=60)) as crawl:
        with Command(*crawl.command) as running:
            wait_until(lambda: answered(crawl.log) > 5, "the crawl to get going")
            crawl.toml.write_text("[filter]\nnonsense = 1\n")
            os.kill(running.process.pid, signal.SIGHUP)
            ended = running.ended()

        assert ended.report["finished"] is True
        assert "pattern" not in ended.report["excluded"]  # type: ignore[operator]
        assert '"rules.refused"' in (crawl.dir / "crawl.log").read_text()


def test_a_missing_url_is_asked_again_after_its_delay_and_is_gone_in_the_end(tmp_path: Path) -> None:
    toml = "[retry]\ndelay = 1.0\nmissing_delay = 0.01\n"
    constants = Constants({"gossamer.wishes.MISSING_TRIES": 2})
    with scene(tmp_path, small_web(missing_rate=0.1, fault_rate=0.0), toml=toml) as crawl:
        first = gossamer(*crawl.command, constants)
        missing = by_state(crawl)["missing"]
        before = answered(crawl.log)
        second = gossamer(*crawl.command, constants)

        assert first.report["missing"] == len(missing) > 0
        assert second.report["gone"] == len(missing)
        assert by_state(crawl)["gone"] == missing
        assert answered(crawl.log) == before + len(missing)
        assert second.report["finished"] is True
