"""What is shown of the workers that share a crawl: the figures that each of them publishes with its heartbeats, and its
row in lists, in the status and in the metrics."""

import json
from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple, TypedDict

from gossamer.model.cache_fault import CacheFault
from gossamer.observe import formatter
from gossamer.observe.snapshot import STALE_AFTER

CacheState = Literal["in use"] | CacheFault


class WorkerFigures(NamedTuple):
    """What a worker publishes about itself, as of `at` on the clock of the store."""

    at: float = 0.0
    fetched: int = 0  # responses of this life
    rate: float = 0.0  # pages per second, over the last seconds
    in_flight: int = 0
    lease: float = 0.0  # seconds that were left
    commit_seconds: float | None = None  # mean of the last commits; None: there was none
    cache: CacheState | None = None  # None: it has no cache
    error: str | None = None  # the last one, which may be over
    error_at: float | None = None
    directory: str | None = None
    machine: str | None = None
    pid: int | None = None

    def encode(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def decode(cls, text: str) -> "WorkerFigures":
        """Also of a worker of another version: what is not known is left out."""
        found = json.loads(text)
        return cls(**{name: found[name] for name in cls._fields if name in found})


class WorkerStatus(NamedTuple):
    """One life of a worker, read at `now` on the clock of the store."""

    epoch: int
    name: str
    recorded_state: str  # active, draining, left or dead
    alive: bool
    weight: float
    joined: float
    version: str
    commits: int
    pages: int  # stored in this life
    partitions: int
    figures: WorkerFigures
    now: float

    @property
    def lease(self) -> float:
        """Seconds that are left of its lease, by its last heartbeat."""
        if not self.alive:
            return 0.0
        return max(0.0, self.figures.lease - max(0.0, self.now - self.figures.at))

    @property
    def state(self) -> str:
        """`silent`: its lease has ended without a heartbeat; the others will declare it dead, unless it comes back.
        `leaving`: it has given up its partitions, and may still be delivering its spool."""
        has_beaten = self.figures.at > 0
        if self.alive and has_beaten and self.lease <= 0:
            return "silent"
        return "leaving" if self.recorded_state == "draining" and not self.partitions else self.recorded_state

    @property
    def may_run(self) -> bool:
        """Whether it has a lease, or had one not long ago. One that was killed and that nobody has declared dead has
        none."""
        lease_ended = self.figures.at + self.figures.lease if self.figures.at > 0 else self.joined
        return self.alive and self.now - lease_ended < STALE_AFTER

    @property
    def rate(self) -> float:
        """Pages per second now."""
        return self.figures.rate if self.lease > 0 else 0.0


class WorkerObject(TypedDict):
    """`worker/1`."""

    v: Literal[1]
    name: str
    state: Annotated[str, "active, draining, leaving, silent (no heartbeat), left or dead"]
    alive: bool
    partitions: Annotated[int, "partitions that it owns"]
    pages: Annotated[int, "documents stored since it joined"]
    rate: Annotated[float, "documents per second, over the last seconds"]
    fetched: Annotated[int, "responses since it joined"]
    in_flight: Annotated[int, "visits"]
    lease: Annotated[float, "seconds that are left of its lease"]
    commits: int
    commit_seconds: Annotated[float | None, "mean time of its last commits"]
    cache: Annotated[CacheState | None, "in use, or what is wrong with it; null: it has no cache"]
    error: Annotated[str | None, "the last error, which may be over"]
    error_at: str | None
    weight: Annotated[float, "its share of the partitions, in relation to the others"]
    joined: str
    seen_at: Annotated[str | None, "as of when these figures are"]
    version: Annotated[str, "of Gossamer"]
    machine: str | None
    directory: str | None
    pid: int | None
    epoch: Annotated[str, "identifies this life of the worker"]


def worker_object(worker: WorkerStatus) -> WorkerObject:
    figures = worker.figures
    return {
        "v": 1,
        "name": worker.name,
        "state": worker.state,
        "alive": worker.alive,
        "partitions": worker.partitions,
        "pages": worker.pages,
        "rate": round(worker.rate, 3),
        "fetched": figures.fetched,
        "in_flight": figures.in_flight if worker.lease > 0 else 0,
        "lease": round(worker.lease, 3),
        "commits": worker.commits,
        "commit_seconds": figures.commit_seconds,
        "cache": figures.cache,
        "error": figures.error,
        "error_at": None if figures.error_at is None else formatter.timestamp(figures.error_at),
        "weight": worker.weight,
        "joined": formatter.timestamp(worker.joined) or "",
        "seen_at": formatter.timestamp(figures.at) if figures.at else None,
        "version": worker.version,
        "machine": figures.machine,
        "directory": figures.directory,
        "pid": figures.pid,
        "epoch": str(worker.epoch),  # too large for numbers in JavaScript
    }


_WIDEST_ERROR = 80  # characters in a list; the JSON object has all
COLUMNS = formatter.Columns(
    ("WORKER", "<20"),
    ("STATE", "<8"),
    ("PARTITIONS", ">10"),
    ("PAGES", ">9"),
    ("PAGES/S", ">7"),
    ("LEASE", ">6"),
    ("COMMIT", ">7"),
    ("CACHE", "<13"),
    ("MACHINE", "<16"),
    ("LAST ERROR", ""),
)


def worker_cells(worker: WorkerStatus) -> Sequence[str]:
    """A worker in `COLUMNS`."""
    figures = worker.figures
    return (
        worker.name,
        worker.state,
        str(worker.partitions),
        formatter.count(worker.pages),
        f"{worker.rate:.1f}",
        f"{worker.lease:.1f} s" if worker.alive else "",
        "" if figures.commit_seconds is None else f"{1000 * figures.commit_seconds:.0f} ms",
        _cache_state(figures),
        figures.machine or "",
        _last_error(worker),
    )


def describe_worker(worker: WorkerStatus) -> str:
    """The same as text."""
    figures = worker.figures
    said = [
        formatter.number_of(worker.partitions, "partition"),
        f"{formatter.rate(worker.rate)} pages/s",
        f"lease {worker.lease:.1f} s",
    ]
    if figures.commit_seconds is not None:
        said.append(f"commit {formatter.seconds(figures.commit_seconds)}")
    if figures.cache is not None:
        said.append(f"cache {_cache_state(figures)}")
    if figures.machine is not None:
        said.append(f"on {figures.machine}")
    error = _last_error(worker)
    return formatter.printable(", ".join(said) + (f"; last error: {error}" if error else ""))


def _cache_state(figures: WorkerFigures) -> str:
    return (figures.cache or "").replace("_", " ")


def _last_error(worker: WorkerStatus) -> str:
    """When it was, and what, so that it can be cut at its end."""
    figures = worker.figures
    if figures.error is None:
        return ""
    ago = None if figures.error_at is None else formatter.span(max(0.0, worker.now - figures.error_at))
    shown = formatter.printable(figures.error, _WIDEST_ERROR)
    return shown if ago is None else f"{ago} ago: {shown}"
