"""What servers, sitemaps and feeds say of changes, and how far each host may be believed in that.

Whether what was said is true shows at the next visit; that is counted for the host, and what is said
later is used only where enough of it was true.

May a host's dates be believed? Counted for each host, from visits that showed what was true.

Last-Modified is of use where it tells when the content changed. It does not where it is the time of the answer, or
moves while the content stays. A sitemap's or feed's report of a change is of use where a visit confirms it; the time at
which a sitemap was generated reports every page and confirms little (SCIENCE, 4.1 and 4.5).
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
"""A page that was modified less than this before it was served was made for us."""

ENOUGH: Final = 10
"""Visits that must have been judged before a host is believed."""

MIN_TRUTH: Final = 0.9  # of the Last-Modified times that could be judged
MIN_CONFIRMED: Final = 0.5  # of the reports: below, they are ignored
MAX_RECALL: Final = 0.95  # nobody reports everything for ever
MANY: Final = 400
"""Visits after which what was judged counts half: a host that begins to lie is found out in weeks, not in years."""


class HostTrust(NamedTuple):
    """What one host has said and what was found. A value: it lives in the host's row."""

    honest: int = 0  # Last-Modified stayed while the content did, or moved when it changed
    dishonest: int = 0
    reports: int = 0  # reports of changes that a visit has looked into
    confirmed: int = 0  # of which the page had changed indeed
    changes: int = 0  # changes found on pages that a sitemap or feed lists
    reported_changes: int = 0  # of which were reported before the visit

    @property
    def trusts_last_modified(self) -> bool:
        """Last-Modified tells when a page of this host changed."""
        judged = self.honest + self.dishonest
        return judged >= ENOUGH and self.honest >= MIN_TRUTH * judged

    @property
    def recall(self) -> float:
        """Which share of all changes is reported. 0 where reports are not believed: they are if enough of them were
        looked into, and a report means that the page changed, more often than not."""
        _, _, reports, confirmed, changes, foretold = self
        if reports < ENOUGH or confirmed < MIN_CONFIRMED * reports or changes < ENOUGH:
            return 0.0
        share = foretold / changes
        return share if share < MAX_RECALL else MAX_RECALL

    def with_last_modified(
        self, *, before: Instant | None, after: Instant | None, served: Instant, changed: bool
    ) -> "HostTrust":
        """A second visit saw Last-Modified `after` where the first saw `before`; `served` is the answer's Date."""
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
        """The server says that nothing has changed, and yet its Last-Modified is another."""
        return self._replace(dishonest=self.dishonest + 1)

    def with_report(self, *, reported: bool, listed: bool, changed: bool) -> "HostTrust":
        """A visit found the page changed or not, which had been `reported` since the last one or not.

        `listed`: a sitemap or feed knows the page, so that it could have reported it.
        """
        if not listed:
            return self
        if not reported and not changed:
            return self  # which is most visits
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
    """The time of the last change, if Last-Modified can be one: older than the answer by more than a minute."""
    return modified if modified is not None and modified + MIN_AGE < served else None


def reported_change(lastmod: Instant | None, last_visit: Instant) -> bool:
    """A sitemap or feed says that the page changed after we saw it."""
    return lastmod is not None and lastmod > last_visit


FEEDS: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
)
"""The types of documents that list others and are no sitemaps."""

HUB_WEIGHT: Final = 4.0
"""The importance of sitemaps and feeds. Without a budget one that is always another is visited every 14 hours."""


@dataclass(slots=True)
class HostChangeHistory:
    """How the pages of a host change, and whether what is said of that is true."""

    rates: HostRates = HostRates()
    trust: HostTrust = HostTrust()
    stale_validators: int = 0  # documents that changed under a validator that did not
    recall: float = 0.0  # of the trust, which is asked for it at every visit
    price: float = 0.0  # of a visit when it was written down, if it was above that of the crawl

    def __post_init__(self) -> None:
        self.recall = self.trust.recall

    def to_text(self, price: float = 0.0) -> str:
        """As JSON has it, written out: a commit does this for every host that was visited since the last."""
        pages, rates = self.rates
        honest, lying, reports, confirmed, changes, foretold = self.trust
        trust = f"[{honest}, {lying}, {reports}, {confirmed}, {changes}, {foretold}]"
        own = f", {price!r}" if price else ""
        return f"[{self.stale_validators}, [{pages}, {rates!r}], {trust}{own}]"

    @staticmethod
    def from_text(text: str) -> "HostChangeHistory":
        """The inverse of `to_text`."""
        lies, rates, trust, *price = json.loads(text)
        return HostChangeHistory(HostRates(*rates), HostTrust(*trust), lies, price=price[0] if price else 0.0)


class ChangeHint(NamedTuple):
    """What is believed of what was said about a page that was visited again."""

    modified: Instant | None = None  # when it changed, within the gap
    flagged_after: Seconds | None = None  # a list reported the change so long after the visit before


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
    """Compare what was said of a page with what a visit found, to the credit of its host or not; and what of it is to
    be used. What this visit shows counts from the next one on."""
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
    """The server says that nothing has changed. It answers so by its Last-Modified, so that this proves nothing of it,
    unless it is another than before."""
    if last_modified is not None and before.last_modified is not None and last_modified != before.last_modified:
        known.trust = known.trust.with_false_last_modified()
    if task.modified is not None:
        _judge_report(known, task.modified, before.at, now, changed=False)


def _judge_report(known: HostChangeHistory, lastmod: Instant, seen: Instant, now: Instant, *, changed: bool) -> bool:
    """Whether a list says that the page has changed since it was `seen`; whether that is so is to its credit or not."""
    reported = lastmod <= now and reported_change(lastmod, seen)
    if reported or changed:
        trust = known.trust = known.trust.with_report(reported=reported, listed=True, changed=changed)
        known.recall = trust.recall
    return reported


def age_of(known: HostChangeHistory, task: Task, last_modified: str | None, now: Instant) -> Instant | None:
    """When a page changed last that is new to us, if somebody says so who can be believed."""
    trust = known.trust
    if last_modified is not None and trust.trusts_last_modified:
        at = usable_modified(http_date(last_modified, now), now)
        if at is not None:
            return at
    if task.modified is not None and task.modified <= now and known.recall > 0:
        return task.modified
    return None


def is_hub(task: Task, mime: str | None) -> bool:
    """Whether a document is there to list others."""
    return task.sitemap > 0 or mime in FEEDS


def kept_field(value: str | None) -> str | None:
    """A validator as it is written down; None for one that is too long to be one."""
    return value if value is not None and len(value) <= MAX_VALIDATOR_CHARS else None
