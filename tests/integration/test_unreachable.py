"""Hosts that cannot be had, or may not: refused connections, lost rules, private addresses."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.hostile.dns_stage import free_port
from tests.integration.crawl_process import GIVEN_UP_AT_ONCE, Json, gossamer, scene, small_web
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

QUICK = "[retry]\ndelay = 0.05\n"


class Place:
    """A crawl directory with its configuration."""

    def __init__(self, folder: Path, toml: str = QUICK) -> None:
        (folder / "gossamer.toml").write_text(toml)
        self.dir = folder / "crawl"
        self.options = ["--dir", self.dir, "--config", folder / "gossamer.toml", "--delay", 0.05, "--json", "--quiet"]

    def crawl(self, *arguments: object) -> Json:
        ended = gossamer("crawl", *arguments, "--allow-private", *self.options, GIVEN_UP_AT_ONCE)
        assert ended.status == 0, ended.err
        return ended.report

    def dead(self, *arguments: object) -> list[Json]:
        ended = gossamer("dead", *arguments, "--dir", self.dir, "--json")
        assert ended.status == 0, ended.err
        return ended.lines

    def pages(self) -> dict[str, Json]:
        return {str(p["url"]): p for p in gossamer("pages", "--dir", self.dir, "--json").lines}


# --- dead letters -------------------------------------------------------------------------------------


def test_a_host_that_refuses_goes_to_the_dead_letters_and_comes_back_when_it_is_up(tmp_path: Path) -> None:
    place, address = Place(tmp_path), "127.0.0.31"
    port = free_port()
    down = f"http://{address}:{port}/"
    with SmallServer({"/": links(down, "/b"), "/b": page("b")}) as up:
        place.options += ["--scope", "any"]
        first = place.crawl(f"{up.base}/")
        assert [(letter["url"], letter["host"]) for letter in place.dead("list")] == [(down, address)]
        again = place.crawl()
        assert place.dead("requeue", "--host", "elsewhere.test") == [{"v": 1, "requeued": 0}]
        assert place.dead("requeue", "--host", address) == [{"v": 1, "requeued": 1}]
        assert place.dead("list") == []
        with SmallServer({"/": page("at last")}, address, port) as server:
            last = place.crawl()

    assert (first["pages"], first["dead"], first["finished"]) == (2, 1, True)
    assert (again["dead"], again["run_pages"]) == (1, 0)
    assert (last["pages"], last["dead"], last["finished"]) == (3, 0, True)
    assert server.paths() == ["/robots.txt", "/"]
    assert place.pages()[down]["state"] == "stored"


def test_dead_letters_that_are_dropped_stay_away(tmp_path: Path) -> None:
    place, address = Place(tmp_path), "127.0.0.32"
    port = free_port()
    down = f"http://{address}:{port}/"
    first = place.crawl(down)
    [letter] = place.dead("list")

    assert place.dead("drop", "--reason", str(letter["reason"])) == [{"v": 1, "dropped": 1}]

    with SmallServer({"/": page("too late")}, address, port) as server:
        last = place.crawl()
    assert first["dead"] == 1
    assert (last["dead"], last["pages"], last["finished"]) == (0, 0, True)
    assert place.dead("list") == []
    assert (place.pages()[down]["state"], place.pages()[down]["reason"]) == ("excluded", "dropped")
    assert server.asked == []


def test_a_page_that_always_fails_is_tried_three_times_and_its_neighbours_are_crawled(tmp_path: Path) -> None:
    place = Place(tmp_path)
    site = {"/": links("/bad", "/good"), "/bad": Answer("oops", 500), "/good": page("good")}
    with SmallServer(site) as server:
        report = place.crawl(f"{server.base}/")

    assert server.paths().count("/bad") == 3
    assert server.paths().count("/good") == 1
    [letter] = place.dead("list")
    assert (letter["reason"], letter["status"], letter["tries"]) == ("server_error", 500, 3)
    assert (report["pages"], report["dead"], report["finished"]) == (2, 1, True)


# --- robots.txt ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("trouble", [Answer("", 503), Answer("", 500), Answer("", 429)])
def test_no_page_is_fetched_while_the_rules_cannot_be_had(tmp_path: Path, trouble: Answer) -> None:
    place = Place(tmp_path)
    with SmallServer({"/": page("secret"), "/robots.txt": trouble}) as server:
        report = place.crawl(f"{server.base}/")

    assert set(server.paths()) == {"/robots.txt"}
    assert 1 < len(server.asked) <= 5
    assert (report["pages"], report["dead"]) == (0, 1)
    assert place.dead("list")[0]["reason"] == "robots_unreachable"


def test_a_host_is_crawled_once_its_rules_can_be_had(tmp_path: Path) -> None:
    rules = Answer("User-agent: *\nDisallow: /b\n", headers={"Content-Type": "text/plain"})

    def site(path: str, before: int) -> Answer:
        if path == "/robots.txt":
            return rules if before else Answer("", 503)
        return links("/a", "/b") if path == "/" else page(path)

    place = Place(tmp_path)
    with SmallServer(site) as server:
        report = place.crawl(f"{server.base}/")

    assert server.paths() == ["/robots.txt", "/robots.txt", "/", "/a"]
    assert (report["pages"], report["finished"]) == (2, True)
    assert report["excluded"] == {"robots_denied": 1}


# --- private addresses --------------------------------------------------------------------------------


@contextmanager
def sentinel(address: str) -> Iterator[tuple[int, list[object]]]:
    """A listener that nobody must ever contact: its port, and who did."""
    visitors: list[object] = []
    with socket.create_server((address, 0)) as sock:

        def listen() -> None:
            while True:
                try:
                    connection, peer = sock.accept()
                except OSError:
                    return
                visitors.append(peer)
                connection.close()

        listening = threading.Thread(target=listen, daemon=True)
        listening.start()
        yield sock.getsockname()[1], visitors
        sock.shutdown(socket.SHUT_RDWR)
        listening.join()


def test_a_private_address_is_never_contacted_without_leave(tmp_path: Path) -> None:
    with sentinel("127.0.0.1") as (port, visitors):
        hosts = ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"]
        seeds = [f"http://{host}:{port}/{n}" for n, host in enumerate(hosts)]
        place = Place(tmp_path)
        refused = gossamer("crawl", *seeds, *place.options)
        assert not place.dir.exists()
        with SmallServer({"/": page("open")}, "127.0.7.9") as site:
            permitted = [f"{site.base}/", "--allow-network", "127.0.7.0/24"]
            mixed = gossamer("crawl", *seeds, *permitted, *place.options)

    assert visitors == []
    assert refused.status == 2
    assert refused.err == (
        f"gossamer: error: bad seed 'http://127.0.0.1:{port}/0': loopback address; --allow-private permits it "
        "(blocked_address)\n"
    )
    assert mixed.status == 0, mixed.err
    assert mixed.err.count("gossamer: warning: bad seed 'http://") == len(seeds)
    assert mixed.report["excluded"] == {"blocked_address": len(seeds)}
    assert mixed.report["seeds"] == {
        "given": 1 + len(seeds),
        "stored": 1,
        "failed": {"blocked_address": len(seeds)},
    }


def test_a_name_that_leads_to_a_private_address_is_never_contacted_without_leave(tmp_path: Path) -> None:
    with scene(tmp_path / "web", small_web(hosts=3, pages=9)) as stage:
        ended = gossamer(*stage.command, "--no-allow-private", "--no-quiet")

    assert ended.status == 0, ended.err
    assert (
        f"Finished: no page could be fetched ({len(stage.web.seeds)} seeds: {len(stage.web.seeds)} blocked" in ended.err
    )
    assert f"{len(stage.web.seeds)} hosts have only private or loopback addresses, so not contacted: " in ended.err
    assert "--allow-private permits them" in ended.err
    assert ended.report["excluded"] == {"blocked_address": len(stage.web.seeds)}
    assert stage.web.requests() == []
