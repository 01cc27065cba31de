"""What a crawl is: its identity, its seeds, what was left when the last process ended. Read before it runs."""

import json
import secrets
import sqlite3
from collections.abc import Mapping

from gossamer.backends.sqlite.queries import named_queries
from gossamer.model.units import HostId, HostKey, Instant, Url


class Facts:
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
