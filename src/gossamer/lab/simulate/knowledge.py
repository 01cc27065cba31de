"""What a simulated crawl knows about each page and site. Hot: benchmarks/bench_orderings.py.

Also here: the interface of a simulated ordering."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from gossamer.model.facts import BIRTH_CREDIT, DomainFacts, UrlFacts, credit_per_link
from gossamer.model.units import Url


class Policy(Protocol):
    """Decides which of the known pages is fetched next. Does no IO; every event costs O(log n) per link.

    Order of events: `on_found` for each new link of a fetched page, then `on_fetched` with all its links.
    """

    def on_found(self, page: int, source: int | None) -> None:
        """A page was found for the first time, on the page `source` (None: a seed). From now on it waits."""
        ...

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        """A page returned by `best` was fetched, and links to these pages, new or known, without repetitions."""
        ...

    def best(self) -> int | None:
        """Remove and return the page to fetch next. None if nothing waits on a site that does not rest."""
        ...

    def rest(self, site: int) -> None:
        """The site was contacted and must not be contacted again until `wake`."""
        ...

    def wake(self, site: int) -> None: ...


@dataclass(frozen=True, slots=True)
class CrawlFacts:
    """What a policy may know before the crawl begins. Pages, sites and suffixes are numbers."""

    site_of: Sequence[int]  # by page
    suffix_of: Sequence[int]  # by site
    urls: Sequence[str] | None = None  # by page, if known
    ranks: Sequence[float] = ()  # true PageRank by page, for the omniscient ordering only
    chance: Random = field(default_factory=lambda: Random(0))


PolicyMaker = Callable[[CrawlFacts], Policy]


_NAMELESS = Url("")
_LOOKED_AT = frozenset({4, 16, 64, 256, 1024})


class Knowledge:
    """Counts links, visits and credit as the crawl's store does. Sites represent registrable domains.

    `on_found` for new pages first, then `on_fetched` with all links of the page they were found on.
    """

    def __init__(self, setting: CrawlFacts) -> None:
        pages = len(setting.site_of)
        self._site_of = setting.site_of
        self._suffix_of = setting.suffix_of
        self._urls = setting.urls
        self._met = 0
        self._entry = [0] * pages
        self._depth = [0] * pages
        self._links = [0] * pages
        self._links_from_others = [0] * pages
        self.credit = [BIRTH_CREDIT] * pages
        self.domains = [DomainFacts() for _ in setting.suffix_of]
        self.suffix_visits = [0] * (max(setting.suffix_of, default=-1) + 1)

    def on_found(self, page: int, source: int | None) -> None:
        self._met += 1
        self._entry[page] = self._met
        self._depth[page] = 0 if source is None else self._depth[source] + 1

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        own = self._site_of[page]
        self.domains[own].visits += 1
        self.suffix_visits[self._suffix_of[own]] += 1
        credit, counts, from_others = self.credit, self._links, self._links_from_others
        share = credit_per_link(credit[page], len(links)) if links else 0
        credit[page] = 0
        site_of, domains = self._site_of, self.domains
        for link in links:
            counts[link] += 1
            credit[link] += share
            site = site_of[link]
            domain = domains[site]
            domain.links += 1
            if site != own:
                from_others[link] += 1
                domain.links_from_others += 1

    def entry_of(self, page: int) -> int:
        """The number of pages found up to and including this one."""
        return self._entry[page]

    def has_grown(self, page: int, by: int) -> bool:
        """Whether the page's links, the last of which is on the page `by`, have just reached 4, 16, 64, 256 or 1024; or
        those from other sites 1, 2, 4 and so on."""
        count = self._links[page]
        if count in _LOOKED_AT:
            return True
        others = self._links_from_others[page]
        return count > 1 and self._site_of[page] != self._site_of[by] and not others & (others - 1)

    def facts_of(self, page: int) -> UrlFacts:
        """The facts of a waiting page. If the graph has no names, its URL is empty."""
        return UrlFacts(
            self._entry[page],
            _NAMELESS if self._urls is None else Url(self._urls[page]),
            self._depth[page],
            self._links[page],
            self._links_from_others[page],
            self.credit[page],
        )
