"""What a crawl is: its identity, its seeds, what was left when the last process ended. Read before it runs.

What the crawl has learnt from outcomes: kept with every batch, read at the start, undone where a rule is lifted.
"""

import json
import secrets
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from gossamer.backends.sqlite.database import connect, named_queries, our_errors, transaction, write_rows
from gossamer.backends.sqlite.operator import MOST, carry_out_at_rest
from gossamer.model.batch import Batch, BulkChange, LearntParameter
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, HostKey, Instant, Url
from gossamer.store.ports import Prioritiser


class Metadata:
    """Reads (and once writes) the facts of a crawl. For the time before the writer exists."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sql = named_queries("queries.sql")

    def settle_identity(self, now: Instant) -> None:
        """Give a new crawl its identity: a name for its files, and the secret key of its fingerprints."""
        if self.fact("crawl_id") is None:
            values = {
                "crawl_id": secrets.token_hex(8),
                "fingerprint_key": str(secrets.randbits(63)),
                "created_at": str(now),
            }
            # The connection commits every statement by itself; a crawl with a name but no key must never be seen.
            self._db.execute("BEGIN IMMEDIATE")
            with self._db:
                self._db.executemany(self._sql["set_fact"], list(values.items()))

    def fact(self, name: str) -> str | None:
        """What is remembered under a name."""
        row = self._db.execute(self._sql["fact"], (name,)).fetchone()
        return None if row is None else str(row[0])

    def fingerprint_key(self) -> int:
        return int(self.fact("fingerprint_key") or 0)

    def order(self) -> str | None:
        """The ordering under which the queue stands; None if it is yet to be put in order (`reordering`)."""
        return self.fact("order")

    def order_settings(self) -> str:
        """The weights and the like with which that ordering put the queue in order, in its own words."""
        return self.fact("order_settings") or ""

    def remember(self, options: Mapping[str, object]) -> None:
        """Keep the options that shape the crawl, for a resume without them."""
        self._db.execute(self._sql["set_fact"], ("options", json.dumps(options)))

    def plan_by(self, policy: str) -> None:
        """Keep under which recrawl policy next visits are planned. What another one wrote down of pages means nothing
        to it and is forgotten, which goes over the table once."""
        before = self.fact("recrawl_policy")
        if before == policy:
            return
        self._db.execute("BEGIN IMMEDIATE")
        with self._db:
            if before is not None:
                self._db.execute(self._sql["forget_memories"])
            self._db.execute(self._sql["set_fact"], ("recrawl_policy", policy))

    def seeds(self) -> frozenset[Url]:
        return frozenset(Url(url) for (url,) in self._db.execute("SELECT url FROM seeds"))

    def warc_lengths(self) -> dict[str, int]:
        return {name: length for _, name, length in self._db.execute(self._sql["warc_files"])}

    def host(self, host_id: HostId) -> HostKey:
        """The host of a row; of no row, a name that no host has."""
        row = self._db.execute(self._sql["host_name"], (host_id,)).fetchone()
        return HostKey(row[0] if row else "")

    def clock_and_robots(self, host_id: HostId) -> tuple[Instant, list[bytes]]:
        """A host's next contact, and its robots.txt files."""
        row = self._db.execute(self._sql["host_clock"], (host_id,)).fetchone()
        bodies = [record[5] for record in self._db.execute(self._sql["host_robots"], (host_id,))]
        return Instant(row[0] if row else 0.0), bodies


def save_learned(db: sqlite3.Connection, sql: Mapping[str, str], batch: Batch, now: float) -> None:
    """The part of a commit that is about budgets, parameters and pages that stand for missing ones."""
    if batch.budgets:
        write_rows(db, sql["save_budget"], list(batch.budgets.items()))
    if batch.domain_budgets:
        write_rows(db, sql["save_domain_budget"], list(batch.domain_budgets.items()))
    if batch.soft_404s:
        write_rows(db, sql["save_soft_missing"], list(batch.soft_404s.items()))
    for host, place, name, pairs, contents, refuted in batch.parameters:
        if refuted:
            db.execute(sql["refute_parameter"], (now, host, place, name))
        else:
            db.execute(sql["learn_parameter"], (host, place, name, pairs, contents, now))


def learned_parameters(db: sqlite3.Connection) -> list[LearntParameter]:
    """All that was learnt, and all of which that was wrong."""
    rows = db.execute(named_queries("queries.sql")["parameters"])
    return [LearntParameter._make(row)._replace(refuted=bool(row[5])) for row in rows]


def lift_cuts(path: Path, is_free: Callable[[HostKey], bool], prioritiser: Prioritiser, now: Instant) -> int:
    """Queue again what was excluded as a trap on hosts for which nothing is cut any more. Returns how many URLs.

    Before the writer exists; the queue must stand under the ordering of `prioritiser`. A transaction for each order.
    """
    sql = named_queries("orders.sql")
    lifted = 0
    with closing(connect(path)) as db, our_errors(db):
        hosts = db.execute(sql["hosts_with_cuts"]).fetchall()
        for host_id in [host_id for host_id, host in hosts if is_free(HostKey(host))]:
            while rows := db.execute(sql["cut_urls"], (host_id, MOST)).fetchall():
                order = BulkChange(tuple(url_id for (url_id,) in rows), UrlState.EXCLUDED, UrlState.QUEUED)
                with transaction(db):
                    lifted += carry_out_at_rest(db, [order], prioritiser.standing, now)
    return lifted
