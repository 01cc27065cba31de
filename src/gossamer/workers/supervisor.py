"""Starts the workers of a crawl, restarts those that die, and ends them together."""

import asyncio
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import msgspec
import uvloop

from gossamer.clock import Clock, SteadyClock, cpu_seconds
from gossamer.config.load import Config, shape_of
from gossamer.config.policies import politeness_for
from gossamer.crawl.run.directory import CrawlDirectory, part_directory, parts_were_made, settle_layout
from gossamer.crawl.run.opener import shown_store, store_kind
from gossamer.crawl.run.session import Display
from gossamer.crawl.run.signals import GRACE_SECONDS, interrupted_status
from gossamer.crawl.status import max_rss_bytes
from gossamer.errors import GossamerError, UsageError
from gossamer.frontier.politeness import after_unknown_outcome
from gossamer.ipc import Link
from gossamer.model.partition import PARTITIONS, WorkerShare
from gossamer.model.units import Instant, Seconds
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import Snapshot, StopReason
from gossamer.seed.lists import Seed
from gossamer.workers.hub import BEGIN, RULES, Begin, Hub, WorkerState, merge_snapshots
from gossamer.workers.shared_gates import SharedGates, make_table

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before a worker that died is restarted; doubled each time until it has run for `LIVES` seconds."""
MAX_RESTARTS = 8
"""In a row. A worker that dies this often is given up."""
LIVES = 60.0
"""Seconds after which a worker counts as running."""
LOOK_SECONDS = 0.25
PATIENCE = GRACE_SECONDS + 22.0
"""Seconds for a worker to end after a stop; its last commit may take a while."""


def run_workers(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    display: Display,
    reread: Callable[[], Config] | None = None,
) -> tuple[int, Snapshot]:
    """Run a crawl with several workers to its end, as `crawl.run.signals.run_crawl` does with a single process."""
    if config.workers > PARTITIONS:
        raise UsageError(f"--workers: at most {PARTITIONS}, not {config.workers}")
    if not store_kind(config.store).in_directory:
        raise UsageError(f"--store: {shown_store(config.store or '')} is for one process, not for {config.workers}")
    directory = CrawlDirectory(Path(config.dir), archive=False)
    try:
        key = settle_layout(directory.path, config.workers, shape_of(config), secrets.randbits(63))
        return uvloop.run(Supervisor(config, list(seeds), add_seeds, display, reread, directory, key).run())
    finally:
        directory.close()


class Supervisor:
    """Owns the worker processes. What they crawl is theirs."""

    def __init__(
        self,
        config: Config,
        seeds: list[Seed],
        add_seeds: bool,
        display: Display,
        reread: Callable[[], Config] | None,
        directory: CrawlDirectory,
        fingerprint_key: int | None,
    ) -> None:
        self._config = config
        self._seeds = seeds
        self._add_seeds = add_seeds
        self._display = display
        self._reread = reread
        self._directory = directory
        self._fingerprint_key = fingerprint_key
        self._clock: Clock = SteadyClock()
        self._cpu_before = cpu_seconds()
        self._table = make_table()
        self._gates = SharedGates(self._table, 0)
        self._hub = Hub(
            [WorkerState() for _ in range(config.workers)],
            config.max_pages,
            on_open=lambda: parts_were_made(directory.path),
            on_done=self._stop,
            on_failure=self._fail,
        )
        self._log = EventLog(directory.log, self._clock, rotate_bytes=config.log.rotate_bytes, keep=config.log.keep)
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._error: GossamerError | None = None
        self._stopping = False
        self._interrupted: signal.Signals | None = None

    async def run(self) -> tuple[int, Snapshot]:
        """Run until every worker has ended. Raises the error that ended one of them."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._interrupt, number)
        if self._reread is not None:
            loop.add_signal_handler(signal.SIGHUP, self._reload_config)
        self._log.event("workers.started", workers=self._config.workers, seeds=len(self._seeds))
        showing = asyncio.create_task(self._update_display())
        keeping = [asyncio.create_task(self._keep_alive(number)) for number in range(self._config.workers)]
        try:
            await asyncio.gather(*keeping)
        finally:
            for task in (showing, *keeping):
                task.cancel()
            await asyncio.gather(showing, *keeping, return_exceptions=True)
            self._kill_all()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
            self._gates.close()
            os.close(self._table)
            last = self._snapshot()
            self._log.event("workers.ended", pages=last.pages, queued=last.queued, finished=last.finished)
            self._log.close()
        if self._error is not None:
            raise self._error
        self._display.update(last)
        self._display.close()
        return interrupted_status(self._interrupted), last

    # --- processes -----------------------------------------------------------------------------------

    async def _keep_alive(self, number: int) -> None:
        """Restart one worker until it has ended on purpose."""
        pause, deaths, worker = FIRST_PAUSE, 0, self._hub.workers[number]
        while not worker.ended and self._error is None:
            began = self._clock.monotonic()
            code = await self._run_worker(number)
            if worker.ended or self._error is not None or self._stopping:
                return
            lived = self._clock.monotonic() - began
            if lived >= LIVES:
                pause, deaths = FIRST_PAUSE, 0
            deaths += 1
            self._log.event("worker.lost", worker=number + 1, status=code, lived_s=round(lived, 3), pause_s=pause)
            self._hub.on_death(number)
            self._gates.release_worker(number + 1, self._rested_at)
            if deaths > MAX_RESTARTS:
                self._fail(GossamerError(f"worker {number + 1} died {deaths} times, last with status {code}"))
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _run_worker(self, number: int) -> int:
        """Run one worker process. Returns its exit status."""
        ours, theirs = socket.socketpair()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gossamer.workers.worker", str(theirs.fileno()), str(self._table)),
            pass_fds=(theirs.fileno(), self._table),
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C goes to the supervisor, which stops them
        )
        theirs.close()
        self._processes[number] = process
        link = await Link.connect(ours)
        self._log.event("worker.started", worker=number + 1, process=process.pid)
        link.send(
            BEGIN,
            Begin(
                self._config_of(number),
                self._seeds,
                WorkerShare(number, self._config.workers),
                self._add_seeds,
                self._fingerprint_key,
            ),
        )
        self._hub.on_started(number, link)
        if self._stopping:
            self._hub.stop()
        try:
            async for message in link.messages():
                self._hub.on_message(number, *message)
            return await process.wait()
        finally:
            link.close()
            del self._processes[number]

    def _config_of(self, number: int) -> Config:
        """The configuration of one worker: its own directory, and its part of limits for the merged crawl."""
        config, recrawl = self._config, self._config.recrawl
        if recrawl.budget is not None:
            recrawl = msgspec.structs.replace(recrawl, budget=recrawl.budget / config.workers)
        own = str(part_directory(self._directory.path, number))
        return msgspec.structs.replace(config, dir=own, workers=1, max_pages=None, recrawl=recrawl, seeds=None)

    def _rested_at(self, began: Instant) -> Instant:
        """When an address has rested from a contact that began then and was interrupted."""
        policy, now = politeness_for(self._config), self._clock.now()
        return after_unknown_outcome(policy, started=began, now=now, last_took=Seconds(0.0), crawl_delay=None)

    # --- the end -------------------------------------------------------------------------------------

    def _fail(self, error: GossamerError) -> None:
        if self._error is None:
            self._error = error
        self._stop()

    def _interrupt(self, number: signal.Signals) -> None:
        self._interrupted = self._interrupted or number
        self._stop()

    @property
    def _stopped(self) -> StopReason | None:
        if self._error is not None:
            return "failed"
        if self._interrupted is not None:
            return "interrupted"
        if self._hub.finished:
            return "finished"
        return "page_limit" if self._stopping else None

    def _stop(self) -> None:
        if not self._stopping:
            self._stopping = True
            asyncio.get_running_loop().call_later(PATIENCE, self._kill_all)
        self._hub.stop()

    def _kill_all(self) -> None:
        """Kill workers that have not ended. Nothing committed is lost."""
        for number, process in self._processes.items():
            self._log.event("worker.killed", worker=number + 1, process=process.pid)
            process.kill()

    # --- what is seen of it ----------------------------------------------------------------------------

    def _reload_config(self) -> None:
        """SIGHUP. An invalid configuration changes nothing; the log says why."""
        assert self._reread is not None
        try:
            self._config = self._reread()
        except UsageError as error:
            self._log.event("rules.refused", error=str(error))
            return
        for number, worker in enumerate(self._hub.workers):
            if worker.link is not None:
                worker.link.send(RULES, self._config_of(number))

    async def _update_display(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._display.update(self._snapshot())

    def _snapshot(self) -> Snapshot:
        known = [worker.snapshot for worker in self._hub.workers if worker.snapshot is not None]
        if not known:
            return Snapshot(at=self._clock.now())
        merged = merge_snapshots(known, finished=self._hub.finished and self._error is None, stopped=self._stopped)
        return replace(
            merged,
            cpu_seconds=merged.cpu_seconds + cpu_seconds() - self._cpu_before,
            max_rss_bytes=merged.max_rss_bytes + max_rss_bytes(),
        )
