"""Runs several workers of a crawl on this machine, where its store is one that workers share.

Each is a process `gossamer worker`. Those that die are started again; all end together.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from gossamer.clock import SteadyClock
from gossamer.config.load import Config
from gossamer.crawl.run.assemble import assemble
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.member import Worker
from gossamer.crawl.run.opener import CrawlLocation, live_status, open_crawl, open_session
from gossamer.crawl.run.session import Display
from gossamer.crawl.run.signals import interrupted_status
from gossamer.errors import GossamerError
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot, StopReason, decode_statuses
from gossamer.seed.lists import Seed
from gossamer.workers.hub import merge_snapshots
from gossamer.workers.supervisor import FIRST_PAUSE, LIVES, LONGEST_PAUSE, LOOK_SECONDS, MAX_RESTARTS, PATIENCE

_TOTALS = (
    *("pages", "fetched", "bytes", "discovered", "queued", "duplicates", "near_duplicates", "sitemaps", "sitemap_urls"),
    *("refreshed", "not_modified", "unchanged", "changed", "reported", "dead", "statuses", "errors", "excluded"),
    "robots_fetched",
)
"""Totals of the whole crawl that the store has under the same names ..."""
_WHOLE = (*_TOTALS, "missing", "gone", "redirects", "hosts_known")
"""... and all that every worker knows: taken from the newest snapshot, not added up."""


def run_local_workers(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    display: Display,
    reread: Callable[[], Config] | None = None,
) -> tuple[int, Snapshot]:
    """Run a crawl with `config.workers` workers to its end, as `crawl.run.signals.run_crawl` does with one."""
    uvloop.run(_create(config, list(seeds), add_seeds))
    directory = CrawlDirectory(Path(config.dir), archive=False)
    try:
        return uvloop.run(LocalWorkers(config, display, directory).run())
    finally:
        directory.close()


async def _create(config: Config, seeds: list[Seed], add_seeds: bool) -> None:
    """Create or open the crawl, commit its seeds, and begin a run; as a worker that gets no partitions."""
    starter = Worker("starter", weight=1e-6)
    crawl = assemble(msgspec.structs.replace(config, workers=1), seeds, add_seeds=add_seeds, worker=starter)
    await crawl.close()


class LocalWorkers:
    """Owns the processes. What they crawl is theirs."""

    def __init__(self, config: Config, display: Display, directory: CrawlDirectory) -> None:
        self._config = config
        self._display = display
        self._clock = SteadyClock()
        self._began = self._clock.monotonic()
        self._location = CrawlLocation.of(config)
        self._live = live_status(self._location)
        self._log = EventLog(directory.log, self._clock, rotate_bytes=config.log.rotate_bytes, keep=config.log.keep)
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._last = Snapshot(at=self._clock.now())
        self._first_pages: int | None = None
        self._error: GossamerError | None = None
        self._interrupted: signal.Signals | None = None
        self._stopping = False

    async def run(self) -> tuple[int, Snapshot]:
        """Run until every worker has ended. Raises the error that ended one of them."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, number)
        self._first_pages = self._totals().pages
        self._log.event("workers.started", workers=self._config.workers)
        showing = asyncio.create_task(self._update_display())
        keeping = [asyncio.create_task(self._keep_alive(number)) for number in range(1, self._config.workers + 1)]
        try:
            await asyncio.gather(*keeping)
        finally:
            for task in (showing, *keeping):
                task.cancel()
            await asyncio.gather(showing, *keeping, return_exceptions=True)
            self._kill_all()
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
            self._live.close()
            last = self._totals()
            self._log.event("workers.ended", pages=last.pages, queued=last.queued, finished=last.finished)
            self._log.close()
        if self._error is not None:
            raise self._error
        self._display.update(last)
        self._display.close()
        return interrupted_status(self._interrupted), last

    async def _keep_alive(self, number: int) -> None:
        """Start one worker again until it has ended on purpose."""
        pause, deaths = FIRST_PAUSE, 0
        while not self._stopping:
            began = self._clock.monotonic()
            code = await self._run_worker(number)
            if code == 0 or self._stopping:
                return
            lived = self._clock.monotonic() - began
            if lived >= LIVES:
                pause, deaths = FIRST_PAUSE, 0
            deaths += 1
            self._log.event("worker.lost", worker=number, status=code, lived_s=round(lived, 3), pause_s=pause)
            if deaths > MAX_RESTARTS:
                self._error = GossamerError(f"worker {number} died {deaths} times, last with status {code}")
                self._stop()
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run_worker(self, number: int) -> int:
        """Run one worker process. Returns its exit status."""
        config = self._config
        unsafe = ("--unsafe-store",) if config.unsafe_store else ()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer", "worker", "--quiet", "--store", str(config.store), *unsafe),
            *("--dir", config.dir, "--name", f"worker-{number}"),
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to this process, which stops them
        )
        self._processes[number] = process
        self._log.event("worker.started", worker=number, process=process.pid)
        if self._stopping:
            process.terminate()
        try:
            return await process.wait()
        finally:
            del self._processes[number]

    # --- the end -------------------------------------------------------------------------------------

    def _interrupt(self, number: signal.Signals) -> None:
        self._interrupted = self._interrupted or number
        self._stop()

    def _stop(self) -> None:
        """Workers finish what is in flight; called again, they drop it."""
        if not self._stopping:
            self._stopping = True
            asyncio.get_running_loop().call_later(PATIENCE, self._kill_all)
        for process in self._processes.values():
            process.terminate()

    def _kill_all(self) -> None:
        """Kill workers that have not ended. Nothing committed is lost."""
        for number, process in self._processes.items():
            self._log.event("worker.killed", worker=number, process=process.pid)
            process.kill()

    # --- what is seen of it ----------------------------------------------------------------------------

    async def _update_display(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            texts = await asyncio.to_thread(self._live.read)
            if snapshots := decode_statuses(texts):
                newest = max(snapshots, key=lambda snapshot: snapshot.at)
                joined = merge_snapshots(snapshots, finished=False)
                self._last = replace(joined, **{name: getattr(newest, name) for name in _WHOLE})
                self._display.update(replace(self._last, elapsed=self._clock.monotonic() - self._began))

    def _totals(self) -> Snapshot:
        """The last snapshot, with the totals in the store."""
        with open_crawl(self._location) as crawl:
            found = crawl.reader.status.totals()
        state = self._state()
        totals: dict[str, Any] = {name: found[name] for name in _TOTALS}
        states: Any = found["states"]
        hosts: Any = found["hosts"]
        pages: Any = found["pages"]
        stopped: StopReason | None = "failed" if self._error is not None else None
        if stopped is None and self._interrupted is not None:
            stopped = "interrupted"
        elif stopped is None:
            stopped = "page_limit" if state == "page_limit" else "finished" if state == "finished" else None
        return replace(
            self._last,
            **totals,
            at=self._clock.now(),
            elapsed=self._clock.monotonic() - self._began,
            run_pages=max(0, pages - (self._first_pages or 0)),
            missing=states.get("missing", 0),
            gone=states.get("gone", 0),
            redirects=states.get("redirect", 0),
            hosts_known=hosts,
            in_flight=0,
            finished=stopped == "finished",
            stopped=stopped,
        )

    def _state(self) -> str:
        """In which state the crawl is, by decision of its workers."""
        with closing(open_session(self._location)) as session:
            return str((session.fetch_one("crawl_now") or ("running",))[0])
