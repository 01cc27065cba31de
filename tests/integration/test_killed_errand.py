"""A process killed while it asks another host for its robots.txt: that host is owed its gap by the next process too."""

import threading
from pathlib import Path

import pytest

from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page

pytestmark = pytest.mark.service

DELAY = 1.5  # about as long as it takes to restart


def test_a_host_that_was_being_asked_for_anothers_rules_is_left_alone_after_a_kill(tmp_path: Path) -> None:
    asked, killed = threading.Event(), threading.Event()

    def keeper(path: str, before: int) -> Answer:
        if path != "/robots.txt":
            return NOTHING
        if before == 0:
            asked.set()
            killed.wait(60)
        return Answer("User-agent: *\nDisallow: /closed\n", headers={"Content-Type": "text/plain"})

    with SmallServer(keeper, "127.0.8.1") as other:
        away = Answer("", 301, {"Location": f"{other.base}/robots.txt"})
        site = {"/robots.txt": away, "/": links("/open", "/closed"), "/open": page("open"), "/closed": page("no")}
        with SmallServer(site, "127.0.8.2") as server:
            options = ["--dir", tmp_path / "crawl", "--allow-private", "--delay", DELAY, "--delay-factor", 0]
            with Command("crawl", f"{server.base}/", *options) as crawler:
                wait_until(lambda: asked.is_set() or not crawler.runs, "the errand")
                assert crawler.runs
                crawler.process.kill()
                crawler.process.wait()
                killed.set()
            ended = gossamer("crawl", *options, "--json", "--quiet")

    assert ended.status == 0, ended.err
    assert ended.report["politeness_violations"] == 0
    first, second = other.asked
    assert second.at - first.at >= DELAY  # of a cut-off request nobody knows when it ended
    assert server.paths() == ["/robots.txt", "/robots.txt", "/", "/open"]
    assert ended.report["excluded"] == {"robots_denied": 1}
    assert (ended.report["pages"], ended.report["finished"]) == (2, True)
