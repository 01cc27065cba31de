"""The judge: a server's record and the stored pages in, findings out. Pure, and the same for everybody.

What it holds a crawler to is what all were asked for, not what Gossamer promises beyond: a gap is counted from the
start of one request to the start of the next (Gossamer counts from the end), and only one that is shorter than the wish
by more than a fifth is held against anybody, since a busy machine reads requests late.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from gossamer.lab.simweb.server import Request

ROBOTS = "/robots.txt"
LENIENCE = 0.8
"""A gap of this share of the wish is still taken for kept."""


class Finding(Enum):
    MISSED = "a page that could be reached is not stored"
    SHUT_OUT = "not stored either, on a host whose robots.txt lets in nobody but us by name"
    TWICE = "a page was fetched again that had been answered before"
    FORBIDDEN = "robots.txt denies it"
    BEFORE_ROBOTS = "asked for before robots.txt was answered"
    TOO_SOON = "sooner after the last request to the host than asked for"
    AT_ONCE = "two requests to a host at once"
    CRAWL_DELAY = "sooner than the Crawl-delay of robots.txt"
    RETRY_AFTER = "tried again before the Retry-After of the answer"
    WASTED = "a page of a trap"


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: of what kind, and at which URL (without scheme and port)."""

    finding: Finding
    host: str
    target: str


@dataclass(frozen=True, slots=True)
class Expected:
    """What a complete and polite crawl of a round does. URLs are absolute and canonical."""

    pages: frozenset[str]  # each is to be stored
    copies: tuple[frozenset[str], ...] = ()  # the same document: one of each is to be stored, more is no fault
    forbidden: frozenset[str] = frozenset()  # never to be asked for
    delay: float = 0.0
    crawl_delays: Mapping[str, float] = field(default_factory=dict)  # by host
    by_name: frozenset[str] = frozenset()  # hosts that are open to our name only, and closed to `*`
    trap_hosts: frozenset[str] = frozenset()  # whatever else is asked of these is wasted

    @property
    def documents(self) -> int:
        return len(self.pages) + len(self.copies)


def judge(requests: Iterable[Request], stored: Container[str], expected: Expected) -> list[Found]:
    """Every fault that the record shows, whatever the order of `requests`; empty means complete and polite."""
    in_order = sorted(requests, key=lambda request: request.read_at)
    by_host: dict[str, list[Request]] = defaultdict(list)
    for request in in_order:
        by_host[request.host].append(request)
    found = _missed(stored, expected) + _fetched_again(in_order) + _denied(in_order, expected)
    for host, visits in by_host.items():
        found += _unruly(visits)
        found += _hurried(visits, expected.delay, expected.crawl_delays.get(host, 0.0))
        found += _impatient(visits)
    return found + _wasted(in_order, expected)


def tally(found: Iterable[Found]) -> Counter[Finding]:
    return Counter(each.finding for each in found)


def split(url: str) -> tuple[str, str]:
    """Host without port, and target: what the server's record has of a URL."""
    authority, slash, rest = url.partition("://")[2].partition("/")
    return authority.partition(":")[0], slash + rest


def _missed(stored: Container[str], expected: Expected) -> list[Found]:
    alone = [url for url in expected.pages if url not in stored]
    copies = [min(group) for group in expected.copies if not any(url in stored for url in group)]
    places = map(split, (*alone, *copies))
    return [Found(Finding.SHUT_OUT if place[0] in expected.by_name else Finding.MISSED, *place) for place in places]


def _fetched_again(requests: Sequence[Request]) -> list[Found]:
    # Trying again what failed is no fault, nor is asking anew for the rules.
    good = Counter((r.host, r.target) for r in requests if r.status == 200 and r.target != ROBOTS)
    return [Found(Finding.TWICE, *page) for page, times in good.items() for _ in range(times - 1)]


def _denied(requests: Sequence[Request], expected: Expected) -> list[Found]:
    closed = {split(url) for url in expected.forbidden}
    return [Found(Finding.FORBIDDEN, r.host, r.target) for r in requests if (r.host, r.target) in closed]


def _unruly(visits: Sequence[Request]) -> list[Found]:
    """What was asked of a host whose rules were not known; a robots.txt that never came is known not to come."""
    known_at = min((r.written_at for r in visits if r.target == ROBOTS), default=float("inf"))
    early = [r for r in visits if r.target != ROBOTS and r.read_at < known_at]
    return [Found(Finding.BEFORE_ROBOTS, r.host, r.target) for r in early]


def _hurried(visits: Sequence[Request], delay: float, crawl_delay: float) -> list[Found]:
    found = []
    last: Request | None = None
    busy_until = rules_known = float("-inf")
    for visit in visits:
        if last is not None:
            gap = visit.read_at - last.read_at
            if visit.read_at < busy_until:
                found.append(Found(Finding.AT_ONCE, visit.host, visit.target))
            if gap < LENIENCE * delay:
                found.append(Found(Finding.TOO_SOON, visit.host, visit.target))
            elif rules_known > float("-inf") and gap < LENIENCE * crawl_delay:
                found.append(Found(Finding.CRAWL_DELAY, visit.host, visit.target))
        if visit.target == ROBOTS:
            rules_known = visit.written_at
        last = visit
        busy_until = max(busy_until, visit.written_at)
    return found


def _impatient(visits: Sequence[Request]) -> list[Found]:
    until: dict[str, float] = {}
    found = []
    for visit in visits:
        if visit.read_at < until.get(visit.target, 0.0):
            found.append(Found(Finding.RETRY_AFTER, visit.host, visit.target))
        if visit.retry_after > 0:
            until[visit.target] = visit.written_at + LENIENCE * visit.retry_after
    return found


def _wasted(requests: Sequence[Request], expected: Expected) -> list[Found]:
    honest = {split(url) for url in expected.pages}
    return [
        Found(Finding.WASTED, r.host, r.target)
        for r in requests
        if r.host in expected.trap_hosts and r.target != ROBOTS and (r.host, r.target) not in honest
    ]
