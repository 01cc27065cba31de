"""A scripted server beside the fetcher, and the rules that hold for every hostile case.

The server runs in a thread with a loop of its own, so that its work is not taken for the fetcher's. `drive` runs a case
on the fetcher's loop and checks, around it: nothing raised (G1), the loop never held for longer than 250 ms (G2, in
CPU time of the thread, which a busy machine does not stretch), memory (G3), another host served at the same time (G5)
and files closed afterwards (G9).
"""

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from ssl import SSLContext
from typing import TypeVar

from scripted_server import PAGE, QUICK, Script, Scripted, always, fetching, run, serving

from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.http.ports import FetchLimits
from gossamer.model.outcome import Failed, FetchOutcome, Response

T = TypeVar("T")
MIB = 1 << 20
GOOD_PAGE = b"<!DOCTYPE html><title>good</title><a href='/next'>next</a>"
LONGEST_HOLD = 0.25
_BEAT = 0.005


def page(body: bytes = GOOD_PAGE, *fields: bytes) -> bytes:
    """An answer with a correct length."""
    lines = b"".join(field + b"\r\n" for field in (b"Content-Type: text/html", *fields))
    return b"HTTP/1.1 200 OK\r\n" + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body


@contextlib.contextmanager
def site(script: Script, *, tls: SSLContext | None = None, address: str = "127.0.0.1") -> Iterator[Scripted]:
    """Serve in a thread while the block runs."""
    ready, state, stop = threading.Event(), list[Scripted](), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        async with serving(script, tls=tls, address=address) as server:
            state.append(server)
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(30), "the scripted server did not start"
    try:
        yield state[0]
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(30)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Vitals:
    """What the heartbeat saw."""

    def __init__(self) -> None:
        self.longest_hold = 0.0
        self.start = self.peak = resident()

    async def beat(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(_BEAT)
            now = time.thread_time()
            self.longest_hold = max(self.longest_hold, now - before)
            before = now
            self.peak = max(self.peak, resident())


def drive(
    work: Callable[[CurlFetcher], Awaitable[T]],
    limits: FetchLimits = QUICK,
    *,
    max_growth: int = 64 * MIB,
    ca_file: str | None = None,
    usual: HostOptions | None = None,
) -> T:
    """Run a case under the rules."""

    async def healthy(fetcher: CurlFetcher, neighbour: Scripted) -> None:
        while True:
            outcome = await fetcher.fetch(neighbour.request(host="healthy.test"))
            assert isinstance(outcome, Response) and outcome.wire_body == b"hello", outcome
            await asyncio.sleep(_BEAT)

    async def main(neighbour: Scripted) -> T:
        async with fetching(limits, ca_file=ca_file, usual=usual) as fetcher:
            await fetcher.fetch(neighbour.request(host="healthy.test"))  # buffers and files of the fetcher itself
            vitals = Vitals()
            heart = asyncio.create_task(vitals.beat())
            lane = asyncio.create_task(healthy(fetcher, neighbour))
            try:
                result = await work(fetcher)
                await asyncio.sleep(3 * _BEAT)
                vitals.peak = max(vitals.peak, resident())
                assert not lane.done() or lane.exception() is None, lane.exception()
            finally:
                heart.cancel()
                lane.cancel()
                await asyncio.gather(heart, lane, return_exceptions=True)
        assert vitals.longest_hold <= LONGEST_HOLD, f"held for {vitals.longest_hold:.3f} s of CPU"
        assert vitals.peak - vitals.start <= max_growth, f"grew by {(vitals.peak - vitals.start) / MIB:.1f} MiB"
        return result

    with site(always(PAGE)) as neighbour:
        before = open_files()
        result = run(main(neighbour))
        for _ in range(200):
            if open_files() <= before + 5:
                break
            time.sleep(0.01)
        assert open_files() <= before + 5
        return result


def fetched(script: Script, *, times: int = 1, limits: FetchLimits = QUICK, max_growth: int = 64 * MIB) -> "Story":
    """Ask a scripted host so often, one after the other."""
    with site(script) as server:

        async def work(fetcher: CurlFetcher) -> list[FetchOutcome]:
            outcomes = []
            for number in range(times):
                outcomes.append(await fetcher.fetch(server.request(f"/{number}")))
                await asyncio.sleep(0.03)  # what a server says unasked has arrived
            return outcomes

        return Story(drive(work, limits, max_growth=max_growth), server)


class Story:
    """What came of the requests, and what the server saw."""

    def __init__(self, outcomes: list[FetchOutcome], server: Scripted) -> None:
        self.outcomes = outcomes
        self.connections = server.connections
        self.heard = server.heard

    @property
    def response(self) -> Response:
        """The last outcome, which is a response."""
        last = self.outcomes[-1]
        assert isinstance(last, Response), last
        return last

    @property
    def failed(self) -> Failed:
        """The last outcome, which is a failure that counts as contact."""
        last = self.outcomes[-1]
        assert isinstance(last, Failed), last
        assert last.contacted
        return last
