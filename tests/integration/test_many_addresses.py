"""Where hosts are, over whole crawls: several addresses of one host, a host that moves, what a restart remembers."""

import signal
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from tests.hostile.dns_stage import free_port, naming, swallowing
from tests.integration.crawl_process import Command, Ended, Json, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page
from tests.name_server import AAAA, A, Reply, Zone, a, aaaa

pytestmark = pytest.mark.service

PAGES = [f"/{n}" for n in range(6)]
SITE = {"/": links(*PAGES), **{path: page(path) for path in PAGES}}


class Place:
    """A crawl directory that asks one name server."""

    def __init__(self, folder: Path, dns: str) -> None:
        (folder / "gossamer.toml").write_text("[retry]\ndelay = 0.2\n[fetch]\nconnect_timeout = 3.0\n")
        self.dir = folder / "crawl"
        fixed = ["--dir", self.dir, "--config", folder / "gossamer.toml", "--dns", dns, "--allow-private"]
        self.options = [*fixed, "--delay", 0.05, "--delay-factor", 0, "--json", "--quiet"]

    def crawl(self, *seeds: str) -> Json:
        return self.report(gossamer("crawl", *seeds, *self.options))

    def report(self, ended: Ended) -> Json:
        assert ended.status == 0, ended.err
        assert ended.report["politeness_violations"] == 0
        return ended.report


def both(four: list[str], six: list[str]) -> Zone:
    return lambda _host, kind: a(*four) if kind == A else aaaa(*six) if kind == AAAA else Reply()


def test_dn_10_a_host_is_crawled_at_the_addresses_that_answer(tmp_path: Path) -> None:
    port = free_port()
    refusing = [f"127.0.6.{n}" for n in range(1, 5)]
    swallowed = ["127.0.6.5", "127.0.6.6"]
    with ExitStack() as stack:
        for address in swallowed:
            stack.enter_context(swallowing(address, port))
        good = [stack.enter_context(SmallServer(SITE, f"127.0.6.{n}", port)) for n in (7, 8)]
        names = stack.enter_context(naming(both([*refusing, *swallowed, "127.0.6.7", "127.0.6.8"], [])))
        report = Place(tmp_path, names.address).crawl(f"http://many.test:{port}/")

    assert (report["pages"], report["dead"], report["finished"]) == (1 + len(PAGES), 0, True)
    # One of the good ones, once found, is stayed with: it is not the host that is to blame for the others.
    assert sorted(path for server in good for path in server.paths()) == sorted(["/robots.txt", "/", *PAGES])
    assert [] in [server.paths() for server in good]
    assert report["robots_fetched"] == 7  # six addresses in vain
    assert report["errors"] == {}


def test_dn_12_an_ipv6_address_that_swallows_packets_is_passed_over(tmp_path: Path) -> None:
    port = free_port()
    with (
        swallowing("::1", port),
        SmallServer(SITE, "127.0.6.9", port) as server,
        naming(both(["127.0.6.9"], ["::1"])) as names,
    ):
        report = Place(tmp_path, names.address).crawl(f"http://both.test:{port}/")

    assert (report["pages"], report["dead"], report["errors"]) == (1 + len(PAGES), 0, {})
    assert sorted(server.paths()) == sorted(["/robots.txt", "/", *PAGES])


def test_dn_14_a_host_that_moves_is_asked_for_again_and_found(tmp_path: Path) -> None:
    port, home, moved = free_port(), ["127.0.6.11"], threading.Event()

    def old(path: str, _: int) -> Answer:
        if path == "/":
            moved.set()
        return replace(SITE.get(path, NOTHING), headers={"Connection": "close"})  # or it would go on by the old one

    with ExitStack() as stack:
        names = stack.enter_context(naming(lambda _host, kind: a(*home, ttl=600) if kind == A else Reply()))
        place = Place(tmp_path, names.address)
        place.options += ["--delay", 0.5]
        with SmallServer(old, "127.0.6.11", port) as before:
            crawler = stack.enter_context(Command("crawl", f"http://moves.test:{port}/", *place.options))
            assert moved.wait(60)
            wait_until(lambda: before.asked[-1].answered_at > before.asked[-1].at or not crawler.runs, "the answer")
            home[:] = ["127.0.6.12"]
        after = stack.enter_context(SmallServer(SITE, "127.0.6.12", port))
        report = place.report(crawler.ended())

    assert (report["pages"], report["dead"], report["finished"]) == (1 + len(PAGES), 0, True)
    assert not {"/robots.txt", "/"} & set(after.paths())  # it is the same host
    assert sorted(before.paths()[2:] + after.paths()) == sorted(PAGES)
    assert after.paths()
    errors = report["errors"]
    assert isinstance(errors, dict) and sum(errors.values()) <= 2


def test_a_restart_asks_for_no_name_whose_answer_still_holds(tmp_path: Path) -> None:
    hosts = [f"h{n}.test" for n in range(20)]
    where = {host: f"127.0.7.{n + 1}" for n, host in enumerate(hosts)}

    def zone(host: str, kind: int) -> Reply:
        return a(where[host], ttl=3600) if kind == A else Reply()

    port = free_port()
    with naming(zone) as names, ExitStack() as stack:
        servers = [stack.enter_context(SmallServer(SITE, address, port)) for address in where.values()]
        place = Place(tmp_path, names.address)
        place.options += ["--delay", 0.5]
        seeds = [f"http://{host}:{port}/" for host in hosts]
        with Command("crawl", *seeds, *place.options) as crawler:
            wait_until(lambda: all("/" in server.paths() for server in servers) or not crawler.runs, "every host")
            crawler.process.send_signal(signal.SIGINT)
            assert crawler.ended().status == 130
        asked = len(names.asked)
        before = sum(len(server.asked) for server in servers)
        report = place.crawl()

    assert asked >= len(hosts)
    assert len(names.asked) == asked
    assert sum(len(server.asked) for server in servers) > before
    assert (report["dns_queries"], report["finished"]) == (0, True)
