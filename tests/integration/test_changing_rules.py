"""Rules that change between runs and during one, URLs that are missing, and URLs that are one in minimised form."""

import os
import signal
import sqlite3
import threading
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.integration.crawl_process import Command, Constants, Ended, Scene, gossamer, scene, small_web, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service


def by_state(crawl: Scene) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in crawl.pages():
        found.setdefault(str(row["state"]), set()).add(str(row["url"]))
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


def after_sighup(folder: Path, rules: str, event: str) -> Ended:
    """A crawl whose first of ten pages is answered only after it has read other rules and logged so."""
    toml, directory, go_on = folder / "gossamer.toml", folder / "crawl", threading.Event()
    log = directory / "crawl.log"
    toml.write_text('order = "bfs"\n')

    def site(path: str, _: int) -> Answer:
        if path == "/0":
            go_on.wait()
        return links(*(f"/{n}" for n in range(10))) if path == "/" else page(path)

    with ExitStack() as stack:
        server = stack.enter_context(SmallServer(site))
        options = ["--dir", directory, "--config", toml, "--allow-private", "--delay", 0.02, "--json", "--quiet"]
        running = stack.enter_context(Command("crawl", f"{server.base}/", *options))
        stack.callback(go_on.set)
        wait_until(lambda: "/0" in server.paths() or not running.runs, "the page that is held")
        toml.write_text(rules)
        os.kill(running.process.pid, signal.SIGHUP)
        wait_until(lambda: (log.exists() and event in log.read_text()) or not running.runs, event)
        go_on.set()
        return running.ended()


def test_a_running_crawl_takes_new_rules_on_sighup(tmp_path: Path) -> None:
    ended = after_sighup(tmp_path, 'order = "bfs"\n[filter]\nexclude = ["*"]\n', '"rules.changed"')

    assert ended.status == 0
    assert (ended.report["finished"], ended.report["pages"]) == (True, 2)  # the home page, and what was in flight
    assert ended.report["excluded"] == {"pattern": 9}


def visited_after_sighup(folder: Path, order: str, first: str, later: str, until: str) -> list[str]:
    """The paths that a crawl with one slot asked for after its rules were changed, while it waited for /1."""
    folder.mkdir()
    toml, directory, go_on = folder / "gossamer.toml", folder / "crawl", threading.Event()
    toml.write_text(f'order = "{order}"\n{first}')

    def site(path: str, _: int) -> Answer:
        if path == "/1":
            go_on.wait()
        return links(*(f"/{n}" for n in range(1, 10))) if path == "/" else page(path)

    with ExitStack() as stack:
        server = stack.enter_context(SmallServer(site))
        options = ["--dir", directory, "--config", toml, "--allow-private", "--delay", 0, "--delay-factor", 0]
        running = stack.enter_context(Command("crawl", f"{server.base}/", *options, "--json", "--concurrency", 1))
        stack.callback(go_on.set)
        wait_until(lambda: "/1" in server.paths() or not running.runs, "the page that is held")
        toml.write_text(f'order = "{order}"\n{later}')
        os.kill(running.process.pid, signal.SIGHUP)
        is_done = "SELECT count(*) FROM facts WHERE name = 'order_settings' AND value LIKE ?"

        def in_order() -> bool:
            with closing(sqlite3.connect(directory / "crawl.db")) as db:
                return bool(db.execute(is_done, (f"%{until}",)).fetchone()[0])

        wait_until(lambda: in_order() or not running.runs, "the queue in its new order")
        go_on.set()
        ended = running.ended()
        assert ended.report["finished"] is True, ended.err
        return [path for path in server.paths() if path[1:].isdecimal()][1:]


def test_priority_rules_that_change_on_sighup_move_queued_urls(tmp_path: Path) -> None:
    seven, two = (
        '[[priority.rules]]\npattern = "*/{}"\nclass = "{}"\n'.format(*rule) for rule in ((7, "high"), (2, "low"))
    )

    by_score = visited_after_sighup(tmp_path / "score", "novelty", "", seven + two, "*/2): low")
    fifo = visited_after_sighup(tmp_path / "fifo", "bfs", two, seven + two, "*/2): low")
    by_class = visited_after_sighup(tmp_path / "class", "mercator", "", seven + two, "*/2): low")

    assert by_score == fifo == [f"/{n}" for n in (7, 3, 4, 5, 6, 8, 9, 2)]
    assert by_class[0] == "/7" and sorted(by_class) == sorted(by_score)


def test_rules_that_cannot_be_used_change_nothing(tmp_path: Path) -> None:
    ended = after_sighup(tmp_path, "[filter]\nnonsense = 1\n", '"rules.refused"')

    assert (ended.report["finished"], ended.report["pages"]) == (True, 11)
    assert ended.report["excluded"] == {}


def test_a_missing_url_that_comes_due_during_the_crawl_is_retried_before_its_end(tmp_path: Path) -> None:
    toml, asked = tmp_path / "gossamer.toml", Counter[str]()
    toml.write_text("[retry]\nmissing_delay = 0.01\n")

    def site(path: str, _: int) -> Answer:
        asked[path] += 1
        if path == "/robots.txt" or path == "/missing":
            return Answer(status=404)
        number = int(path.strip("/") or 0)
        more = [f"/{number + 1}"] if asked["/missing"] < 3 and number < 2000 else []
        return links("/missing", *more)  # a crawl that is not over before the URL was requested three times

    with SmallServer(site) as server:
        options = ("--dir", tmp_path / "crawl", "--config", toml, "--allow-private", "--delay", 0.01, "--json")
        ended = gossamer("crawl", f"{server.base}/", *options)

    assert asked["/missing"] == 3
    assert [ended.report[name] for name in ("missing", "gone", "finished")] == [0, 1, True]


def test_the_report_says_how_many_missing_urls_wait_and_until_when(tmp_path: Path) -> None:
    with scene(tmp_path, small_web(missing_rate=0.1, fault_rate=0.0), toml="[retry]\ndelay = 1.0\n") as crawl:
        ended = gossamer(*crawl.command)
        waits = gossamer("status", "--dir", crawl.dir, "--json").report["waits"]
        missing = by_state(crawl)["missing"]

    assert isinstance(waits, dict)
    assert ended.report["missing"] == waits["missing"] == len(missing) > 0
    assert ended.report["next_missing"] == waits["next_missing"] is not None


def test_a_missing_url_is_asked_again_by_a_later_run_and_is_gone_in_the_end(tmp_path: Path) -> None:
    toml = "[retry]\ndelay = 1.0\nmissing_delay = 0.01\n"
    constants = Constants({"gossamer.config.policies.MISSING_TRIES": 2})
    with scene(tmp_path, small_web(missing_rate=0.1, fault_rate=0.0), toml=toml) as crawl:
        first = gossamer(*crawl.command, constants)
        states = by_state(crawl)
        missing = states.get("missing", set()) | states.get("gone", set())
        second = gossamer(*crawl.command, constants)
        gone = by_state(crawl)["gone"]
        base_of = {host.name: host.base for host in crawl.web.web().hosts}
    visits = Counter(base_of[request.host] + request.target for request in crawl.web.requests())

    assert first.report["finished"] is second.report["finished"] is True
    assert second.report["gone"] == len(missing) > 0
    assert gone == missing
    assert {url: n for url, n in visits.items() if n > 1} == dict.fromkeys(missing, 2)
