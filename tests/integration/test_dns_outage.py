"""The name server falls silent, or dies, in the middle of a crawl: known hosts go on, new ones wait, nothing is lost.

The name server is a process of its own, beside the web's: a second simulated web of the same shape, of which only the
DNS is used.
"""

import contextlib
import io
import json
import os
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from gossamer.cli.main import main
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.server import Request, read_log
from tests.hostile.dns_stage import free_port
from tests.integration.crawl_checks import check_everything
from tests.integration.crawl_process import Command, Scene, now, scene, small_web, wait_until

pytestmark = pytest.mark.service

# Hosts of nearly the same size, found one after the other: when DNS fails, some are known and some are not.
WEB = small_web(
    seed=5, hosts=100, pages=1000, seed_hosts=1, external_links=0.06, host_exponent=0.2, links_per_page=6, nav_links=2,
    crawl_delay_hosts=0.0, fault_rate=0.0, slow_hosts=0.0, shared_address_hosts=0.0,
)  # fmt: skip
SLOTS = 4
KNOWN = 10  # hosts of ten pages each: enough to go on with


class NameServer:
    """A process that can be stopped and started on the same port."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        # The port must still be free when it comes back.
        self._process = stack.enter_context(SimwebProcess(WEB, dns_port=free_port()))
        self.address = self._process.dns_address

    def fall_silent(self) -> None:
        os.kill(self._process.pid, signal.SIGSTOP)

    def speak_again(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def die(self) -> None:
        os.kill(self._process.pid, signal.SIGKILL)

    def come_back(self) -> None:
        port = int(self.address.rpartition(":")[2])
        self._process = self._stack.enter_context(SimwebProcess(WEB, dns_port=port))


def seen(stage: Scene) -> list[Request]:
    if not stage.log.exists():
        return []
    with stage.log.open(encoding="utf-8") as lines:
        return read_log(lines)


def says_dns_fails(stage: Scene) -> bool:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = main(["status", "--dir", str(stage.dir), "--json"])
    return status == 0 and json.loads(out.getvalue())["waits"]["dns_failing"] is True


@pytest.mark.parametrize(
    ("stop", "start"),
    [(NameServer.fall_silent, NameServer.speak_again), (NameServer.die, NameServer.come_back)],
    ids=["silent", "dead"],
)
def test_known_hosts_go_on_new_ones_wait_and_nothing_is_lost(
    tmp_path: Path, stop: Callable[[NameServer], None], start: Callable[[NameServer], None]
) -> None:
    with ExitStack() as stack:
        stage = stack.enter_context(scene(tmp_path, WEB, ["--concurrency", SLOTS, "--delay", 1.0]))
        names = NameServer(stack)
        crawler = stack.enter_context(Command(*stage.command, "--dns", names.address))
        wait_until(lambda: len({r.host for r in seen(stage)}) >= KNOWN or not crawler.runs, "some hosts")

        stop(names)
        wait_until(lambda: says_dns_fails(stage) or not crawler.runs, "word that DNS is failing")
        # Visits whose look-up had just ended are sent before those that begin now.
        before = len(seen(stage))
        wait_until(lambda: len(seen(stage)) >= before + 2 * SLOTS or not crawler.runs, "the slots to turn over")
        settled = now()
        wait_until(lambda: sum(r.read_at >= settled for r in seen(stage)) >= SLOTS or not crawler.runs, "known hosts")
        started = now()
        start(names)
        ended = crawler.ended()

    requests = stage.web.requests()
    known = {r.host for r in requests if r.read_at < settled}
    during = [r for r in requests if settled <= r.read_at < started]
    after = {r.host for r in requests if r.read_at >= started}
    assert len(during) >= SLOTS
    assert {r.host for r in during} <= known  # nobody else's address could be had
    assert after - known  # they were waited for
    assert ended.status == 0, ended.err
    report = ended.report
    assert (report["finished"], report["queued"], report["dead"]) == (True, 0, 0)
    assert report["politeness_violations"] == 0
    assert report["dns_failing"] is False
    events = [json.loads(line)["event"] for line in (stage.dir / "crawl.log").read_text().splitlines()]
    outages = [event for event in events if event.startswith("dns.")]
    assert outages and outages == ["dns.failing", "dns.recovered"] * (len(outages) // 2)
    check_everything(stage, requests)
