"""The service: a crawl, the application that steers it beside it, and the front, a process that callers reach."""

import asyncio
import gc
import ipaddress
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import uvloop

from gossamer.config.load import Config
from gossamer.config.sections import ServiceSection
from gossamer.crawl.run.directory import holds_crawl
from gossamer.crawl.run.opener import open_part
from gossamer.crawl.run.session import Session, session
from gossamer.crawl.run.signals import Interrupts
from gossamer.errors import UsageError
from gossamer.ipc import Link
from gossamer.observe.log import EventLog
from gossamer.seed.lists import Seed
from gossamer.service.access import App, Policy, names_for, token_in
from gossamer.service.app import make_app
from gossamer.service.bridge import CrawlBridge, LiveCrawl
from gossamer.service.control import Control, Unavailable
from gossamer.service.event_stream import EventStream
from gossamer.service.front_process import end_of, forked
from gossamer.service.history import LiveProbes
from gossamer.service.http_server import listen
from gossamer.service.metrics import Metrics
from gossamer.service.overrides import FACT, Overrides, from_text
from gossamer.service.queries import ReadQueries
from gossamer.service.routes import Dependencies

COMMIT_PATIENCE = 3.0
"""Seconds that a caller waits for a commit before the answer is 503."""
STORE_PATIENCE = 3600.0
"""Seconds for which a failing store (or a full disk) is retried before the crawl gives up."""
REQUEST_TIMEOUT = 30.0
"""Seconds until a request is answered."""
MAX_REQUESTS = 5000.0
"""Requests per second, of all callers together."""


def serve(
    config: Config,
    seeds: list[Seed],
    *,
    add_seeds: bool,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    """Run a crawl and its service until it is told to stop. Returns the exit status. Raises GossamerError.

    `on_ready` is told the address and where the token is. `reread` gives the configuration as it stands now; on SIGHUP
    the rules of entry are taken from it.
    """
    listening = listen(config.service.host, config.service.port)
    parts = Dependencies()
    app = make_app(parts)  # once, for both processes
    front, end = forked(listening, app, parts)
    try:
        address = listening.getsockname()
        listening.close()  # the front has it
        return uvloop.run(_serve(config, seeds, add_seeds, app, parts, address, end, on_ready, reread))
    finally:
        end_of(front, end)


async def _serve(
    config: Config,
    seeds: list[Seed],
    add_seeds: bool,
    app: App,
    parts: Dependencies,
    address: tuple[Any, ...],
    end: socket.socket,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    orders = orders_in(Path(config.dir))
    feed = EventStream()
    async with session(orders.applied_to(config), seeds, add_seeds, feed, may_be_empty=True) as opened:
        link = await Link.connect(end.dup())
        return await _run(opened, config, orders, feed, app, parts, address, link, on_ready, reread)


async def _run(
    opened: Session,
    config: Config,
    orders: Overrides,
    feed: EventStream,
    app: App,
    parts: Dependencies,
    address: tuple[Any, ...],
    link: Link,
    on_ready: Callable[[str, Path], None],
    reread: Callable[[], Config],
) -> int:
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    crawl = opened.crawl
    crawl.engine.keep_open = True
    crawl.store.patience, crawl.store.outlasts_full_disk = STORE_PATIENCE, True
    policy = policy_for(config.service, token_in(crawl.directory.token))
    operator = Control(opened, config, orders, patience=COMMIT_PATIENCE)
    feed.open(crawl.engine.events, opened.watch.snapshot, lambda: crawl.store.commits, sights_of(opened, config))
    feed.update(opened.watch.snapshot())
    questions = ReadQueries(crawl.directory.path, crawl.clock)
    loop = asyncio.get_running_loop()
    interrupts = Interrupts(crawl)

    def stop_soon() -> None:
        loop.call_soon(interrupts.received)  # whoever orders it is answered first

    live = LiveCrawl(operator, feed, crawl.engine)
    parts.crawl, parts.operator, parts.feed, parts.stop = live, operator, feed, stop_soon
    parts.questions, parts.metrics = questions, Metrics(lambda: feed.latest)
    beside = CrawlBridge(app, live, link)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupts.received)
    changes: set[asyncio.Task[None]] = set()  # the loop alone would forget them

    def hung_up() -> None:
        changes.add(task := loop.create_task(_take_again(operator, reread, opened.log)))
        task.add_done_callback(changes.discard)

    loop.add_signal_handler(signal.SIGHUP, hung_up)
    ready = asyncio.create_task(beside.ready.wait())
    try:
        running = asyncio.create_task(crawl.engine.run())
        interrupts.running = running
        serving = asyncio.create_task(beside.serve(policy))
        await asyncio.wait([ready, serving], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            where = f"http://{'[' + address[0] + ']' if ':' in address[0] else address[0]}:{address[1]}/"
            opened.log.event("service.started", address=where)
            on_ready(where, crawl.directory.path)
        await asyncio.wait([running, serving], return_when=asyncio.FIRST_COMPLETED)
        is_lost = serving.done() and not running.done()
        if is_lost:
            opened.log.event("service.lost")
        feed.close()
        beside.close()
        if not running.done():
            crawl.engine.stop()
        await serving
        try:
            await running
        except asyncio.CancelledError:
            if not interrupts.count:
                raise
        opened.log.event("service.ended")
    finally:
        ready.cancel()
        questions.close()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    return 1 if is_lost else 0


async def _take_again(operator: Control, reread: Callable[[], Config], log: EventLog) -> None:
    """SIGHUP. A configuration that cannot be used changes nothing; the log says why."""
    try:
        await operator.take(reread())
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    except Unavailable:
        log.event("rules.refused", error="the store is not available")
    else:
        log.event("rules.changed")


def sights_of(opened: Session, config: Config) -> LiveProbes:
    """What those who watch are shown of a crawl besides its figures."""
    frontier = config.frontier
    return LiveProbes(
        rests=opened.crawl.frontier.politeness_heap.histogram,
        shares=lambda load: frontier.shares_under_load if load == "high" else frontier.shares,
    )


def orders_in(directory: Path) -> Overrides:
    """What was ordered the last time; nothing in a directory without a crawl."""
    if not holds_crawl(directory):
        return Overrides()
    with closing(open_part(directory)) as reader:
        return from_text(reader.status.fact(FACT))


def policy_for(section: ServiceSection, token: str) -> Policy:
    on_loopback = is_loopback(section.host)
    return Policy(
        token=token,
        names=names_for(section.host, section.names, on_loopback),
        on_loopback=on_loopback,
        max_body_bytes=section.max_body_bytes,
        request_timeout=REQUEST_TIMEOUT,
        max_requests=MAX_REQUESTS,
    )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound there. A name other than localhost may be anything."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
