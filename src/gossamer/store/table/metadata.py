"""What is stored about the crawl as a whole: its identity, seeds and options, and what it has learned from outcomes.

Read before the crawl runs. What is learned is saved with every batch.
"""

import json
from collections.abc import Mapping

from gossamer.model.batch import Batch, LearntParameter
from gossamer.model.units import HostId, HostKey, Instant, Url
from gossamer.store.ports import Database


class Metadata:
    """Reads, and once writes, the facts of a crawl. Used before the writer is opened."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def settle_identity(self, now: Instant, crawl_id: str, fingerprint_key: int) -> None:
        """Give a new crawl its identity: a name for its files, and the secret key of its fingerprints. A crawl that
        has them keeps them."""
        if self.fact("crawl_id") is None:
            values = {
                "crawl_id": crawl_id,
                "fingerprint_key": str(fingerprint_key),
                "created_at": str(now),
            }
            with self._db.transaction():  # a crawl with a name but no key must never be seen
                self._db.write_rows("add_fact", list(values.items()))

    def fact(self, name: str) -> str | None:
        """What is remembered under a name."""
        value = self._db.fetch_value("fact", name)
        return None if value is None else str(value)

    def fingerprint_key(self) -> int:
        return int(self.fact("fingerprint_key") or 0)

    def order(self) -> str | None:
        """The ordering of the queue; None if it has none yet (`priorities.reorder`)."""
        return self.fact("order")

    def order_settings(self) -> str:
        """The settings of that ordering when the queue was put in order, in its own format."""
        return self.fact("order_settings") or ""

    def save_fact(self, name: str, value: str) -> None:
        self._db.write_rows("set_fact", [(name, value)])

    def save_options(self, options: Mapping[str, object]) -> None:
        """Store the options that shape the crawl, so that it can be resumed without them."""
        self.save_fact("options", json.dumps(options))

    def set_memory_format(self, name: str) -> None:
        """Store the format in which the recrawl policy remembers pages. What a policy with another format stored is
        cleared, since it means nothing to this one; that scans the table once."""
        before = self.fact("recrawl_policy")
        if before == name:
            return
        with self._db.transaction():
            if before is not None:
                self._db.execute("forget_memories")
            self._db.write_rows("set_fact", [("recrawl_policy", name)])

    def seeds(self) -> frozenset[Url]:
        return frozenset(Url(url) for (url,) in self._db.fetch_all("seeds"))

    def warc_lengths(self) -> dict[str, int]:
        return {name: length for _, name, length in self._db.fetch_all("warc_files")}

    def has_captures(self) -> bool:
        """Whether anything was ever stored in the archive."""
        return bool(self._db.fetch_value("has_warcs"))

    def spooled_files(self) -> list[str]:
        """The files of the archive that are in the spool of a worker, or were there at its last commit."""
        return [str(name) for (name,) in self._db.fetch_all("spooled_warcs")]

    def host(self, host_id: HostId) -> HostKey:
        """The host of a row; of no row, a name that no host has."""
        return HostKey(self._db.fetch_value("host_name", host_id) or "")

    def clock_and_robots(self, host_id: HostId) -> tuple[Instant, list[bytes]]:
        """A host's next contact, and its robots.txt files."""
        next_contact = self._db.fetch_value("host_clock", host_id)
        bodies = [record[5] for record in self._db.fetch_each("host_robots", [(host_id,)])[0]]
        return Instant(next_contact or 0.0), bodies


def save_learned(db: Database, batch: Batch, now: float) -> None:
    """The part of a commit that stores trap budgets, learned parameters and soft 404s."""
    if batch.budgets:
        db.write_rows("save_budget", list(batch.budgets.items()))
    if batch.domain_budgets:
        db.write_rows("save_domain_budget", list(batch.domain_budgets.items()))
    if batch.soft_404s:
        db.write_rows("save_soft_missing", list(batch.soft_404s.items()))
    for host, place, name, pairs, contents, refuted in batch.parameters:
        if refuted:
            db.execute("refute_parameter", now, host, place, name)
        else:
            db.execute("learn_parameter", host, place, name, pairs, contents, now)


def learned_parameters(db: Database) -> list[LearntParameter]:
    """All parameters that were learned, the refuted ones included."""
    rows = db.fetch_all("parameters")
    return [LearntParameter._make(row)._replace(refuted=bool(row[5])) for row in rows]
