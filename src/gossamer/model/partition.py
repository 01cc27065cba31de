"""Partitions of a crawl by several workers: which worker owns which domains, and what is sent between them."""

from collections.abc import Iterable
from typing import NamedTuple

from gossamer.model.task import Via
from gossamer.model.units import Instant, Url

PARTITIONS = 64
"""Of a crawl by several workers over files of their own. Every domain belongs to one partition permanently; a worker
owns whole partitions."""
DEFAULT_PARTITIONS = 256
"""Of a crawl in a store that workers share, unless another number is given when it is created."""
MOST_PARTITIONS = 8192
ID_BITS = 40
"""The bits of the id of a domain, host or URL that number it within its partition; those above are the partition, in a
store that several workers share, and zero in one of a single worker's own."""


class PartitionList:
    """The partitions that the connections of a worker look at. Replaced as a whole, so that a statement in another
    thread sees all of a change or none."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self.numbers = list(numbers)


class ForeignUrl(NamedTuple):
    """A URL that another worker has found."""

    url: Url
    depth: int
    hops: int
    via: Via
    found_on: int  # the page; 0 for a seed
    sitemap: int
    modified: Instant | None
