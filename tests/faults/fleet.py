"""The workers of a run, and a supervisor that starts them again, as systemd or Kubernetes would."""

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Final

import psycopg

from gossamer.backends.objects.spool import Spool
from tests.faults.surroundings import Surroundings
from tests.integration.crawl_process import Command
from tests.integration.shared_crawls import join
from tests.machine import Machine

RESTART_SECONDS: Final = 0.1
"""After which a worker that has ended is started again (RestartSec of systemd)."""
_LOOK = 0.5
_FLAGS = {
    "cache.open": ("cache", True),
    "cache.closed": ("cache", False),
    "blobs.failing": ("blobs", True),
    "blobs.recovered": ("blobs", False),
}


class Log:
    """The log of a worker, as far as it was read: what is wrong in its present life."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self.failing: set[str] = set()
        self.starts = 0

    def read(self) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                text = file.read()
        except FileNotFoundError:
            return
        whole = text[: text.rfind(b"\n") + 1]
        self._place += len(whole)
        for line in whole.splitlines():
            event = json.loads(line)["event"]
            if event == "crawl.started":
                self.failing.clear()
                self.starts += 1
            elif event in _FLAGS:
                what, fails = _FLAGS[event]
                (self.failing.add if fails else self.failing.discard)(what)


class Worker:
    """One worker through all its lives. One with a machine runs in a namespace of its own."""

    def __init__(self, around: Surroundings, name: str, *, remote: bool) -> None:
        self._around = around
        self.name = name
        self.remote = remote
        self.machine: Machine | None = None
        self.process: Command | None = None
        self.folder = around.stage.dir / name
        self.log = Log(self.folder / "crawl.log")
        self.is_wanted = True
        self.ended_at: float | None = None

    @property
    def runs(self) -> bool:
        return self.process is not None and self.process.runs

    def start(self) -> None:
        around = self._around
        self.log.read()
        self.log.failing.clear()
        self.ended_at = None
        if self.remote and self.machine is None:
            self.machine = around.machine()
        if self.machine is not None:
            self.process = join(around.stage, around.store_inside, self.name, self.machine.enter)
        else:
            self.process = join(around.stage, around.store_of_workers, self.name)

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.runs:
            os.kill(self.process.process.pid, number)

    def close(self) -> None:
        if self.process is not None:
            self.process.__exit__()
            self.process = None
        self.lose_machine()

    def lose_machine(self) -> None:
        if self.machine is not None:
            self.machine.close()
            self.machine = None

    @property
    def spooled(self) -> int:
        return len(Spool(self.folder / "spool", 1).entries())


class Fleet:
    """`tend` is called all the while."""

    def __init__(self, around: Surroundings, count: int, *, machines: bool) -> None:
        """`machines`: the last worker runs on a machine of its own."""
        self._around = around
        self.workers = [
            Worker(around, f"worker-{number}", remote=machines and number == count) for number in range(1, count + 1)
        ]
        self.killed: set[int] = set()
        """Process ids of those that somebody has ended on purpose."""
        self.deaths: Counter[str] = Counter()
        """Of workers that nobody has killed, by their last words."""
        self.is_finished = False
        self._looked = 0.0
        self._pages = 0
        self._database: psycopg.Connection[tuple[object, ...]] | None = None

    def tend(self) -> None:
        """Start workers again that have ended before the crawl has."""
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            self.is_finished = self.rows("SELECT 1 FROM crawl WHERE state = 'finished'") == [(1,)]
        for worker in self.workers:
            if worker.process is None or worker.process.runs:
                if worker.runs:
                    worker.log.read()
                continue
            if worker.ended_at is None:
                worker.ended_at = time.monotonic()
                self._bury(worker)
            elif worker.is_wanted and time.monotonic() - worker.ended_at > RESTART_SECONDS and not self.is_finished:
                worker.start()

    def _bury(self, worker: Worker) -> None:
        assert worker.process is not None
        pid, ended = worker.process.process.pid, worker.process.ended()
        worker.log.read()
        if pid not in self.killed and ended.status not in (0, 128 + signal.SIGTERM):
            words = ended.err.strip().splitlines() or [""]
            self.deaths[f"status {ended.status}: {words[-1][:200]}"] += 1

    def kill(self, worker: Worker) -> None:
        if worker.runs:
            assert worker.process is not None
            self.killed.add(worker.process.process.pid)
            worker.send(signal.SIGKILL)

    def close(self) -> None:
        for worker in self.workers:
            worker.close()
        if self._database is not None:
            self._database.close()

    # --- what is seen of the crawl ------------------------------------------------------------------

    def rows(self, query: str) -> list[tuple[object, ...]] | None:
        """What the database says, past the network of the workers. None while it does not answer."""
        try:
            if self._database is None or self._database.closed:
                self._database = psycopg.connect(self._around.store, autocommit=True, connect_timeout=2)
            return self._database.execute(query.encode()).fetchall()
        except (psycopg.OperationalError, psycopg.InterfaceError):
            if self._database is not None:
                self._database.close()
            return None

    def epoch_of(self, worker: Worker) -> int | None:
        found = self.rows(f"SELECT epoch FROM workers JOIN fence USING (epoch) WHERE alive AND name = '{worker.name}'")
        return int(str(found[0][0])) if found else None

    def owners(self) -> dict[int, int] | None:
        """The epochs of the living owners of partitions."""
        found = self.rows("SELECT part, epoch FROM partitions JOIN fence USING (epoch) WHERE alive")
        return None if found is None else {int(str(part)): int(str(epoch)) for part, epoch in found}

    def commits(self) -> int | None:
        found = self.rows("SELECT coalesce(sum(commits), 0)::bigint FROM fence")
        return None if found is None else int(str(found[0][0]))

    def pages(self) -> int:
        """That are stored; as of the last answer, if the database is away."""
        found = self.rows("SELECT coalesce(sum(stored), 0)::bigint FROM fence")
        self._pages = int(str(found[0][0])) if found else self._pages
        return self._pages

    def answered_bytes(self) -> int:
        """The size of the web's log, which grows with every request that is answered."""
        log = self._around.stage.log
        return log.stat().st_size if log.exists() else 0

    def failing(self, what: str) -> bool:
        """Whether a worker does without the `cache`, or with the spool instead of the `blobs`."""
        return any(what in worker.log.failing for worker in self.workers if worker.runs)
