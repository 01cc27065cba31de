"""Runs a crawl from start to end, with SIGINT, SIGTERM and SIGHUP."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import uvloop

from gossamer.config.load import Config
from gossamer.config.overrides import Overrides
from gossamer.crawl.member.worker import Worker
from gossamer.crawl.run.crawl import Crawl
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.session import Display, session
from gossamer.crawl.steering.settings import read_settings, stored_config
from gossamer.crawl.steering.steering import Steering
from gossamer.crawl.visit.host_context import PAUSED_LOOK
from gossamer.errors import NameInUse, StoreFailed, UsageError, WorkerEnded
from gossamer.observe.formatter import printable
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import Seed

GRACE_SECONDS = 8.0  # after the first Ctrl-C; visits still in flight then are dropped and stay queued


def run_crawl(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    display: Display,
    reread: Callable[[], Config] | None = None,
) -> tuple[int, Snapshot]:
    """Run a crawl to its end. Returns the exit status and the last snapshot. Raises GossamerError.

    `reread` reads the configuration again; on SIGHUP its scope rules are applied.
    """
    given, worker = list(seeds), Worker()
    while True:
        try:
            return uvloop.run(_run(config, given, add_seeds, display, reread, worker))
        except NameInUse:
            raise
        except WorkerEnded:  # of a crawl that workers share: join it again, by the rules of now
            config, given, worker = stored_config(config), [], Worker(joins=True)


def run_worker(config: Config, worker: Worker, *, display: Display) -> tuple[int, Snapshot]:
    """Take part in a crawl that workers share, until it ends or a signal comes. A worker that was declared dead joins
    again. Returns the exit status and the last snapshot. Raises GossamerError."""
    while True:
        try:
            return uvloop.run(_run(config, [], False, display, None, worker))
        except NameInUse:
            raise
        except WorkerEnded:
            config = stored_config(config)


async def _run(
    config: Config,
    seeds: list[Seed],
    add_seeds: bool,
    display: Display,
    reread: Callable[[], Config] | None,
    worker: Worker,
) -> tuple[int, Snapshot]:
    loop = asyncio.get_running_loop()
    tell = (lambda _: None) if config.quiet else _print_notice
    version, stored = read_settings(CrawlLocation.of(config)) if worker.joins else (-1, Overrides())
    try:
        async with session(
            stored.apply_limits(config), seeds, add_seeds, display, may_be_empty=worker.joins, worker=worker, tell=tell
        ) as opened:
            # Objects made from here on are either short-lived or cached for long: collecting often would be a waste.
            gc.freeze()
            gc.set_threshold(50_000, 20, 50)
            interrupts = Interrupts(opened.crawl)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupts.on_signal, number)
            crawl, log = opened.crawl, opened.log
            jobs = {asyncio.create_task(_stop_when_all_paused(crawl, log, config.frontier.max_hosts))}
            if crawl.member is not None:
                overrides = replace(stored, hosts=crawl.hosts.overrides)
                steering = Steering(opened, config, overrides, version, interrupts.on_signal, is_served=False)
                jobs.add(loop.create_task(steer(steering, crawl)))
                if reread is not None:
                    changing = partial(_reload, steering, reread, log)
                    loop.add_signal_handler(signal.SIGHUP, lambda: jobs.add(loop.create_task(changing())))
            elif reread is not None:
                loop.add_signal_handler(signal.SIGHUP, _change_rules, crawl, reread, log)
            try:
                await interrupts.run()
            finally:
                for job in jobs:
                    job.cancel()
                await asyncio.gather(*jobs, return_exceptions=True)
            last = opened.watch.last_snapshot()
    finally:
        # Not before: another Ctrl-C must not interrupt the cleanup.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    return interrupts.exit_status, last


def _print_notice(text: str) -> None:
    print(f"gossamer: {printable(text)}", file=sys.stderr)


async def steer(steering: Steering, crawl: Crawl) -> None:
    """Apply what comes. What ends this ends the crawl."""
    try:
        await steering.run()
    except Exception as error:
        crawl.engine.fail(error)


async def _reload(steering: Steering, reread: Callable[[], Config], log: EventLog) -> None:
    """Have all workers apply a changed configuration after SIGHUP. An invalid one changes nothing; the log says why."""
    try:
        await steering.reload(reread())
    except (UsageError, StoreFailed) as error:
        log.event("rules.refused", error=str(error))
    else:
        log.event("rules.changed")


def _change_rules(crawl: Crawl, reread: Callable[[], Config], log: EventLog) -> None:
    """The same for a crawl by one worker."""
    try:
        config = reread()
        crawl.change_rules(config)
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    else:
        crawl.change_page_limit(config.max_pages)
        log.event("rules.changed")


async def _stop_when_all_paused(crawl: Crawl, log: EventLog, max_hosts: int) -> None:
    """End the crawl when only hosts are left that were paused through the service: without the service they cannot be
    resumed."""
    times = 0
    while crawl.hosts.overrides.paused and times < 2:
        await asyncio.sleep(PAUSED_LOOK)
        times = times + 1 if _only_paused_left(crawl, max_hosts) else 0
    if times:
        log.event("crawl.left_paused", hosts=crawl.host_contexts.count_held(crawl.clock.now()))
        crawl.engine.stop("paused_hosts")


def _only_paused_left(crawl: Crawl, max_hosts: int) -> bool:
    frontier = crawl.frontier.statistics()
    if frontier.out or frontier.parked or frontier.next_due is not None or not crawl.store.is_idle:
        return False
    # With the maximum number of hosts in memory there may be others that the frontier does not know.
    return 0 < frontier.hosts < max_hosts and frontier.hosts == crawl.host_contexts.count_held(crawl.clock.now())


def interrupted_status(number: signal.Signals | None) -> int:
    """The exit status after a clean stop because of a signal, as shells report it."""
    return 0 if number is None else 128 + number


class Interrupts:
    """Runs a crawl that Ctrl-C ends: the first finishes the visits in flight and waits until all captures are in object
    storage, the second stops at once. Neither loses anything."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.count = 0
        self._first: signal.Signals | None = None
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run the crawl to its end, whether by itself or by a signal. Raises what the engine raises."""
        self._running = asyncio.create_task(self._crawl.engine.run())
        try:
            await self._running
        except asyncio.CancelledError:
            if not self.count:
                raise
        if self.count < 2:
            await self._crawl.until_delivered(may_leave=lambda: self.count > 1)

    @property
    def cut_off(self) -> bool:
        """Whether visits in flight were dropped."""
        return self._running is not None and self._running.cancelled()

    @property
    def exit_status(self) -> int:
        """0, or that of a process that the first signal has ended: 130 for SIGINT, 143 for SIGTERM."""
        return interrupted_status(self._first)

    def on_signal(self, number: signal.Signals | None = None) -> None:
        """A signal, or without a number a request to the same effect."""
        self.count += 1
        if self.count == 1:
            self._first = number
            self._crawl.engine.stop("requested" if number is None else "interrupted")
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self._cancel)
        else:
            self._cancel()

    def _cancel(self) -> None:
        if self._running is not None and not self._running.done():
            self._running.cancel()
