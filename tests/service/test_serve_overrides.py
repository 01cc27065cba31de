"""What was ordered holds: over restarts, on SIGHUP, and when the directory is crawled from the command line."""

import json
import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.integration.crawl_process import Constants, gossamer, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page
from tests.service.service_process import Service

pytestmark = pytest.mark.service

DONE = {"unchecked": 0, "rereading": 0}
LIMITS = {"depthLimit": 20, "urlLengthLimit": 2000}


def chain(path: str, before: int) -> Answer:
    """Pages in a row: / -> /1 -> /2 -> /3."""
    if path == "/robots.txt":
        return Answer("", 404)
    number = int(path[1:] or 0)
    return links(f"/{number + 1}") if number < 3 else page("the end")


def state_of(directory: Path) -> object:
    """As `gossamer status` has it."""
    return json.loads(gossamer("status", "--dir", directory, "--json").out)["state"]


def test_hosts_that_were_paused_or_slowed_are_so_for_the_command_line_too(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    with SmallServer(chain) as held, SmallServer(chain, "127.0.0.2") as other:
        with Service(directory, "--scope", "any") as service:
            service.post("/crawl", {"action": "pause"})
            service.post("/seed/urls", {"urls": [held.base + "/", other.base + "/"]})
            assert service.post("/hosts/127.0.0.1", {"action": "pause"}).json["paused"] is True
            assert service.post("/hosts/127.0.0.2", {"action": "delay", "seconds": 0.3}).json["delay"] == 0.3
            wait_until(lambda: state_of(directory) == service.get("/crawl").json["state"] == "paused", "the same word")
            assert service.stopped() == 0

        ended = gossamer("crawl", "--dir", directory, "--allow-private", "--delay", 0.02, "--delay-factor", 0, "--json")

        assert ended.status == 0 and held.asked == []
        assert (ended.report["queued"], ended.report["pages"], ended.report["finished"]) == (1, 4, False)
        assert "1 host paused through the service, so not contacted: 127.0.0.1." in ended.err
        assert "crawl.left_paused" in (directory / "crawl.log").read_text()
        paused, slowed = (gossamer("hosts", "--dir", directory, "--host", f"127.0.0.{n}").out for n in (1, 2))
        assert "paused through the service" in paused and "delay set through the service" in slowed
        status = json.loads(gossamer("status", "--dir", directory, "--json").out)
        assert status["ordered"] == {
            "paused": True,
            "paused_hosts": ["127.0.0.1"],
            "dropped_hosts": [],
            "delays": {"127.0.0.2": 0.3},
        }
        story = json.loads(gossamer("explain", held.base + "/", "--dir", directory, "--json").out)
        assert story["ordered"]["paused"] is True and "paused through the service" in story["next"]["why"]
        story = json.loads(gossamer("explain", other.base + "/", "--dir", directory, "--json").out)
        assert story["ordered"]["delay"] == story["politeness"]["gap"] == 0.3
        gaps = [after.at - before.answered_at for before, after in zip(other.asked, other.asked[1:], strict=False)]
        assert len(gaps) == 4 and min(gaps) >= 0.29

        with Service(directory, "--scope", "any") as service:
            assert service.get("/hosts/127.0.0.1").json["paused"] is True
            service.post("/crawl", {"action": "resume"})
            service.post("/hosts/127.0.0.1", {"action": "resume"})
            wait_until(lambda: "/" in held.paths(), "a visit to the host that was paused")


def test_sighup_takes_the_rules_from_the_file_again_and_leaves_what_was_ordered(tmp_path: Path) -> None:
    file = tmp_path / "gossamer.toml"
    file.write_text("[filter]\nexclude = ['*/2']\n")
    with SmallServer(chain) as site, Service(tmp_path / "crawl", "--config", file) as service:
        service.post("/url/limit", {**LIMITS, "depthLimit": 9})
        service.post("/seed/urls", {"urls": [site.base + "/"]})
        service.wait_for(site.base + "/1", "stored")
        file.write_text("[filter]\nexclude = 5\n")
        os.kill(service.pid, signal.SIGHUP)
        wait_until(lambda: "rules.refused" in service.log, "the log to say why nothing changed")
        refused = service.post("/seed/urls", {"urls": [site.base + "/2"]}).json["results"][0]
        assert (refused["reason"], refused["meaning"]) == (
            "pattern",
            "matches `filter.exclude`, or does not match `filter.include`",
        )

        file.write_text("max_depth = 3\n")
        os.kill(service.pid, signal.SIGHUP)
        wait_until(lambda: "rules.changed" in service.log, "the log to say that the rules changed")
        service.wait_for(site.base + "/3", "stored")  # what was refused comes back
        assert service.get("/url/limit").json["depthLimit"] == 9
        assert service.stopped() == 0


def test_queued_urls_that_a_limit_excludes_come_back_when_it_is_lifted_also_after_a_restart(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    long = "/" + "long" * 20
    with SmallServer({"/": page("home"), long: page("long"), "/short": page("short")}) as site:
        urls = [site.base + path for path in ("/", long, "/short")]
        with Service(directory) as service:
            service.post("/crawl", {"action": "pause"})
            assert service.post("/seed/urls", {"urls": urls}).json["accepted"] == 3
            tight = {"excludedDomains": ["127.0.0.1"], "depthLimit": 20, "urlLengthLimit": 60}
            answer = service.post("/url/limit", tight).json
            assert answer == {**tight, "excluded": 3, "returned": 0, **DONE}
            assert set(service.pages("&state=excluded")) == set(urls)  # though nothing is visited
            status = service.get("/status").json
            assert (status["queued"], status["excluded"]) == (0, {"excluded_domain": 2, "url_too_long": 1})
            assert service.get("/hosts/127.0.0.1").json["queued"] == 0
            service.post("/crawl", {"action": "resume"})
            service.kill()

        with Service(directory) as service:
            assert service.get("/url/limit").json == {**tight, "excluded": 0, "returned": 0, **DONE}
            assert {each["reason"] for each in service.pages().values()} == {"excluded_domain", "url_too_long"}
            some = service.post("/url/limit", {"excludedDomains": []}).json
            assert some == {**tight, "excludedDomains": [], "excluded": 0, "returned": 2, **DONE}
            service.wait_for(urls[2], "stored")
            assert service.pages()[urls[1]]["state"] == "excluded"
            assert service.post("/url/limit", LIMITS).json["returned"] == 1
            service.wait_for(urls[1], "stored")
            assert {each["state"] for each in service.pages().values()} == {"stored"}


def test_limits_that_change_all_the_time_lose_no_url_and_leave_the_counts_right(tmp_path: Path) -> None:
    """URLs are in memory, in flight, being loaded and in the table only when they are excluded and requeued."""
    names = [f"/{n:03}{'-long' * (n % 3)}" for n in range(100)]
    # Every page has its own text: the links of duplicates are not followed.
    texts = [{name: page(f"this is page {name} of site {n}") for name in names} for n in range(3)]
    total = 3 * (1 + len(names))
    slices = Constants(
        {
            "gossamer.crawl.steering.limit_pass.MOST": 7,
            "gossamer.crawl.steering.state_changes.MOST": 7,
            "gossamer.service.control.ENFORCEMENT_PATIENCE": 0.0,
        }
    )
    tight: list[dict[str, object]] = [{"urlLengthLimit": 30}, {"depthLimit": 0}, {"excludedDomains": ["127.0.0.2"]}]
    with ExitStack() as stack:
        sites = [
            stack.enter_context(SmallServer({"/": links(*names, f"/#{n}"), **each}, f"127.0.0.{n + 1}"))
            for n, each in enumerate(texts)
        ]
        service = stack.enter_context(Service(tmp_path / "crawl", "--scope", "any", slices))

        def all_is_checked() -> bool:
            return bool(service.get("/url/limit").json["unchecked"] == 0)

        service.post("/seed/urls", {"urls": [each.base + "/" for each in sites]})
        wait_until(lambda: service.get("/status").json["discovered"] == total, "all links to be known")
        left = service.get("/status").json["queued"]
        excluded = 0
        for turn in range(9):
            assert service.post("/url/limit", tight[turn % 3]).status == 200
            if turn % 2 == 0:
                wait_until(all_is_checked, "the limits to be applied")
                excluded += service.get("/url/limit").json["excluded"]
            lifted = {"urlLengthLimit": 2000, "depthLimit": 20, "excludedDomains": []}
            assert service.post("/url/limit", lifted).status == 200
        wait_until(all_is_checked, "the limits to be lifted")
        wait_until(lambda: service.get("/status").json["queued"] == 0, "every page to be fetched")
        wait_until(lambda: service.get("/crawl").json["state"] == "idle", "the crawl to say so")
        status, pages = service.get("/status").json, service.pages()
        hosts = service.get("/hosts").json["hosts"]
        asked = [path for each in sites for path in each.paths()]

    assert left == 0 or excluded > 0
    assert len(pages) == status["discovered"] == total
    assert {each["state"] for each in pages.values()} <= {"stored", "duplicate"}
    assert status["queued"] == 0 and sum(status["excluded"].values()) == 0
    assert status["pages"] == sum(each["state"] == "stored" for each in pages.values())
    assert [(host["queued"], host["known"], sum(host["excluded"].values())) for host in hosts] == [(0, 101, 0)] * 3
    assert len(asked) == total + 3  # with robots.txt, and nothing twice


def test_one_limit_is_enough_and_none_is_too_few(tmp_path: Path) -> None:
    with Service(tmp_path / "crawl") as service:
        service.post("/url/limit", {"excludedDomains": ["a.test"], "depthLimit": 5, "urlLengthLimit": 100})
        answers = [service.post("/url/limit", one).json for one in ({"depthLimit": 7}, {"urlLengthLimit": 200})]
        last = service.post("/url/limit", {"excludedDomains": []}).json
        nothing = service.post("/url/limit", {})

    assert [answers[0][key] for key in ("excludedDomains", "depthLimit", "urlLengthLimit")] == [["a.test"], 7, 100]
    assert [answers[1][key] for key in ("excludedDomains", "depthLimit", "urlLengthLimit")] == [["a.test"], 7, 200]
    assert [last[key] for key in ("excludedDomains", "depthLimit", "urlLengthLimit")] == [[], 7, 200]
    assert nothing.status == 422
    assert nothing.json["error"] == "body: at least one of excludedDomains, depthLimit, urlLengthLimit is required"
