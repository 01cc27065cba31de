"""Reads what `verify` compares: rows of captures, counts, and rows that do not fit together.

Puts right what `verify` found wrong, in one transaction. Whoever calls holds the directory's lock.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

from gossamer.backends.sqlite.database import named_queries, our_errors
from gossamer.backends.sqlite.driver import SqliteDatabase
from gossamer.model.batch import BulkChange
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.store.table.bulk_changes import Stands, carry_out_at_rest

WINDOW = 5_000
"""Rows or ids at a time."""

Progress = Callable[[int, int], None]


class CaptureRow(NamedTuple):
    """Where a record should be, and what should be in it."""

    offset: int
    length: int
    url_id: int
    revisit: bool
    set_aside: bool
    url: str | None  # None: the URL is not known
    digest: bytes | None  # of the document, if this is the last capture of its URL


class Counted(NamedTuple):
    """A counter that is wrong."""

    name: str
    value: int
    truth: int


def warc_lengths(db: sqlite3.Connection) -> dict[str, int]:
    """The committed length of every WARC file."""
    with our_errors(db):
        return dict(db.execute(named_queries("auditing.sql")["warc_lengths"]).fetchall())


class Auditor:
    """Reads for `verify`, a window at a time, so that a running crawl is not held up. Raises StoreFailed."""

    def __init__(self, db: sqlite3.Connection, progress: Progress | None = None) -> None:
        self._db = db
        self._sql = named_queries("auditing.sql")
        self._progress = progress or (lambda done, total: None)

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

    def wrong_counters(self) -> list[Counted]:
        """Counted in one moment, so that a running crawl makes no difference."""
        with our_errors(self._db):
            self._db.execute("BEGIN")
            try:
                return self.counters_in_transaction()
            finally:
                self._db.execute("COMMIT")

    def counters_in_transaction(self) -> list[Counted]:
        """The same within a transaction that is open already."""
        with our_errors(self._db):
            states = dict(self._db.execute(self._sql["states"]).fetchall())
            urls, hosts = self._db.execute(self._sql["totals"]).fetchone()
            counters: dict[str, int] = dict(self._db.execute(self._sql["counters"]).fetchall())
        truth = {f"state:{state.word}": int(states.get(state.value, 0)) for state in UrlState}
        truth |= {"discovered": urls, "hosts": hosts}
        return [
            Counted(name, counters.get(name, 0), value)
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

    def unbacked(self) -> Iterator[tuple[int, str, bool]]:
        """Pages that are said to be archived, without a row that says where: id, URL, whether a place is named."""
        for url_id, url, named in self._windows("unbacked_window"):
            yield url_id, url, bool(named)

    def unknown_visits(self) -> Iterator[int]:
        for (url_id,) in self._windows("unknown_window"):
            yield url_id

    def unseen(self) -> Iterator[tuple[int, str]]:
        """Stored pages whose document the content-seen test does not know."""
        yield from self._windows("unseen_window")

    def dangling_contents(self) -> Iterator[tuple[bytes, str | None]]:
        """Documents that the content-seen test holds to be stored, and are not."""
        last = b""
        while True:
            with our_errors(self._db):
                rows = self._db.execute(self._sql["contents_window"], (last, WINDOW)).fetchall()
            yield from ((digest, url) for digest, url, dangling in rows if dangling)
            if len(rows) < WINDOW:
                return
            last = rows[-1][0]

    def _windows(self, query: str) -> Iterator[Any]:
        with our_errors(self._db):
            (last,) = self._db.execute(self._sql["last_id"]).fetchone()
        for after in range(0, last, WINDOW):
            with our_errors(self._db):
                rows = self._db.execute(self._sql[query], {"after": after, "last": after + WINDOW}).fetchall()
            yield from rows
            self._progress(min(after + WINDOW, last), last)

    def urls(self) -> int:
        with our_errors(self._db):
            return int(self._db.execute(self._sql["totals"]).fetchone()[0])


class OrphanRecord(NamedTuple):
    """A record that is to get a row: of its URL if that is known, else one that sets it aside."""

    file: str
    offset: int
    length: int
    url: str | None  # None: to be set aside in any case
    revisit: bool
    captured_at: float | None
    payload_digest: bytes | None


class Repair:
    """One transaction of repairs: use it in a `with` block, which commits it. Raises StoreFailed; then nothing is done.

    `stands` says where a URL stands in the order of the queue.
    """

    def __init__(self, db: sqlite3.Connection, now: Instant, stands: Stands) -> None:
        self._db = db
        self._sql = named_queries("auditing.sql")
        self._now = now
        self._stands = stands
        self._queued: set[int] = set()

    def __enter__(self) -> "Repair":
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
        """These URLs, and those that were duplicates of what is lost with them. Returns how many."""
        lost = sorted(set(url_ids) - self._queued)
        with our_errors(self._db):
            duplicates = [row[0] for row in self._db.execute(self._sql["duplicates_of"], (json.dumps(lost),))]
            of_state: dict[UrlState, list[int]] = {}
            for url_id, state in self._db.execute(self._sql["states_of"], (json.dumps([*lost, *duplicates]),)):
                if url_id not in self._queued:
                    of_state.setdefault(UrlState(state), []).append(url_id)
            orders = [BulkChange(tuple(ids), state, UrlState.QUEUED) for state, ids in of_state.items()]
            queued = carry_out_at_rest(SqliteDatabase(self._db), orders, self._stands, self._now)
        for url_id in chain.from_iterable(of_state.values()):
            self._queued.add(url_id)
            self._do("forget_place", url_id)
            self._do("forget_contents_of", url_id)
        return queued

    def set_aside(self, file: str, offset: int) -> None:
        """The record there counts no more; what is found wrong with it is known."""
        self._do("set_aside", file, offset)

    def forget_capture(self, file: str, offset: int) -> None:
        self._do("forget_capture", file, offset)

    def shorten(self, file: str, length: int) -> None:
        """The file is only so long. The rows of what lay beyond are gone."""
        self._do("forget_captures_from", file, length)
        self._do("set_length", length, file)

    def add_rows(self, strays: list[OrphanRecord]) -> None:
        """Rows for records that had none."""
        wanted = sorted({stray.url for stray in strays if stray.url is not None})
        with our_errors(self._db):
            ids = dict(self._db.execute(self._sql["ids_of_urls"], (json.dumps(wanted),)).fetchall()) if wanted else {}
        for stray in strays:
            url_id = ids.get(stray.url)
            of = (stray.revisit, stray.captured_at, stray.payload_digest, url_id is None, stray.file)
            self._do("add_capture", stray.offset, stray.length, url_id or 0, *of)

    def forget_visit(self, url_id: int) -> None:
        self._do("forget_visit", url_id)

    def learn_content(self, url_id: int) -> None:
        self._do("learn_content", url_id)

    def forget_content(self, digest: bytes) -> None:
        self._do("forget_content", digest)

    def enter_fronts(self, host_id: int) -> None:
        self._do("enter_missing_fronts", host_id)

    def count_again(self, truth: dict[str, int]) -> None:
        """Set counters, and count the URLs of every host: the last thing to be done."""
        for name, value in truth.items():
            self._do("set_counter", name, value)
        with our_errors(self._db):
            self._db.execute(named_queries("queries.sql")["count_hosts"])

    def _do(self, statement: str, *values: object) -> None:
        with our_errors(self._db):
            self._db.execute(self._sql[statement], values)
