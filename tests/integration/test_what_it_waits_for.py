"""`gossamer status` of running crawls: in flight, resting hosts and retries told apart, and the load."""

import json
from pathlib import Path

import pytest

from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.explain_cases import Explained, ask, part, why
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

Json = dict[str, object]


def crawl_of(folder: Path, base: str, toml: str) -> Explained:
    (folder / "gossamer.toml").write_text(f"delay = 0.03\nallow_private = true\n{toml}")
    return Explained(folder / "crawl", folder / "gossamer.toml", base)


def status(crawl: Explained) -> Json:
    return gossamer("status", "--dir", crawl.dir, "--json").report


def waits(crawl: Explained) -> Json:
    return part(status(crawl), "waits")


def wait_for(crawl: Explained, crawler: Command, begins: str) -> Json:
    """What it waits for, once that begins so."""
    found: list[Json] = []

    def seen() -> bool:
        if (crawl.dir / "status.json").exists():
            found.append(waits(crawl))
        return bool(found and str(found[-1]["for"]).startswith(begins)) or not crawler.runs

    wait_until(seen, f"a crawl that waits for {begins}")
    assert crawler.runs, crawler.ended().err
    return found[-1]


def test_a_visit_in_flight_is_not_the_end(tmp_path: Path) -> None:
    with SmallServer({"/": Answer("slow", delay=60.0)}, "127.0.0.46") as server:
        crawl = crawl_of(tmp_path, server.base, "")
        with Command("crawl", f"{server.base}/", *crawl.options, "--quiet") as crawler:
            found = wait_for(crawl, crawler, "1 visit in flight")

    assert (found["in_flight"], found["retries"], found["resting_hosts"], found["ready_hosts"]) == (1, 0, 0, 0)
    assert found["due"] == 1


def test_a_host_that_asked_to_be_left_alone_is_waited_for_and_told_with_its_reason(tmp_path: Path) -> None:
    busy = Answer("busy", 503, {"Retry-After": "3000"})
    with SmallServer({"/": links("/busy", "/p"), "/busy": busy, "/p": page("p")}, "127.0.0.47") as server:
        crawl = crawl_of(tmp_path, server.base, 'order = "bfs"\n')
        with Command("crawl", f"{server.base}/", *crawl.options, "--quiet") as crawler:
            found = wait_for(crawl, crawler, "the delay of 1 host (ready in 0:4")
            story = ask(crawl, f"{server.base}/p")

    assert (found["in_flight"], found["due"], found["resting_hosts"], found["retries"]) == (0, 1, 1, 1)
    assert found["next_contact"] is not None
    assert part(story, "politeness")["reason"] == "Retry-After"
    assert why(story) == "its host may be contacted then: Retry-After"


def test_a_retry_is_waited_for_when_nothing_else_is_left(tmp_path: Path) -> None:
    with SmallServer({"/": links("/broken"), "/broken": Answer("oops", 500)}, "127.0.0.48") as server:
        crawl = crawl_of(tmp_path, server.base, "[retry]\ndelay = 3000.0\n")
        with Command("crawl", f"{server.base}/", *crawl.options, "--quiet") as crawler:
            found = wait_for(crawl, crawler, "1 retry (due in 0:")
        at_rest = waits(crawl)

    assert (found["in_flight"], found["due"], found["resting_hosts"], found["retries"]) == (0, 0, 0, 1)
    assert found["next_retry"] == at_rest["next_retry"] is not None
    assert str(at_rest["for"]).startswith("a start of the crawl, then 1 retry")


def test_a_finished_crawl_waits_for_nothing_and_leaves_no_news_behind(tmp_path: Path) -> None:
    with SmallServer({"/": links("/none")}, "127.0.0.49") as server:
        crawl = crawl_of(tmp_path, server.base, 'order = "mercator"\n')
        ended = gossamer("crawl", f"{server.base}/", *crawl.options, "--quiet", "--json")

    found = waits(crawl)
    assert ended.report["finished"] is True
    assert (found["for"], found["due"], found["missing"]) == ("", 0, 1)
    assert found["next_missing"] is not None
    assert not (crawl.dir / "status.json").exists()
    assert len(json.loads(json.dumps(ended.report["selector_shares"]))) == 3
    assert ended.report["load"] == "normal"


def test_a_switch_of_the_load_is_logged_with_its_reason(tmp_path: Path) -> None:
    site = {"/": links("/slow"), "/slow": Answer("slow", delay=60.0)}
    with SmallServer(site, "127.0.0.50") as server:
        crawl = crawl_of(tmp_path, server.base, "concurrency = 1\n")
        log = crawl.dir / "crawl.log"
        with Command("crawl", f"{server.base}/", *crawl.options, "--quiet") as crawler:
            wait_until(
                lambda: not crawler.runs or (log.exists() and "selector.load" in log.read_text()),
                "a switch of the load",
            )
            wait_until(lambda: part(status(crawl), "load")["mode"] == "high", "the load to be told")

    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(e["mode"], e["reason"]) for e in events if e["event"] == "selector.load"] == [
        ("high", "all fetch slots busy for 1 s")
    ]
