"""The task table as the frontier sees it, slow and obvious: lists and sorting.

It plays the parts of the store's writer and loader. `tests/contracts` holds it to the behaviour of the SQLite ones.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.frontier.front_queue import FrontWanted, HostWanted
from gossamer.model.task import HostRecord, Task
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url


class Outcome(NamedTuple):
    """What became of a visit: done, or (with a date) queued again."""

    host_id: int
    url_id: int
    front: int
    again_at: float | None


@dataclass(slots=True)
class Changes:
    """A batch: found URLs as (host, class), outcomes, contacts (host -> next contact, took, address), retirements."""

    found: list[tuple[int, int]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    clocks: dict[int, tuple[float, float, str | None]] = field(default_factory=dict)
    retired: list[tuple[int, float]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found or self.outcomes or self.clocks or self.retired)


class Report(NamedTuple):
    touched: list[tuple[HostId, int]]
    settled: list[tuple[HostId, int]]
    retired: list[HostId]


@dataclass(slots=True)
class Row:
    url_id: int
    host_id: int
    front: int
    available_at: float
    queued: bool = True


class TaskTable:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.entries: dict[tuple[int, int], float] = {}  # (host, class) -> available_at
        self.clocks: dict[int, tuple[float, float, str | None]] = {}
        self.stamp = 0.0

    def row(self, url_id: int) -> Row:
        return self.rows[url_id - 1]

    @property
    def queued(self) -> list[Row]:
        return [row for row in self.rows if row.queued]

    def commit(self, changes: Changes, now: float) -> Report:
        self.stamp = math.nextafter(max(self.stamp, now), math.inf)
        touched: set[tuple[HostId, int]] = set()
        for host_id, front in changes.found:
            self.rows.append(Row(len(self.rows) + 1, host_id, front, self.stamp))
            self._enter(host_id, front, self.stamp)
            touched.add((HostId(host_id), front))
        for outcome in changes.outcomes:
            row = self.row(outcome.url_id)
            if outcome.again_at is None:
                row.queued = False
                continue
            row.available_at = max(outcome.again_at, self.stamp)
            self._enter(row.host_id, row.front, row.available_at)
            touched.add((HostId(row.host_id), row.front))
        self.clocks.update(changes.clocks)
        for host_id, not_before in changes.retired:
            self._retire(host_id, not_before, touched)
        return Report(
            sorted(touched),
            [(HostId(outcome.host_id), outcome.url_id) for outcome in changes.outcomes],
            [HostId(host_id) for host_id, _ in changes.retired],
        )

    def _enter(self, host_id: int, front: int, at: float) -> None:
        self.entries[host_id, front] = min(at, self.entries.get((host_id, front), math.inf))

    def _retire(self, host_id: int, not_before: float, touched: set[tuple[HostId, int]]) -> None:
        for key in [key for key in self.entries if key[0] == host_id]:
            del self.entries[key]
        for front in sorted({row.front for row in self.queued if row.host_id == host_id}):
            first = min(row.available_at for row in self.queued if row.host_id == host_id and row.front == front)
            self.entries[host_id, front] = max(first, self.stamp, not_before)
            touched.add((HostId(host_id), front))
        if not_before > self.stamp:
            next_contact, took, address = self.clocks.get(host_id, (0.0, 0.0, None))
            self.clocks[host_id] = (max(next_contact, not_before), took, address)

    def read_front(self, wanted: FrontWanted) -> tuple[list[tuple[float, HostId]], float | None]:
        of_class = sorted((at, HostId(host)) for (host, front), at in self.entries.items() if front == wanted.front)
        due = [entry for entry in of_class if entry > wanted.cursor and entry[0] <= wanted.due_by][: wanted.count]
        if len(due) == wanted.count:
            return due, None
        return due, min((at for at, _ in of_class if at > wanted.due_by), default=math.inf)

    def read_host(self, wanted: HostWanted) -> tuple[HostRecord | None, list[tuple[int, list[Task], float | None]]]:
        classes = []
        for front, cursor, count in wanted.classes:
            rows = [r for r in self.queued if r.host_id == wanted.host_id and r.front == front]
            rows.sort(key=lambda row: (row.available_at, row.url_id))
            due = [r for r in rows if (r.available_at, r.url_id) > cursor and r.available_at <= wanted.due_by][:count]
            next_due = None
            if len(due) < count:
                next_due = min((r.available_at for r in rows if r.available_at > wanted.due_by), default=math.inf)
            classes.append((front, [task_of(row) for row in due], next_due))
        record = None
        if wanted.with_record:
            next_contact, took, address = self.clocks.get(wanted.host_id, (0.0, 0.0, None))
            record = record_of(wanted.host_id, next_contact, took, address)
        return record, classes


def record_of(host_id: int, next_contact: float = 0.0, took: float = 0.0, address: str | None = None) -> HostRecord:
    return HostRecord(HostId(host_id), HostKey(f"h{host_id}.test"), host_id, 0, Instant(next_contact), took, address)


def task_of(row: Row) -> Task:
    return Task(
        row.url_id,
        Fingerprint(row.url_id),
        Url(f"http://h{row.host_id}.test/{row.url_id}"),
        row.front,
        Instant(row.available_at),
        0.5,
        1,
        0,
        0,
    )
