"""Runs several workers of a crawl on this machine, where its store is one that workers share.

Each is a process `gossamer worker`. Those that die are started again; all end together, also if this process is killed.
A private server that has ended is started again as well.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import uvloop

from gossamer.clock import SteadyClock
from gossamer.config.load import Config
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.member.worker import STARTER, Worker
from gossamer.crawl.run.assemble import assemble
from gossamer.crawl.run.daemon_thread import call_in_daemon
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import live_status, open_crawl, open_session
from gossamer.crawl.run.private_server import server_kept
from gossamer.crawl.run.private_store import SharedStore
from gossamer.crawl.run.session import Display, open_page_log
from gossamer.crawl.run.signals import GRACE_SECONDS, interrupted_status
from gossamer.crawl.status import count_seeds
from gossamer.errors import GossamerError, ServerHangs, UsageError
from gossamer.observe.log import EventLog, Scalar
from gossamer.observe.merged_snapshot import RunSnapshots
from gossamer.observe.snapshot import Snapshot, StopReason, decode_live
from gossamer.seed.lists import Seed
from gossamer.workers.worker_process import CANNOT_START, Ended, WorkerProcess

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before a worker that died is restarted; doubled each time until it has run for `LIVES` seconds."""
MAX_RESTARTS = 8
"""In a row. A worker that dies this often is given up."""
LIVES = 60.0
"""Seconds after which a worker counts as running."""
LOOK_SECONDS = 0.25
PATIENCE = GRACE_SECONDS + 22.0
"""Seconds for a worker to end after a stop; its last commit may take a while."""
SILENT = 5.0
"""Seconds without an answer after which the store is said not to answer."""
_TOTALS = (
    *("pages", "fetched", "bytes", "discovered", "queued", "duplicates", "near_duplicates", "sitemaps", "sitemap_urls"),
    *("refreshed", "not_modified", "unchanged", "changed", "reported", "dead", "statuses", "errors", "excluded"),
    "robots_fetched",
)
"""Totals of the whole crawl that the store has under the same names."""


def run_local_workers(
    store: SharedStore,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    display: Display,
    reread: Callable[[], Config] | None = None,
) -> tuple[int, Snapshot]:
    """Run a crawl with as many workers as its configuration says to its end, as `crawl.run.signals.run_crawl` does with
    one. On SIGHUP all workers are started again, with the configuration that `reread` returns."""
    given, workers = list(seeds), LocalWorkers(store, display, reread)
    while True:
        admission = uvloop.run(_create(workers.config, given, add_seeds))
        directory = CrawlDirectory(Path(workers.config.dir), archive=False)
        try:
            code, last = uvloop.run(workers.run(directory, admission))
        finally:
            directory.close()
        if not workers.is_changed:
            return code, last


def join_with_local_workers(config: Config, worker: Worker, number: int, display: Display) -> tuple[int, Snapshot]:
    """Have this number of workers join a crawl: NAME-1, NAME-2 and so on. `config` and `worker`: as of one, NAME.
    Returns the exit status and the last snapshot, once all have ended."""
    assert worker.name is not None
    folder = Path(config.dir)
    store = SharedStore(msgspec.structs.replace(config, dir=str(folder.parent), workers=number))
    workers = LocalWorkers(store, display, name=worker.name, options=("--weight", str(worker.weight)))
    directory = CrawlDirectory(folder, archive=False)
    try:
        return uvloop.run(workers.run(directory, None))
    finally:
        directory.close()


async def _create(config: Config, seeds: list[Seed], add_seeds: bool) -> Admission:
    """Create or open the crawl, commit its seeds, and begin a run; as a worker that gets no partitions. Returns what
    identifies URLs."""
    if (pages := open_page_log(config)) is not None:
        pages.close()  # it can be opened: workers will
    # A command has seeds or a crawl; a service may begin without.
    crawl = assemble(config, seeds, add_seeds=add_seeds, may_be_empty=True, worker=STARTER)
    await crawl.close()
    return crawl.admission


class LocalWorkers:
    """Owns the processes. What they crawl is theirs."""

    def __init__(
        self,
        store: SharedStore,
        display: Display,
        reread: Callable[[], Config] | None = None,
        *,
        name: str = "worker",
        options: Sequence[str] = (),
    ) -> None:
        """The workers are NAME-1, NAME-2 and so on; `options` are those of `gossamer worker`."""
        self.config = store.config
        self._name, self._options = name, options
        self.is_changed = False
        """Whether the workers have ended because the configuration is another one."""
        self._store = store
        self._reread = reread
        self._display = display
        self._clock = SteadyClock()
        self._began = self._clock.monotonic()
        self._location = CrawlLocation.of(self.config)
        self._log: EventLog | None = None
        self._processes: dict[int, WorkerProcess] = {}
        self._last = Snapshot(at=self._clock.now())
        self._snapshots = RunSnapshots()
        self._error: GossamerError | None = None
        self._interrupted: signal.Signals | None = None
        self._stopping = False
        self._answered = self._began
        """When the store has answered last."""
        self._abandoned = False

    async def run(self, directory: CrawlDirectory, admission: Admission | None) -> tuple[int, Snapshot]:
        """Run until every worker has ended. Raises the error that ended one of them, or ServerHangs."""
        loop, log = asyncio.get_running_loop(), self.config.log
        self._log = EventLog(directory.log, self._clock, rotate_bytes=log.rotate_bytes, keep=log.keep)
        self._stopping = self.is_changed = False
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, number)
        if self._reread is not None:
            loop.add_signal_handler(signal.SIGHUP, self._reload)
        self._theirs, ours = os.pipe()
        self._answered = self._clock.monotonic()
        showing = asyncio.create_task(self._update_display())
        self._working = asyncio.create_task(self._work(admission))
        try:
            last = await self._working
        except asyncio.CancelledError:
            if not self._abandoned:
                raise
            raise ServerHangs(
                "the store does not answer, so this crawl ends without a report; nothing that was committed is lost"
            ) from None
        finally:
            showing.cancel()
            await asyncio.wait({showing})
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            os.close(self._theirs)
            os.close(ours)
            self._log.close()
        if self._error is not None:
            raise self._error
        if self.is_changed:
            return 0, last
        self._display.update(last)
        self._display.close()
        return interrupted_status(self._interrupted), last

    async def _work(self, admission: Admission | None) -> Snapshot:
        """Keep the workers alive until they end. Returns the last snapshot."""
        assert self._log is not None
        first = await call_in_daemon(self._totals)
        self._snapshots.begin(first.pages)
        self._event("workers.started", workers=self.config.workers)
        keeping = [asyncio.create_task(self._keep_alive(number)) for number in range(1, self.config.workers + 1)]
        try:
            async with server_kept(self._store, self._log):
                await asyncio.gather(*keeping)
        finally:
            for task in keeping:
                task.cancel()
            await asyncio.wait(keeping)
            self._kill_all()
        if self._store.restart is not None:
            await call_in_daemon(self._store.restart)
        last = await call_in_daemon(lambda: self._totals(admission))
        self._event("workers.ended", pages=last.pages, queued=last.queued, finished=last.finished)
        return last

    async def _keep_alive(self, number: int) -> None:
        """Start one worker again until it has ended on purpose."""
        pause, deaths = FIRST_PAUSE, 0
        while not self._stopping:
            began = self._clock.monotonic()
            ended = await self._run_worker(number)
            if ended.status == 0 or self._stopping:
                return
            lived = self._clock.monotonic() - began
            if lived >= LIVES:
                pause, deaths = FIRST_PAUSE, 0
            deaths += 1
            self._event(
                "worker.lost",
                worker=number,
                status=ended.status,
                lived_s=round(lived, 3),
                pause_s=pause,
                error=ended.error,
            )
            if ended.status == CANNOT_START:
                self._give_up(f"worker {number} cannot start: {ended.error}")
            elif deaths > MAX_RESTARTS:
                why = f": {ended.error}" if ended.error else ""
                self._give_up(f"worker {number} died {deaths} times, last with status {ended.status}{why}")
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _give_up(self, why: str) -> None:
        self._error = self._error or GossamerError(why)
        self._stop()

    async def _run_worker(self, number: int) -> Ended:
        """Run one worker process to its end."""
        process = await WorkerProcess.start(self.config, f"{self._name}-{number}", self._options, self._theirs)
        self._processes[number] = process
        self._event("worker.started", worker=number, process=process.pid)
        if self._stopping:
            process.terminate()
        try:
            return await process.wait()
        finally:
            del self._processes[number]

    # --- the end -------------------------------------------------------------------------------------

    def _reload(self) -> None:
        """SIGHUP. An invalid configuration changes nothing; the log says why."""
        assert self._reread is not None
        try:
            changed = self._reread()
        except UsageError as error:
            self._event("rules.refused", error=str(error))
            return
        if not self._stopping:
            self.config = msgspec.structs.replace(changed, store=self.config.store, workers=self.config.workers)
            self.is_changed = True
            self._event("rules.changed")
            self._stop()

    def _interrupt(self, number: signal.Signals) -> None:
        self.is_changed = False
        again = self._interrupted is not None
        self._interrupted = self._interrupted or number
        self._stop()
        if again and self._is_store_silent:
            self._abandoned = True
            self._kill_all()
            self._working.cancel()

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
            self._event("worker.killed", worker=number, process=process.pid)
            process.kill()

    # --- what is seen of it ----------------------------------------------------------------------------

    def _event(self, event: str, **about: Scalar) -> None:
        assert self._log is not None, "runs"
        self._log.event(event, **about)

    @property
    def _is_store_silent(self) -> bool:
        return self._clock.monotonic() - self._answered >= SILENT

    async def _update_display(self) -> None:
        """The clock goes on also while the store does not answer."""
        live = live_status(self._location)
        reading: asyncio.Future[list[bytes]] | None = None
        try:
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                reading = reading or call_in_daemon(live.read)
                if reading.done():
                    # Without an answer the list is empty, as it is before the first worker has said something.
                    if statuses := decode_live(reading.result()):
                        self._last = self._snapshots.merge(statuses)
                    reading, self._answered = None, self._clock.monotonic()
                waiting_for = "the store, which does not answer" if self._is_store_silent else self._last.waiting_for
                elapsed = self._clock.monotonic() - self._began
                self._display.update(
                    replace(
                        self._last,
                        at=self._clock.now(),
                        elapsed=elapsed,
                        waiting_for=waiting_for,
                        workers_running=len(self._processes),
                        workers_wanted=self.config.workers,
                    )
                )
        finally:
            if reading is None or reading.done():
                live.close()  # otherwise a thread uses it

    def _totals(self, admission: Admission | None = None) -> Snapshot:
        """The last snapshot, with the totals in the store; at the end of a run also what became of the seeds."""
        with open_crawl(self._location) as crawl:
            status = crawl.reader.status
            found, next_missing = status.totals(), status.waits(self._clock.now()).next_missing
            seeds = None if admission is None else count_seeds(status, admission)
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
            run_pages=self._snapshots.run_pages(pages),
            missing=states.get("missing", 0),
            gone=states.get("gone", 0),
            redirects=states.get("redirect", 0),
            hosts_known=hosts,
            in_flight=0,
            seeds=seeds,
            next_missing=next_missing,
            finished=stopped == "finished",
            stopped=stopped,
        )

    def _state(self) -> str:
        """The state of the crawl, by decision of its workers."""
        with closing(open_session(self._location)) as session:
            return str((session.fetch_one("crawl_now") or ("running",))[0])
