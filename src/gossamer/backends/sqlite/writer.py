"""Commits a batch: rows and records in one transaction. Hot: benchmarks/bench_store.py.

Used from one thread. The order within a transaction matters: records go to the WARC file and are flushed before
the commit that names them, so a crash in between leaves bytes beyond the committed length, which are cut off on start.
"""

import math
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from gossamer.backends.sqlite.database import open_for_writing, translated
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.rows import write_rows
from gossamer.clock import Clock
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Domain, HostId, HostKey, Instant
from gossamer.store.changes import Batch, Committed, RetiredHost, Settlement
from gossamer.store.ports import CaptureFiles, Location

_HOSTS_REMEMBERED = 100_000

DomainOf = Callable[[HostKey], tuple[Domain, int]]


class SqliteWriter:
    """The one writer of a crawl's database."""

    def __init__(self, path: Path, captures: CaptureFiles, domain_of: DomainOf, clock: Clock) -> None:
        self._path = path
        self._captures = captures
        self._domain_of = domain_of
        self._clock = clock
        self._sql = named_queries("queries.sql")
        self._db = open_for_writing(path)
        self._host_ids: dict[HostKey, tuple[HostId, int]] = {}  # host -> its row and its domain's
        self._new_hosts = 0  # in the open transaction
        self._warc_ids = {name: number for number, name, _ in self._db.execute(self._sql["warc_files"])}
        # Stamps never fall, so a reader that remembers how far it has read misses nothing that is added later.
        newest = self._db.execute("SELECT max(available_at) FROM fronts WHERE available_at <= ?", (clock.now(),))
        self._stamp: float = newest.fetchone()[0] or 0.0

    def close(self) -> None:
        self._captures.close()
        self._db.close()

    def commit(self, batch: Batch, now: Instant) -> Committed:
        began = self._clock.monotonic()
        self._stamp = math.nextafter(max(self._stamp, now), math.inf)
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            touched: set[tuple[HostId, int]] = set()
            counts = Counter(batch.counters)
            self._new_hosts = 0
            self._add_seeds(batch, now)
            new_urls = self._add_urls(batch.candidates, touched, now)
            counts["discovered"] += new_urls
            counts["hosts"] += self._new_hosts
            counts["state:queued"] += new_urls
            written = self._settle(batch.settlements, counts, touched)
            self._update_hosts(batch)
            self._retire(batch.retired, touched)
            write_rows(db, self._sql["count"], [(name, n) for name, n in counts.items() if n])
            for name, length in self._captures.flush().items():
                db.execute(self._sql["commit_warc"], (self._warc_id(name), name, length))
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error, self._path) from error
        except BaseException:
            self._roll_back()
            raise
        self._captures.committed()
        return Committed(
            touched=list(touched),
            settled=[(s.host_id, s.url_id) for s in batch.settlements],
            retired=[host.host_id for host in batch.retired],
            new_urls=new_urls,
            new_hosts=self._new_hosts,
            written_bytes=written,
            seconds=self._clock.monotonic() - began,
        )

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            self._db.execute("ROLLBACK")
        self._host_ids.clear()  # ids given out in the transaction were never committed
        self._captures.roll_back()

    # --- the parts of a transaction ---------------------------------------------------------------

    def _add_seeds(self, batch: Batch, now: Instant) -> None:
        self._db.executemany(self._sql["add_seed"], [(s.url, s.text, s.where, now) for s in batch.seeds])

    def _add_urls(self, candidates: list[Candidate], touched: set[tuple[HostId, int]], now: Instant) -> int:
        """Insert what is new; a URL that is known already is ignored here, and only here. Returns how many were new."""
        if not candidates:
            return 0
        db, stamp, ids = self._db, self._stamp, self._ids_of
        last = db.execute(self._sql["last_url"]).fetchone()[0]
        rows = [
            (*ids(c.host), c.fingerprint, c.url, c.front, stamp, c.priority, c.depth, c.hops, c.via, c.found_on, now)
            for c in candidates
        ]
        new = write_rows(db, self._sql["add_url"], rows)
        if new:
            fresh = db.execute(self._sql["new_fronts"], (last,)).fetchall()
            write_rows(db, self._sql["enter_front"], [(host, front, stamp) for host, front in fresh])
            touched.update(fresh)
        return new

    def _ids_of(self, host: HostKey) -> tuple[HostId, int]:
        """The rows of a host and of its domain; made if there are none."""
        known = self._host_ids.get(host)
        if known is not None:
            return known
        row = self._db.execute(self._sql["host_by_name"], (host,)).fetchone()
        if row is None:
            domain, partition = self._domain_of(host)
            found = self._db.execute(self._sql["domain_by_name"], (domain,)).fetchone()
            if found is None:
                domain_id = int(self._db.execute(self._sql["add_domain"], (domain, partition)).lastrowid or 0)
            else:
                domain_id = found[0]
            number = int(self._db.execute(self._sql["add_host"], (host, domain_id)).lastrowid or 0)
            self._new_hosts += 1
        else:
            number, domain_id = row
        if len(self._host_ids) >= _HOSTS_REMEMBERED:
            self._host_ids.clear()
        known = self._host_ids[host] = (HostId(number), domain_id)
        return known

    def _settle(self, settlements: list[Settlement], counts: Counter[str], touched: set[tuple[HostId, int]]) -> int:
        updates, visits, failures, contents, fronts = [], [], [], [], []
        written = 0
        for s in settlements:
            at: Location | None = None
            if s.capture is not None:
                at = self._captures.append(s.capture)
                written += at.length
            available_at: float | None = s.available_at
            if s.state is UrlState.QUEUED:
                available_at = max(s.available_at or 0.0, self._stamp)
                fronts.append((s.host_id, s.front, available_at))
                touched.add((s.host_id, s.front))
            updates.append((s.state, available_at, s.tries, s.reason, s.url_id))
            if s.state is not s.was:
                counts["state:" + s.was.word] -= 1
                counts["state:" + s.state.word] += 1
            if s.status is not None:
                visits.append(
                    (s.url_id, s.at, s.status, s.size, s.took, s.mime, s.digest, s.title, s.etag, s.last_modified)
                    + (s.duplicate_of, s.redirect_to)
                    + ((self._warc_id(at.file), at.offset, at.length) if at else (None, None, None))
                )
            if s.state is UrlState.STORED and s.digest is not None:
                contents.append((s.digest, s.url_id))
            if s.reason is not None:
                failures.append((s.url_id, s.at, s.reason, s.status, s.detail))
        db, sql = self._db, self._sql
        write_rows(db, sql["settle_url"], updates)
        write_rows(db, sql["record_visit"], visits)
        write_rows(db, sql["enter_front"], fronts)
        write_rows(db, sql["record_failure"], failures)
        write_rows(db, sql["own_content"], contents)
        return written

    def _update_hosts(self, batch: Batch) -> None:
        db, sql = self._db, self._sql
        clocks = [(h.next_contact, h.last_took, h.address, h.host_id) for h in batch.hosts.values()]
        write_rows(db, sql["set_host_clock"], clocks)
        write_rows(db, sql["count_accesses"], [(n, domain) for domain, n in batch.accesses.items()])
        if batch.robots:
            db.executemany(sql["save_robots"], batch.robots)

    def ask_missing_again(self, now: Instant, most: int = 100_000) -> int:
        """Queue the missing URLs whose date has come, the oldest first. Returns how many."""
        db, sql = self._db, self._sql
        self._stamp = math.nextafter(max(self._stamp, now), math.inf)
        try:
            db.execute("BEGIN IMMEDIATE")
            rows = db.execute(sql["due_missing"], (now, most)).fetchall()
            db.executemany(sql["ask_again"], [(self._stamp, url_id) for url_id, _, _ in rows])
            fronts = {(host_id, front) for _, host_id, front in rows}
            write_rows(db, sql["enter_front"], [(host_id, front, self._stamp) for host_id, front in fronts])
            if rows:
                write_rows(db, sql["count"], [("state:missing", -len(rows)), ("state:queued", len(rows))])
            db.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back()
            raise translated(error, self._path) from error
        return len(rows)

    def _retire(self, retired: list[RetiredHost], touched: set[tuple[HostId, int]]) -> None:
        """Make the front-queue entries of hosts true: one per class with queued URLs, due when the first of them is
        and the host may be contacted. What is due now queues up at the end, beyond every reader's cursor. The
        host's clock is kept apart from its entries, which a new URL may bring forward."""
        db, sql = self._db, self._sql
        for host_id, not_before in retired:
            truth = db.execute(sql["front_truth"], (host_id,)).fetchall()
            db.execute(sql["leave_fronts"], (host_id,))
            entries = [(host_id, front, max(due, self._stamp, not_before)) for front, due in truth]
            write_rows(db, sql["enter_front"], entries)
            touched.update((host_id, front) for front, _ in truth)
            if not_before > self._stamp:
                db.execute(sql["rest_host"], (not_before, host_id))

    def _warc_id(self, name: str) -> int:
        known = self._warc_ids.get(name)
        if known is None:
            known = self._warc_ids[name] = max(self._warc_ids.values(), default=0) + 1
        return known
