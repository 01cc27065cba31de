"""The task table as the frontier sees it, slow and obvious: lists and sorting.

It plays the parts of the store's writer and loader. `tests/contracts` holds it to the behaviour of the SQLite ones.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.model.facts import DomainFacts
from gossamer.model.loads import FrontRequest, HostRequest
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
    """A batch: found URLs as (host, class) or (host, score), outcomes, contacts (host -> next contact, took, address),
    retirements, and URLs that are lifted as (url_id, classes or points)."""

    found: list[tuple[int, int]] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    clocks: dict[int, tuple[float, float, str | None]] = field(default_factory=dict)
    retired: list[tuple[int, float]] = field(default_factory=list)
    lifted: list[tuple[int, int]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.found or self.outcomes or self.clocks or self.retired or self.lifted)


class Report(NamedTuple):
    number: int
    touched: list[tuple[HostId, int, float]]
    settled: list[tuple[HostId, int]]
    retired: list[HostId]
    moved: list[tuple[HostId, int, int, float, float]]
    linked: list[tuple[int, int, int]]
    host_counts: tuple[tuple[HostId, int, int], ...] = ()
    withdrawn: tuple[tuple[HostId, int], ...] = ()


@dataclass(slots=True)
class Row:
    url_id: int
    host_id: int
    front: int
    place: float
    priority: float = 0.5
    queued: bool = True


class TaskTable:
    def __init__(self, by_score: bool = False) -> None:
        self.by_score = by_score
        self.rows: list[Row] = []
        self.entries: dict[tuple[int, int], float] = {}  # (host, class) -> place
        self.clocks: dict[int, tuple[float, float, str | None]] = {}
        self.stamp = 0.0
        self.number = 0

    def row(self, url_id: int) -> Row:
        return self.rows[url_id - 1]

    @property
    def queued(self) -> list[Row]:
        return [row for row in self.rows if row.queued]

    def commit(self, changes: Changes, now: float) -> Report:
        self.number += 1
        self.stamp = math.nextafter(max(self.stamp, now), math.inf)
        touched: dict[tuple[HostId, int], float] = {}
        for host_id, value in changes.found:
            url_id = len(self.rows) + 1
            if self.by_score:
                row = Row(url_id, host_id, 0, -float(value), float(value))
            else:
                row = Row(url_id, host_id, value, self.stamp)
            self.rows.append(row)
            self._enter(row, touched)
        for outcome in changes.outcomes:
            row = self.row(outcome.url_id)
            if outcome.again_at is None:
                row.queued = False
                continue
            row.front = 1 if self.by_score else outcome.front
            row.place = max(outcome.again_at, self.stamp)
            self._enter(row, touched)
        moved = [move for url_id, by in changes.lifted if (move := self._lift(self.row(url_id), by)) is not None]
        self.clocks.update(changes.clocks)
        for host_id, not_before in changes.retired:
            self._retire(host_id, not_before, touched)
        return Report(
            self.number,
            [(host_id, front, place) for (host_id, front), place in sorted(touched.items())],
            [(HostId(outcome.host_id), outcome.url_id) for outcome in changes.outcomes],
            [HostId(host_id) for host_id, _ in changes.retired],
            moved,
            [],
        )

    def _lift(self, row: Row, by: int) -> tuple[HostId, int, int, float, float] | None:
        """Better by so many points, or moved up by so many classes, to the end of the queue there."""
        if not row.queued:
            return None
        if self.by_score:
            row.priority += by
            if row.front == 0:
                row.place = -row.priority
        elif row.front == 0 or row.place > self.stamp:
            return None
        else:
            row.front = max(0, row.front - by)
            row.place = self.stamp
        self._enter(row, {})
        return HostId(row.host_id), row.url_id, row.front, row.place, row.priority

    def _enter(self, row: Row, touched: dict[tuple[HostId, int], float]) -> None:
        queue = (HostId(row.host_id), row.front)
        self.entries[queue] = min(row.place, self.entries.get(queue, math.inf))
        touched[queue] = min(row.place, touched.get(queue, math.inf))

    def _retire(self, host_id: int, not_before: float, touched: dict[tuple[HostId, int], float]) -> None:
        for key in [key for key in self.entries if key[0] == host_id]:
            del self.entries[key]
        for row in self.queued:
            if row.host_id == host_id:
                # By score, a host that rests waits for its date, like a URL that does.
                front, place = row.front, row.place
                if self.by_score and front == 0 and not_before > self.stamp:
                    front = 1
                if not (self.by_score and front == 0):
                    place = max(place, self.stamp, not_before)
                queue = (HostId(host_id), front)
                self.entries[queue] = min(place, self.entries.get(queue, math.inf))
                touched[queue] = min(place, touched.get(queue, math.inf))
        if not_before > self.stamp:
            next_contact, took, address = self.clocks.get(host_id, (0.0, 0.0, None))
            self.clocks[host_id] = (max(next_contact, not_before), took, address)

    def read_front(self, wanted: FrontRequest) -> tuple[list[tuple[float, HostId]], float | None]:
        of_class = sorted((at, HostId(host)) for (host, front), at in self.entries.items() if front == wanted.front)
        due = [entry for entry in of_class if entry > wanted.cursor and entry[0] <= wanted.due_by][: wanted.count]
        if len(due) == wanted.count:
            return due, None
        return due, min((at for at, _ in of_class if at > wanted.due_by), default=math.inf)

    def read_host(self, wanted: HostRequest) -> tuple[HostRecord | None, list[tuple[int, list[Task], float | None]]]:
        classes = []
        for front, cursor, count in wanted.classes:
            rows = [r for r in self.queued if r.host_id == wanted.host_id and r.front == front]
            rows.sort(key=lambda row: (row.place, row.url_id))
            due = [r for r in rows if (r.place, r.url_id) > cursor and r.place <= wanted.due_by][:count]
            next_due = None
            if len(due) < count:
                next_due = min((r.place for r in rows if r.place > wanted.due_by), default=math.inf)
            classes.append((front, [task_of(row) for row in due], next_due))
        record = None
        if wanted.with_record:
            next_contact, took, address = self.clocks.get(wanted.host_id, (0.0, 0.0, None))
            record = record_of(wanted.host_id, next_contact, took, address)
        return record, classes


def record_of(host_id: int, next_contact: float = 0.0, took: float = 0.0, address: str | None = None) -> HostRecord:
    """Hosts of even and of odd number are of one domain each."""
    host = HostKey(f"h{host_id}.test")
    return HostRecord(HostId(host_id), host, host_id % 2 + 1, DomainFacts(), 1, Instant(next_contact), took, address)


def task_of(row: Row) -> Task:
    return Task(
        row.url_id,
        Fingerprint(row.url_id),
        Url(f"http://h{row.host_id}.test/{row.url_id}"),
        row.front,
        row.place,
        row.priority,
        1,
        0,
        0,
    )
