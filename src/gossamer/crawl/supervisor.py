"""A crawl from start to end under the signals of a terminal."""

import asyncio
import gc
import signal
from collections.abc import Callable, Iterable

import uvloop

from gossamer.assemble import Crawl
from gossamer.config import Config
from gossamer.crawl.session import Display, session
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
            running = asyncio.create_task(opened.crawl.pipeline.run())
            interrupts.running = running
            try:
                await running
            except asyncio.CancelledError:
                if not interrupts.count:
                    raise
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


class Interrupts:
    """Ctrl-C: the first finishes what is in flight, the second stops at once. Both lose nothing."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.count = 0
        self.running: asyncio.Task[None] | None = None

    def received(self) -> None:
        self.count += 1
        if self.count == 1:
            self._crawl.pipeline.stop()
            asyncio.get_running_loop().call_later(GRACE_SECONDS, self._enough)
        else:
            self._enough()

    def _enough(self) -> None:
        if self.running is not None and not self.running.done():
            self.running.cancel()
