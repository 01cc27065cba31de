"""The decision after a visit against its slow, obvious twin, over some thousand random visits."""

import random
from dataclasses import dataclass, field
from email.utils import formatdate
from math import exp, log

import pytest

from gossamer.config.policies import recrawl_rules_for
from gossamer.config.sections import RecrawlSection
from gossamer.model.batch import Batch
from gossamer.model.http_dates import http_date
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.task import PreviousVisit, Task, Visit
from gossamer.model.units import DAY, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.recrawl.change_hints import HUB_WEIGHT, HostChangeHistory, HostTrust, reported_change, usable_modified
from gossamer.recrawl.estimate import USUAL, WEIGHT, Estimate, changed, changed_at, flagged, not_flagged, unchanged
from gossamer.recrawl.planner import Planned, RecrawlPlanner
from gossamer.recrawl.policies import Optimal
from gossamer.recrawl.price import gap_of_hub, price_from, value, value_unflagged
from gossamer.recrawl.rules import prior_of
from tests.aged_crawls import aged

HOSTS, PAGES, VISITS = 6, 12, 4_000
START = Instant(1_700_000_000.0)
LIMITS = RecrawlSection(budget=20.0)


@dataclass
class Page:
    """What is known of a page, for both: the plain twin keeps an estimate, and the crawl what it has written down."""

    host: int
    number: int
    importance: float
    hub: bool
    changefreq: str | None
    at: Instant = START
    modified: str | None = None
    planned: Planned | None = None
    visits: int = 1
    estimate: Estimate | None = None
    gap: float | None = None  # days


@dataclass
class Seen:
    """What a visit finds."""

    now: Instant
    status: int
    changed: bool
    modified: str | None
    lastmod: Instant | None


@dataclass
class Plain:
    """The decision as it is defined: every sum is computed again and every root is searched for."""

    pages: list[Page]
    trust: list[HostTrust] = field(default_factory=lambda: [HostTrust()] * HOSTS)

    def prior(self, host: int) -> Estimate:
        rates = [page.estimate.rate for page in self.pages if page.host == host and page.estimate is not None]
        if not rates:
            return USUAL
        weight = len(rates) / (len(rates) + WEIGHT)
        return Estimate(USUAL.shape, USUAL.shape / (USUAL.rate ** (1 - weight) * (sum(rates) / len(rates)) ** weight))

    def judge(self, page: Page, seen: Seen) -> tuple[Instant | None, Seconds | None]:
        """When it changed, and how long after the last visit that was reported, where either is believed."""
        trust = believed = self.trust[page.host]
        when: Instant | None = None
        late: Seconds | None = None
        if seen.modified is not None and page.modified is not None:
            if seen.status == 304:
                trust = trust.with_false_last_modified() if seen.modified != page.modified else trust
            else:
                was, at = http_date(page.modified, seen.now), http_date(seen.modified, seen.now)
                trust = trust.with_last_modified(before=was, after=at, served=seen.now, changed=seen.changed)
                usable = usable_modified(at, seen.now)
                if believed.trusts_last_modified and usable is not None and usable > page.at:
                    when = usable
        if seen.lastmod is not None:
            reported = seen.lastmod <= seen.now and reported_change(seen.lastmod, page.at)
            trust = trust.with_report(reported=reported, listed=True, changed=seen.changed)
            if reported and believed.recall > 0:
                late = Seconds(seen.lastmod - page.at)
        self.trust[page.host] = trust
        return (when, late) if seen.changed else (None, None)

    def visit(self, page: Page, seen: Seen, price: float) -> float:
        """Learns, and answers after how many days the page is visited next, where a visit costs so much."""
        when, late = self.judge(page, seen)
        recall = self.trust[page.host].recall if seen.lastmod is not None else 0.0
        prior = prior_of(page.changefreq, self.prior(page.host))
        gap = (seen.now - page.at) / DAY
        known = prior if page.estimate is None else aged(page.estimate, gap, 120.0, prior)
        if not seen.changed:
            known = unchanged(known, gap)
        elif late is not None:
            known = flagged(known, late / DAY, recall)
        elif when is not None:
            known = changed_at(known, gap, (seen.now - when) / DAY)
        elif recall > 0:
            known = not_flagged(known, gap, recall, change=True)
        else:
            known = changed(known, gap)
        page.estimate = known
        shortest, longest = LIMITS.shortest / DAY, LIMITS.longest / DAY
        if page.hub:
            return max(gap_of_hub(known, HUB_WEIGHT, price, longest), shortest)
        if value_unflagged(known, page.importance, longest, recall) < price:
            return longest
        low, high = log(shortest), log(longest)
        for _ in range(50):
            middle = (low + high) / 2
            pays = value_unflagged(known, page.importance, exp(middle), recall) >= price
            low, high = (low, middle) if pays else (middle, high)
        return exp(high)

    def demand(self) -> float:
        return sum(1 / page.gap for page in self.pages if page.gap is not None)


def visit_to(page: Page, lastmod: Instant | None) -> Visit:
    plan = page.planned
    before = PreviousVisit(
        page.visits,
        0,
        UrlState.STORED,
        None,
        page.at,
        b"old",
        "text/html",
        last_modified=page.modified,
        planned_gap=plan and plan.gap,
        rate_shape=plan and plan.rate_shape,
        rate_span=plan and plan.rate_span,
    )
    url = Url(f"http://h{page.host}.test/{page.number}")
    task = Task(page.number, Fingerprint(page.number), url, 0, 0.0, page.importance, 1, 0, 0, int(page.hub), before)
    # Tried before: what comes late for that reason does not give its host a price of its own.
    task = task._replace(modified=lastmod, changefreq=page.changefreq, tries=1)
    return Visit(HostId(page.host), HostKey(f"h{page.host}.test"), 1, task, None, 0.1)


def seen_at(chance: random.Random, page: Page, now: Instant) -> Seen:
    """Hosts 0 and 1 tell when pages changed, 2 makes it up; 3 and 4 report most changes in sitemaps, 5 says nothing."""
    is_changed = chance.random() < 0.4
    moment = Instant(page.at + chance.uniform(0.1, 0.9) * (now - page.at))
    modified, lastmod = None, None
    if page.host in (0, 1):
        modified = formatdate(moment, usegmt=True) if is_changed or page.modified is None else page.modified
    elif page.host == 2:
        modified = formatdate(now - chance.choice([5.0, 9e5]), usegmt=True)
    elif page.host in (3, 4):
        lastmod = moment if is_changed and chance.random() < 0.7 else Instant(page.at - 10.0)
    return Seen(now, 304 if not is_changed and chance.random() < 0.5 else 200, is_changed, modified, lastmod)


def test_decisions_are_those_of_the_plain_definition() -> None:
    chance = random.Random(12)
    opening = price_from(None, LIMITS, value(USUAL, 1.0, LIMITS.interval / DAY), START)
    plans = RecrawlPlanner(LIMITS, Optimal(), recrawl_rules_for(LIMITS), opening, lambda priority: priority)
    changefreqs = [None, None, "daily", "yearly"]
    pages = [
        Page(n % HOSTS, n, 10 ** chance.uniform(-1, 1), n % 13 == 7, chance.choice(changefreqs))
        for n in range(HOSTS * PAGES)
    ]
    plain = Plain(pages)
    between, longest = 0, LIMITS.longest / DAY
    for _ in range(VISITS):
        page = chance.choice(pages)
        seen = seen_at(chance, page, Instant(round(page.at + 10 ** chance.uniform(-2, 2) * DAY)))
        fields = {} if seen.modified is None else {"last-modified": seen.modified}
        response = Response(
            Url("http://h.test/"), seen.status, b"", b"", b"", fields, "127.0.0.1", seen.now, Seconds(0.1)
        )
        visit = visit_to(page, seen.lastmod)

        if seen.changed:
            plan = plans.plan_document(visit, response, seen.now, "text/html", b"new", None)
        else:
            assert visit.task.previous is not None
            kept = plans.settle_unchanged(visit, visit.task.previous, response, seen.now, None)
            plan = Planned(kept.available_at, kept.planned_gap, kept.rate_shape, kept.rate_span)
        page.gap = plain.visit(page, seen, plans.price.price)

        assert (plan.rate_shape, plan.rate_span) == pytest.approx(page.estimate, rel=1e-9)
        assert plan.gap is not None
        assert plan.gap / DAY == pytest.approx(page.gap, rel=1e-6)
        assert plan.at == seen.now + plan.gap
        assert plans.price.demand == pytest.approx(plain.demand(), rel=1e-6)
        between += page.gap < longest
        page.at, page.modified, page.planned, page.visits = seen.now, seen.modified, plan, page.visits + 1
    batch = Batch()
    plans.before_commit(batch, START, 0)
    assert [
        HostChangeHistory.from_text(batch.change_histories[HostId(host)]).trust for host in range(HOSTS)
    ] == plain.trust
    assert [trust.trusts_last_modified for trust in plain.trust] == [True, True, False, False, False, False]
    assert [trust.recall > 0.5 for trust in plain.trust] == [False, False, False, True, True, False]
    assert between > VISITS / 2
