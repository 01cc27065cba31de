"""Partitions of a crawl by several workers: which worker owns which domains, and what is sent between them."""

from collections.abc import Iterable
from typing import NamedTuple

from gossamer.model.task import Via
from gossamer.model.units import Instant, Url

PARTITIONS = 64
"""Every domain belongs to one of these partitions permanently; a worker owns whole partitions."""
ID_BITS = 40
"""The bits of the id of a domain, host or URL that number it within its partition; those above are the partition, in a
store that several workers share, and zero in one of a single worker's own."""


class PartitionList:
    """The partitions that the connections of a worker look at. Replaced as a whole, so that a statement in another
    thread sees all of a change or none."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = list(numbers)


class WorkerShare(NamedTuple):
    """The share of one worker: the partitions whose number modulo `total` is `number`."""

    number: int  # from 0
    total: int

    def owner_of(self, partition: int) -> int:
        """The number of the worker that owns a partition."""
        return partition % self.total

    def owns(self, partition: int) -> bool:
        return self.owner_of(partition) == self.number


class ForeignUrl(NamedTuple):
    """A URL that another worker has found."""

    url: Url
    depth: int
    hops: int
    via: Via
    found_on: int  # the page; 0 for a seed
    sitemap: int
    modified: Instant | None


class OutboxUrl(NamedTuple):
    """A URL on its way to the worker that owns it."""

    id: int  # grows
    url: Url
    depth: int
    hops: int
    via: Via
    sitemap: int
    modified: Instant | None
    page: Url | None  # the page it was found on; None for a seed
