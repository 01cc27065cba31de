"""What servers, sitemaps and feeds say of changes, and how far each host may be believed in that.

Whether what was said is true shows at the next visit; that is counted for the host (`recrawl.trust`), and what is said
later is used only where enough of it was true.
"""

import json
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.fetch.http.headers import http_date
from gossamer.model.task import Before, Task
from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.prior import HostRates
from gossamer.recrawl.trust import HostTrust, reported_change, usable_modified

FEEDS: Final = frozenset(
    {"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"}
)
"""The types of documents that list others and are no sitemaps."""

HUB_WEIGHT: Final = 4.0
"""The importance of sitemaps and feeds. Without a budget one that is always another is visited every 14 hours."""


@dataclass(slots=True)
class HostChanging:
    """How the pages of a host change, and whether what is said of that is true."""

    rates: HostRates = HostRates()
    trust: HostTrust = HostTrust()
    lies: int = 0  # documents that changed under a validator that did not
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
        return f"[{self.lies}, [{pages}, {rates!r}], {trust}{own}]"

    @staticmethod
    def from_text(text: str) -> "HostChanging":
        """The inverse of `to_text`."""
        lies, rates, trust, *price = json.loads(text)
        return HostChanging(HostRates(*rates), HostTrust(*trust), lies, price=price[0] if price else 0.0)


class Said(NamedTuple):
    """What is believed of what was said about a page that was visited again."""

    modified: Instant | None = None  # when it changed, within the gap
    flagged_after: Seconds | None = None  # a list reported the change so long after the visit before


NOTHING_SAID: Final = Said()


def judge(
    known: HostChanging, task: Task, before: Before, last_modified: str | None, now: Instant, *, changed: bool
) -> Said:
    """Compare what was said of a page with what a visit found, to the credit of its host or not; and what of it is to
    be used. What this visit shows counts from the next one on."""
    trust = known.trust
    modified: Instant | None = None
    had_modified = before.last_modified
    if last_modified is not None and had_modified is not None:
        at = was = http_date(last_modified, now)
        if had_modified != last_modified:
            was = http_date(had_modified, now)
        known.trust = trust.judged_modified(before=was, after=at, served=now, changed=changed)
        if changed and trust.believes_modified:
            at = usable_modified(at, now)
            modified = at if at is not None and at > before.at else None
    flagged: Seconds | None = None
    if task.modified is not None:
        recall = known.recall
        reported = _judge_report(known, task.modified, before.at, now, changed=changed)
        if reported and changed and recall > 0:
            flagged = Seconds(task.modified - before.at)
    return NOTHING_SAID if modified is None and flagged is None else Said(modified, flagged)


def judge_not_modified(
    known: HostChanging, task: Task, before: Before, last_modified: str | None, now: Instant
) -> None:
    """The server says that nothing has changed. It answers so by its Last-Modified, so that this proves nothing of it,
    unless it is another than before."""
    if last_modified is not None and before.last_modified is not None and last_modified != before.last_modified:
        known.trust = known.trust.moved_in_vain()
    if task.modified is not None:
        _judge_report(known, task.modified, before.at, now, changed=False)


def _judge_report(known: HostChanging, lastmod: Instant, seen: Instant, now: Instant, *, changed: bool) -> bool:
    """Whether a list says that the page has changed since it was `seen`; whether that is so is to its credit or not."""
    reported = lastmod <= now and reported_change(lastmod, seen)
    if reported or changed:
        trust = known.trust = known.trust.judged_report(reported=reported, listed=True, changed=changed)
        known.recall = trust.recall
    return reported


def age_of(known: HostChanging, task: Task, last_modified: str | None, now: Instant) -> Instant | None:
    """When a page changed last that is new to us, if somebody says so who can be believed."""
    trust = known.trust
    if last_modified is not None and trust.believes_modified:
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
    return value if value is not None and len(value) <= 512 else None
