"""Puts right what `verify` found wrong, in one transaction. Whoever calls holds the directory's lock."""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

from gossamer.backends.sqlite.orders import Stands, carry_out_at_rest
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.store.changes import Order


class Stray(NamedTuple):
    """A record that is to get a row: of its URL if that is known, else one that sets it aside."""

    file: str
    offset: int
    length: int
    url: str | None  # None: to be set aside in any case
    revisit: bool
    captured_at: float | None
    payload_digest: bytes | None


class Mending:
    """One transaction of repairs: use it in a `with` block, which commits it. Raises StoreFailed; then nothing is done.

    `stands` says where a URL stands in the order of the queue.
    """

    def __init__(self, db: sqlite3.Connection, now: Instant, stands: Stands) -> None:
        self._db = db
        self._sql = named_queries("auditing.sql")
        self._now = now
        self._stands = stands
        self._queued: set[int] = set()

    def __enter__(self) -> "Mending":
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
            orders = [Order(tuple(ids), state, UrlState.QUEUED) for state, ids in of_state.items()]
            queued = carry_out_at_rest(self._db, orders, self._stands, self._now)
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

    def add_rows(self, strays: list[Stray]) -> None:
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
        """Set counters: the last thing to be done."""
        for name, value in truth.items():
            self._do("set_counter", name, value)

    def _do(self, statement: str, *values: object) -> None:
        with our_errors(self._db):
            self._db.execute(self._sql[statement], values)
