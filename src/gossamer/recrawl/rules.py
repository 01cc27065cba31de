"""The user's recrawl rules: gaps and limits by host, pattern, media type and status.

The first matching rule applies to a page; without one, the defaults do. A fixed gap overrides every policy; limits only
restrict what the policy may choose.
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
    """The result of a visit, as far as the next one depends on it."""

    PAGE = "page"
    NOT_FOUND = "not-found"  # 404
    GONE = "gone"  # 410
    MOVED = "moved"  # a permanent redirect
    ELSEWHERE = "elsewhere"  # a temporary one
    NEAR_DUPLICATE = "near-duplicate"
    EXCLUDED = "excluded"  # by robots.txt or noindex


GAPS: Mapping[PageStatus, Seconds] = MappingProxyType(
    {
        # A missing page may come back. One that is gone is visited again only if a user's rule says so.
        PageStatus.NOT_FOUND: Seconds(30 * DAY),
        PageStatus.GONE: Seconds(180 * DAY),
        # The target of a redirect has its own visits.
        PageStatus.MOVED: Seconds(90 * DAY),
        PageStatus.ELSEWHERE: Seconds(14 * DAY),
        # Its original is kept fresh; this only detects when it becomes a page of its own.
        PageStatus.NEAR_DUPLICATE: Seconds(60 * DAY),
        PageStatus.EXCLUDED: Seconds(30 * DAY),
    }
)
"""Fixed gaps by status. `PAGE` has none: the policy decides."""

ABSENT = frozenset({PageStatus.NOT_FOUND, PageStatus.GONE})
"""Missing pages. Rules apply to them only if they name the status."""

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
"""Days between changes by sitemap `changefreq`. Sites say `daily` of everything, so it is only a prior."""

CHANGEFREQ_WEIGHT = 0.5  # shape of that prior: as weak as the usual one


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What rules match on."""

    host: str
    url: str
    media_type: str = ""  # `text/html`, without parameters
    status: PageStatus = PageStatus.PAGE
    changefreq: str | None = None  # from its sitemap


@dataclass(frozen=True, slots=True)
class RecrawlRule:
    """One rule. None matches everything, or changes nothing."""

    name: str  # as in the configuration, for `explain`
    host: str | None = None  # `news.example.org`, or `*.example.org` for it and its subdomains
    pattern: Pattern[str] | None = None  # matches anywhere in the URL
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
        """Whether a rule without a status applies to this one. "Never again" also applies to missing pages."""
        return standing not in ABSENT or self.gap == inf


@dataclass(frozen=True, slots=True)
class Ruling:
    """The limits within which the policy may choose, or a fixed gap, and the rule that set them."""

    shortest: Seconds
    longest: Seconds
    fixed: Seconds | None
    rule: str | None  # None: the defaults


@dataclass(frozen=True, slots=True)
class RecrawlRules:
    """All rules of a crawl."""

    rules: Sequence[RecrawlRule] = ()
    default_gap: Seconds = Seconds(14 * DAY)
    shortest: Seconds = Seconds(300.0)
    longest: Seconds = Seconds(365 * DAY)
    gaps: Mapping[PageStatus, Seconds] = field(default_factory=lambda: GAPS)

    def ruling(self, page: PageFacts) -> Ruling:
        """The first matching rule decides; then the default for the page's status."""
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
        """The terms of a decision under a ruling. A fixed gap is both limits at once, which every policy observes."""
        shortest, longest = ruling.shortest, ruling.longest
        if ruling.fixed is not None:
            shortest = longest = ruling.fixed
        return Terms(importance, price, prior, recall, self.default_gap, shortest, longest, hub)


def prior_of(changefreq: str | None, host_prior: Estimate = USUAL) -> Estimate:
    """The prior of a page: half way between its sitemap's `changefreq` and its host's prior."""
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
"""The gap of a page that is not visited again."""

_PERMANENT = (301, 308)


def page_status(state: UrlState, status: int | None, near_duplicate: bool) -> PageStatus:
    """The status of a visit, as far as the next one depends on it."""
    if near_duplicate:
        return PageStatus.NEAR_DUPLICATE
    if state is UrlState.REDIRECT:
        return PageStatus.MOVED if status in _PERMANENT else PageStatus.ELSEWHERE
    if state is UrlState.MISSING:
        return PageStatus.NOT_FOUND
    return PageStatus.GONE if state is UrlState.GONE else PageStatus.PAGE
