"""What a fetch costs the client, beside a bare `AsyncCurlMulti` loop that checks and keeps nothing.

`python -m benchmarks.bench_fetch` from the root of the repository. CPU time of this process, user and system; the
server is another process. 29 KB pages from 50 hosts, 50 at a time: over connections that are kept, over one connection
for each page, and with 2,000 connections held open, at 2,000 addresses or all at one; then from 20 hosts over TLS, in
HTTP/1.1 and HTTP/2, with certificates verified (as many hosts as libcurl's own store has TLS sessions for). Fetcher and
bare loop take turns, and the ratio is the median over the rounds, because the machine's speed drifts. "fetch" is the
fetcher alone; "whole" adds making the request and taking out the payload, and is what the target is judged by.
"""

import argparse
import asyncio
import platform
import resource
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pycurl
import trustme
import uvloop

from gossamer.clock import SteadyClock
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Response
from gossamer.model.units import HostKey, Url

_AT_ONCE = 50
_ACTIVE_HOSTS = 50
_HELD = 2000
_TLS_HOSTS = 20
_TARGET = 1.5
_BODY = (b"<p>All work and no play makes a dull page. <a href='/next'>next</a></p>\n" * 410)[:29_000]
_FIELDS = (
    b"Server: bench\r\nDate: Sun, 15 Nov 2026 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n"
    b'Last-Modified: Sat, 14 Nov 2026 00:00:00 GMT\r\nETag: "6375a1"\r\nCache-Control: max-age=60\r\n'
)
_ANSWER = b"HTTP/1.1 200 OK\r\n" + _FIELDS + b"Content-Length: %d\r\n" % len(_BODY)
_KEEP = _ANSWER + b"Accept-Ranges: bytes\r\n\r\n" + _BODY
_CLOSE = _ANSWER + b"Connection: close\r\n\r\n" + _BODY

Place = tuple[str, str]
Get = Callable[[str, str, str], Awaitable[None]]


class _Server(asyncio.Protocol):
    """Answers every request with the page; paths that begin with /close end the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._held = b""

    def data_received(self, data: bytes) -> None:
        heads = (self._held + data).split(b"\r\n\r\n")
        self._held = heads.pop()
        for head in heads:
            closing = head.startswith(b"GET /close")
            self._transport.write(_CLOSE if closing else _KEEP)  # type: ignore[attr-defined]
            if closing:
                self._transport.close()


def _frame(kind: int, flags: int, stream: bytes, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream + payload


_PREFACE = len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
_NOBODY = bytes(4)
_BLOCK = b"\x88" + b"".join(  # :status 200 from the static table, then every field spelt out
    b"\x00" + bytes((len(name),)) + name.lower() + bytes((len(value),)) + value
    for name, value in (line.split(b": ", 1) for line in _FIELDS.splitlines())
)


class _Http2Server(asyncio.Protocol):
    """The same in HTTP/2. It reads no header block; connections that end after one page have a port of their own."""

    closing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._held = b""
        self._greeted = False

    def data_received(self, data: bytes) -> None:
        held = self._held + data
        write = self._transport.write  # type: ignore[attr-defined]
        if not self._greeted:
            if len(held) < _PREFACE:
                self._held = held
                return
            self._greeted, held = True, held[_PREFACE:]
            write(_frame(4, 0, _NOBODY))
        while len(held) >= 9 and len(held) >= 9 + int.from_bytes(held[:3], "big"):
            size, kind, flags, stream = int.from_bytes(held[:3], "big"), held[3], held[4], held[5:9]
            held = held[9 + size :]
            if kind == 4 and not flags & 1:
                write(_frame(4, 1, _NOBODY))
            elif kind == 1:
                pieces = [_BODY[start : start + 16_384] for start in range(0, len(_BODY), 16_384)]
                frames = [_frame(0, piece is pieces[-1], stream, piece) for piece in pieces]
                write(b"".join((_frame(1, 4, stream, _BLOCK), *frames)))
                if self.closing:
                    write(_frame(7, 0, _NOBODY, stream + bytes(4)))
                    self._transport.close()
        self._held = held


class _Http2Closing(_Http2Server):
    closing = True


async def _serve(certificate: str) -> None:
    loop = asyncio.get_running_loop()
    ports = []
    for protocol, alpn in ((_Server, None), (_Server, "http/1.1"), (_Http2Server, "h2"), (_Http2Closing, "h2")):
        tls = None
        if alpn is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
            tls.set_alpn_protocols([alpn])
        server = await loop.create_server(protocol, "0.0.0.0", 0, backlog=4096, ssl=tls)
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # until the benchmark closes the pipe


class _Bare:
    """The least a client can do with the library: pinned address, body joined, nothing else looked at."""

    def __init__(self, case: "Case", port: int, ca_file: str) -> None:
        self._case, self._port, self._ca_file = case, port, ca_file
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 2 * _HELD)
        self._idle: list[pycurl.Curl] = []

    async def get(self, host: str, address: str, path: str) -> None:
        if self._idle:
            curl = self._idle.pop()
        else:
            curl = pycurl.Curl()
            curl.setopt(pycurl.NOSIGNAL, 1)
            if not self._case.http2:
                curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
            curl.setopt(pycurl.CAINFO, self._ca_file)
        head: list[bytes] = []
        body: list[bytes] = []
        curl.setopt(pycurl.URL, f"{self._case.scheme}://{host}:{self._port}{path}")
        curl.setopt(pycurl.CONNECT_TO, [f"::{address}:"])
        curl.setopt(pycurl.HEADERFUNCTION, head.append)
        curl.setopt(pycurl.WRITEFUNCTION, body.append)
        await self._multi.perform(curl)
        assert len(b"".join(body)) == len(_BODY)
        self._idle.append(curl)

    async def close(self) -> None:
        await self._multi.aclose()


class _Ours:
    """The fetcher with the address policy, fed with requests made before: what `fetch` alone costs."""

    def __init__(self, case: "Case", port: int, ca_file: str) -> None:
        self._case, self._port = case, port
        self._requests: dict[tuple[str, str, str], Request] = {}
        policy = AddressPolicy(allow_private=True)
        agent = "gossamer-bench/1.0 (+mailto:bench@example.test)"
        self._fetcher = CurlFetcher(
            agent,
            FetchLimits(),
            SteadyClock(),
            allow=policy.may_dial,
            max_connections=2 * _HELD,
            ca_file=ca_file,
            default=HostOptions(http2=case.http2),
        )

    def _request(self, host: str, address: str, path: str) -> Request:
        url = Url(f"{self._case.scheme}://{host}:{self._port}{path}")
        return Request(url, HostKey(host), self._port, address)

    async def get(self, host: str, address: str, path: str) -> None:
        request = self._requests.get((host, address, path))
        if request is None:
            request = self._requests[host, address, path] = self._request(host, address, path)
        outcome = await self._fetcher.fetch(request)
        assert isinstance(outcome, Response), outcome
        assert len(outcome.wire_body) == len(_BODY)

    async def close(self) -> None:
        await self._fetcher.close()


class _Whole(_Ours):
    """As the crawl uses it: the request made for each fetch, the payload taken out of each answer."""

    async def get(self, host: str, address: str, path: str) -> None:
        outcome = await self._fetcher.fetch(self._request(host, address, path))
        assert isinstance(outcome, Response), outcome
        assert len(payload(outcome).body) == len(_BODY)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    path: str
    places: list[Place]  # opened before, in full
    active: list[Place]  # fetched from while the clock runs
    server: int = 0  # which of the ports
    scheme: str = "http"
    http2: bool = False


def _places(count: int, *, one_address: bool = False) -> list[Place]:
    return [(f"h{n}.test", "127.0.0.1" if one_address else f"127.0.{n // 250}.{n % 250 + 1}") for n in range(count)]


def _cases() -> list[Case]:
    few, many, crowd = _places(_ACTIVE_HOSTS), _places(_HELD), _places(_HELD, one_address=True)
    secure = _places(_TLS_HOSTS)
    spread = slice(None, None, _HELD // _ACTIVE_HOSTS)
    return [
        Case("kept connections, 50 held", "/", few, few),
        Case("a new connection each", "/close", few, few),
        Case("kept, 2,000 held, as many addresses", "/", many, many[spread]),
        Case("kept, 2,000 held, one address", "/", crowd, crowd[spread]),
        Case("TLS, kept", "/", secure, secure, 1, "https"),
        Case("TLS, a new connection each", "/close", secure, secure, 1, "https"),
        Case("HTTP/2, kept", "/", secure, secure, 2, "https", http2=True),
        Case("HTTP/2, a new connection each", "/close", secure, secure, 3, "https", http2=True),
    ]


async def _fetch_all(get: Get, places: list[Place], path: str, count: int) -> None:
    """`count` fetches, up to `_AT_ONCE` at a time, never two at once from one host."""
    lanes = min(_AT_ONCE, len(places))

    async def lane(start: int) -> None:
        for number in range(start, count, lanes):
            host, address = places[number % len(places)]
            await get(host, address, path)

    await asyncio.gather(*(lane(start) for start in range(lanes)))


async def _microseconds(client: _Bare | _Ours, case: Case, count: int) -> float:
    start = time.process_time()
    await _fetch_all(client.get, case.active, case.path, count)
    return (time.process_time() - start) * 1e6 / count


async def _compare(ports: list[int], ca_file: str, case: Case, count: int, rounds: int) -> list[list[float]]:
    """The cost of each client, a list for each round: bare, fetch alone, whole."""
    clients = tuple(kind(case, ports[case.server], ca_file) for kind in (_Bare, _Ours, _Whole))
    for client in clients:
        await _fetch_all(client.get, case.places, case.path, max(len(case.places), 500))
    figures = [[await _microseconds(client, case, count) for client in clients] for _ in range(rounds)]
    for client in clients:
        await client.close()
    return figures


async def _run(ports: list[int], ca_file: str, count: int, rounds: int) -> bool:
    print(f"{'µs of CPU a fetch':38}{'bare':>8}{'fetch':>8}{'ratio':>7}{'whole':>8}{'ratio':>7}")
    good = True
    for case in _cases():
        figures = await _compare(ports, ca_file, case, count, rounds)
        bare, fetch, whole = (statistics.median(column) for column in zip(*figures, strict=True))
        alone = statistics.median(row[1] / row[0] for row in figures)
        in_all = statistics.median(row[2] / row[0] for row in figures)
        good = good and in_all <= _TARGET
        print(f"{case.name:38}{bare:8.0f}{fetch:8.0f}{alone:7.2f}{whole:8.0f}{in_all:7.2f}", flush=True)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fetches", type=int, default=600, help="a round")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, tempfile.TemporaryDirectory() as folder:
        if options.serve:
            runner.run(_serve(options.serve))
            return 0
        print(f"{platform.machine()}, Python {platform.python_version()}, {pycurl.version.split()[1]}")
        ca, certificate, ca_file = (
            trustme.CA(key_type=trustme.KeyType.ECDSA),
            f"{folder}/server.pem",
            f"{folder}/ca.pem",
        )
        names = [host for host, _ in _places(_TLS_HOSTS)]
        leaf = ca.issue_cert(*names, key_type=trustme.KeyType.ECDSA)
        leaf.private_key_and_cert_chain_pem.write_to_path(certificate)
        ca.cert_pem.write_to_path(ca_file)
        command = [sys.executable, "-m", "benchmarks.bench_fetch", "--serve", certificate]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            ports = [int(word) for word in server.stdout.readline().split()]
            good = runner.run(_run(ports, ca_file, options.fetches, options.rounds))
            server.communicate()  # closes its input, which ends it
    print(f"target: at most {_TARGET} times the bare loop: {'met' if good else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
