"""`politeness.per = "domain"`: the hosts of a registrable domain share one gap, also across a kill."""

import signal
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from tests.hostile.dns_stage import free_port, naming
from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import Answer, Asked, SmallServer, links, page
from tests.name_server import A, Reply, a

pytestmark = pytest.mark.service

DELAY = 0.2
HOSTS = {"a.one.test": "127.0.9.1", "b.one.test": "127.0.9.2", "c.two.test": "127.0.9.3"}
PAGES = [f"/{n}" for n in range(4)]


def site_of(host: str) -> dict[str, Answer]:
    return {"/": links(*PAGES, f"/{host}"), **{path: page(host + path) for path in PAGES}}


def too_soon(asked: list[Asked]) -> list[tuple[str, str]]:
    """Requests that came before the gap after the previous answer was over."""
    ordered = sorted(asked, key=lambda request: request.at)
    return [(one.path, two.path) for one, two in pairwise(ordered) if two.at - one.answered_at < DELAY]


def test_the_servers_of_a_domain_see_one_gap_before_and_after_a_kill(tmp_path: Path) -> None:
    port, config = free_port(), tmp_path / "gossamer.toml"
    config.write_text('[politeness]\nper = "domain"\n')
    with ExitStack() as stack:
        servers = {
            host: stack.enter_context(SmallServer(site_of(host), address, port)) for host, address in HOSTS.items()
        }
        names = stack.enter_context(naming(lambda host, kind: a(HOSTS[host]) if kind == A else Reply()))
        seeds = [f"http://{host}:{port}/" for host in HOSTS]
        fixed = ["--dir", tmp_path / "crawl", "--config", config, "--dns", names.address, "--allow-private"]
        command = ["crawl", *seeds, *fixed, "--delay", DELAY, "--delay-factor", 0, "--json", "--quiet"]
        one = [servers["a.one.test"], servers["b.one.test"]]
        with Command(*command) as running:
            wait_until(lambda: all(len(server.asked) >= 2 for server in one), "requests to both hosts")
            running.process.send_signal(signal.SIGKILL)
            running.ended()
        ended = gossamer(*command)

        asked = [request for server in one for request in server.asked]
        assert (ended.report["finished"], ended.report["queued"]) == (True, 0)
        assert {request.path for request in asked} >= {"/", *PAGES}
        assert ended.report["politeness_violations"] == 0
        assert too_soon(asked) == too_soon(servers["c.two.test"].asked) == []
