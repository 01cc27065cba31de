"""What a fetch costs the client, beside a bare `AsyncCurlMulti` loop that checks and keeps nothing.

`python -m benchmarks.bench_fetch` from the root of the repository. CPU time of this process, user and system; the
server is another process. 29 KB pages from 50 hosts, 50 at a time: over connections that are kept, over one connection
for each page, and with 2,000 connections held open, at 2,000 addresses or all at one. Fetcher and bare loop take
turns, and the ratio is the median over the rounds, because the machine's speed drifts. "fetch" is the fetcher alone;
"whole" adds making the request and taking out the payload, and is what the target is judged by.
"""

import argparse
import asyncio
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pycurl
import uvloop

from gossamer.clock import SteadyClock
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.ports import FetchLimits, Request
from gossamer.model.outcome import Response
from gossamer.model.units import HostKey, Url

_AT_ONCE = 50
_ACTIVE_HOSTS = 50
_HELD = 2000
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


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Server, "0.0.0.0", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)  # until the benchmark closes the pipe
    server.close()


class _Bare:
    """The least a client can do with the library: pinned address, body joined, nothing else looked at."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, 2 * _HELD)
        self._idle: list[pycurl.Curl] = []

    async def get(self, host: str, address: str, path: str) -> None:
        if self._idle:
            curl = self._idle.pop()
        else:
            curl = pycurl.Curl()
            curl.setopt(pycurl.NOSIGNAL, 1)
            curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        head: list[bytes] = []
        body: list[bytes] = []
        curl.setopt(pycurl.URL, f"http://{host}:{self._port}{path}")
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

    def __init__(self, port: int) -> None:
        self._port = port
        self._requests: dict[tuple[str, str, str], Request] = {}
        policy = AddressPolicy(allow_private=True)
        agent = "gossamer-bench/1.0 (+mailto:bench@example.test)"
        self._fetcher = CurlFetcher(
            agent, FetchLimits(), SteadyClock(), allow=policy.may_dial, max_connections=2 * _HELD
        )

    def _request(self, host: str, address: str, path: str) -> Request:
        return Request(Url(f"http://{host}:{self._port}{path}"), HostKey(host), self._port, address)

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


def _places(count: int, *, one_address: bool = False) -> list[Place]:
    return [(f"h{n}.test", "127.0.0.1" if one_address else f"127.0.{n // 250}.{n % 250 + 1}") for n in range(count)]


def _cases() -> list[Case]:
    few, many, crowd = _places(_ACTIVE_HOSTS), _places(_HELD), _places(_HELD, one_address=True)
    spread = slice(None, None, _HELD // _ACTIVE_HOSTS)
    return [
        Case("kept connections, 50 held", "/", few, few),
        Case("a new connection each", "/close", few, few),
        Case("kept, 2,000 held, as many addresses", "/", many, many[spread]),
        Case("kept, 2,000 held, one address", "/", crowd, crowd[spread]),
    ]


async def _fetch_all(get: Get, places: list[Place], path: str, count: int) -> None:
    """`count` fetches, `_AT_ONCE` at a time, never two at once from one host."""

    async def lane(start: int) -> None:
        for number in range(start, count, _AT_ONCE):
            host, address = places[number % len(places)]
            await get(host, address, path)

    await asyncio.gather(*(lane(start) for start in range(_AT_ONCE)))


async def _microseconds(client: _Bare | _Ours, case: Case, count: int) -> float:
    start = time.process_time()
    await _fetch_all(client.get, case.active, case.path, count)
    return (time.process_time() - start) * 1e6 / count


async def _compare(port: int, case: Case, count: int, rounds: int) -> list[list[float]]:
    """The cost of each client, a list for each round: bare, fetch alone, whole."""
    clients = (_Bare(port), _Ours(port), _Whole(port))
    for client in clients:
        await _fetch_all(client.get, case.places, case.path, max(len(case.places), 500))
    figures = [[await _microseconds(client, case, count) for client in clients] for _ in range(rounds)]
    for client in clients:
        await client.close()
    return figures


async def _run(port: int, count: int, rounds: int) -> bool:
    print(f"{'µs of CPU a fetch':38}{'bare':>8}{'fetch':>8}{'ratio':>7}{'whole':>8}{'ratio':>7}")
    good = True
    for case in _cases():
        figures = await _compare(port, case, count, rounds)
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
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        if options.serve:
            runner.run(_serve())
            return 0
        print(f"{platform.machine()}, Python {platform.python_version()}, {pycurl.version.split()[1]}")
        command = [sys.executable, "-m", "benchmarks.bench_fetch", "--serve"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            good = runner.run(_run(port, options.fetches, options.rounds))
            server.communicate()  # closes its input, which ends it
    print(f"target: at most {_TARGET} times the bare loop: {'met' if good else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
