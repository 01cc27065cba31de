"""Parts of a crawl: who owns which domains, and what goes from one to another."""

from typing import NamedTuple

from gossamer.model.task import Via
from gossamer.model.units import Instant, Url

PARTITIONS = 64
"""A domain belongs to one of so many partitions for ever; parts own whole partitions."""


class WorkerShare(NamedTuple):
    """One of the parts of a crawl by several workers: the partitions whose numbers leave its own as a remainder."""

    number: int  # from 0
    total: int

    def owner_of(self, partition: int) -> int:
        """The number of the part that owns a partition."""
        return partition % self.total

    def owns(self, partition: int) -> bool:
        return self.owner_of(partition) == self.number


class OutboxUrl(NamedTuple):
    """A URL on its way to its owner."""

    id: int  # grows
    url: Url
    depth: int
    hops: int
    via: Via
    sitemap: int
    modified: Instant | None
    page: Url | None  # that it was found on; None for a seed
