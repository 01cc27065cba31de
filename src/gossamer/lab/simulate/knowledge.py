"""What a simulated crawl knows about each page and site. Hot: benchmarks/bench_orderings.py.

Also here: the interface of a simulated ordering."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from gossamer.model.facts import (
    BIRTH_CREDIT,
    DomainFacts,
    HostFacts,
    UrlFacts,
    credit_per_link,
    share_per_link,
    steps_from,
)
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
    domain_of: Sequence[int] = ()  # by site: the number of its registrable domain; empty: each is its own


PolicyMaker = Callable[[CrawlFacts], Policy]


_NAMELESS = Url("")


class Knowledge:
    """Counts links, visits and credit as the crawl's store does. Sites represent hosts.

    `on_found` for new pages first, then `on_fetched` with all links of the page they were found on.
    """

    def __init__(self, setting: CrawlFacts) -> None:
        pages, sites = len(setting.site_of), len(setting.suffix_of)
        self._site_of = setting.site_of
        self._suffix_of = setting.suffix_of
        self._urls = setting.urls
        self._met = 0
        self._entry = [0] * pages
        self._depth = [0] * pages
        self._links = [0] * pages
        self._links_from_others = [0] * pages
        self._link_sum = [0] * pages
        self._steps = [0] * pages
        self._ordinal = [0] * pages
        self.credit = [BIRTH_CREDIT] * pages
        self._known = [0] * sites
        self._fetched = [0] * sites
        self._number = [0] * sites
        self.domain_of = setting.domain_of or range(sites)
        self.domains = [DomainFacts() for _ in range(max(self.domain_of, default=-1) + 1)]
        self._hosts = [0] * len(self.domains)
        self.suffix_visits = [0] * (max(setting.suffix_of, default=-1) + 1)

    def on_found(self, page: int, source: int | None) -> None:
        self._met += 1
        self._entry[page] = self._met
        site = self._site_of[page]
        known = self._ordinal[page] = self._known[site]
        self._known[site] = known + 1
        if not known:
            domain = self.domain_of[site]
            self._number[site] = self._hosts[domain]
            self._hosts[domain] += 1
        if source is not None:
            self._depth[page] = self._depth[source] + 1
            self._steps[page] = steps_from(self._steps[source], same_host=self._site_of[source] == site)

    def on_fetched(self, page: int, links: Sequence[int]) -> None:
        own = self._site_of[page]
        self._fetched[own] += 1
        domain_of, domains = self.domain_of, self.domains
        own_domain = domain_of[own]
        domains[own_domain].visits += 1
        self.suffix_visits[self._suffix_of[own]] += 1
        credit, counts, from_others = self.credit, self._links, self._links_from_others
        sums, steps, site_of = self._link_sum, self._steps, self._site_of
        share = credit_per_link(credit[page], len(links)) if links else 0
        part = share_per_link(len(links)) if links else 0
        credit[page] = 0
        inside, outside = steps_from(steps[page], same_host=True), steps_from(steps[page], same_host=False)
        for link in links:
            counts[link] += 1
            credit[link] += share
            sums[link] += part
            site = site_of[link]
            reached = inside if site == own else outside
            # Only while it waits: of a fetched page, nothing more depends on it.
            if reached < steps[link]:
                steps[link] = reached
            domain = domain_of[site]
            facts = domains[domain]
            facts.links += 1
            if domain != own_domain:
                from_others[link] += 1
                facts.links_from_others += 1

    def entry_of(self, page: int) -> int:
        """The number of pages found up to and including this one."""
        return self._entry[page]

    def has_grown(self, page: int) -> bool:
        """Whether the page's links have just reached a power of two, from two on."""
        count = self._links[page]
        return count > 1 and not count & (count - 1)

    def facts_of(self, page: int) -> UrlFacts:
        """The facts of a waiting page. If the graph has no names, its URL is empty."""
        return UrlFacts(
            self._entry[page],
            _NAMELESS if self._urls is None else Url(self._urls[page]),
            self._depth[page],
            self._links[page],
            self._links_from_others[page],
            self.credit[page],
            link_sum=self._link_sum[page],
            steps=self._steps[page],
            ordinal=self._ordinal[page],
        )

    def host_of(self, site: int) -> HostFacts:
        """The facts of a site."""
        return HostFacts(self._known[site], self._fetched[site], self._number[site])
