"""The web over loopback: a real HTTP client, and some that are not even that."""

import asyncio
import io
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pycurl
import pytest
import uvloop

from gossamer.clock import VirtualClock
from gossamer.errors import CannotListen
from gossamer.lab.simweb.audit import audit
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import HostPlan, Kind, path_of
from gossamer.lab.simweb.run import RunningWeb, serve
from gossamer.lab.simweb.server import HttpServer, Recorder, read_log
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Seconds
from tests.time_travel import run_travelling

T = TypeVar("T")
CALM = SimWebConfig(hosts=12, pages=300, fault_rate=0.0, slow_hosts=0.0)


class Client:
    """A libcurl handle: keeps its connections open from one request to the next."""

    def __init__(self, running: RunningWeb) -> None:
        self._running = running
        self._curl = pycurl.Curl()
        self.connects = 0

    def get(self, host: HostPlan, target: str, *headers: str, method: str = "GET") -> tuple[int, bytes, bytes]:
        head, body = io.BytesIO(), io.BytesIO()
        curl = self._curl
        curl.setopt(pycurl.URL, host.base + target)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.RESOLVE, [f"{host.name}:{self._running.http_port}:{host.address}"])
        curl.setopt(pycurl.PROXY, "")
        curl.unsetopt(pycurl.HTTPHEADER)  # an empty list would leave the last one's
        if headers:
            curl.setopt(pycurl.HTTPHEADER, list(headers))
        curl.setopt(pycurl.NOBODY, method == "HEAD")
        curl.setopt(pycurl.CUSTOMREQUEST, method)
        curl.setopt(pycurl.HEADERFUNCTION, head.write)
        curl.setopt(pycurl.WRITEFUNCTION, body.write)
        curl.setopt(pycurl.TIMEOUT, 20)
        curl.perform()
        self.connects += int(curl.getinfo(pycurl.NUM_CONNECTS))
        return int(curl.getinfo(pycurl.RESPONSE_CODE)), head.getvalue(), body.getvalue()


def served(do: Callable[[RunningWeb], T], config: SimWebConfig = CALM, log: Path | None = None) -> tuple[T, RunningWeb]:
    """Run the blocking `do` in a thread while the web is served on uvloop."""

    async def run() -> tuple[T, RunningWeb]:
        async with await serve(config, log=log) as running:
            return await asyncio.to_thread(do, running), running

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def talk(running: RunningWeb, sent: bytes) -> bytes:
    """Send raw bytes, and read until the server has nothing more to say."""
    with socket.create_connection(("127.0.0.1", running.http_port), timeout=60) as sock:
        sock.sendall(sent)
        sock.shutdown(socket.SHUT_WR)
        received = b""
        while piece := sock.recv(65_536):
            received += piece
        return received


def test_one_connection_serves_a_host_s_pages_and_they_are_the_web_s() -> None:
    def crawl(running: RunningWeb) -> int:
        client = Client(running)
        host = running.web.hosts[1]
        for page in range(10):
            status, _, body = client.get(host, path_of(host, page))
            answer = running.web.respond(host.name, path_of(host, page), running.requests[-1].read_at)
            assert (status, body) == (200, answer.body)
        return client.connects

    connects, running = served(crawl)

    assert connects == 1
    assert len({request.connection for request in running.requests}) == 1
    assert {request.address for request in running.requests} == {running.web.hosts[1].address}


def test_the_host_header_decides_which_host_answers() -> None:
    def ask(running: RunningWeb) -> list[bytes]:
        names = [str(host.name) for host in running.web.hosts[:2]] + ["unknown.test"]
        return [
            talk(running, f"GET / HTTP/1.1\r\nHost: {name}:1\r\nConnection: close\r\n\r\n".encode()) for name in names
        ]

    (first, second, unknown), running = served(ask)

    assert first.startswith(b"HTTP/1.1 200 ")
    assert running.web.hosts[1].name.encode() in second
    assert unknown.startswith(b"HTTP/1.1 404 ")


def test_a_head_request_gets_the_head_alone() -> None:
    def ask(running: RunningWeb) -> tuple[bytes, bytes]:
        _, head, body = Client(running).get(running.web.hosts[0], "/", method="HEAD")
        return head, body

    (head, body), _ = served(ask)

    assert b"Content-Length: " in head
    assert body == b""


def test_a_conditional_request_for_an_unchanged_page_is_answered_304_on_an_open_connection() -> None:
    config = SimWebConfig(hosts=3, pages=30, validator_hosts=1.0, static_pages=1.0, fault_rate=0.0)

    def ask(running: RunningWeb) -> list[tuple[int, bytes]]:
        client = Client(running)
        host = running.web.hosts[0]
        _, head, _ = client.get(host, "/")
        tag = head.partition(b"ETag: ")[2].partition(b"\r\n")[0].decode()
        answers = [client.get(host, "/", f"If-None-Match: {tag}"), client.get(host, "/")]
        assert client.connects == 1
        return [(status, body[:9]) for status, _, body in answers]

    answers, _ = served(ask, config)

    assert answers == [(304, b""), (200, b"<!DOCTYPE")]


def test_a_request_in_pieces_and_a_second_sent_early_are_both_answered() -> None:
    request = b"GET /robots.txt HTTP/1.1\r\nHost: portal.test\r\n\r\n"

    def ask(running: RunningWeb) -> int:
        with socket.create_connection(("127.0.0.1", running.http_port), timeout=60) as sock:
            for at in range(0, len(request), 7):
                sock.sendall(request[at : at + 7])
            sock.sendall(request + request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            received = b""
            while piece := sock.recv(65_536):
                received += piece
        return received.count(b"HTTP/1.1 200 OK")

    answers, running = served(ask)

    assert answers == 3
    assert len(running.requests) == 3


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST / HTTP/1.1\r\nHost: portal.test\r\nContent-Length: 2\r\n\r\nhi", b" 405 "),
        (b"nonsense\r\n\r\n", b" 400 "),
        (b"GET / HTTP/3\r\n\r\n", b" 400 "),
        (b"\xff\xfe\0\r\n\r\n", b" 400 "),
        (b"GET http://portal.test/ HTTP/1.1\r\n\r\n", b" 400 "),
        (b"GET / HTTP/1.0\r\nHost: portal.test\r\n\r\n", b" 200 "),
    ],
)
def test_odd_requests_are_answered_and_the_connection_closed(sent: bytes, status: bytes) -> None:
    reply, _ = served(lambda running: talk(running, sent))

    assert status in reply.partition(b"\r\n")[0]
    assert b"Connection: close" in reply


def test_an_endless_head_is_cut_off() -> None:
    def ask(running: RunningWeb) -> bytes:
        try:
            return talk(running, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000)
        except OSError:  # reset, at whatever point it reached us
            return b""

    reply, running = served(ask)

    assert reply == b""
    assert running.requests == []


def test_a_slow_host_keeps_the_client_waiting_and_no_other_host_does() -> None:
    config = SimWebConfig(hosts=12, pages=300, slow_hosts=0.3, slow_seconds=0.05, fault_rate=0.0)

    def ask(running: RunningWeb) -> None:
        client = Client(running)
        for host in running.web.hosts:
            client.get(host, "/")

    _, running = served(ask, config)

    slow = {host.name: host.slow for host in running.web.hosts}
    assert any(slow.values())
    for request in running.requests:
        assert request.written_at - request.read_at >= slow[request.host] - 0.002


def test_a_client_that_leaves_early_is_recorded_as_unanswered() -> None:
    config = SimWebConfig(hosts=12, pages=300, slow_hosts=0.5, slow_seconds=30.0, shared_address_hosts=0.0)

    async def run() -> list[int]:
        async with await serve(config) as running:
            slow = next(host for host in running.web.hosts if host.slow)
            _, writer = await asyncio.open_connection("127.0.0.1", running.http_port)
            writer.write(f"GET / HTTP/1.1\r\nHost: {slow.name}\r\n\r\n".encode())
            await writer.drain()
            await asyncio.sleep(0.05)  # and the server has read it
            writer.transport.abort()
            async with asyncio.timeout(60):
                while not running.requests:  # noqa: ASYNC110 - the log has no event
                    await asyncio.sleep(0.01)
            return [request.status for request in running.requests]

    assert run_travelling(run()) == [0]


def test_an_idle_connection_is_closed_after_a_minute_and_a_busy_one_is_not() -> None:
    clock = VirtualClock()

    async def run() -> bytes:
        async with await serve(CALM, clock=clock) as running:
            request = b"GET /robots.txt HTTP/1.1\r\nHost: portal.test\r\n\r\n"
            idle, idle_writer = await asyncio.open_connection("127.0.0.1", running.http_port)
            busy, busy_writer = await asyncio.open_connection("127.0.0.1", running.http_port)
            for writer, reader in ((idle_writer, idle), (busy_writer, busy)):
                writer.write(request)
                await reader.readuntil(b"Disallow")
            clock.advance(Seconds(40))
            busy_writer.write(request)
            await busy.readuntil(b"HTTP/1.1 200")
            clock.advance(Seconds(30))
            await asyncio.wait_for(idle.read(), 20)
            busy_writer.write(request)
            answer = await asyncio.wait_for(busy.readuntil(b"HTTP/1.1 200"), 20)
            idle_writer.close()
            busy_writer.close()
            return answer

    assert asyncio.run(run()).endswith(b"HTTP/1.1 200")


def test_the_log_holds_every_request_and_the_audit_can_judge_it(tmp_path: Path) -> None:
    log = tmp_path / "requests.jsonl"

    def crawl(running: RunningWeb) -> None:
        client = Client(running)
        for host in running.web.hosts[:4]:
            for target in ("/robots.txt", "/", "/nothing"):
                client.get(host, target)

    _, running = served(crawl, log=log)
    with log.open() as lines:
        logged = read_log(lines)

    assert logged == running.requests
    assert len(logged) == 12
    judged = audit(
        logged,
        min_delay=Seconds(60.0),
        delay_factor=1.0,
        max_adaptive_delay=Seconds(1.0),
        crawl_delays=running.web.crawl_delays(),
    )
    assert len(judged) >= 8  # two of three requests to each host were far too hasty
    assert all(violation.gap >= 0 for violation in judged)


def test_retry_after_is_in_the_record() -> None:
    config = SimWebConfig(hosts=12, pages=300, fault_rate=1.0, fault_seconds=600.0)

    def crawl(running: RunningWeb) -> None:
        client = Client(running)
        host = running.web.hosts[0]
        for page in range(1, host.ordinary):
            assert host.kind(page) is Kind.ORDINARY
            client.get(host, path_of(host, page))

    _, running = served(crawl, config)

    assert {request.status for request in running.requests} == {429, 503}
    assert all(request.retry_after > 100 for request in running.requests if request.status == 429)


@pytest.mark.parametrize(("peer", "heard"), [("127.4.5.6", True), ("192.0.2.7", False)])
def test_without_the_device_only_peers_on_loopback_are_heard(peer: str, heard: bool) -> None:
    class Transport(asyncio.Transport):
        aborted = False

        def get_extra_info(self, name: str, default: object = None) -> object:
            return (peer if name == "peername" else "127.1.0.1", 1)

        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            pass

        def abort(self) -> None:
            self.aborted = True

    async def run() -> bool:
        server = HttpServer(SimWeb(CALM), VirtualClock(), Recorder(), check_peers=True)
        transport = Transport()
        server.accept(transport)
        return not transport.aborted

    assert asyncio.run(run()) == heard


def test_a_port_that_is_taken_is_refused_with_its_number() -> None:
    async def run() -> None:
        async with await serve(CALM) as running:
            with pytest.raises(CannotListen, match=f"{running.http_port}.*in use"):
                await serve(CALM, http_port=running.http_port)
            dns_port = int(running.dns_address.rpartition(":")[2])
            with pytest.raises(CannotListen, match=str(dns_port)):
                await serve(CALM, dns_port=dns_port)

    asyncio.run(run())


def test_hundreds_of_connections_are_heardat_once() -> None:
    async def ask(port: int, host: HostPlan) -> bytes:
        reader, writer = await asyncio.open_connection(host.address, port)
        writer.write(f"GET / HTTP/1.1\r\nHost: {host.name}\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return answer

    async def run() -> list[bytes]:
        config = SimWebConfig(
            hosts=300,
            pages=600,
            slow_hosts=0.9,
            slow_seconds=0.2,
            crawl_delay_hosts=0.0,
            shared_address_hosts=0.0,
            fault_rate=0.0,
        )
        async with await serve(config) as running:
            return await asyncio.gather(*(ask(running.http_port, host) for host in running.web.hosts))

    answers = asyncio.run(run())

    assert len(answers) == 300
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
