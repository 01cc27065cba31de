"""A scripted server beside the fetcher, and the rules that hold for every hostile case.

The server runs in a thread with a loop of its own, so that its work is not taken for the fetcher's. `drive` runs a case
on the fetcher's loop under the rules (`survival`), while another host is fetched from all the time (G5).
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterator
from ssl import SSLContext
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response
from tests.fetch.http.scripted_server import PAGE, PATIENT, Script, Scripted, always, fetching, serving
from tests.hostile.survival import MIB, on_a_loop, under_watch

T = TypeVar("T")
LATE = {Failure.CONNECT_TIMEOUT, Failure.READ_TIMEOUT, Failure.TOO_SLOW}
GOOD_PAGE = b"<!DOCTYPE html><title>good</title><a href='/next'>next</a>"


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
        thread.join(60)


def drive(
    work: Callable[[CurlFetcher], Awaitable[T]],
    limits: FetchLimits = PATIENT,
    *,
    max_growth: int = 64 * MIB,
    ca_file: str | None = None,
    usual: HostOptions | None = None,
    clock: Clock | None = None,
) -> T:
    """Run a case under the rules."""

    async def healthy(fetcher: CurlFetcher, neighbour: Scripted) -> None:
        while True:
            outcome = await fetcher.fetch(neighbour.request(host="healthy.test"))
            if isinstance(outcome, Response):
                assert outcome.wire_body == b"hello", outcome
            else:  # its deadlines are those of the case: on a busy machine they may be too short for anybody
                assert limits != PATIENT and outcome.failure in LATE, outcome
            await asyncio.sleep(0.005)

    async def main(neighbour: Scripted) -> T:
        async with fetching(limits, ca_file=ca_file, usual=usual, clock=clock) as fetcher:
            await fetcher.fetch(neighbour.request(host="healthy.test"))  # buffers and files of the fetcher itself
            async with under_watch(max_growth):
                lane = asyncio.create_task(healthy(fetcher, neighbour))
                try:
                    result = await work(fetcher)
                    assert not lane.done() or lane.exception() is None, lane.exception()
                finally:
                    lane.cancel()
                    await asyncio.gather(lane, return_exceptions=True)
            return result

    with site(always(PAGE)) as neighbour:
        return on_a_loop(main(neighbour))


def fetched(
    script: Script,
    *,
    times: int = 1,
    limits: FetchLimits = PATIENT,
    max_growth: int = 64 * MIB,
    clock: Clock | None = None,
) -> "Story":
    """Ask a scripted host so often, one after the other."""
    with site(script) as server:

        async def work(fetcher: CurlFetcher) -> list[FetchOutcome]:
            outcomes = []
            for number in range(times):
                outcomes.append(await fetcher.fetch(server.request(f"/{number}")))
                await asyncio.sleep(0.03)  # what a server says unasked has arrived
            return outcomes

        return Story(drive(work, limits, max_growth=max_growth, clock=clock), server)


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
