"""A whole crawl in virtual time: the real engine and a real store, a scripted fetcher and a name server of the test.

What other threads do (commits, reads of the store) is waited for where it is started, so the order of events is the
same in every run, and waiting takes no time.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, TypeVarTuple
from urllib.parse import urlsplit

from gossamer.clock import VirtualClock
from gossamer.config.load import make_config
from gossamer.crawl.events import Outcome
from gossamer.crawl.run.assemble import assemble
from gossamer.crawl.run.crawl import Crawl
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.ports import Request, SchemeFetcher
from gossamer.filter.canonical import canonicalise
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.seed.lists import read_arguments
from tests.crawl.scripted_fetcher import ScriptedFetcher, Step, response
from tests.name_server import NXDOMAIN, A, Reply, a, name_server
from tests.name_server import SERVFAIL as DNS_SERVFAIL
from tests.time_travel import TravellingLoop

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

HOME = "http://a.test/"
ADDRESSES = {f"{name}.test": f"93.184.216.{number}" for number, name in enumerate("abcdef", start=1)}
"""What the name server knows; several addresses are separated by spaces. These addresses are never dialled."""
SERVFAIL = "servfail"
"""The address of a host whose name servers fail."""
NO_ROBOTS = response(404)
_UNGUESSED = {"sitemaps": {"well_known": False}}
DNS_PATIENCE = 60.0
"""Real seconds for a packet over loopback. It arrives at once, unless the machine is very busy."""


class InStepLoop(TravellingLoop):
    """Virtual time, and work given to another thread is done when the call returns. No time passes while a name is
    being looked up by one of the `resolvers`."""

    def __init__(self) -> None:
        super().__init__(lambda: DNS_PATIENCE if any(r.statistics().lookups_in_flight for r in self.resolvers) else 0.0)
        self.resolvers: list[Resolver] = []

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> "asyncio.Future[T]":
        if executor is None:
            return super().run_in_executor(executor, func, *args)
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(executor.submit(func, *args).result())
        except Exception as error:
            future.set_exception(error)
        return future


class LoopTime(VirtualClock):
    """The time of the loop it is made in, for every thread, and what it was advanced by."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()

    def now(self) -> Instant:
        return Instant(super().now() + self._loop.time())

    def monotonic(self) -> float:
        return float(self.now())


def wait_for_names(resolver: Resolver) -> None:
    """Let no time pass on the running loop while this resolver looks up a name. Its name server must answer."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, InStepLoop)
    loop.resolvers.append(resolver)


def run_in_step(main: Coroutine[object, object, T]) -> T:
    """Run it on a loop of its own. What has not ended after a virtual day never will, and fails."""
    with asyncio.Runner(loop_factory=InStepLoop) as runner:
        return runner.run(asyncio.wait_for(main, 86_400.0))


def page(*links: str, title: str = "") -> bytes:
    """An HTML page. Pages with the same links and title are the same document."""
    return f"<title>{title}</title>".encode() + b"".join(f"<a href='{link}'>link</a>".encode() for link in links)


def html(*links: str, title: str = "") -> Step:
    return response(200, page(*links, title=title), {"Content-Type": "text/html"})


class Row(NamedTuple):
    """What the store has of a URL."""

    state: str
    reason: str | None
    tries: int
    depth: int
    available_at: float | None


class ScriptedCrawl:
    """A crawl that is open, what it requested and when, and what it committed, in order."""

    saturation = 0.0
    fill = QueueDepth(0)

    def __init__(self, crawl: Crawl, fetcher: ScriptedFetcher, clock: LoopTime, database: Path) -> None:
        self.crawl = crawl
        self.fetcher = fetcher
        self.clock = clock
        self.began = clock.now()
        self.outcomes: list[Outcome] = []
        self.times: list[float] = []
        self._database = database
        self._orders: list[tuple[Callable[[], bool], Callable[[], None]]] = []
        crawl.engine.events.subscribe(self)
        fetcher.on_request = self._requested

    def when(self, holds: Callable[[], bool], act: Callable[[], None]) -> None:
        """Call `act` once, during the first request at which `holds` is true."""
        self._orders.append((holds, act))

    def _requested(self, request: Request) -> None:
        self.times.append(self.clock.now() - self.began)
        for order in [order for order in self._orders if order[0]()]:
            self._orders.remove(order)
            order[1]()

    def publish(self, outcome: Outcome) -> None:
        """Called after each commit."""
        self.outcomes.append(outcome)

    @property
    def requests(self) -> list[str]:
        """The URLs that were requested, without robots.txt."""
        return [url for url in self.fetcher.urls if not url.endswith("/robots.txt")]

    @property
    def request_times(self) -> dict[str, list[float]]:
        """Seconds after the start at which each URL was requested."""
        times: dict[str, list[float]] = {}
        for url, time in zip(self.fetcher.urls, self.times, strict=True):
            times.setdefault(url, []).append(round(time, 3))
        return times

    @property
    def committed(self) -> list[tuple[str, str, str | None]]:
        """URL, state and reason of every outcome, in the order of the commits."""
        return [(outcome.url, outcome.state.word, outcome.reason) for outcome in self.outcomes]

    def rows(self) -> dict[str, Row]:
        """Every URL that the store knows."""
        with closing(sqlite3.connect(f"file:{self._database}?mode=ro", uri=True)) as db:
            found = db.execute("SELECT url, state, reason, tries, depth, available_at FROM urls ORDER BY id").fetchall()
        return {url: Row(UrlState(state).word, *others) for url, state, *others in found}

    def states(self) -> dict[str, str]:
        return {url: row.state for url, row in self.rows().items()}


@asynccontextmanager
async def opened(
    directory: Path,
    script: Mapping[str, Step | Sequence[Step]],
    *,
    seeds: Sequence[str] = (HOME,),
    addresses: Mapping[str, str] = ADDRESSES,
    **settings: object,
) -> AsyncIterator[ScriptedCrawl]:
    """A crawl that has not begun. Hosts whose robots.txt is not in the script have none, and sitemaps are not
    guessed. `settings` are keys of the configuration, sections as dictionaries."""
    clock = LoopTime()
    fetcher = ScriptedFetcher(clock)
    for url, steps in script.items():
        fetcher.on(url, *(steps if isinstance(steps, Sequence) and not hasattr(steps, "status") else (steps,)))
    for origin in {"{0.scheme}://{0.netloc}".format(urlsplit(url)) for url in (*script, *seeds)}:
        if origin + "/robots.txt" not in script:
            fetcher.on(origin + "/robots.txt", NO_ROBOTS)

    def zone(host: str, kind: int) -> Reply:
        if host not in addresses:
            return Reply(code=NXDOMAIN)
        if addresses[host] == SERVFAIL:
            return Reply(code=DNS_SERVFAIL)
        return a(*addresses[host].split(), ttl=3600) if kind == A else Reply()

    async with name_server(zone) as server:
        config = make_config(
            {}, {"dir": str(directory), "scope": "any", "dns": server.address, **_UNGUESSED, **settings}
        )
        crawl = assemble(
            config,
            read_arguments(seeds, canonicalise),
            clock=clock,
            fetcher=SchemeFetcher({"http": fetcher, "https": fetcher}),
        )
        wait_for_names(crawl.resolver)
        try:
            yield ScriptedCrawl(crawl, fetcher, clock, directory / "crawl.db")
        finally:
            await crawl.close()


def crawled(
    directory: Path,
    script: Mapping[str, Step | Sequence[Step]],
    act: Callable[[ScriptedCrawl], None] = lambda crawl: None,
    **settings: Any,
) -> ScriptedCrawl:
    """Crawl until nothing is left to do. `act` prepares the crawl before it begins."""

    async def main() -> ScriptedCrawl:
        async with opened(directory, script, **settings) as crawl:
            act(crawl)
            await crawl.crawl.engine.run()
            return crawl

    return run_in_step(main())
