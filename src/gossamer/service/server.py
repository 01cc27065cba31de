"""Starts the service: the front process with the API, and the crawl, which takes its orders from the store."""

import asyncio
import gc
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import uvloop

from gossamer.config.load import Config
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.private_server import server_kept
from gossamer.crawl.run.private_store import SharedStore
from gossamer.crawl.run.session import Session, session
from gossamer.crawl.run.signals import Interrupts
from gossamer.crawl.steering.settings import read_settings
from gossamer.crawl.steering.steering import Steering
from gossamer.errors import UsageError
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import Seed
from gossamer.service.access import token_in
from gossamer.service.front_process import READY, Front, Listening, fork_front
from gossamer.service.http_server import listen

STORE_PATIENCE = 3600.0
"""Seconds for which a failing store (or a full disk) is retried before the crawl stops."""


class Addresses(NamedTuple):
    """The URLs of the addresses that the service is bound to."""

    service: str
    metrics: str | None


def _url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def open_sockets(config: Config) -> tuple[Listening, Addresses]:
    """The sockets that a configuration names. Raises UsageError for an address that cannot be used."""
    metrics = config.service.metrics_address
    service = listen(config.service.host, config.service.port)
    listening = Listening(service, None if metrics is None else listen(*metrics))
    return listening, Addresses(_url_of(service), None if listening.metrics is None else _url_of(listening.metrics))


def serve(
    store: SharedStore,
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
    config = store.config
    listening, addresses = open_sockets(config)
    front = fork_front(listening, config, reread)
    try:
        for each in listening.opened:
            each.close()  # the front process has its own copy
        return uvloop.run(_serve(store, seeds, add_seeds, front, addresses, on_ready, reread))
    finally:
        front.wait()


class NoDisplay:
    """The dashboard shows what the crawl publishes."""

    def update(self, snapshot: Snapshot) -> None: ...

    def close(self) -> None: ...


async def _serve(
    store: SharedStore,
    seeds: list[Seed],
    add_seeds: bool,
    front: Front,
    addresses: Addresses,
    on_ready: Callable[[Addresses, Path], None],
    reread: Callable[[], Config],
) -> int:
    config = store.config
    version, stored = read_settings(CrawlLocation.of(config))
    async with session(stored.apply_limits(config), seeds, add_seeds, NoDisplay(), may_be_empty=True) as opened:
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        crawl = opened.crawl
        crawl.engine.keep_open()
        crawl.store.patience, crawl.store.outlasts_full_disk = STORE_PATIENCE, True
        token_in(crawl.directory.token)  # creates it, or says what is wrong with it
        overrides = replace(stored, hosts=crawl.hosts.overrides)  # which the crawl has read too, and obeys
        loop = asyncio.get_running_loop()
        interrupts = Interrupts(crawl)
        steering = Steering(opened, config, overrides, version, interrupts.on_signal)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupts.on_signal, number)
        reloads: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

        def on_hangup() -> None:
            reloads.add(task := loop.create_task(_reload(steering, reread, opened.log, front)))
            task.add_done_callback(reloads.discard)

        loop.add_signal_handler(signal.SIGHUP, on_hangup)
        try:
            async with server_kept(store, opened.log):
                return await _run(
                    opened, interrupts, steering, front, lambda: on_ready(addresses, crawl.directory.path), addresses
                )
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)


async def _run(
    opened: Session,
    interrupts: Interrupts,
    steering: Steering,
    front: Front,
    on_ready: Callable[[], None],
    addresses: Addresses,
) -> int:
    loop = asyncio.get_running_loop()
    front.end.setblocking(False)

    async def attend() -> None:
        """Until the front process is gone."""
        if await loop.sock_recv(front.end, 1) == READY:
            opened.log.event("service.started", address=addresses.service)
            on_ready()
            await loop.sock_recv(front.end, 1)

    running = asyncio.create_task(interrupts.run())
    steered = asyncio.create_task(steering.run())
    attending = asyncio.create_task(attend())
    try:
        await asyncio.wait([running, steered, attending], return_when=asyncio.FIRST_COMPLETED)
        is_lost = attending.done() and not running.done()
        if is_lost:
            opened.log.event("service.lost")
        front.close()
        if not running.done():
            opened.crawl.engine.stop()
        await attending
        await running
        if steered.done():
            steered.result()  # raises what it has ended with
        opened.log.event("service.ended")
    finally:
        steered.cancel()
        await asyncio.gather(steered, return_exceptions=True)
    return 1 if is_lost else 0


async def _reload(steering: Steering, reread: Callable[[], Config], log: EventLog, front: Front) -> None:
    """Handle SIGHUP. An invalid configuration changes nothing, and the reason is logged."""
    try:
        await steering.reload(reread())
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    else:
        front.reload()
        log.event("rules.changed")


_HERE = frozenset({"0.0.0.0", "127.0.0.1", "[::]", "[::1]"})


def dashboard_url(address: str) -> str:
    """The URL to open in a browser on this machine, given the URL of the address that the service is bound to."""
    host, _, port = address.removeprefix("http://").removesuffix("/").rpartition(":")
    return f"http://{'localhost' if host in _HERE else host}:{port}/"
