"""What an ordering hears of a crawl, and what it is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol


class Policy(Protocol):
    """Decides which of the known pages is fetched next. Does no IO; every event costs O(log n) for each link.

    Events come in this order: a fetched page's new links are `found` one by one, then all its links are `fetched`.
    """

    def found(self, page: int, source: int | None) -> None:
        """A page was met for the first time, on the page `source` (None: a seed). From now on it waits."""
        ...

    def fetched(self, page: int, links: Sequence[int]) -> None:
        """A page taken before was fetched, and links to these pages, new or known, each named once."""
        ...

    def best(self) -> int | None:
        """The page to fetch next, which waits no longer. None if nothing waits on a site that does not rest."""
        ...

    def rest(self, site: int) -> None:
        """The site was contacted and must be left alone until `wake`."""
        ...

    def wake(self, site: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Setting:
    """What a policy may know before the crawl begins. Pages, sites and suffixes are numbers."""

    site_of: Sequence[int]  # by page
    suffix_of: Sequence[int]  # by site
    urls: Sequence[str] | None = None  # by page, where names are known
    ranks: Sequence[float] = ()  # true PageRank by page: for the order that knows everything, and no other
    chance: Random = field(default_factory=lambda: Random(0))


PolicyMaker = Callable[[Setting], Policy]
