"""What the simulated web costs: CPU time of a page alone, and pages per CPU-second of its server.

.venv/bin/python -m benchmarks.bench_simweb

The server runs in a process of its own and is asked by this one over 64 connections. Beside it, in the same run and
asked in the same way, a server that only ever sends one ready answer of the same mean size: the floor.
"""

import asyncio
import itertools
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import uvloop

from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.hosts import HostPlan, path_of
from gossamer.lab.simweb.run import SimwebProcess
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant

SEED = 1
CONNECTIONS = 64
REQUESTS = 6_000
NOW = Instant(1_700_000_000.0)
Page = tuple[HostPlan, str]


def some_pages(web: SimWeb, count: int) -> list[Page]:
    """Pages of many hosts, none twice."""
    each = [[(host, path_of(host, page)) for page in range(min(host.ordinary, 40))] for host in web.hosts[:1000]]
    rounds = (page for turn in itertools.zip_longest(*each) for page in turn if page is not None)
    return list(itertools.islice(rounds, count))


def respond_alone(web: SimWeb, pages: list[Page]) -> tuple[float, float]:
    """CPU microseconds and bytes per page, in-process; the best of five."""
    least = float("inf")
    size = 0
    for _ in range(5):
        began = time.process_time()
        size = sum(len(web.respond(host.name, target, NOW).body) for host, target in pages)
        least = min(least, time.process_time() - began)
    return least / len(pages) * 1e6, size / len(pages)


class Asker(asyncio.Protocol):
    """Asks for one page after the other on one connection, or on a new one each time."""

    def __init__(self, pages: Iterator[Page], port: int, done: "asyncio.Future[None]", *, keep_alive: bool) -> None:
        self._pages, self._port, self._done, self._keep_alive = pages, port, done, keep_alive
        self._transport: asyncio.Transport | None = None
        self._missing = 0
        self._received = b""
        self._asked: Page | None = None

    def start(self) -> None:
        self._asked = next(self._pages, None)
        if self._asked is None:
            if self._transport is not None:
                self._transport.close()
            if not self._done.done():
                self._done.set_result(None)
        elif self._transport is None:
            loop = asyncio.get_running_loop()
            address = self._asked[0].address
            opening = loop.create_task(loop.create_connection(lambda: self, address, self._port))
            opening.add_done_callback(lambda task: task.result())
        else:
            self._ask()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._asked is None and not self._keep_alive:
            self.start()

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            self._received += data
            head, found, data = self._received.partition(b"\r\n\r\n")
            if not found:
                return
            assert head.startswith(b"HTTP/1.1 200 "), head
            self._received = b""
            self._missing = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
        self._missing -= len(data)
        if not self._missing:
            self._asked = None
            if self._keep_alive:
                self.start()

    def _ask(self) -> None:
        assert self._asked is not None and self._transport is not None
        host, target = self._asked
        closing = "" if self._keep_alive else "Connection: close\r\n"
        self._transport.write(
            f"GET {target} HTTP/1.1\r\nHost: {host.name}\r\nUser-Agent: gossamer/0\r\n{closing}\r\n".encode()
        )


async def ask_for(pages: list[Page], port: int, *, keep_alive: bool) -> None:
    loop = asyncio.get_running_loop()
    shared = iter(pages)
    done = [loop.create_future() for _ in range(CONNECTIONS)]
    for future in done:
        Asker(shared, port, future, keep_alive=keep_alive).start()
    await asyncio.wait_for(asyncio.gather(*done), 120)


def drive(pages: list[Page], port: int, *, keep_alive: bool) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(ask_for(pages, port, keep_alive=keep_alive))


class Static(asyncio.Protocol):
    """The floor: looks for the end of a request and sends what it has."""

    answer = b""
    closing = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"\r\n\r\n"):
            self._transport.write(self.answer)
            if b"Connection: close" in data:
                self._transport.close()


def serve_static(size: int) -> None:
    """The floor's own process: prints its port and serves until it is ended."""
    Static.answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(Static, "0.0.0.0", 0)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run())


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def static_cost(pages: list[Page], size: int) -> dict[bool, float]:
    """CPU seconds of the floor for `pages`, by whether connections are kept."""
    command = [sys.executable, "-m", "benchmarks.bench_simweb", "--static", str(size)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        try:
            port = int(process.stdout.readline())
            cost = {}
            for keep_alive in (True, False):
                before = cpu_seconds(process.pid)
                drive(pages, port, keep_alive=keep_alive)
                cost[keep_alive] = cpu_seconds(process.pid) - before
        finally:
            process.terminate()
    return cost


def main() -> None:
    if sys.argv[1:2] == ["--static"]:
        serve_static(int(sys.argv[2]))
        return
    print(
        f"simulated web: CPython {platform.python_version()}, {platform.machine()}, seed {SEED}, "
        f"{REQUESTS} pages over {CONNECTIONS} connections, CPU time of the server"
    )
    for name in ("demo", "bench", "small"):
        config = preset(name, seed=SEED, slow_hosts=0.0, fault_rate=0.0)
        with SimwebProcess(config) as server:
            web = server.web()
            pages = some_pages(web, REQUESTS)
            alone, size = respond_alone(web, pages[:2000])
            print(f"{name:6} respond() {alone:6.1f} µs for pages of {size:,.0f} bytes")
            floor = static_cost(pages, round(size))
            drive(pages, server.http_port, keep_alive=True)  # once for nothing: frames and paragraphs are made
            for keep_alive in (True, False):
                before = server.cpu_seconds()
                drive(pages, server.http_port, keep_alive=keep_alive)
                used = server.cpu_seconds() - before
                print(
                    f"       {'kept connections' if keep_alive else 'new connections '}  "
                    f"{len(pages) / used:7,.0f} pages per CPU-second   static {len(pages) / floor[keep_alive]:7,.0f}"
                    f"   ratio {floor[keep_alive] / used:.2f}"
                )


if __name__ == "__main__":
    main()
