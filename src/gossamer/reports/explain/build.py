"""Builds the explanation of a URL from what is on record, the rules of the crawl and the time."""

from dataclasses import dataclass, field, replace

from gossamer.config.overrides import HostOverride
from gossamer.filter.canonical import minimise_url, parse_canonical
from gossamer.filter.identity import Identities, IdentityRules
from gossamer.filter.rules import EntryRules
from gossamer.filter.trap_budget import TrapPolicy
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.model.formats import LongLink, sha1_text
from gossamer.model.states import UrlState, meaning_of
from gossamer.model.task import Via
from gossamer.model.units import Instant, Url
from gossamer.model.url_record import MAX_STEPS, Facts, ListingFact, RecordCheck, UrlFact, VisitFact
from gossamer.observe.formatter import date_time, number_of
from gossamer.reports.explain.schedule import (
    ASSUMED_DEPTH,
    Caps,
    RecrawlTerms,
    next_visit,
    politeness_of,
    priority_if_admitted,
    priority_of,
    reason_against,
    recrawl_of,
)
from gossamer.reports.explain.story import (
    Archive,
    Attempt,
    Content,
    Finding,
    Form,
    Identity,
    Listing,
    Next,
    Story,
    TooLong,
)
from gossamer.reports.explain.verdicts import budget_verdict, entry_verdicts, first_reason, robots_verdict

_MOST_NAMES = 3  # of hosts that lead to a sitemap
_TOLD = frozenset({UrlState.STORED, UrlState.DUPLICATE, UrlState.REDIRECT})


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlRules:
    """The rules of a crawl with this configuration."""

    entry: EntryRules
    ordering: Ordering
    politeness: PolitenessPolicy
    caps: Caps
    robots_agent: str
    minimise: bool
    identities: Identities = field(default_factory=lambda: Identities(IdentityRules()))
    traps: TrapPolicy | None = None  # None: nothing is cut on this host
    recrawl: RecrawlTerms | None = None
    ordered: HostOverride = HostOverride()  # for this host; its delay is in `politeness` already


def build_story(
    form: Form, facts: Facts, rules: CrawlRules, *, now: Instant, running: bool, record: RecordCheck | None = None
) -> Story:
    """The explanation of a URL. `running`: the crawl is running. `record`: the result of reading its capture."""
    if form.url is None or form.host is None:
        return refused(form)
    known = facts.url
    if known is not None and (modified := known.modified) is not None:
        known = replace(known, learnt=known.learnt._replace(age=max(0.0, now - modified)))
    # In minimised form the URL on record may be of another host than the given one: its own host counts.
    host = form.host if known is None or facts.host is None else facts.host.host
    page = parse_canonical(form.url if known is None else known.url, host)
    url, depth = page.url, ASSUMED_DEPTH if known is None else known.depth
    entry = rules.entry.for_sitemaps() if facts.listing.sitemap else rules.entry
    verdicts = entry_verdicts(entry, url, host, depth)
    robots = robots_verdict(url, page.origin, facts.robots, rules.robots_agent, now)
    politeness = None
    if facts.host is not None:
        cap = rules.caps.max_per_domain
        politeness = politeness_of(facts.host, facts.domain, rules.politeness, robots.crawl_delay, cap, now)
    refusing = first_reason(verdicts)
    budget = budget_verdict(page, facts, rules.traps)
    verdicts = (*verdicts, budget)
    ordered = rules.ordered
    # Orders for the host come first at a visit; whether a URL is admitted depends on the rules alone.
    turned_away = known is None and refusing is not None
    against = reason_against(refusing or budget, robots, politeness, rules.caps, None if turned_away else ordered)
    ignored = tuple((each.name, each.why) for each in rules.identities.ignored(form.url, form.host))
    if known is None:
        return Story(
            answer=_answer_to_unseen(against),
            form=form,
            identity=Identity(False, rules.minimise, None, ignored),
            verdicts=verdicts,
            robots=robots,
            standing=priority_if_admitted(url, facts, rules.ordering),
            politeness=politeness,
            ordered=ordered or None,
            next=Next(None, _would_happen(refusing is not None, against)),
        )
    visit = facts.visit
    turn = next_visit(known, visit, against, politeness, ordered, running=running, now=now)
    return Story(
        answer=_answer(known, visit, against, turn, now),
        form=form,
        state=known.state.word,
        reason=known.reason,
        identity=replace(_identity(form.url, known.url, rules.minimise), ignored=ignored),
        finding=_finding(known, facts),
        listing=_listing(facts.listing),
        verdicts=verdicts,
        robots=robots,
        standing=priority_of(known, facts, rules.ordering),
        place=facts.queue,
        politeness=politeness,
        ordered=ordered or None,
        attempts=_attempts(known, facts),
        earlier_attempts=facts.earlier_failures,
        tries=known.tries,
        content=_content(known.state, visit, facts.long_links) if visit is not None else None,
        archive=_archive(known.url, visit, record) if visit is not None else None,
        recrawl=None if rules.recrawl is None else recrawl_of(known, facts, rules.recrawl),
        next=turn,
    )


def refused(form: Form) -> Story:
    """The explanation of a text that has no canonical form."""
    if form.refused == "bad_scheme":
        why = f"unsupported scheme: {form.given.partition(':')[0]}"
    else:
        why = meaning_of(form.refused or "")
    return Story(answer=f"Not fetched: {why}", form=form, next=Next(None, why))


# --- the answer -------------------------------------------------------------------------------------------


_REFUSALS = {
    "depth_limit": "its depth is {} (max_depth)",
    "bad_scheme": "unsupported scheme: {}",
    "url_too_long": "it has {} (filter.max_url_bytes)",
    "excluded_domain": "its domain {} is on the list filter.exclude_domains",
    "out_of_scope": "{}",
    "trap_limit": "its path or its query has too many parts ({})",
    "extension": "its ending .{} is on the list filter.exclude_extensions",
    "pattern": "{} (filter.include, filter.exclude)",
    "domain_limit": "the limit politeness.max_per_domain is reached ({})",
    "robots_denied": "robots.txt disallows it ({})",
}


def _refusal(reason: str, detail: str) -> str:
    """Why a URL is not fetched, with the value that decides."""
    return _REFUSALS.get(reason, f"{meaning_of(reason)} ({{}})").format(detail)


def _answer_to_unseen(against: tuple[str, str] | None) -> str:
    if against is None:
        return "Not found: no crawled page links to it"
    return f"Not fetched: {_refusal(*against)}"


def _answer(known: UrlFact, visit: VisitFact | None, against: tuple[str, str] | None, turn: Next, now: Instant) -> str:
    """What became of a URL on record, in one sentence."""
    status = "" if visit is None or visit.status is None else f" with status {visit.status}"
    fetched = "" if visit is None else f" at {date_time(visit.at)}{status}"
    reason = known.reason or "unknown"
    match known.state:
        case UrlState.QUEUED:
            due = f"due {date_time(turn.due_at)}: " if turn.due_at is not None and turn.due_at > now else ""
            return f"{'Not fetched yet' if visit is None else 'Queued for another visit'}: {due}{turn.why}"
        case UrlState.STORED:
            return f"Stored: fetched{fetched}"
        case UrlState.DUPLICATE:
            same = visit.duplicate_of or visit.near_duplicate_of if visit is not None else None
            return f"Fetched{fetched}, not stored: {f'a duplicate of {same}' if same else 'a duplicate'}"
        case UrlState.REDIRECT:
            target = visit.redirect_to if visit is not None else None
            return f"Fetched{fetched}: a redirect{f' to {target}' if target else ''}"
        case UrlState.MISSING | UrlState.GONE:
            return f"{known.state.word.capitalize()}: requested{fetched}"
        case UrlState.DEAD:
            tries = number_of(known.tries, "try", "tries")
            return f"Not fetched: failed after {tries}: {meaning_of(reason)}; gossamer dead requeue queues it again"
        case UrlState.EXCLUDED:
            still = against if against is not None and against[0] == reason else None
            return f"Not fetched: {_refusal(*still) if still else meaning_of(reason)}"


# --- a URL that was never seen ------------------------------------------------------------------------


def _would_happen(refused: bool, against: tuple[str, str] | None) -> str:
    if against is None:
        return "it would be queued when a page links to it"
    reason, value = against
    if refused:
        return f"it would be excluded: {reason} ({value})"
    return f"it would be queued, and excluded when it is visited: {reason} ({value})"


# --- a URL on record -----------------------------------------------------------------------------------


def _identity(url: Url, known_as: Url, minimise: bool) -> Identity:
    if known_as == url:
        return Identity(True, minimise)
    # Another spelling, so it was found by its minimised form, even if the configuration has changed since.
    return Identity(True, minimise or minimise_url(known_as) == minimise_url(url), known_as)


def _finding(known: UrlFact, facts: Facts) -> Finding:
    way = facts.way
    # A path of the full length that does not end at a seed is longer than what was read.
    cut = len(way) == MAX_STEPS and way[-1].via is not Via.SEED
    return Finding(known.via.name.lower(), known.found_at, known.hops, facts.seed, way, cut)


def _listing(listing: ListingFact) -> Listing | None:
    if listing.listed_in is None and not listing.sitemap:
        return None
    return Listing(
        listing.listed_in,
        listing.modified_at,
        listing.changefreq,
        listing.priority,
        listing.sitemap > 0,
        tuple((listing.named_by or "").split()[:_MOST_NAMES]),
    )


def _attempts(known: UrlFact, facts: Facts) -> tuple[Attempt, ...]:
    """Failures and the last answer, oldest first. An answer that was a failure is one attempt, not two."""
    visit = facts.visit
    found = []
    for failure in facts.failures:
        took = visit.took if visit is not None and visit.at == failure.at else None
        found.append(Attempt(failure.at, failure.reason, failure.status, took, failure.detail))
    if visit is not None and all(failure.at != visit.at for failure in facts.failures):
        last = all(failure.at < visit.at for failure in facts.failures)
        outcome = known.state.word if last and known.state is not UrlState.QUEUED else "answered"
        found.append(Attempt(visit.at, outcome, visit.status, visit.took, visit.redirect_to))
    return tuple(sorted(found, key=lambda attempt: attempt.visited_at))


def _content(state: UrlState, visit: VisitFact, long_links: tuple[LongLink, ...]) -> Content | None:
    if state not in _TOLD:
        return None
    digest = None if visit.digest is None else sha1_text(visit.digest)
    return Content(
        state.word,
        visit.duplicate_of,
        visit.redirect_to,
        visit.size,
        visit.mime,
        digest,
        visit.title,
        visit.truncated,
        bool(visit.unverified),
        visit.replaced,
        visit.deep_links,
        tuple(TooLong(link.shown, f"sha256:{link.digest.hex()}", link.size) for link in long_links),
        visit.near_duplicate_of,
        visit.distance,
        visit.language,
        visit.canonical,
    )


def _archive(url: Url, visit: VisitFact, record: RecordCheck | None) -> Archive | None:
    if visit.warc_file is None or visit.warc_offset is None or visit.warc_length is None:
        return None
    problem = _problem(url, record)
    sound = None if record is not None and record.away else problem is None
    return Archive(visit.warc_file, visit.warc_offset, visit.warc_length, sound, problem)


def _problem(url: Url, record: RecordCheck | None) -> str | None:
    if record is None:
        return "the record was not read"
    if record.problem is not None:
        return record.problem
    if record.kind not in ("response", "resource", "revisit") or record.target != url:
        return f"there is a {record.kind} record of {record.target}"
    if record.block_ok is not True:
        return "its digest is wrong" if record.block_ok is False else "it has no digest"
    return "its payload's digest is wrong" if record.payload_ok is False else None
