"""Reads what `verify` compares, and repairs what it found wrong: in one transaction, by a process that holds the
lock of the directory."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from gossamer.backends.sqlite.database import named_queries, one_moment, our_errors
from gossamer.model.batch import BulkChange
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.reports.records import CaptureRow, OrphanRecord, PositionOf, Progress, WrongCounter
from gossamer.store.ports import Database
from gossamer.store.table.bulk_changes import apply_changes

WINDOW = 5_000
"""Rows or ids at a time."""


class SqliteAuditReader:
    """`reports.ports.AuditReader`: reads a window at a time, so that a running crawl is not held up. Raises
    StoreFailed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sql = named_queries("auditing.sql")

    def archive_lengths(self) -> dict[str, int]:
        with our_errors(self._db):
            return dict(self._db.execute(self._sql["warc_lengths"]).fetchall())

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong."""
        with our_errors(self._db):
            found = [str(row[0]) for row in self._db.execute(self._sql["integrity"])]
        return [] if found == ["ok"] else found

    def captures_of(self, file: str) -> Iterator[CaptureRow]:
        """The rows of a file by offset."""
        after = -1
        while True:
            with our_errors(self._db):
                rows = self._db.execute(self._sql["captures_of_file"], (file, after, WINDOW)).fetchall()
            for offset, length, url_id, revisit, set_aside, url, digest in rows:
                yield CaptureRow(offset, length, url_id, bool(revisit), bool(set_aside), url, digest)
            if len(rows) < WINDOW:
                return
            after = rows[-1][0]

    def wrong_counters(self) -> list[WrongCounter]:
        with one_moment(self._db):
            return self.counters_in_transaction()

    def counters_in_transaction(self) -> list[WrongCounter]:
        """As `wrong_counters`, within a transaction that is open already."""
        with our_errors(self._db):
            states = dict(self._db.execute(self._sql["states"]).fetchall())
            urls, hosts = self._db.execute(self._sql["totals"]).fetchone()
            counters: dict[str, int] = dict(self._db.execute(self._sql["counters"]).fetchall())
        truth = {f"state:{state.word}": int(states.get(state.value, 0)) for state in UrlState}
        truth |= {"discovered": urls, "hosts": hosts}
        return [
            WrongCounter(name, counters.get(name, 0), value)
            for name, value in truth.items()
            if counters.get(name, 0) != value
        ]

    def hosts_counted_wrong(self) -> int:
        """How many hosts have other numbers of URLs than their row in `host_counts` says."""
        with our_errors(self._db):
            return int(self._db.execute(self._sql["hosts_counted_wrong"]).fetchone()[0])

    def hosts_without_front(self) -> list[tuple[str, int]]:
        """Hosts with queued URLs that no front queue leads to."""
        with our_errors(self._db):
            return self._db.execute(self._sql["hosts_without_front"]).fetchall()

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
            with our_errors(self._db):
                rows = self._db.execute(self._sql["contents_window"], (last, WINDOW)).fetchall()
            yield from ((digest, url) for digest, url, dangling in rows if dangling)
            if len(rows) < WINDOW:
                return
            last = rows[-1][0]

    def _windows(self, query: str, progress: Progress | None) -> Iterator[Any]:
        with our_errors(self._db):
            (last,) = self._db.execute(self._sql["last_id"]).fetchone()
        for after in range(0, last, WINDOW):
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], {"after": after, "last": after + WINDOW}).fetchall()
            yield from rows
            if progress is not None:
                progress(min(after + WINDOW, last), last)

    def count_urls(self) -> int:
        with our_errors(self._db):
            return int(self._db.execute(self._sql["totals"]).fetchone()[0])


class SqliteRepair:
    """`reports.ports.Repair`, and the `with` block that commits it. Raises StoreFailed; then nothing is changed."""

    def __init__(self, db: sqlite3.Connection, database: Database, now: Instant, position: PositionOf) -> None:
        self._db = db
        self._database = database
        self._sql = named_queries("auditing.sql")
        self._now = now
        self._position = position
        self._queued: set[int] = set()

    def __enter__(self) -> "SqliteRepair":
        with our_errors(self._db):
            self._db.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        with our_errors(self._db):
            if kind is not None:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                return
            self._db.execute("COMMIT")

    def queue_again(self, url_ids: Iterable[int]) -> int:
        lost = sorted(set(url_ids) - self._queued)
        with our_errors(self._db):
            duplicates = [row[0] for row in self._db.execute(self._sql["duplicates_of"], (json.dumps(lost),))]
            of_state: dict[UrlState, list[int]] = {}
            for url_id, state in self._db.execute(self._sql["states_of"], (json.dumps([*lost, *duplicates]),)):
                if url_id not in self._queued:
                    of_state.setdefault(UrlState(state), []).append(url_id)
            orders = [BulkChange(tuple(ids), state, UrlState.QUEUED) for state, ids in of_state.items()]
            queued = apply_changes(self._database, orders, self._position, self._now)
        for url_id in chain.from_iterable(of_state.values()):
            self._queued.add(url_id)
            self._do("forget_place", url_id)
            self._do("forget_contents_of", url_id)
        return queued

    def set_aside(self, file: str, offset: int) -> None:
        self._do("set_aside", file, offset)

    def forget_capture(self, file: str, offset: int) -> None:
        self._do("forget_capture", file, offset)

    def shorten(self, file: str, length: int) -> None:
        self._do("forget_captures_from", file, length)
        self._do("set_length", length, file)

    def add_rows(self, orphans: Sequence[OrphanRecord]) -> None:
        wanted = sorted({orphan.url for orphan in orphans if orphan.url is not None})
        with our_errors(self._db):
            ids = dict(self._db.execute(self._sql["ids_of_urls"], (json.dumps(wanted),)).fetchall()) if wanted else {}
        for orphan in orphans:
            url_id = ids.get(orphan.url)
            of = (orphan.revisit, orphan.captured_at, orphan.payload_digest, url_id is None, orphan.file)
            self._do("add_capture", orphan.offset, orphan.length, url_id or 0, *of)

    def forget_visit(self, url_id: int) -> None:
        self._do("forget_visit", url_id)

    def learn_content(self, url_id: int) -> None:
        self._do("learn_content", url_id)

    def forget_content(self, digest: bytes) -> None:
        self._do("forget_content", digest)

    def enter_fronts(self, host_id: int) -> None:
        self._do("enter_missing_fronts", host_id)

    def count_again(self) -> None:
        for counter in SqliteAuditReader(self._db).counters_in_transaction():
            self._do("set_counter", counter.name, counter.truth)
        with our_errors(self._db):
            self._db.execute(named_queries("queries.sql")["count_hosts"])

    def _do(self, statement: str, *values: object) -> None:
        with our_errors(self._db):
            self._db.execute(self._sql[statement], values)
