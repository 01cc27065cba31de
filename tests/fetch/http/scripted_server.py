"""A raw TCP server that says exactly what a test tells it to, and remembers what it heard."""

import asyncio
import contextlib
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import TypeVar

import uvloop

from gossamer.clock import Clock, SteadyClock, VirtualClock
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Response
from gossamer.model.units import HostKey, Seconds, Url

T = TypeVar("T")
AGENT = "gossamer-test/1.0 (+mailto:crawl@example.test)"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = HEAD + b"Content-Length: 5\r\n\r\nhello"
PATIENT = FetchLimits(
    connect=Seconds(30.0),
    tls=Seconds(30.0),
    head=Seconds(30.0),
    idle=Seconds(30.0),
    rate_window=Seconds(30.0),
    total=Seconds(60.0),
)
"""For whatever is answered: on a busy machine a prompt answer can take a second."""


def hasty(**deadlines: float) -> FetchLimits:
    """Short deadlines where a case is to meet them, and there only: no other can pass first on a busy machine."""
    return replace(PATIENT, **deadlines)  # type: ignore[arg-type]


@dataclass
class Talk:
    """One connection, as the script sees it. `number` counts connections from 0."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[tuple[int, bytes]]

    async def request(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        self.heard.append((self.number, head))
        return head

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def say_and_wait(self, data: bytes) -> None:
        """Say it, and wait until the client has read it (or has left)."""
        await self.say(data)
        ours, theirs = (_as_listed(self.writer.get_extra_info(name)) for name in ("sockname", "peername"))
        await until(lambda: _waiting_between(ours, theirs) == 0)

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client closes."""
        with contextlib.suppress(ConnectionError):
            while await self.reader.read(65536):
                pass

    async def outwait(self, clock: VirtualClock) -> None:
        """Say nothing and let time pass until the client closes."""
        leaving = asyncio.create_task(self.gone())
        while not leaving.done():
            clock.advance(Seconds(0.05))
            await asyncio.wait((leaving,), timeout=0.005)


def _as_listed(place: tuple[str, int]) -> str:
    """As /proc/net/tcp writes an address and a port."""
    return f"{socket.inet_aton(place[0])[::-1].hex()}:{place[1]:04x}".upper()


def _waiting_between(one: str, other: str) -> int:
    """Bytes that one of two sockets has written and the other has not read."""
    waiting = 0
    with open("/proc/net/tcp", encoding="ascii") as file:
        for line in file:
            fields = line.split()
            if (fields[1], fields[2]) in ((one, other), (other, one)):
                waiting += sum(int(queue, 16) for queue in fields[4].split(":"))
    return waiting


class StepClock(VirtualClock):
    """Every look at it finds that as much time has passed."""

    def __init__(self, step: float) -> None:
        super().__init__()
        self._step = Seconds(step)

    def monotonic(self) -> float:
        self.advance(self._step)
        return super().monotonic()


async def until(holds: Callable[[], bool]) -> None:
    """Give the loop time, but not for ever; the test's own assertion says what is wrong."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(60.0):
            while not holds():  # noqa: ASYNC110 - what is waited for has no event
                await asyncio.sleep(0.002)


async def pass_time(seconds: float) -> None:
    """At least as long by everybody's clock: a timer of uvloop counts from the time at which its turn began."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) >= 0:  # noqa: ASYNC110 - until a time, not an event
        await asyncio.sleep(left + 0.001)


Script = Callable[[Talk], Awaitable[None]]


@dataclass
class Scripted:
    port: int
    heard: list[tuple[int, bytes]] = field(default_factory=list)
    connections: int = 0
    open: int = 0

    def request(self, path: str = "/", *, host: str = "x.test", address: str = "127.0.0.1", **more: object) -> Request:
        scheme = more.get("scheme", "http")
        headers = more.get("headers", ())
        options = more.get("options")
        assert isinstance(headers, tuple)
        assert options is None or isinstance(options, HostOptions)
        url = Url(f"{scheme}://{host}:{self.port}{path}")
        return Request(url, HostKey(host), self.port, address, headers, options)


@contextlib.asynccontextmanager
async def serving(
    script: Script, *, address: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Scripted]:
    state = Scripted(port=0)
    tasks: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        talk = Talk(state.connections, reader, writer, state.heard)
        state.connections += 1
        state.open += 1
        try:
            await script(talk)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            state.open -= 1
            writer.close()
            tasks.discard(task)

    server = await asyncio.start_server(on_connection, address, 0, ssl=tls, limit=1 << 20, backlog=1024)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def fetching(
    limits: FetchLimits = PATIENT,
    *,
    allow: Callable[[str], bool] = lambda _address: True,
    ca_file: str | None = None,
    max_connections: int = 64,
    usual: HostOptions | None = None,
    clock: Clock | None = None,
    room: BodyMemory | None = None,
) -> AsyncIterator[CurlFetcher]:
    """A fetcher, whose deadlines pass by `clock`."""
    fetcher = CurlFetcher(
        AGENT,
        limits,
        clock or SteadyClock(),
        allow=allow,
        max_connections=max_connections,
        ca_file=ca_file,
        default=usual,
        room=room,
    )
    try:
        yield fetcher
    finally:
        await fetcher.close()


def always(answer: bytes, *, then_close: bool = False) -> Script:
    """Answer every request with the same bytes; close after the first if asked to."""

    async def script(talk: Talk) -> None:
        while True:
            await talk.request()
            await talk.say(answer)
            if then_close:
                return

    return script


def run(main: Coroutine[object, object, T]) -> T:
    """Run on uvloop, as the crawler does."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


async def answered(fetcher: CurlFetcher, request: Request) -> Response:
    outcome = await fetcher.fetch(request)
    assert isinstance(outcome, Response), outcome
    return outcome


async def failed(fetcher: CurlFetcher, request: Request) -> Failed:
    outcome = await fetcher.fetch(request)
    assert isinstance(outcome, Failed), outcome
    return outcome


def outcome_of(answer: bytes, *, then_close: bool = False, limits: FetchLimits = PATIENT) -> Response | Failed:
    """What becomes of one answer."""

    async def main() -> Response | Failed:
        async with serving(always(answer, then_close=then_close)) as server, fetching(limits) as fetcher:
            return await fetcher.fetch(server.request())

    return run(main())
