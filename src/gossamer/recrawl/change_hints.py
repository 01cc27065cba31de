"""Change hints: Last-Modified, sitemaps and feeds, and whether those of a host can be trusted.

Each visit shows whether earlier hints were right. That is counted per host, and later hints are used only if enough of
them were right. Last-Modified is useful if it is the time of the last change; it is not if it is the time of the
response, or changes while the content does not. A sitemap's or feed's report of a change is useful if visits confirm
it; a sitemap that lists its own generation time for every page is seldom confirmed.
"""

import json
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.model.http_dates import http_date
from gossamer.model.settlement import MAX_VALIDATOR_CHARS
from gossamer.model.task import PreviousVisit, Task
from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.estimate import HostRates

MIN_AGE: Final = Seconds(60.0)
"""A page modified less than this before it was served was generated for the request."""

ENOUGH: Final = 10
"""Visits that must have been judged before a host is trusted."""

MIN_TRUTH: Final = 0.9  # share of the Last-Modified times that were right
MIN_CONFIRMED: Final = 0.5  # share of the reports; below, they are ignored
MAX_RECALL: Final = 0.95  # no source reports everything for ever
MANY: Final = 400
"""Visits after which counts are halved: a host that becomes unreliable is noticed in weeks, not in years."""


class HostTrust(NamedTuple):
    """How reliable the hints of one host were. A value, stored in the host's row."""

    honest: int = 0  # Last-Modified changed exactly when the content did
    dishonest: int = 0
    reports: int = 0  # reports of changes that were followed by a visit
    confirmed: int = 0  # of these, with a change
    changes: int = 0  # changes found on pages listed by a sitemap or feed
    reported_changes: int = 0  # of these, reported before the visit

    @property
    def trusts_last_modified(self) -> bool:
        """Whether Last-Modified says when a page of this host changed."""
        judged = self.honest + self.dishonest
        return judged >= ENOUGH and self.honest >= MIN_TRUTH * judged

    @property
    def recall(self) -> float:
        """The share of changes that is reported; 0 if reports are not trusted: too few were checked, or most were
        wrong."""
        _, _, reports, confirmed, changes, foretold = self
        if reports < ENOUGH or confirmed < MIN_CONFIRMED * reports or changes < ENOUGH:
            return 0.0
        share = foretold / changes
        return share if share < MAX_RECALL else MAX_RECALL

    def with_last_modified(
        self, *, before: Instant | None, after: Instant | None, served: Instant, changed: bool
    ) -> "HostTrust":
        """A second visit saw Last-Modified `after` where the first saw `before`; `served` is the response's Date."""
        if before is None or after is None:
            return self
        honest, lying, reports, confirmed, changes, foretold = self
        if usable_modified(after, served) is not None and (after > before) == changed:
            honest += 1
        else:
            lying += 1
        if honest + lying > MANY:
            honest, lying = honest // 2, lying // 2
        return HostTrust(honest, lying, reports, confirmed, changes, foretold)

    def with_false_last_modified(self) -> "HostTrust":
        """The server says that nothing has changed, but its Last-Modified has."""
        return self._replace(dishonest=self.dishonest + 1)

    def with_report(self, *, reported: bool, listed: bool, changed: bool) -> "HostTrust":
        """A visit found the page changed or not; a change had been `reported` since the previous visit or not.

        `listed`: a sitemap or feed lists the page, so it could have reported the change.
        """
        if not listed:
            return self
        if not reported and not changed:
            return self  # most visits
        honest, lying, reports, confirmed, changes, foretold = self
        if reported:
            reports, confirmed, foretold = reports + 1, confirmed + changed, foretold + changed
        changes += changed
        if reports > MANY:
            reports, confirmed = reports // 2, confirmed // 2
        if changes > MANY:
            changes, foretold = changes // 2, foretold // 2
        return HostTrust(honest, lying, reports, confirmed, changes, foretold)


def usable_modified(modified: Instant | None, served: Instant) -> Instant | None:
    """The time of the last change, if Last-Modified can be that: more than a minute before the response."""
    return modified if modified is not None and modified + MIN_AGE < served else None


def reported_change(lastmod: Instant | None, last_visit: Instant) -> bool:
    """Whether a sitemap or feed says that the page changed after our last visit."""
    return lastmod is not None and lastmod > last_visit


FEEDS: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
)
"""Media types of documents that list other pages, apart from sitemaps."""

HUB_WEIGHT: Final = 4.0
"""Importance of sitemaps and feeds. Without a budget, one that always changes is visited every 14 hours."""


@dataclass(slots=True)
class HostChangeHistory:
    """How the pages of a host change, and how reliable its hints are."""

    rates: HostRates = HostRates()
    trust: HostTrust = HostTrust()
    stale_validators: int = 0  # documents that changed although their validators did not
    recall: float = 0.0  # cached `trust.recall`, needed at every visit
    price: float = 0.0  # the host's stored price, if above that of the crawl

    def __post_init__(self) -> None:
        self.recall = self.trust.recall

    def to_text(self, price: float = 0.0) -> str:
        """As JSON, formatted by hand: every commit does this for all hosts visited since the last one."""
        pages, rates = self.rates
        honest, lying, reports, confirmed, changes, foretold = self.trust
        trust = f"[{honest}, {lying}, {reports}, {confirmed}, {changes}, {foretold}]"
        own = f", {price!r}" if price else ""
        return f"[{self.stale_validators}, [{pages}, {rates!r}], {trust}{own}]"

    @staticmethod
    def from_text(text: str) -> "HostChangeHistory":
        """The inverse of `to_text`."""
        stale, rates, trust, *price = json.loads(text)
        return HostChangeHistory(HostRates(*rates), HostTrust(*trust), stale, price=price[0] if price else 0.0)


class ChangeHint(NamedTuple):
    """The trusted hints about a page that was visited again."""

    modified: Instant | None = None  # when it changed, between the visits
    flagged_after: Seconds | None = None  # a sitemap or feed reported the change this long after the previous visit


NO_HINT: Final = ChangeHint()


def judge(
    known: HostChangeHistory,
    task: Task,
    before: PreviousVisit,
    last_modified: str | None,
    now: Instant,
    *,
    changed: bool,
) -> ChangeHint:
    """Compare the hints about a page with what a visit found, update the trust in its host, and return the hints to be
    used. This visit counts for trust from the next one on."""
    trust = known.trust
    modified: Instant | None = None
    had_modified = before.last_modified
    if last_modified is not None and had_modified is not None:
        at = was = http_date(last_modified, now)
        if had_modified != last_modified:
            was = http_date(had_modified, now)
        known.trust = trust.with_last_modified(before=was, after=at, served=now, changed=changed)
        if changed and trust.trusts_last_modified:
            at = usable_modified(at, now)
            modified = at if at is not None and at > before.at else None
    flagged: Seconds | None = None
    if task.modified is not None:
        recall = known.recall
        reported = _judge_report(known, task.modified, before.at, now, changed=changed)
        if reported and changed and recall > 0:
            flagged = Seconds(task.modified - before.at)
    return NO_HINT if modified is None and flagged is None else ChangeHint(modified, flagged)


def judge_not_modified(
    known: HostChangeHistory, task: Task, before: PreviousVisit, last_modified: str | None, now: Instant
) -> None:
    """The server answered 304. It may do so because of its Last-Modified, so this proves nothing about it, unless it
    differs from the previous one."""
    if last_modified is not None and before.last_modified is not None and last_modified != before.last_modified:
        known.trust = known.trust.with_false_last_modified()
    if task.modified is not None:
        _judge_report(known, task.modified, before.at, now, changed=False)


def _judge_report(known: HostChangeHistory, lastmod: Instant, seen: Instant, now: Instant, *, changed: bool) -> bool:
    """Whether a sitemap or feed reports a change since the page was `seen`; updates the trust in such reports."""
    reported = lastmod <= now and reported_change(lastmod, seen)
    if reported or changed:
        trust = known.trust = known.trust.with_report(reported=reported, listed=True, changed=changed)
        known.recall = trust.recall
    return reported


def age_of(known: HostChangeHistory, task: Task, last_modified: str | None, now: Instant) -> Instant | None:
    """When a page that is new to us last changed, according to trusted hints."""
    trust = known.trust
    if last_modified is not None and trust.trusts_last_modified:
        at = usable_modified(http_date(last_modified, now), now)
        if at is not None:
            return at
    if task.modified is not None and task.modified <= now and known.recall > 0:
        return task.modified
    return None


def is_hub(task: Task, mime: str | None) -> bool:
    """Whether a document's purpose is to list others."""
    return task.sitemap > 0 or mime in FEEDS


def kept_field(value: str | None) -> str | None:
    """A validator to be stored; None if it is too long."""
    return value if value is not None and len(value) <= MAX_VALIDATOR_CHARS else None
