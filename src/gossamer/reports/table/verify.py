"""What `verify` compares, a window at a time so that a running crawl is not held up; and the repair of what it found
wrong, in one transaction of a process that holds the crawl."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from gossamer.model.batch import BulkChange
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.reports.records import CaptureRow, OrphanRecord, PositionOf, Progress, WrongCounter
from gossamer.store.ports import Database
from gossamer.store.table.bulk_changes import apply_changes
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.windows import url_windows

WINDOW = 5_000
"""Rows or URLs at a time."""


class AuditQueries:
    """`reports.ports.AuditReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def integrity(self) -> list[str]:
        return [str(problem) for (problem,) in self._db.fetch_all("integrity")]

    def archive_lengths(self) -> dict[str, int]:
        return Metadata(self._db).warc_lengths()

    def spooled_files(self) -> frozenset[str]:
        return frozenset(Metadata(self._db).spooled_files())

    def captures_of(self, file: str) -> Iterator[CaptureRow]:
        after = -1
        while True:
            rows = self._db.fetch_all("captures_of_file", file, after, WINDOW)
            for offset, length, url_id, revisit, set_aside, url, digest in rows:
                yield CaptureRow(offset, length, url_id, bool(revisit), bool(set_aside), url, digest)
            if len(rows) < WINDOW:
                return
            after = rows[-1][0]

    def wrong_counters(self) -> list[WrongCounter]:
        with self._db.snapshot():
            return _wrong_counters(self._db)

    def hosts_counted_wrong(self) -> int:
        return int(self._db.fetch_value("hosts_counted_wrong"))

    def hosts_without_front(self) -> list[tuple[str, int]]:
        return self._db.fetch_all("hosts_without_front")

    def unbacked(self, progress: Progress | None = None) -> Iterator[tuple[int, str, bool]]:
        for url_id, url, named in self._windows("unbacked_window", progress):
            yield url_id, url, bool(named)

    def unknown_visits(self, progress: Progress | None = None) -> Iterator[int]:
        for (url_id,) in self._windows("unknown_window", progress):
            yield url_id

    def unseen(self, progress: Progress | None = None) -> Iterator[tuple[int, str]]:
        yield from self._windows("unseen_window", progress)

    def dangling_contents(self) -> Iterator[tuple[bytes, str | None]]:
        last = b""
        while True:
            rows = self._db.fetch_all("contents_window", last, WINDOW)
            yield from ((digest, url) for digest, url, dangling in rows if dangling)
            if len(rows) < WINDOW:
                return
            last = rows[-1][0]

    def count_urls(self) -> int:
        return int(self._db.fetch_value("count_urls_and_hosts"))

    def _windows(self, statement: str, progress: Progress | None) -> Iterator[Any]:
        for after, upto in url_windows(self._db, WINDOW, self._db.fetch_value("last_url_or_visit"), progress):
            yield from self._db.fetch_all(statement, after, upto)


def _wrong_counters(db: Database) -> list[WrongCounter]:
    """Within a snapshot or a transaction."""
    states = dict(db.fetch_all("count_states"))
    urls, hosts = db.fetch_one("count_urls_and_hosts") or (0, 0)
    counters: dict[str, int] = dict(db.fetch_all("counters"))
    truth = {state.counter: int(states.get(state.value, 0)) for state in UrlState}
    truth |= {"discovered": urls, "hosts": hosts}
    return [
        WrongCounter(name, counters.get(name, 0), value)
        for name, value in truth.items()
        if counters.get(name, 0) != value
    ]


class TableRepair:
    """`reports.ports.Repair`, within a transaction."""

    def __init__(self, db: Database, now: Instant, position: PositionOf) -> None:
        self._db = db
        self._now = now
        self._position = position
        self._queued: set[int] = set()

    def queue_again(self, url_ids: Iterable[int]) -> int:
        lost = sorted(set(url_ids) - self._queued)
        duplicates = [url_id for (url_id,) in self._db.fetch_all("duplicates_of", lost)]
        of_state: dict[UrlState, list[int]] = {}
        for url_id, state in self._db.fetch_all("states_of", [*lost, *duplicates]):
            if url_id not in self._queued:
                of_state.setdefault(UrlState(state), []).append(url_id)
        orders = [BulkChange(tuple(ids), state, UrlState.QUEUED) for state, ids in of_state.items()]
        queued = apply_changes(self._db, orders, self._position, self._now)
        for url_id in chain.from_iterable(of_state.values()):
            self._queued.add(url_id)
            self._db.execute("forget_place", url_id)
            self._db.execute("forget_contents_of", url_id)
        return queued

    def set_aside(self, file: str, offset: int) -> None:
        self._db.execute("set_aside", file, offset)

    def forget_capture(self, file: str, offset: int) -> None:
        self._db.execute("forget_capture", file, offset)

    def note_stored(self, file: str) -> None:
        self._db.write_rows("note_stored", [(file,)])

    def shorten(self, file: str, length: int) -> None:
        self._db.execute("forget_captures_from", file, length)
        self._db.execute("set_warc_length", length, file)

    def add_rows(self, orphans: Sequence[OrphanRecord]) -> None:
        wanted = sorted({orphan.url for orphan in orphans if orphan.url is not None})
        ids = dict(self._db.fetch_all("urls_named", wanted)) if wanted else {}
        for orphan in orphans:
            url_id = ids.get(orphan.url)
            of = (orphan.revisit, orphan.captured_at, orphan.payload_digest, url_id is None, orphan.file)
            self._db.execute("add_capture", orphan.offset, orphan.length, url_id or 0, *of)

    def forget_visit(self, url_id: int) -> None:
        self._db.execute("forget_visit", url_id)

    def learn_content(self, url_id: int) -> None:
        self._db.execute("learn_content", url_id)

    def forget_content(self, digest: bytes) -> None:
        self._db.execute("forget_content", digest)

    def enter_fronts(self, host_id: int) -> None:
        self._db.execute("enter_missing_fronts", host_id)

    def count_again(self) -> None:
        for counter in _wrong_counters(self._db):
            self._db.execute("set_counter", counter.name, counter.truth)
        self._db.execute("count_hosts")
