"""What the crawl depends on is slow (X1, X2): servers, name servers, the disk; and many large answers come at once."""

import asyncio
import contextlib
import json
import os
import signal
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import uvloop

from gossamer.config.load import make_config
from gossamer.crawl.run.session import session
from gossamer.filter.canonical import canonicalise
from gossamer.observe.display import NoDisplay
from gossamer.observe.snapshot import to_contract
from gossamer.seed.lists import read_arguments
from tests.integration.crawl_checks import check_everything
from tests.integration.crawl_process import PATIENCE, Scene, gossamer, scene, wait_until
from tests.integration.slow_stages import CONCURRENCY, MAX_OUT, WEB, Brake, Watcher, play
from tests.integration.test_slow_stages import SlowWriter
from tests.name_server import Reply, a, name_server

pytestmark = pytest.mark.service
MB = 1024 * 1024


class Stopped:
    """A server that does nothing while the brake is pulled."""

    def __init__(self, process: int) -> None:
        self._process = process
        self.passed = 0

    def pull(self) -> None:
        os.kill(self._process, signal.SIGSTOP)

    def release(self) -> None:
        os.kill(self._process, signal.SIGCONT)


def test_slow_servers_are_waited_for_by_no_more_visits_than_there_are_slots(tmp_path: Path) -> None:
    with scene(tmp_path / "web", WEB) as stage:
        seen = uvloop.run(play(stage, Stopped(stage.web.pid), None, still=lambda crawl: crawl.in_flight >= CONCURRENCY))

    check_everything(stage, stage.web.requests())
    assert seen.finished and seen.errors == {}
    assert all(peak <= 1.0 for peak in seen.peaks.values()), seen.peaks
    assert seen.fetched <= MAX_OUT and seen.waiting > 0
    assert seen.grown < 32 * MB


class SlowNames:
    """A name server whose first answers take so long."""

    SLOW = 20
    DELAY = 0.6  # seconds: twice as long as a visit waits for it; a loopback answer takes less than a millisecond

    def __init__(self, stage: Scene) -> None:
        self._web = stage.web.web()
        self.asked = 0

    def zone(self, host: str, kind: int) -> Reply:
        address = self._web.address_of(host)
        reply = a(address) if address is not None and kind == 1 else Reply()
        reply.delay = self.DELAY if self.asked < self.SLOW else 0.0
        self.asked += 1
        return reply


def test_while_names_are_looked_up_slowly_hosts_wait_without_slots_and_none_is_blamed(tmp_path: Path) -> None:
    async def crawl(stage: Scene) -> Any:
        names = SlowNames(stage)
        async with name_server(names.zone) as server:
            return await play(stage, Brake(0.0), None, still=lambda _: True, dns=server.address)

    with scene(tmp_path / "web", WEB) as stage:
        seen = uvloop.run(crawl(stage))

    check_everything(stage, stage.web.requests())
    assert seen.finished and seen.errors == {}
    assert all(peak <= 1.0 for peak in seen.peaks.values()), seen.peaks


# --- the store -------------------------------------------------------------------------------------------


def test_a_slow_commit_pauses_fetching_and_that_is_seen_everywhere_until_it_ends(tmp_path: Path) -> None:
    with scene(tmp_path / "web", WEB) as stage:
        uvloop.run(watch_a_slow_commit(stage))
        events = [json.loads(line) for line in (stage.dir / "crawl.log").read_text().splitlines()]

    check_everything(stage, stage.web.requests())
    told = [event["event"] for event in events if event["event"].startswith("store.")]
    assert told == ["store.slow", "store.recovered"]


async def watch_a_slow_commit(stage: Scene) -> None:
    wishes = {"dir": str(stage.dir), "scope": "tld:test", "allow_private": True, "dns": stage.web.dns_address}
    config = make_config({}, {**wishes, "delay": 0.01, "concurrency": 4})
    brake = Brake()
    seeds = read_arguments(stage.web.seeds, canonicalise)
    async with session(config, seeds, False, NoDisplay()) as opened, Watcher(opened) as watcher:
        store: Any = opened.crawl.store
        store._writer = SlowWriter(store._writer, brake)
        running = asyncio.create_task(opened.crawl.engine.run())
        await watcher.until(lambda: watcher.fetched >= 40, "the crawl to begin")

        brake.pull()
        store.slow_after = 0.2
        await watcher.until(lambda: store.slow, "a slow commit")
        store.slow_after = 3600.0
        await watcher.until(lambda: opened.watch.snapshot().in_flight == 0, "what was in flight to come in")
        before = watcher.fetched
        shown = await asyncio.to_thread(gossamer_status, stage.dir)
        snapshot = opened.watch.snapshot()

        assert watcher.fetched == before and store.saturation == 1.0
        assert shown["waits"]["store_slow"] is True and "the store (slow commit)" in shown["waits"]["for"]
        assert to_contract(snapshot)["store_slow"] is True and "the store (slow commit)" in snapshot.waiting_for
        assert snapshot.queues["batch"].saturation < 0.8  # not for want of room: it is the breaker that holds

        brake.release()
        await watcher.until(lambda: not store.slow, "the end of the commit")
        await asyncio.wait_for(running, PATIENCE)
        assert opened.crawl.engine.finished
        assert to_contract(opened.watch.snapshot())["store_slow"] is False


def gossamer_status(directory: Path) -> Any:
    """What another process is told, once the running one has written it down."""
    found: list[Any] = []

    def told() -> bool:
        found.append(json.loads(gossamer("status", "--dir", directory, "--json").out))
        return bool(found[-1]["waits"]["store_slow"])

    wait_until(told, "word of the slow store")
    return found[-1]


# --- large answers ---------------------------------------------------------------------------------------

HOSTS, BODY = 60, 8 * MB


class LargeBodies(BaseHTTPRequestHandler):
    """Every address has one page of eight megabytes, of which the last bytes take a while."""

    def do_GET(self) -> None:
        address = self.connection.getsockname()[0]
        body = address.encode() + bytes(BODY - len(address))
        found = self.path != "/robots.txt"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(body) if found else 0))
        self.end_headers()
        if found:
            self.wfile.write(body[:-1000])
            threading.Event().wait(0.5)
            self.wfile.write(body[-1000:])

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def large_bodies() -> Iterator[list[str]]:
    """The URLs. All of 127.0.0.0/8 is this machine."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, *_: object) -> None:
            pass

    server: socketserver.BaseServer = Server(("0.0.0.0", 0), LargeBodies)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        port = server.server_address[1]  # type: ignore[index]
        yield [f"http://127.0.9.{number}:{port}/" for number in range(1, HOSTS + 1)]
    finally:
        server.shutdown()
        server.server_close()


def test_many_large_answers_at_once_take_no_more_memory_than_the_bounds_allow(tmp_path: Path) -> None:
    (tmp_path / "any.toml").write_text('[fetch]\nkinds = ["any"]\n')
    with large_bodies() as urls:
        options = ["--allow-private", "--json", "--quiet", "--concurrency", 80, "--dir", tmp_path / "crawl"]
        options += ["--config", tmp_path / "any.toml"]
        ended = gossamer("crawl", *urls, *options)

    report = ended.report
    assert report["pages"] == HOSTS and report["errors"] == {}
    memory = report["max_rss_bytes"]
    assert isinstance(memory, int)
    # 64 MB of bodies under way where all would be 480, and as much again on their way into the archive.
    assert memory < 320 * MB < HOSTS * BODY
