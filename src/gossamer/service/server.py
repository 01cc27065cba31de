"""Starts the service: the front process with the HTTP server, and the crawl with the application that controls it."""

import asyncio
import gc
import ipaddress
import signal
import socket
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import uvloop

from gossamer.config.load import Config
from gossamer.config.overrides import OVERRIDES_KEY, Overrides
from gossamer.config.sections import ServiceSection
from gossamer.crawl.run.opener import CrawlLocation, crawl_exists, open_part
from gossamer.crawl.run.session import Session, session
from gossamer.crawl.run.signals import Interrupts
from gossamer.errors import UsageError
from gossamer.ipc import Link
from gossamer.observe.log import EventLog
from gossamer.seed.lists import Seed
from gossamer.service.access import App, Policy, allowed_names, token_in
from gossamer.service.app import make_app
from gossamer.service.bridge import CrawlBridge, LiveCrawl
from gossamer.service.control import Control, Unavailable
from gossamer.service.event_stream import EventStream, LiveProbes
from gossamer.service.front_process import Listening, fork_front, stop_front
from gossamer.service.http_server import listen
from gossamer.service.metrics import Metrics
from gossamer.service.queries import ReadQueries
from gossamer.service.routes import Dependencies

COMMIT_PATIENCE = 3.0
"""Seconds that a request waits for a commit before it is answered 503."""
STORE_PATIENCE = 3600.0
"""Seconds for which a failing store (or a full disk) is retried before the crawl stops."""
REQUEST_TIMEOUT = 30.0
"""Time limit of a request, in seconds."""
MAX_REQUESTS = 5000.0
"""Requests per second from all clients together."""


class Addresses(NamedTuple):
    """The URLs of the addresses that the service is bound to."""

    service: str
    metrics: str | None


def _url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(
    config: Config,
    seeds: list[Seed],
    *,
    add_seeds: bool,
    on_ready: Callable[[Addresses, Path], None],
    reread: Callable[[], Config],
) -> int:
    """Run a crawl and its service until it is stopped. Returns the exit status. Raises GossamerError.

    `on_ready` receives the addresses and the crawl directory. On SIGHUP, `reread` returns the current configuration,
    from which the rules are taken.
    """
    metrics = config.service.metrics_address
    service = listen(config.service.host, config.service.port)
    listening = Listening(service, None if metrics is None else listen(*metrics))
    dependencies = Dependencies()
    app = make_app(dependencies)  # once, for both processes
    front, end = fork_front(listening, app, dependencies)
    try:
        addresses = Addresses(_url_of(service), None if listening.metrics is None else _url_of(listening.metrics))
        for each in listening.opened:
            each.close()  # the front process has its own copy
        return uvloop.run(_serve(config, seeds, add_seeds, app, dependencies, addresses, end, on_ready, reread))
    finally:
        stop_front(front, end)


async def _serve(
    config: Config,
    seeds: list[Seed],
    add_seeds: bool,
    app: App,
    dependencies: Dependencies,
    addresses: Addresses,
    end: socket.socket,
    on_ready: Callable[[Addresses, Path], None],
    reread: Callable[[], Config],
) -> int:
    stored = read_overrides(CrawlLocation.of(config))
    stream = EventStream()
    async with session(stored.apply_limits(config), seeds, add_seeds, stream, may_be_empty=True) as opened:
        overrides = replace(stored, hosts=opened.crawl.hosts.overrides)  # which the crawl has read too, and obeys
        link = await Link.connect(end.dup())
        return await _run(opened, config, overrides, stream, app, dependencies, addresses, link, on_ready, reread)


async def _run(
    opened: Session,
    config: Config,
    overrides: Overrides,
    stream: EventStream,
    app: App,
    dependencies: Dependencies,
    addresses: Addresses,
    link: Link,
    on_ready: Callable[[Addresses, Path], None],
    reread: Callable[[], Config],
) -> int:
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    crawl = opened.crawl
    crawl.engine.keep_open()
    crawl.store.patience, crawl.store.outlasts_full_disk = STORE_PATIENCE, True
    policy = policy_for(config.service, token_in(crawl.directory.token))
    control = Control(opened, config, overrides, patience=COMMIT_PATIENCE)
    stream.open(crawl.engine.events, opened.watch.snapshot, lambda: crawl.store.commits, make_probes(opened, config))
    stream.update(opened.watch.snapshot())
    queries = ReadQueries(CrawlLocation.of(config), crawl.clock)
    loop = asyncio.get_running_loop()
    interrupts = Interrupts(crawl)

    def stop_soon() -> None:
        loop.call_soon(interrupts.on_signal)  # after the response has been sent

    live = LiveCrawl(control, stream, crawl.engine)
    dependencies.crawl, dependencies.control, dependencies.stream, dependencies.stop = live, control, stream, stop_soon
    dependencies.queries, dependencies.metrics = queries, Metrics(lambda: stream.latest)
    bridge = CrawlBridge(app, live, link)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupts.on_signal, number)
    reloads: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

    def on_hangup() -> None:
        reloads.add(task := loop.create_task(_reload(control, reread, opened.log)))
        task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGHUP, on_hangup)
    ready = asyncio.create_task(bridge.ready.wait())
    try:
        running = asyncio.create_task(interrupts.run())
        serving = asyncio.create_task(bridge.serve(policy))
        await asyncio.wait([ready, serving], return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            opened.log.event("service.started", address=addresses.service)
            on_ready(addresses, crawl.directory.path)
        await asyncio.wait([running, serving], return_when=asyncio.FIRST_COMPLETED)
        is_lost = serving.done() and not running.done()
        if is_lost:
            opened.log.event("service.lost")
        stream.close()
        bridge.close()
        if not running.done():
            crawl.engine.stop()
        await serving
        await running
        opened.log.event("service.ended")
    finally:
        ready.cancel()
        queries.close()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    return 1 if is_lost else 0


async def _reload(control: Control, reread: Callable[[], Config], log: EventLog) -> None:
    """Handle SIGHUP. An invalid configuration changes nothing, and the reason is logged."""
    try:
        await control.reload(reread())
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    except Unavailable:
        log.event("rules.refused", error="the store is unavailable")
    else:
        log.event("rules.changed")


def make_probes(opened: Session, config: Config) -> LiveProbes:
    """Probes for the details that `/events` sends in addition to the snapshot."""
    frontier = config.frontier
    return LiveProbes(
        rests=opened.crawl.frontier.politeness_heap.histogram,
        shares=lambda load: frontier.shares_under_load if load == "high" else frontier.shares,
    )


def read_overrides(location: CrawlLocation) -> Overrides:
    """The overrides stored with the crawl; none where there is no crawl yet."""
    if not crawl_exists(location):
        return Overrides()
    with closing(open_part(location)) as reader:
        return Overrides.from_text(reader.status.fact(OVERRIDES_KEY))


def policy_for(section: ServiceSection, token: str) -> Policy:
    on_loopback = is_loopback(section.host)
    return Policy(
        token=token,
        names=allowed_names(section.host, section.names),
        on_loopback=on_loopback,
        https=section.https,
        max_body_bytes=section.max_body_bytes,
        request_timeout=REQUEST_TIMEOUT,
        max_requests=MAX_REQUESTS,
    )


_HERE = frozenset({"0.0.0.0", "127.0.0.1", "[::]", "[::1]"})


def dashboard_url(address: str) -> str:
    """The URL to open in a browser on this machine, given the URL of the address that the service is bound to."""
    host, _, port = address.removeprefix("http://").removesuffix("/").rpartition(":")
    return f"http://{'localhost' if host in _HERE else host}:{port}/"


def is_loopback(host: str) -> bool:
    """Whether a socket bound to `host` is reachable only from this machine. Of names, only localhost counts as such."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
