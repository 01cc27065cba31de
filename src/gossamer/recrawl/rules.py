"""The rules of `[recrawl]` as `recrawl.rules` has them, and what a settlement is to them.

What the user wants of certain pages: their gaps and limits, by host, pattern, type and state.

The first rule that fits a page is its rule; a page that none fits has the usual terms. A rule with a fixed gap is an
order, which no policy overrides; a rule with limits only narrows what the policy may choose.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from math import inf
from re import Pattern
from types import MappingProxyType

from gossamer.model.states import UrlState
from gossamer.model.units import DAY, Seconds
from gossamer.recrawl.estimate import USUAL, Estimate
from gossamer.recrawl.policy import Terms


class PageStatus(StrEnum):
    """What a visit came to, as far as the next one depends on it."""

    PAGE = "page"
    NOT_FOUND = "not-found"  # 404
    GONE = "gone"  # 410
    MOVED = "moved"  # a permanent redirect
    ELSEWHERE = "elsewhere"  # a temporary one
    NEAR_DUPLICATE = "near-duplicate"
    EXCLUDED = "excluded"  # by robots.txt or noindex


GAPS: Mapping[PageStatus, Seconds] = MappingProxyType(
    {
        # A page that is missing may come back; one that is said to be gone seldom does. Both are asked for again.
        PageStatus.NOT_FOUND: Seconds(30 * DAY),
        PageStatus.GONE: Seconds(180 * DAY),
        # Where a redirect leads is a page of its own and has its own visits.
        PageStatus.MOVED: Seconds(90 * DAY),
        PageStatus.ELSEWHERE: Seconds(14 * DAY),
        # Its original is kept fresh. This one only has to be noticed when it becomes a page of its own.
        PageStatus.NEAR_DUPLICATE: Seconds(60 * DAY),
        PageStatus.EXCLUDED: Seconds(30 * DAY),
    }
)
"""Fixed gaps of what is no page. `PAGE` has none: it is the policy's."""

ABSENT = frozenset({PageStatus.NOT_FOUND, PageStatus.GONE})
"""What is not there. How often pages are wanted says nothing of it: rules must name it to say when it is asked for."""

CHANGEFREQ: Mapping[str, float] = MappingProxyType(
    {
        "always": 1 / 24,
        "hourly": 1 / 24,
        "daily": 1.0,
        "weekly": 7.0,
        "monthly": 30.0,
        "yearly": 365.0,
        "never": 3650.0,
    }
)
"""Days between changes, as a sitemap says. Sites say `daily` of everything, so it is no more than a prior."""

CHANGEFREQ_WEIGHT = 0.5  # the shape of that prior: as weak as the usual one


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What rules look at."""

    host: str
    url: str
    media_type: str = ""  # `text/html`, without parameters
    status: PageStatus = PageStatus.PAGE
    changefreq: str | None = None  # as its sitemap says


@dataclass(frozen=True, slots=True)
class RecrawlRule:
    """One rule. What is None does not matter, or is not changed."""

    name: str  # as it stands in the configuration, for explaining
    host: str | None = None  # `news.example.org`, or `*.example.org` for it and all below
    pattern: Pattern[str] | None = None  # found anywhere in the URL
    media_type: str | None = None  # `text/html`, or `image/*`
    status: PageStatus | None = None
    gap: Seconds | None = None  # fixed
    shortest: Seconds | None = None
    longest: Seconds | None = None

    def fits(self, page: PageFacts) -> bool:
        return (
            (self.status is page.status or (self.status is None and self._applies_to(page.status)))
            and (self.host is None or _host_fits(self.host, page.host))
            and (self.media_type is None or fnmatchcase(page.media_type.lower(), self.media_type.lower()))
            and (self.pattern is None or self.pattern.search(page.url) is not None)
        )

    def _applies_to(self, standing: PageStatus) -> bool:
        """Whether a rule that names no standing is about this one. What is never visited again is not when it is gone
        either."""
        return standing not in ABSENT or self.gap == inf


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rules say of a page: within which limits the policy may choose, or the gap itself, and by which rule."""

    shortest: Seconds
    longest: Seconds
    fixed: Seconds | None
    rule: str | None  # None: the usual


@dataclass(frozen=True, slots=True)
class RecrawlRules:
    """All rules of a crawl."""

    rules: Sequence[RecrawlRule] = ()
    default_gap: Seconds = Seconds(14 * DAY)
    shortest: Seconds = Seconds(300.0)
    longest: Seconds = Seconds(365 * DAY)
    gaps: Mapping[PageStatus, Seconds] = field(default_factory=lambda: GAPS)

    def ruling(self, page: PageFacts) -> Ruling:
        """The first rule that fits decides; after it, what holds for the page's standing."""
        for rule in self.rules:
            if rule.fits(page):
                shortest = self.shortest if rule.shortest is None else rule.shortest
                longest = max(self.longest if rule.longest is None else rule.longest, shortest)
                fixed = rule.gap if rule.gap is not None else self.gaps.get(page.status)
                return Ruling(shortest, longest, fixed, rule.name)
        fixed = self.gaps.get(page.status)
        return Ruling(self.shortest, self.longest, fixed, None if fixed is None else page.status.value)

    def terms(
        self,
        ruling: Ruling,
        *,
        importance: float,
        price: float,
        prior: Estimate,
        recall: float = 0.0,
        hub: bool = False,
    ) -> Terms:
        """The terms of a decision under a ruling. A fixed gap is a limit on both sides, which every policy keeps."""
        shortest, longest = ruling.shortest, ruling.longest
        if ruling.fixed is not None:
            shortest = longest = ruling.fixed
        return Terms(importance, price, prior, recall, self.default_gap, shortest, longest, hub)


def prior_of(changefreq: str | None, host_prior: Estimate = USUAL) -> Estimate:
    """What is believed of a page at first: what its sitemap says of it, half way to what its host is like."""
    days = CHANGEFREQ.get(changefreq.strip().lower()) if changefreq is not None else None
    if days is None:
        return host_prior
    rate = (host_prior.rate / days) ** 0.5
    return Estimate(CHANGEFREQ_WEIGHT, CHANGEFREQ_WEIGHT / rate)


def _host_fits(wanted: str, host: str) -> bool:
    if wanted.startswith("*."):
        return host == wanted[2:] or host.endswith(wanted[1:])
    return host == wanted


NEVER_AGAIN = Seconds(math.inf)
"""The gap of what is not visited again."""

_PERMANENT = (301, 308)


def page_status(state: UrlState, status: int | None, near_duplicate: bool) -> PageStatus:
    """What a visit came to, as far as the next one depends on it."""
    if near_duplicate:
        return PageStatus.NEAR_DUPLICATE
    if state is UrlState.REDIRECT:
        return PageStatus.MOVED if status in _PERMANENT else PageStatus.ELSEWHERE
    if state is UrlState.MISSING:
        return PageStatus.NOT_FOUND
    return PageStatus.GONE if state is UrlState.GONE else PageStatus.PAGE
