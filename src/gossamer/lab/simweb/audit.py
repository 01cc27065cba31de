"""Judges a crawl of the simulated web: was it polite, according to the server's log, and what must it find?

The ground truth is computed by walking along the links; no page is rendered, and no crawler is involved.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from gossamer.lab.simweb.graph import Place
from gossamer.lab.simweb.hosts import HostPlan, Kind, url_of
from gossamer.lab.simweb.server import Request
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import HostKey, Seconds


@dataclass(frozen=True, slots=True)
class Truth:
    """The outcome of a complete crawl of the zone. Every URL found is in exactly one of the five.

    Independent of time: links do not change, and what fails recovers.
    """

    stored: frozenset[str]  # stored with a 200 body
    duplicate_groups: tuple[frozenset[str], ...]  # exactly one of each is stored, unless copies are `near`
    redirects: dict[str, str]  # to the next hop, absolute
    missing: frozenset[str]
    forbidden: frozenset[str]  # disallowed by robots.txt: never to be requested
    near: bool = False  # `near_copies`: duplicates are near-duplicates, and all of them are stored

    @property
    def documents(self) -> int:
        """The number of documents that the crawl stores."""
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
    # A copy without another is an ordinary page.
    stored.update(*(urls for urls in groups.values() if len(urls) == 1))
    return Truth(
        stored=frozenset(stored),
        duplicate_groups=tuple(frozenset(urls) for _, urls in sorted(groups.items()) if len(urls) > 1),
        redirects=redirects,
        missing=frozenset(missing),
        forbidden=frozenset(forbidden),
        near=web.config.near_copies,
    )


class Offence(Enum):
    AT_ONCE = "two requests at once"
    TOO_SOON = "gap too short"
    ADDRESS_TOO_SOON = "gap too short for hosts that share an address"


@dataclass(frozen=True, slots=True)
class Violation:
    """`later` came too soon after `earlier`. Gaps are in seconds; negative for two requests at once."""

    offence: Offence
    earlier: Request
    later: Request
    gap: Seconds
    required: Seconds

    def __str__(self) -> str:
        return (
            f"{self.offence.value}: {self.later.host}{self.later.target} {self.gap:.4f} s after "
            f"{self.earlier.host}{self.earlier.target}, {self.required:.4f} s required"
        )


def audit(
    requests: Iterable[Request],
    *,
    min_delay: Seconds,
    delay_factor: float,
    max_adaptive_delay: Seconds,
    crawl_delays: Mapping[HostKey, Seconds],
    tolerance: float = 0.0,
) -> list[Violation]:
    """All politeness violations in `requests`, in any order; empty means polite.

    A host may see one request at a time, and the next one no sooner after the end of a response than the longest of:
    `min_delay`, `delay_factor` times the response's duration (up to `max_adaptive_delay`), the host's crawl delay (once
    its robots.txt has been answered), the response's Retry-After. For hosts that share an address, one request at a
    time and `min_delay` apply to the address as well. `tolerance` (seconds) is subtracted from each required gap.
    """
    by_host: dict[str, list[Request]] = defaultdict(list)
    by_address: dict[str, list[Request]] = defaultdict(list)
    for request in sorted(requests, key=lambda r: (r.read_at, r.written_at)):
        by_host[request.host].append(request)
        by_address[request.address].append(request)
    violations: list[Violation] = []
    for visits in by_host.values():
        violations += _audit_host(
            visits,
            min_delay=min_delay,
            delay_factor=delay_factor,
            max_adaptive_delay=max_adaptive_delay,
            crawl_delay=crawl_delays.get(visits[0].host, Seconds(0.0)),
            tolerance=tolerance,
        )
    for visits in by_address.values():
        violations += _audit_address(visits, min_delay=min_delay, tolerance=tolerance)
    return sorted(violations, key=lambda v: v.later.read_at)


def forbidden_requests(requests: Iterable[Request], truth: Truth) -> list[Request]:
    """The requests for URLs that robots.txt disallows. A correct crawl has none."""
    # By host and target: the log does not have the host's port.
    denied = {tuple(_host_and_target(url)) for url in truth.forbidden}
    return [request for request in requests if (str(request.host), request.target) in denied]


def _audit_host(
    visits: Sequence[Request],
    *,
    min_delay: Seconds,
    delay_factor: float,
    max_adaptive_delay: Seconds,
    crawl_delay: Seconds,
    tolerance: float,
) -> list[Violation]:
    violations: list[Violation] = []
    rules_known = False
    latest: Request | None = None  # the request whose response ended last so far
    for visit in visits:
        if latest is not None:
            adaptive = min(delay_factor * (latest.written_at - latest.read_at), max_adaptive_delay)
            asked = crawl_delay if rules_known else 0.0
            required = Seconds(max(min_delay, adaptive, asked, latest.retry_after))
            violations += _judge(latest, visit, required, tolerance, Offence.TOO_SOON)
        if latest is None or visit.written_at >= latest.written_at:
            latest = visit
        rules_known = rules_known or visit.target == "/robots.txt"
    return violations


def _audit_address(visits: Sequence[Request], *, min_delay: Seconds, tolerance: float) -> list[Violation]:
    violations: list[Violation] = []
    latest: Request | None = None
    for visit in visits:
        # Pairs of one host have been checked already.
        if latest is not None and latest.host != visit.host:
            violations += _judge(latest, visit, min_delay, tolerance, Offence.ADDRESS_TOO_SOON)
        if latest is None or visit.written_at >= latest.written_at:
            latest = visit
    return violations


def _judge(earlier: Request, later: Request, required: Seconds, tolerance: float, offence: Offence) -> list[Violation]:
    gap = Seconds(later.read_at - earlier.written_at)
    if gap < 0:
        return [Violation(Offence.AT_ONCE, earlier, later, gap, required)]
    if gap < required - tolerance:
        return [Violation(offence, earlier, later, gap, required)]
    return []


def _host_and_target(url: str) -> tuple[str, str]:
    authority, slash, rest = url.partition("://")[2].partition("/")
    return authority.partition(":")[0], slash + rest
