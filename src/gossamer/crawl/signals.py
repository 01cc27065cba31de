"""What servers, sitemaps and feeds say of changes, and how far each host may be believed in that.

Whether what was said is true shows at the next visit; that is counted for the host (`recrawl.trust`), and what is said
later is used only where enough of it was true.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
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
        pages, rates = self.rates
        own = f", {price!r}" if price else ""
        return f"[{self.lies}, [{pages}, {rates!r}], {list(self.trust)}{own}]"  # as JSON has it

    @staticmethod
    def from_text(text: str) -> "HostChanging":
        """What an earlier version reckoned with otherwise is learnt anew."""
        lies, rates, trust, *price = json.loads(text)
        return HostChanging(
            HostRates(*rates) if len(rates) == len(HostRates._fields) else HostRates(),
            HostTrust(*trust) if len(trust) == len(HostTrust._fields) else HostTrust(),
            lies,
            price=price[0] if price else 0.0,
        )


class Said(NamedTuple):
    """What is believed of what was said about a page that was visited again."""

    modified: Instant | None = None  # when it changed, within the gap
    flagged_after: Seconds | None = None  # a list reported the change so long after the visit before


NOTHING_SAID: Final = Said()

_YEAR = 365 * 86_400.0


@lru_cache(maxsize=4096)
def _date(text: str, year: float) -> Instant | None:
    """An HTTP date. Sites that are made anew as a whole have one for many pages."""
    return http_date(text, Instant(year * _YEAR))


def judge(
    known: HostChanging, task: Task, before: Before, last_modified: str | None, now: Instant, *, changed: bool
) -> Said:
    """Compare what was said of a page with what a visit found, to the credit of its host or not; and what of it is to
    be used. What this visit shows counts from the next one on."""
    trust = before_it = known.trust
    modified: Instant | None = None
    if last_modified is not None and before.last_modified is not None:
        at, was = _date(last_modified, now // _YEAR), _date(before.last_modified, now // _YEAR)
        trust = trust.judged_modified(before=was, after=at, served=now, changed=changed)
        if changed and before_it.believes_modified:
            at = usable_modified(at, now)
            modified = at if at is not None and at > before.at else None
    lastmod = task.modified
    flagged: Seconds | None = None
    if lastmod is not None:
        reported = lastmod <= now and reported_change(lastmod, before.at)
        trust = trust.judged_report(reported=reported, listed=True, changed=changed)
        if reported and changed and known.recall > 0:
            flagged = Seconds(lastmod - before.at)
    if trust is not before_it:
        known.trust, known.recall = trust, trust.recall
    return Said(modified, flagged) if changed else NOTHING_SAID


def judge_not_modified(
    known: HostChanging, task: Task, before: Before, last_modified: str | None, now: Instant
) -> None:
    """The server says that nothing has changed. It answers so by its Last-Modified, so that this proves nothing of it,
    unless it is another than before."""
    trust = known.trust
    if last_modified is not None and before.last_modified is not None and last_modified != before.last_modified:
        trust = trust.moved_in_vain()
    lastmod = task.modified
    if lastmod is not None:
        reported = lastmod <= now and reported_change(lastmod, before.at)
        trust = trust.judged_report(reported=reported, listed=True, changed=False)
    if trust is not known.trust:
        known.trust, known.recall = trust, trust.recall


def age_of(known: HostChanging, task: Task, last_modified: str | None, now: Instant) -> Instant | None:
    """When a page changed last that is new to us, if somebody says so who can be believed."""
    trust = known.trust
    if last_modified is not None and trust.believes_modified:
        at = usable_modified(_date(last_modified, now // _YEAR), now)
        if at is not None:
            return at
    if task.modified is not None and task.modified <= now and known.recall > 0:
        return task.modified
    return None


def is_hub(task: Task, mime: str | None) -> bool:
    """Whether a document is there to list others."""
    return task.sitemap > 0 or mime in FEEDS


def says_the_same(before: Before, etag: str | None, modified: str | None) -> bool:
    """Whether a server says of another document that it is the same one."""
    if etag is not None and before.etag is not None:
        return etag == before.etag
    return etag is None and before.etag is None and modified is not None and modified == before.last_modified


def kept_field(value: str | None) -> str | None:
    """A validator as it is written down; None for one that is too long to be one."""
    return value if value is not None and len(value) <= 512 else None
