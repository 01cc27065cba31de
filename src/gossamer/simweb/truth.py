"""What a correct crawl of the web must find: walked along the links, no page rendered, no crawler asked."""

from collections import deque
from dataclasses import dataclass

from gossamer.simweb.graph import Place
from gossamer.simweb.hosts import HostPlan, Kind
from gossamer.simweb.paths import url_of
from gossamer.simweb.web import SimWeb


@dataclass(frozen=True, slots=True)
class Truth:
    """The outcome of a complete crawl of the zone. Every URL found is in exactly one of the five.

    Time has no part in it: links do not change, and what fails recovers.
    """

    stored: frozenset[str]  # stored with a 200 body
    duplicate_groups: tuple[frozenset[str], ...]  # of each exactly one is stored, unless copies are only `near`
    redirects: dict[str, str]  # to the next hop, absolute
    missing: frozenset[str]
    forbidden: frozenset[str]  # robots.txt denies them: never to be requested
    near: bool = False  # `near_copies`: duplicates are near-duplicates, and all of them are stored

    @property
    def documents(self) -> int:
        """How many documents the crawl stores."""
        if self.near:
            return len(self.stored) + sum(map(len, self.duplicate_groups))
        return len(self.stored) + len(self.duplicate_groups)

    def all_urls(self) -> frozenset[str]:
        return frozenset().union(self.stored, self.redirects, self.missing, self.forbidden, *self.duplicate_groups)


def ground_truth(web: SimWeb, agent: str = "gossamer") -> Truth:
    """Walk the web from its seeds as `agent`. Time and memory grow with the number of URLs."""
    graph = web.graph
    stored: set[str] = set()
    groups: dict[int, set[str]] = {}
    redirects: dict[str, str] = {}
    missing: set[str] = set()
    forbidden: set[str] = set()
    queue: deque[Place] = deque()
    found: set[int] = set()
    met: set[int] = set()  # hosts

    def find(host: HostPlan, page: int) -> None:
        number = host.first_page + page
        if number not in found:
            found.add(number)
            queue.append((host, page))
            if host.number not in met:
                met.add(host.number)
                by_sitemap(host)

    def by_sitemap(host: HostPlan) -> None:
        """Whatever page of a host is found first, its robots.txt is read for it, and leads to its sitemap."""
        maps = web.site_maps
        if maps.has(host) and not host.robots.forbids(agent, None):
            stored.update(host.base + path for path in (*maps.files(host), *maps.hidden(host)))
            for listed in maps.numbers(host):
                find(host, listed)
        else:
            forbidden.update(host.base + path for path in maps.files(host)[:1])

    for host in web.hosts[: web.config.seed_hosts]:
        find(host, 0)
    while queue:
        host, page = queue.popleft()
        url = url_of(host, page)
        kind = host.kind(page)
        if host.robots.forbids(agent, host.family(page)):
            forbidden.add(url)
        elif kind is Kind.REDIRECT:
            target = graph.redirect(host, page).target
            redirects[url] = url_of(*target)
            find(*target)
        elif kind is Kind.MISSING:
            missing.add(url)
        elif kind is Kind.DUPLICATE:
            group = graph.duplicate_group(host, page)
            groups.setdefault(group, set()).add(url)
            for place in graph.duplicate_links(group):
                find(*place)
        else:
            stored.add(url)
            inside, outside = graph.links(host, page)
            for number in (*graph.nav(host), *inside):
                find(host, number)
            for place in outside:
                find(*place)
    # A copy without a fellow is a page like any other.
    stored.update(*(urls for urls in groups.values() if len(urls) == 1))
    return Truth(
        stored=frozenset(stored),
        duplicate_groups=tuple(frozenset(urls) for _, urls in sorted(groups.items()) if len(urls) > 1),
        redirects=redirects,
        missing=frozenset(missing),
        forbidden=frozenset(forbidden),
        near=web.config.near_copies,
    )
