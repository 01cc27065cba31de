"""When a URL is visited: its priority with its parts, what keeps it from being visited now, and why its next visit is
planned when it is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.config.overrides import HostOverride
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.politeness import Contact, PolitenessPolicy, gap_after
from gossamer.model.facts import CREDIT_UNIT, UrlFacts, without_rank
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, Instant, Seconds, Url
from gossamer.model.url_record import DomainFact, Facts, HostFact, UrlFact, VisitFact
from gossamer.recrawl.change_hints import HostTrust
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.policies import RecrawlPolicy, believed_words, estimate_of
from gossamer.recrawl.policy import Memory, Terms
from gossamer.recrawl.rules import PageStatus
from gossamer.reports.explain.story import Next, Politeness, Priority, Recrawl, Robots, Signals, Verdict

ASSUMED_DEPTH = 1
"""Of a URL that was never seen: as if a seed linked to it."""

_SAME = 1e-6  # tolerance for rounding of a score
_AGED = 0.25  # tolerance for a score that depends on the age of the page, in units

_BY_SCORE = ("due", "later")
_GROUPS = ("high", "medium", "low")  # each is a class, except that the last has all that are left


def priority_of(known: UrlFact, facts: Facts, ordering: Ordering) -> Priority:
    """The priority of a URL on record. Its front queue is the one on record if the queue is sorted by this ordering,
    which it is not while it is being reordered."""
    same = facts.order == ordering.name
    same_score = _SAME if known.learnt.age is None else _AGED
    position = ordering.standing(known.learnt)
    front = known.front if same else position.front
    queued_with, score = (_own_score(each, ordering) for each in (known.priority, position.priority))
    return _priority(
        ordering,
        known.learnt,
        facts.domain,
        front,
        # A number in the units of another ordering would be meaningless.
        queued_with=queued_with if same and abs(queued_with - score) > same_score else None,
        queued_by=None if same else facts.order,
    )


def _own_score(priority: float, ordering: Ordering) -> float:
    """The score of the URL in its priority on record."""
    return (without_rank(priority) if ordering.by_score else priority) / ordering.unit


def priority_if_admitted(url: Url, facts: Facts, ordering: Ordering) -> Priority:
    """The priority that a URL never seen would have if a seed linked to it now."""
    host = facts.host_facts
    learnt = UrlFacts(facts.next_id, url, ASSUMED_DEPTH, links=1, ordinal=host.known, host=host)
    return _priority(ordering, learnt, facts.domain, ordering.standing(learnt).front, assumed=True)


def _priority(
    ordering: Ordering,
    url: UrlFacts,
    domain: DomainFact,
    front: int,
    *,
    queued_with: float | None = None,
    queued_by: str | None = None,
    assumed: bool = False,
) -> Priority:
    return Priority(
        ordering.name,
        ordering.by_score,
        ordering.total(url, domain.learnt, domain.suffix_visits),
        ordering.parts(url, domain.learnt, domain.suffix_visits),
        front,
        front_name(ordering, front),
        url.depth,
        url.links,
        url.links_from_others,
        url.credit / CREDIT_UNIT,
        url.visits,
        url.changes,
        queued_with,
        queued_by,
        assumed,
        None if (rule := ordering.rules.rule_for(url.url)) is None else rule.name,
    )


def front_name(ordering: Ordering, front: int) -> str:
    """The name of a front queue; its number where the crawl had more of them than the ordering has now."""
    if ordering.by_score:
        return _BY_SCORE[front]
    if front >= ordering.fronts:
        return f"class {front}"
    return "only" if ordering.fronts == 1 else _GROUPS[min(front, len(_GROUPS) - 1)]


_ENDS = {
    UrlState.STORED: "stored; no further visit is planned",
    UrlState.DUPLICATE: "duplicate; no further visit is planned",
    UrlState.REDIRECT: "redirect; no further visit is planned",
    UrlState.GONE: "gone: it is not visited again",
    UrlState.DEAD: "no attempts left: `gossamer dead requeue` queues it again",
}


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of a visit in addition to the rules of entry."""

    max_per_domain: int | None
    max_crawl_delay: Seconds


def politeness_of(
    host: HostFact,
    domain: DomainFact,
    policy: PolitenessPolicy,
    crawl_delay: Seconds | None,
    cap: int | None,
    now: Instant,
) -> Politeness:
    """When the host may be contacted. The delay is the one after the last contact, as far as it is on record."""
    gap, term = gap_after(policy, Contact(now, host.last_took, crawl_delay))
    wait = Seconds(max(0.0, host.next_contact - now))
    return Politeness(
        host.host,
        host.address,
        host.next_contact,
        wait,
        host.rest_reason,
        host.last_took,
        gap,
        term.value,
        wait > gap,
        domain.domain,
        domain.learnt.visits,
        cap,
    )


def reason_against(
    refusing: Verdict | None, robots: Robots, politeness: Politeness | None, caps: Caps, ordered: HostOverride | None
) -> tuple[str, str] | None:
    """What would exclude the URL at its next visit: the reason and the deciding value, in the order of a visit."""
    if ordered is not None and ordered.dropped:
        return "host_dropped", "through the service, until the host is resumed"
    if refusing is not None and refusing.reason is not None:
        return refusing.reason, refusing.detail
    if politeness is not None and caps.max_per_domain is not None and politeness.accesses >= caps.max_per_domain:
        return "domain_limit", f"{politeness.accesses} page requests to {politeness.domain}"
    if robots.current and robots.allowed is False:
        return "robots_denied", f"line {robots.line_number}: {robots.line}" if robots.line else robots.meaning
    if robots.current and robots.crawl_delay is not None and robots.crawl_delay > caps.max_crawl_delay:
        return "crawl_delay_too_long", f"Crawl-delay: {robots.crawl_delay:g}"
    return None


def next_visit(
    url: UrlFact,
    visit: VisitFact | None,
    against: tuple[str, str] | None,
    politeness: Politeness | None,
    ordered: HostOverride,
    *,
    running: bool,
    now: Instant,
) -> Next:
    """When a URL on record is visited next, and why."""
    if url.state is UrlState.QUEUED and ordered.paused:
        return Next(None, "its host was paused through the service: not contacted until it is resumed")
    if url.state is UrlState.QUEUED:
        return _turn(url, against, politeness, running=running, now=now)
    if url.state is UrlState.MISSING and url.available_at is not None:
        answered = f"status {visit.status}" if visit is not None else "it was missing"
        return Next(url.available_at, f"retry after {answered}, by the next run or with --keep-fresh")
    if url.state is UrlState.EXCLUDED:
        return Next(None, f"excluded: {url.reason or 'unknown'}")
    if url.available_at is not None:
        return Next(url.available_at, "next recrawl")
    return Next(None, _ENDS.get(url.state, "it is not visited again"))


def _turn(
    url: UrlFact, against: tuple[str, str] | None, politeness: Politeness | None, *, running: bool, now: Instant
) -> Next:
    due = url.available_at if url.available_at is not None else now
    rests_until = politeness.contact_at if politeness is not None else due
    at = Instant(max(due, rests_until))
    if against is not None:
        why = f"it will be excluded when it is visited: {against[0]} ({against[1]})"
    elif due > now and url.reason is not None:
        why = f"try {url.tries + 1}, after {url.reason}"
    elif due > now:
        why = "it is not due yet"
    elif rests_until > now:
        term = politeness.reason if politeness is not None else None
        why = "its host may be contacted then" + (f": {term}" if term is not None else "")
    else:
        why = "it is due now"
    return Next(at, why if running else f"{why}; the crawl is not running")


_DEFAULTS: dict[str, str] = {
    PageStatus.MOVED: "default interval for permanent redirects",
    PageStatus.ELSEWHERE: "default interval for temporary redirects",
    PageStatus.NEAR_DUPLICATE: "default interval for near-duplicates",
}
_SOONER = 1.0  # seconds: a visit this much before its plan was moved forward


class Basis(NamedTuple):
    """The values from which a crawl with this configuration would plan the next visit of one URL."""

    terms: Terms
    fixed: Seconds | None  # the interval of a rule
    rule: str | None
    trusted: bool  # whether validators of its host are trusted
    rates: HostRates = HostRates()  # of its host's pages
    trust: HostTrust = HostTrust()  # in reported changes
    usual_price: float = 0.0  # of the crawl; that of its host, if it has one, is higher


class RecrawlTerms(NamedTuple):
    """The policy, and its input for a URL by what is on record."""

    policy: RecrawlPolicy
    basis: Callable[[UrlFact, Facts], Basis]


def recrawl_of(known: UrlFact, facts: Facts, by: RecrawlTerms) -> Recrawl | None:
    """The plan on record and its reasons; None for a URL that has not been visited or is not visited again."""
    fact = facts.recrawl
    if fact.planned_gap is None:
        return None
    terms, fixed, rule, trusted, rates, trust, usual_price = by.basis(known, facts)
    memory = Memory(fact.rate_shape or 0.0, fact.rate_span or 0.0, known.learnt.visits, known.learnt.changes)
    interval = uncertainty = None
    assumed = False
    if by.policy.estimates_rates and facts.visit is not None and facts.visit.digest is not None:
        estimate = estimate_of(memory)
        assumed = estimate is None
        believed = estimate or terms.prior
        interval, uncertainty = Seconds(DAY / believed.rate), believed.uncertainty
    if known.state is UrlState.MISSING and rule in (None, PageStatus.NOT_FOUND.value):
        why = "[retry] setting for missing pages"
    elif fixed is not None:
        why = _DEFAULTS.get(rule or "", f"interval of {rule}")
        if interval is not None:
            why += f"; the page {believed_words(memory, terms)}"
    else:
        why = by.policy.words(memory, terms)
    return Recrawl(
        by.policy.name,
        fact.planned_gap,
        known.learnt.visits,
        known.learnt.changes,
        interval,
        uncertainty,
        assumed,
        terms.price,
        terms.importance,
        rule,
        trusted,
        why,
        rates.pages,
        Seconds(DAY / rates.prior().rate),
        _signals(known, facts, trust),
        usual_price if 0 < usual_price < terms.price else None,
    )


def _signals(known: UrlFact, facts: Facts, trust: HostTrust) -> Signals:
    planned, visit, date = facts.recrawl.planned_gap, facts.visit, known.available_at
    forwarded = False
    if planned is not None and visit is not None and date is not None and facts.listing.modified_at is not None:
        reported = facts.listing.modified_at > visit.at
        forwarded = reported and date < visit.at + planned - _SOONER
    return Signals(
        trust.trusts_last_modified,
        trust.honest,
        trust.honest + trust.dishonest,
        trust.recall > 0,
        trust.confirmed,
        trust.reports,
        trust.recall,
        facts.listing.changefreq,
        facts.listing.modified_at,
        forwarded,
    )
