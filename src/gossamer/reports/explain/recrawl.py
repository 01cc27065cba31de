"""Why the next visit of a URL is planned when it is."""

from collections.abc import Callable
from typing import NamedTuple

from gossamer.model.states import UrlState
from gossamer.model.units import DAY, Seconds
from gossamer.model.url_record import Facts, UrlFact
from gossamer.recrawl.change_hints import HostTrust
from gossamer.recrawl.estimate import HostRates
from gossamer.recrawl.policies import RecrawlPolicy, believed_words, estimate_of
from gossamer.recrawl.policy import Memory, Terms
from gossamer.recrawl.rules import PageStatus
from gossamer.reports.explain.story import Recrawl, Signals

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
