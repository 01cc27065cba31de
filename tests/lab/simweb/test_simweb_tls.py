"""The web over TLS: its certificates, and connections that serve so many requests and no more."""

import asyncio
import io
import socket
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TypeVar

import pycurl
import pytest
import uvloop

from gossamer.errors import CannotListen, ConfigError
from gossamer.lab.simweb.audit import forbidden_requests, ground_truth
from gossamer.lab.simweb.certificates import NAMES_A_CERTIFICATE
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import HostPlan, path_of
from gossamer.lab.simweb.run import RunningWeb, SimwebProcess, serve
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant

T = TypeVar("T")
SECURE = SimWebConfig(hosts=3 * NAMES_A_CERTIFICATE - 5, pages=600, fault_rate=0.0, slow_hosts=0.0, tls=True)


def served(do: Callable[[RunningWeb], T], config: SimWebConfig = SECURE) -> T:
    """Run the blocking `do` in a thread while the web is served on uvloop."""

    async def run() -> T:
        async with await serve(config) as running:
            return await asyncio.to_thread(do, running)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


class Client:
    """A libcurl handle that trusts the web's own authority and nobody else."""

    def __init__(self, ca_file: str | None, port: int) -> None:
        self._curl = pycurl.Curl()
        self._curl.setopt(pycurl.CAINFO, ca_file)
        self._port = port
        self.connects: list[int] = []

    def get(self, host: HostPlan, target: str) -> bytes:
        body = io.BytesIO()
        curl = self._curl
        curl.setopt(pycurl.URL, host.base + target)
        curl.setopt(pycurl.PATH_AS_IS, 1)
        curl.setopt(pycurl.RESOLVE, [f"{host.name}:{self._port}:{host.address}"])
        curl.setopt(pycurl.PROXY, "")
        curl.setopt(pycurl.WRITEFUNCTION, body.write)
        curl.setopt(pycurl.TIMEOUT, 20)
        curl.perform()
        assert curl.getinfo(pycurl.RESPONSE_CODE) == 200
        self.connects.append(int(curl.getinfo(pycurl.NUM_CONNECTS)))
        return body.getvalue()


class Talk(NamedTuple):
    """One connection of the plainest client: how the handshake went, and the answer to one request."""

    version: str | None
    resumed: bool | None
    session: ssl.SSLSession | None
    answer: bytes


class Caller:
    """A client of the standard library that trusts the web's own authority."""

    def __init__(self, running: RunningWeb) -> None:
        self._port = running.http_port
        self._context = ssl.create_default_context(cafile=running.ca_file)

    def ask(self, name: str, session: ssl.SSLSession | None = None) -> Talk:
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=60)
        with self._context.wrap_socket(sock, server_hostname=name, session=session) as secure:
            secure.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            received = b""
            while piece := secure.recv(65_536):
                received += piece
            return Talk(secure.version(), secure.session_reused, secure.session, received)


def test_every_host_shows_a_certificate_for_its_name_and_serves_its_own_pages() -> None:
    def crawl(running: RunningWeb) -> list[tuple[str, bool]]:
        client = Client(running.ca_file, running.http_port)
        found = []
        for host in running.web.hosts:
            body = client.get(host, "/")
            shown = running.web.respond(host.name, "/", running.requests[-1].read_at).body
            found.append((str(host.base), body == shown))
        return found

    found = served(crawl)

    assert len(found) == SECURE.hosts
    assert all(base.startswith("https://") and same for base, same in found)


@pytest.mark.parametrize("mean_bytes", [2_000, 12_000, 25_000, 150_000])
def test_every_request_is_recorded_once_whatever_the_size_of_the_page(mean_bytes: int) -> None:
    # On many connections: whether the transport pauses us differs from one to the next.
    calm = SimWebConfig(hosts=2, pages=60, fault_rate=0.0, slow_hosts=0.0)
    config = replace(calm, tls=True, mean_bytes=mean_bytes, requests_per_connection=2)

    def crawl(running: RunningWeb) -> tuple[list[str], list[str]]:
        client = Client(running.ca_file, running.http_port)
        host = running.web.hosts[0]
        paths = [path_of(host, page) for page in range(24)]
        for path in paths:
            client.get(host, path)
        return paths, [request.target for request in running.requests]

    asked, recorded = served(crawl, config)

    assert recorded == asked


def test_the_connection_is_tls_1_3_and_http_1_1() -> None:
    talk = served(lambda running: Caller(running).ask(str(running.web.hosts[1].name)))

    assert talk.version == "TLSv1.3"
    assert talk.answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("number", [0, NAMES_A_CERTIFICATE + 1], ids=["first certificate", "another certificate"])
def test_a_session_is_resumed_on_the_next_connection(number: int) -> None:
    def ask(running: RunningWeb) -> tuple[bool | None, bool | None]:
        name = str(running.web.hosts[number].name)
        caller = Caller(running)
        first = caller.ask(name)
        return first.resumed, caller.ask(name, first.session).resumed

    assert served(ask) == (False, True)


def test_a_name_that_is_not_of_the_web_gets_a_certificate_that_is_not_its_own() -> None:
    def ask(running: RunningWeb) -> None:
        with pytest.raises(ssl.SSLCertVerificationError, match=r"not valid for 'stranger\.test'"):
            Caller(running).ask("stranger.test")

    served(ask)


def test_a_client_that_does_not_speak_tls_is_turned_away_and_others_are_served() -> None:
    def ask(running: RunningWeb) -> tuple[bytes, bytes]:
        with socket.create_connection(("127.0.0.1", running.http_port), timeout=60) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nHost: portal.test\r\n\r\n")
            try:
                plain = sock.recv(65_536)
            except ConnectionError:
                plain = b""
        return plain, Caller(running).ask("portal.test").answer

    plain, secure = served(ask)

    assert not plain.startswith(b"HTTP/")
    assert secure.startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
def test_a_connection_serves_as_many_requests_as_it_may_and_is_then_closed(tls: bool) -> None:
    config = SimWebConfig(hosts=3, pages=90, fault_rate=0.0, slow_hosts=0.0, tls=tls, requests_per_connection=4)

    def crawl(running: RunningWeb) -> tuple[list[int], list[Request]]:
        client = Client(running.ca_file, running.http_port)
        host = running.web.hosts[0]
        for page in range(10):
            client.get(host, path_of(host, page))
        return client.connects, running.requests  # complete when the server has ended

    connects, requests = served(crawl, config)

    assert connects == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert [request.connection for request in requests] == [1] * 4 + [2] * 4 + [3] * 2


def test_the_keys_and_certificates_go_away_with_the_server() -> None:
    async def run() -> tuple[Path, bool]:
        async with await serve(SECURE) as running:
            folder = Path(str(running.ca_file)).parent
            return folder, folder.is_dir()

    folder, was_there = asyncio.run(run())

    assert was_there
    assert not folder.exists()


def test_without_the_openssl_command_the_server_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(CannotListen, match="openssl command, which is not installed"):
        asyncio.run(serve(SECURE))


def test_an_openssl_command_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "openssl"
    broken.write_text("#!/bin/sh\necho out of entropy >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(CannotListen, match="failed: out of entropy"):
        asyncio.run(serve(SECURE))


@pytest.mark.service
def test_the_process_tells_whom_to_trust() -> None:
    with SimwebProcess(SECURE) as server:
        web = server.web()
        host = web.hosts[2]
        body = Client(server.ca_file, server.http_port).get(host, "/")
        assert server.seeds[0] == f"https://portal.test:{server.http_port}/"
        assert body.startswith(b"<!DOCTYPE html>")
    assert not Path(str(server.ca_file)).exists()


def test_the_web_over_https_is_the_same_web_but_for_the_scheme() -> None:
    plain = ground_truth(SimWeb(SimWebConfig(hosts=10, pages=200, port=443)))
    secure = ground_truth(SimWeb(SimWebConfig(hosts=10, pages=200, port=443, tls=True)))

    assert {url.replace(":443", "").replace("http:", "https:") for url in plain.all_urls()} == secure.all_urls()


def test_requests_for_what_robots_txt_denies_are_found_over_https_too() -> None:
    web = SimWeb(SimWebConfig(hosts=10, pages=200, tls=True, disallowed_rate=0.2))
    truth = ground_truth(web)
    url = min(truth.forbidden)
    host = web.find_host(url.partition("://")[2].partition("/")[0].partition(":")[0])
    assert host is not None
    target = url.removeprefix(host.base)
    request = Request(host.name, target, 200, Instant(0.0), Instant(0.0), 1, host.address)

    assert forbidden_requests([request], truth) == [request]


def test_a_connection_cannot_be_limited_to_less_than_no_request() -> None:
    with pytest.raises(ConfigError, match="requests_per_connection"):
        SimWebConfig(requests_per_connection=-1)
