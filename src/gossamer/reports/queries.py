"""Queries about single URLs and hosts, for the commands and the service. The crawl may be running. Light: loads no
fetcher."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, NamedTuple, TypedDict

from gossamer.config.overrides import HostOverride, Overrides
from gossamer.config.policies import PolicyCache
from gossamer.errors import ArchiveAway, ArchiveError
from gossamer.filter.domains import domain_of, partition_of
from gossamer.filter.identity import Identities
from gossamer.filter.scope import Scope
from gossamer.frontier.breaker import HostFailures
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.units import Domain, Fingerprint, HostKey, Instant, Seconds
from gossamer.model.url_record import DomainFact, Facts, HostFact, RecordCheck, UrlFact, VisitFact
from gossamer.observe import formatter
from gossamer.recrawl.change_hints import FEEDS, HUB_WEIGHT, HostChangeHistory
from gossamer.recrawl.price import price_from
from gossamer.recrawl.rules import NEVER_AGAIN, PageFacts, page_status, prior_of
from gossamer.reports.explain.build import CrawlRules, build_story, refused
from gossamer.reports.explain.schedule import Basis, Caps, RecrawlTerms, politeness_of
from gossamer.reports.explain.story import Form, Story
from gossamer.reports.explain.verdicts import crawl_delay_in, cuts_of, fingerprints_of, form_of, identities_with
from gossamer.reports.ports import RecordReader, SeedHosts, UrlReader
from gossamer.reports.records import HostRow, Json
from gossamer.seed.lists import with_scheme


def explain_url(reader: UrlReader, archive: RecordReader, book: PolicyCache, text: str, *, running: bool) -> Story:
    """Everything about a URL, as a person writes it, by the rules of a configuration. Raises StoreFailed."""
    form = _form(book, text)
    return refused(form) if form.url is None else _story(reader, archive, book, form, running)


class FoundPage(NamedTuple):
    """A URL on record with its last visit that was answered."""

    url: UrlFact
    visit: VisitFact


def find_page(reader: UrlReader, book: PolicyCache, text: str) -> FoundPage | None:
    """The page at a URL, as a person writes it; None if there is none on record. Raises StoreFailed."""
    form = _form(book, text)
    if form.url is None or form.host is None or form.origin is None:
        return None
    domain, _, suffix = domain_of(form.host)
    facts = reader.facts(form.host, domain, suffix, form.origin, _sought(reader, book, form)[1])
    if facts.url is None or facts.visit is None:
        return None
    return FoundPage(facts.url, facts.visit)


def _form(book: PolicyCache, text: str) -> Form:
    return form_of(text, with_scheme(text), book.canonicaliser)


def _story(reader: UrlReader, archive: RecordReader, book: PolicyCache, form: Form, running: bool) -> Story:
    assert form.url is not None and form.host is not None and form.origin is not None
    domain, _, suffix = domain_of(form.host)
    identities, sought = _sought(reader, book, form)
    facts = reader.facts(form.host, domain, suffix, form.origin, sought)
    host = facts.host.host if facts.host is not None else form.host
    ordered = Overrides.from_text(facts.orders).hosts.for_host(host)
    rules = rules_of(book, reader, host, domain, identities, ordered)
    record = None if facts.visit is None else _checked_record(archive, facts.visit)
    owner = reader.owner_of(partial(partition_of, domain))
    # The clock is read last, so that nothing on record is younger than now.
    story = build_story(form, facts, rules, now=book.clock.now(), running=running, record=record)
    return story if owner is None else replace(story, owner=owner)


def _sought(reader: UrlReader, book: PolicyCache, form: Form) -> tuple[Identities, tuple[Fingerprint, ...]]:
    """What counts as the same document at a URL's host, and the fingerprints under which the URL may be known."""
    assert form.url is not None and form.host is not None
    learnt = reader.learnt_parameters(form.host) if book.config.identity.learn else ()
    identities = identities_with(book.identities.rules, learnt) if learnt else book.identities
    return identities, fingerprints_of(form.url, form.host, reader.fingerprint_key(), identities)


def rules_of(
    book: PolicyCache, reader: UrlReader, host: HostKey, domain: Domain, identities: Identities, ordered: HostOverride
) -> CrawlRules:
    """What a crawl with this configuration would decide by, as far as it concerns this host."""
    config = book.config
    return CrawlRules(
        entry=book.entry(scope_near(book.scope, reader, host, domain)),
        ordering=book.ordering,
        politeness=_with_order(book.politeness(host), ordered),
        caps=Caps(config.politeness.max_per_domain, Seconds(config.politeness.max_crawl_delay)),
        robots_agent=config.robots_agent,
        minimise=config.filter.minimise,
        identities=identities,
        traps=None if book.trap_exemption(host) else book.traps,
        recrawl=RecrawlTerms(book.recrawl_policy, partial(_basis, book)),
        ordered=ordered,
    )


def scope_near(scope: Scope, seeds: SeedHosts, host: HostKey, domain: Domain) -> Scope:
    """The scope with only those seeds that could admit `host`, which is in `domain`, however many seeds there are."""
    near = (
        seeds.seed_host(host) if scope.of_seed_hosts else None,
        seeds.seed_host_in(domain) if scope.of_seed_domains else None,
    )
    return scope.with_seeds(found for found in near if found is not None)


def _with_order(policy: PolitenessPolicy, ordered: HostOverride) -> PolitenessPolicy:
    """The policy with the delay that was ordered for the host, if one was, as in a crawl."""
    return policy if ordered.delay is None else replace(policy, min_delay=ordered.delay)


def _basis(book: PolicyCache, known: UrlFact, facts: Facts) -> Basis:
    """What the plan of a URL's next visit would rest on now."""
    fact, visit = facts.recrawl, facts.visit
    host = facts.host.host if facts.host is not None else ""
    status, mime, near = (None, "", False) if visit is None else (visit.status, visit.mime, visit.distance is not None)
    standing = page_status(known.state, status, near)
    rules = book.recrawl_rules
    ruling = rules.ruling(PageFacts(host, known.url, mime or "", standing))
    changing = HostChangeHistory.from_text(fact.change_history) if fact.change_history else HostChangeHistory()
    price = price_from(fact.price, book.config.recrawl, book.opening_price, Instant(0.0)).price
    hub = facts.listing.sitemap > 0 or mime in FEEDS
    terms = rules.terms(
        ruling,
        importance=HUB_WEIGHT if hub else book.importance(known.priority),
        price=max(price, changing.price),
        prior=prior_of(facts.listing.changefreq, book.recrawl_policy.prior(changing.rates, rules.default_gap)),
        recall=0.0 if facts.listing.modified_at is None else changing.trust.recall,
        hub=hub,
    )
    fixed = None if ruling.fixed in (None, NEVER_AGAIN) else ruling.fixed
    return Basis(terms, fixed, ruling.rule, not changing.stale_validators, changing.rates, changing.trust, price)


def _checked_record(archive: RecordReader, visit: VisitFact) -> RecordCheck | None:
    """What is in the archive where the document should be; None if it was not archived."""
    if visit.warc_file is None or visit.warc_offset is None or visit.warc_length is None:
        return None
    try:
        record = archive.read(visit.warc_file, visit.warc_offset, visit.warc_length)
    except ArchiveError as error:
        return RecordCheck(problem=str(error), away=isinstance(error, ArchiveAway))
    return RecordCheck(None, record.kind, record.target_uri, record.block_digest_ok(), record.payload_digest_ok())


class CutObject(TypedDict):
    reason: str
    shape: str
    figures: str


class HostObject(TypedDict):
    """`host/1`. Durations are seconds."""

    v: Literal[1]
    host: str
    domain: str
    state: Literal["failing", "done", "new", "resting", "ready"]
    queued: int
    fetched: Annotated[int, "URLs that were answered at least once"]
    stored: int
    known: int
    address: str | None
    delay: Annotated[float, "gap after a response that is in force"]
    next_contact: Annotated[str | None, "not contacted before this time: ISO 8601, UTC"]
    wait: Annotated[float, "time until it may be contacted"]
    rest_reason: Annotated[str | None, "term that decided the last gap"]
    last_took: Annotated[float, "duration of the last response"]
    trouble: Annotated[str | None, "how it fails, and how often in a row"]
    excluded: Annotated[dict[str, int], "URLs by reason"]
    cuts: Annotated[list[CutObject], "parts of the site that are excluded as traps"]
    paused: Annotated[bool, "not contacted until it is resumed through the service"]
    dropped: Annotated[bool, "its URLs become excluded when they would be visited"]
    ordered_delay: Annotated[float | None, "minimum gap set through the service"]


def host_object(row: HostRow, book: PolicyCache, now: Instant, ordered: HostOverride) -> Json:
    """Everything known of a host. Moments are ISO 8601 in UTC, durations are seconds."""
    host = HostKey(row.host)
    fact = HostFact(
        host=host,
        next_contact=Instant(row.next_contact),
        last_took=Seconds(row.last_took),
        address=row.address,
        rest_reason=row.rest_reason,
    )
    policy = _with_order(book.politeness(host), ordered)
    crawl_delay = crawl_delay_in(row.robots, book.config.robots_agent, now)
    politeness = politeness_of(fact, DomainFact(Domain(row.domain)), policy, crawl_delay, None, now)
    shapes, refused = cuts_of(row.budget)
    excluded = row.excluded + type(row.excluded)(refused)
    found: HostObject = {
        "v": 1,
        "host": row.host,
        "domain": row.domain,
        "state": _state(row, politeness.wait),
        "queued": row.queued,
        "fetched": row.fetched,
        "stored": row.stored,
        "known": row.known,
        "address": row.address,
        "delay": politeness.gap,
        "next_contact": formatter.timestamp(row.next_contact) if row.next_contact else None,
        "wait": politeness.wait,
        "rest_reason": row.rest_reason,
        "last_took": row.last_took,
        "trouble": _trouble(row.trouble),
        "excluded": dict(excluded.most_common()),
        "cuts": [{"reason": cut.reason, "shape": cut.shape, "figures": cut.summary} for cut in shapes],
        "paused": ordered.paused,
        "dropped": ordered.dropped,
        "ordered_delay": ordered.delay,
    }
    return dict(found)


def _state(row: HostRow, wait: float) -> Literal["failing", "done", "new", "resting", "ready"]:
    if row.trouble:
        return "failing"
    if row.queued == 0:
        return "done"
    if row.next_contact <= 0:
        return "new"
    return "resting" if wait > 0 else "ready"


def _trouble(text: str | None) -> str | None:
    """How it fails, and how often in a row."""
    trouble = HostFailures.from_text(text) if text else None
    return None if trouble is None else f"{trouble.reason}, {trouble.failures} in a row"
