"""A crawl from start to end under the signals of a terminal."""

import asyncio
import gc
import signal
from collections.abc import Callable, Iterable

import uvloop

from gossamer.config.load import Config
from gossamer.crawl.run.assemble import Crawl
from gossamer.crawl.run.session import Display, session
from gossamer.crawl.visit.host_settings import PAUSED_LOOK
from gossamer.errors import UsageError
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import Seed

INTERRUPTED = 130
GRACE_SECONDS = 8.0  # after the first Ctrl-C; what is still in flight then is dropped, and due again


def run_crawl(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    display: Display,
    reread: Callable[[], Config] | None = None,
) -> tuple[int, Snapshot]:
    """Run a crawl to its end. Returns the exit status and the last snapshot. Raises GossamerError.

    `reread` gives the configuration as it stands now; on SIGHUP the rules of entry are taken from it.
    """
    return uvloop.run(_run(config, list(seeds), add_seeds, display, reread))


async def _run(
    config: Config, seeds: list[Seed], add_seeds: bool, display: Display, reread: Callable[[], Config] | None
) -> tuple[int, Snapshot]:
    loop = asyncio.get_running_loop()
    try:
        async with session(config, seeds, add_seeds, display) as opened:
            # What lives from here on is young or cached for long; looking through all of it often would be waste.
            gc.freeze()
            gc.set_threshold(50_000, 20, 50)
            interrupts = Interrupts(opened.crawl)
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, interrupts.received)
            if reread is not None:
                loop.add_signal_handler(signal.SIGHUP, _change_rules, opened.crawl, reread, opened.log)
            running = asyncio.create_task(opened.crawl.engine.run())
            interrupts.running = running
            leaving = asyncio.create_task(_leave_paused(opened.crawl, opened.log, config.frontier.max_hosts))
            try:
                await running
            except asyncio.CancelledError:
                if not interrupts.count:
                    raise
            finally:
                leaving.cancel()
            last = opened.watch.snapshot()
    finally:
        # Not before: whoever presses Ctrl-C once more must not keep us from giving everything back.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
    return (INTERRUPTED if interrupts.count else 0), last


def _change_rules(crawl: Crawl, reread: Callable[[], Config], log: EventLog) -> None:
    """SIGHUP. A configuration that cannot be used changes nothing; the log says why."""
    try:
        crawl.change_rules(reread())
    except UsageError as error:
        log.event("rules.refused", error=str(error))
    else:
        log.event("rules.changed")


async def _leave_paused(crawl: Crawl, log: EventLog, max_hosts: int) -> None:
    """End the crawl when all that is left are hosts that were paused through the service: nobody can resume them while
    it is not running, so there is nothing to wait for."""
    times = 0
    while crawl.controls.paused and times < 2:
        await asyncio.sleep(PAUSED_LOOK)
        times = times + 1 if _only_paused_left(crawl, max_hosts) else 0
    if times:
        log.event("crawl.left_paused", hosts=crawl.controls.held(crawl.clock.now()))
        crawl.engine.stop()


def _only_paused_left(crawl: Crawl, max_hosts: int) -> bool:
    frontier = crawl.frontier.statistics()
    if frontier.out or frontier.parked or frontier.next_due is not None or not crawl.store.is_idle:
        return False
    # With as many hosts in memory as there may be, there are others of which the frontier knows nothing.
    return 0 < frontier.hosts < max_hosts and frontier.hosts == crawl.controls.held(crawl.clock.now())


class Interrupts:
    """Ctrl-C: the first finishes what is in flight, the second stops at once. Both lose nothing."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.count = 0
        self.running: asyncio.Task[None] | None = None

    def received(self) -> None:
        self.count += 1
        if self.count == 1:
            self._crawl.engine.stop()
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self._enough)
        else:
            self._enough()

    def _enough(self) -> None:
        if self.running is not None and not self.running.done():
            self.running.cancel()
