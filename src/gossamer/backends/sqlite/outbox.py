"""What one part of a crawl finds for the others: kept with the page that it was found on, until its owner has it.

Within the writer's transactions. A URL is put out once: its fingerprint stays. To hand it over twice would do no harm,
since its owner knows it then; to lose it would.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from gossamer.backends.sqlite.database import named_queries, read_rows, write_rows
from gossamer.model.partition import OutboxUrl, WorkerShare
from gossamer.model.task import Candidate, Via
from gossamer.model.units import HostKey

_HOSTS_REMEMBERED = 100_000


class Outbox:
    """Sorts candidates by owner. Used from the store's thread only."""

    def __init__(self, db: sqlite3.Connection, part: WorkerShare, partition_of: Callable[[HostKey], int]) -> None:
        self._db = db
        self._part = part
        self._partition_of = partition_of
        self._sql = named_queries("parting.sql")
        self._owners: dict[HostKey, int] = {}

    def owner_of(self, host: HostKey) -> int:
        owner = self._owners.get(host)
        if owner is None:
            if len(self._owners) >= _HOSTS_REMEMBERED:
                self._owners.clear()
            owner = self._owners[host] = self._part.owner_of(self._partition_of(host))
        return owner

    def own(self, candidates: list[Candidate]) -> tuple[list[Candidate], int]:
        """The candidates that are ours. The others are put out, those of them that are new; and how many are."""
        number = self._part.number
        owners = [self.owner_of(c.host) for c in candidates]
        ours = [c for c, owner in zip(candidates, owners, strict=True) if owner == number]
        if len(ours) == len(candidates):
            return candidates, 0
        theirs = {c.fingerprint: (c, o) for c, o in zip(candidates, owners, strict=True) if o != number}
        for (known,) in read_rows(self._db, self._sql["known_elsewhere"], [(fp,) for fp in theirs]):
            del theirs[known]
        write_rows(self._db, self._sql["know_elsewhere"], [(fp,) for fp in theirs])
        pages = {c.found_on for c, _ in theirs.values() if c.found_on}
        urls = dict(read_rows(self._db, self._sql["pages_of"], [(url_id,) for url_id in pages]))
        rows = [
            (owner, c.url, c.depth, c.hops, c.via, c.sitemap, c.modified, urls.get(c.found_on))
            for c, owner in theirs.values()
        ]
        write_rows(self._db, self._sql["put_out"], rows)
        return ours, len(rows)

    def brought(self, pages: Sequence[tuple[int, str]]) -> None:
        """New URLs, and the pages of other parts that they were found on."""
        write_rows(self._db, self._sql["brought"], pages)

    def delivered(self, lots: Mapping[int, int]) -> None:
        """Owners have on record what they were handed: for each, up to which number."""
        for owner, last in lots.items():
            self._db.execute(self._sql["delivered"], (owner, last))


def outbox_urls(db: sqlite3.Connection, part: int, after: int, most: int) -> list[OutboxUrl]:
    """The first URLs behind a number that wait for an owner."""
    rows = db.execute(named_queries("parting.sql")["outbox_window"], (part, after, most)).fetchall()
    return [OutboxUrl(number, url, depth, hops, Via(via), *rest) for number, url, depth, hops, via, *rest in rows]


def any_outbox_urls(db: sqlite3.Connection) -> bool:
    """Whether any URL waits for its owner."""
    return bool(db.execute(named_queries("parting.sql")["any_outgoing"]).fetchone()[0])
