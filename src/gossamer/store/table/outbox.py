"""URLs that one worker finds and another owns: kept with the page they were found on until the owner has them.

Part of the writer's transactions. A URL enters the outbox once, because its fingerprint stays. Delivering it twice
would do no harm, since its owner knows it then; losing it would.
"""

from collections.abc import Callable, Mapping, Sequence

from gossamer.model.partition import OutboxUrl
from gossamer.model.task import Candidate, Via
from gossamer.model.units import HostKey
from gossamer.store.ports import Database, PartitionOwner

_HOSTS_REMEMBERED = 100_000


class Outbox:
    """Sorts candidates by owner. Used from the store's thread only."""

    def __init__(self, db: Database, part: PartitionOwner, partition_of: Callable[[HostKey], int]) -> None:
        self._db = db
        self._part = part
        self._partition_of = partition_of
        self._partitions: dict[HostKey, int] = {}

    def owner_of(self, host: HostKey) -> int:
        partition = self._partitions.get(host)
        if partition is None:
            if len(self._partitions) >= _HOSTS_REMEMBERED:
                self._partitions.clear()
            partition = self._partitions[host] = self._partition_of(host)
        return self._part.owner_of(partition)  # which may change between two commits

    def keep_own(self, candidates: list[Candidate]) -> tuple[list[Candidate], int]:
        """The candidates that this worker owns, and how many of the others are new and have entered the outbox."""
        number = self._part.number
        owners = [self.owner_of(c.host) for c in candidates]
        ours = [c for c, owner in zip(candidates, owners, strict=True) if owner == number]
        if len(ours) == len(candidates):
            return candidates, 0
        theirs = {c.fingerprint: (c, o) for c, o in zip(candidates, owners, strict=True) if o != number}
        for (known,) in self._db.read_rows("known_elsewhere", [(fp,) for fp in theirs]):
            del theirs[known]
        self._db.write_rows("know_elsewhere", [(fp,) for fp in theirs])
        pages = {c.found_on for c, _ in theirs.values() if c.found_on}
        found = self._db.read_rows("pages_of", [(url_id,) for url_id in pages])
        urls: dict[int, str] = dict(found)
        rows = [
            (owner, c.url, c.depth, c.hops, c.via, c.sitemap, c.modified, urls.get(c.found_on))
            for c, owner in theirs.values()
        ]
        self._db.write_rows("put_out", rows)
        return ours, len(rows)

    def record_pages(self, pages: Sequence[tuple[int, str]]) -> None:
        """Store the pages of other workers on which new URLs were found."""
        self._db.write_rows("brought", pages)

    def remove_delivered(self, lots: Mapping[int, int]) -> None:
        """Remove what owners have stored: for each, up to a number."""
        for owner, last in lots.items():
            self._db.execute("delivered", owner, last)


def outbox_urls(db: Database, part: int, after: int, most: int) -> list[OutboxUrl]:
    """The first URLs after a number that are for an owner."""
    rows = db.fetch_all("outbox_window", part, after, most)
    return [OutboxUrl(number, url, depth, hops, Via(via), *rest) for number, url, depth, hops, via, *rest in rows]


def has_outbox_urls(db: Database) -> bool:
    """Whether any URL is in the outbox."""
    return bool(db.fetch_value("any_outgoing"))
