"""The explanation of a URL as lines for people, and as a JSON object for programs."""

import dataclasses
from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import zip_longest

from gossamer.config.overrides import HostOverride
from gossamer.model.url_record import Bounded, OwnerFact, Step
from gossamer.observe import formatter
from gossamer.recrawl.policy import format_duration
from gossamer.reports.explain.story import (
    Attempt,
    Content,
    Finding,
    Listing,
    Politeness,
    Priority,
    Recrawl,
    Robots,
    Signals,
    Story,
    Verdict,
)

_LABEL = 12
_CUT = {
    "length": "longer than the size limit",
    "time": "the time limit was reached",
    "disconnect": "it broke off",
}

_REASONS_IN_WORDS = {"rules out of reach": "robots.txt cannot be fetched"}  # the keys are on record

Json = dict[str, object]


def story_lines(story: Story) -> list[str]:
    """The answer, then the URL and one part after the other, with labels in a column."""
    lines = [formatter.printable(story.answer), "", formatter.printable(str(story.form.url or story.form.given))]
    for label, texts in _parts(story):
        for text in texts:
            lines.append(f"  {label:<{_LABEL}}{formatter.printable(text)}")
            label = ""
    return lines


def story_object(story: Story) -> Json:
    """`explain/1`: times in ISO 8601 and UTC, durations in seconds, null for what is unknown."""
    found = _plain(story)
    assert isinstance(found, dict)
    return {"v": 1, **found}


# --- JSON ----------------------------------------------------------------------------------------------


_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def _plain(value: object) -> object:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if fields := _fields_of(kind):
        found: Json = {}
        for name, is_time in fields:
            item = getattr(value, name)
            kind = type(item)
            if kind in _AS_THEY_ARE:  # most of them
                found[name] = formatter.timestamp(item) if is_time and kind is float else item
            else:
                found[name] = _plain(item)
        return found
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Enum):
        return value.name.lower()
    return value


_FIELDS: dict[type, tuple[tuple[str, bool], ...]] = {}


def _fields_of(kind: type) -> tuple[tuple[str, bool], ...]:
    """The fields of a data class, and whether they are times; empty for other types."""
    found = _FIELDS.get(kind)
    if found is None:
        names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
        found = _FIELDS[kind] = tuple((name, name.endswith("_at")) for name in names)
    return found


# --- lines ---------------------------------------------------------------------------------------------


def _parts(story: Story) -> Iterator[tuple[str, list[str]]]:
    yield "state", [_state(story)]
    yield "canonical", _form(story)
    yield "worker", _owner(story.owner) if story.owner is not None else []
    yield "found", _found(story.finding, story.listing) if story.finding is not None else []
    yield "listed", _listed(story.listing) if story.listing is not None else []
    yield "seen", _seen(story)
    yield "filter", _filter(story.verdicts)
    yield "robots.txt", _robots(story.robots) if story.robots is not None else []
    yield "priority", _standing(story.standing) if story.standing is not None else []
    yield "queue", _place(story)
    yield "politeness", _politeness(story.politeness, story.robots)
    yield "overrides", _ordered(story.ordered) if story.ordered is not None else []
    yield "attempts", _attempts(story)
    yield "content", _content(story)
    yield "archive", _archive(story)
    yield "recrawl", _recrawl(story.recrawl) if story.recrawl is not None else []
    at = formatter.date_time(story.next.due_at)
    yield "next", [f"{at}: {story.next.why}" if at else story.next.why]


def _state(story: Story) -> str:
    if story.form.refused is not None:
        return f"refused: {story.form.refused}"
    if story.state is None:
        return "never seen"
    return f"{story.state} ({story.reason})" if story.reason else story.state


def _owner(owner: OwnerFact) -> list[str]:
    return [f"{owner.worker or 'nobody: waiting for a worker'} (partition {owner.partition})"]


def _form(story: Story) -> list[str]:
    form = story.form
    if form.refused is not None:
        return ["none"]
    if not form.changes:
        return ["unchanged"]
    return [f"given as {form.given}", *form.changes]


def _found(finding: Finding, listing: Listing | None) -> list[str]:
    at = formatter.date_time(finding.found_at)
    lines = []
    if finding.seed is not None:
        lines.append(f"seed: {finding.seed.where}, {formatter.date_time(finding.seed.added_at)}")
    elif finding.via == "seed":
        lines.append(f"seed, {at}")
    if finding.via != "seed":
        unknown = "a page no longer on record"
        if finding.via == "sitemap":
            named = listing is not None and listing.named_by
            unknown = "named by robots.txt" if named else "at the default location: robots.txt has no Sitemap line"
        where = finding.way[0].url if finding.way else unknown
        how = {"redirect": f"redirect from {where}", "sitemap": f"sitemap {where}"}.get(finding.via, f"link on {where}")
        lines.append(f"{how}, {at}")
    lines += [_step(step, beyond) for step, beyond in zip_longest(finding.way, finding.way[1:])]
    if finding.cut:
        lines.append("  … the path to the seed is longer")
    return lines


def _listed(listing: Listing) -> list[str]:
    lines = []
    if listing.sitemap:
        by = ", ".join(listing.named_by)
        lines.append("it is a sitemap" + (f", which the robots.txt of {by} names or links to" if by else ""))
    if listing.listed_in is not None:
        said = [
            f"modified {formatter.date_time(listing.modified_at)}" if listing.modified_at is not None else "",
            f"changes {listing.changefreq}" if listing.changefreq else "",
            f"priority {listing.priority:g}" if listing.priority is not None else "",
        ]
        lines.append(": ".join(part for part in (f"in {listing.listed_in}", ", ".join(filter(None, said))) if part))
    return lines


def _step(step: Step, beyond: Step | None) -> str:
    """How a page on the path to the seed was found."""
    if step.seed is not None:
        return f"  {step.url} is a seed: {step.seed.where}"
    if beyond is None:
        return f"  {step.url}, at depth {step.depth}"
    how = "by a redirect from" if step.via.name == "REDIRECT" else "on"
    return f"  {step.url} was found {how} {beyond.url}"


def _seen(story: Story) -> list[str]:
    identity = story.identity
    if identity is None:
        return []
    usual = "identity" if identity.known_as else "canonical form"
    by = "minimised form" if identity.minimised else usual
    ignored = [f"ignored: {name} ({why})" for name, why in identity.ignored]
    if not identity.seen:
        return [f"new: no known URL has the same {by}", *ignored]
    return [*([f"known as {identity.known_as}, which has the same {by}"] if identity.known_as else []), *ignored]


def _filter(verdicts: tuple[Verdict, ...]) -> list[str]:
    width = max((len(verdict.rule) for verdict in verdicts), default=0)
    return [f"{verdict.rule:<{width}}  {verdict.reason or 'passes'} ({verdict.detail})" for verdict in verdicts]


def _robots(robots: Robots) -> list[str]:
    if robots.allowed is None:
        return [f"{robots.origin}/robots.txt is {robots.meaning}"]
    verdict = "allowed" if robots.allowed else "denied"
    line = f"line {robots.line_number}, {robots.line}" if robots.line is not None else robots.meaning
    age = formatter.clock_time(robots.age or 0.0)
    kept = f"cached until {formatter.date_time(robots.expires_at)}" if robots.current else "to be fetched again"
    lines = [f"{verdict}: {line}", f"{robots.origin}/robots.txt returned {robots.status} {age} ago, {kept}"]
    if robots.guess is not None:
        at = formatter.date_time(robots.guessed_at)
        lines.append(f"no Sitemap line; requested /sitemap.xml at {at}: {robots.guess}")
    return lines


def _standing(standing: Priority) -> list[str]:
    where = ", assuming a link from a seed" if standing.assumed else ""
    place = "in order of score" if standing.by_score else _class(standing)
    lines = [f"{standing.priority:.4f} by {standing.order}: {place}, depth {standing.depth}{where}"]
    lines.append(_sum(standing.parts) if standing.by_score else _list(standing.parts))
    if standing.rule is not None:
        lines.append(f"priority.rules overrides the score: {standing.rule}")
    if standing.assumed:
        return lines  # nothing is known of its links and visits
    pages = formatter.number_of(standing.links, "page")
    linked = (
        f"{pages} {'links' if standing.links == 1 else 'link'} to it, {standing.links_from_others} of other domains"
    )
    visits = formatter.number_of(standing.visits, "visit")
    credit = f"credit {standing.credit:.4f}; " if standing.order == "importance" else ""
    lines.append(f"{linked}; {credit}{visits}, {formatter.number_of(standing.changes, 'change')}")
    if standing.queued_with is not None:
        lines.append(f"score when queued: {standing.queued_with:.4f}")
    if standing.queued_by is not None:
        lines.append(f"the queue is sorted by {standing.queued_by} until a crawl starts with this configuration")
    return lines


def _class(standing: Priority) -> str:
    if standing.name in ("high", "medium", "low"):
        return f"class {standing.front} (group {standing.name})"
    return f"class {standing.front}"


def _sum(parts: Mapping[str, float]) -> str:
    return "the sum of " + _list(parts)


def _list(parts: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in parts.items())


def _place(story: Story) -> list[str]:
    if story.place is None:
        return []
    before, of_class, of_host = (_count(n) for n in (story.place.before, story.place.of_class, story.place.of_host))
    if story.standing is not None and story.standing.by_score:
        by = "for a date" if story.standing.front else "by score"
        return [f"{before} ahead of it {by}; {of_class} queued like it and {of_host} in total on its host"]
    return [f"{before} ahead of it; {of_class} of its class and {of_host} in total queued on its host"]


def _count(count: Bounded) -> str:
    return f"more than {formatter.count(count.number)}" if count.or_more else formatter.count(count.number)


def _politeness(politeness: Politeness | None, robots: Robots | None) -> list[str]:
    if politeness is None:
        return ["its host is not known"] if robots is not None else []
    address = f" ({politeness.address})" if politeness.address else ""
    if politeness.contact_at <= 0:
        lines = [f"{politeness.host} was never contacted"]
    elif politeness.wait > 0:
        at, why = formatter.date_time(politeness.contact_at), _wait_reason(politeness)
        lines = [f"{politeness.host}{address} may be contacted in {formatter.span(politeness.wait)}, at {at}: {why}"]
    else:
        ended = formatter.date_time(politeness.contact_at)
        lines = [f"{politeness.host}{address} may be contacted now (delay ended at {ended})"]
    delay = f"usual delay {formatter.seconds(politeness.gap)}: {politeness.term}"
    if robots is not None and robots.crawl_delay is not None:
        delay += f"; Crawl-delay {robots.crawl_delay:g} s"
    lines.append(f"{delay}; last response took {formatter.seconds(politeness.last_took)}")
    asked = f"{formatter.number_of(politeness.accesses, 'page request')} to {politeness.domain}"
    lines.append(f"{asked}, at most {formatter.count(politeness.cap)}" if politeness.cap is not None else asked)
    return lines


def _wait_reason(politeness: Politeness) -> str:
    if politeness.reason is not None:
        return _REASONS_IN_WORDS.get(politeness.reason, politeness.reason)
    if politeness.longer:
        return "not recorded; longer than the usual delay: Retry-After, failures or an unreachable robots.txt"
    return "not recorded"


def _ordered(ordered: HostOverride) -> list[str]:
    """Settings for its host that override everything else."""
    found = [f"{word} through the service" for word in ("paused", "dropped") if getattr(ordered, word)]
    if ordered.delay is not None:
        found.append(f"delayed through the service by at least {formatter.seconds(ordered.delay)} after each response")
    return [f"its host is {each}" for each in found]


def _attempts(story: Story) -> list[str]:
    if story.state is None:
        return []
    if not story.attempts:
        return ["none"]
    lines = ["earlier attempts are not shown"] if story.earlier_attempts else []
    return lines + [_attempt(attempt) for attempt in story.attempts]


def _attempt(attempt: Attempt) -> str:
    status = f" {attempt.status}" if attempt.status is not None else ""
    took = f" in {formatter.seconds(attempt.took)}" if attempt.took is not None else ""
    detail = f" ({attempt.detail})" if attempt.detail else ""
    return f"{formatter.date_time(attempt.visited_at)}  {attempt.outcome}{status}{took}{detail}"


def _content(story: Story) -> list[str]:
    content = story.content
    if content is None:
        return []
    if content.verdict == "redirect":
        return [f"redirect to {content.redirect_to}", *_soft(story), *_marks(content)]
    head = f"duplicate of {content.duplicate_of}" if content.duplicate_of is not None else content.verdict
    about = [text for text in (content.mime, formatter.size(content.size or 0), content.digest) if text]
    own = [f"title: {content.title}"] if content.title else []
    own += [f"language: {content.language}"] if content.language else []
    own += [f"declares the canonical URL {content.canonical}"] if content.canonical else []
    return [f"{head}: {', '.join(about)}", *own, *_soft(story), *_marks(content)]


def _soft(story: Story) -> list[str]:
    """A line if the response was recognised as a soft 404."""
    return ["soft 404: the host returns this for pages that do not exist"] if story.reason == "soft_404" else []


def _marks(content: Content) -> list[str]:
    """Restrictions on what the document can be used for."""
    found = []
    if content.near_duplicate_of is not None:
        same = "no difference" if content.distance == 0 else f"a difference of {content.distance} in 64"
        found.append(f"near-duplicate of {content.near_duplicate_of}: {same}")
    if content.truncated is not None:
        found.append(f"truncated ({content.truncated}): {_CUT.get(content.truncated, 'only the beginning is stored')}")
    if content.unverified:
        found.append("unverified: the certificate of the server was not checked")
    if content.replaced_characters:
        found.append(
            f"{formatter.number_of(content.replaced_characters, 'character')} could not be read in its encoding"
        )
    if content.deep_links:
        found.append(f"{formatter.number_of(content.deep_links, 'link')} nested deeper than 512 elements")
    return found + [
        f"a link of {formatter.count(link.size)} bytes was too long: {link.shown} ({link.digest})"
        for link in content.long_links
    ]


def _archive(story: Story) -> list[str]:
    archive = story.archive
    if archive is None:
        return []
    checked = "record found, digest correct"
    if not archive.sound:
        checked = f"{'cannot be checked' if archive.sound is None else 'damaged'}: {archive.problem}"
    return [f"{archive.file} at byte {archive.offset}, {formatter.count(archive.length)} bytes", checked]


def _recrawl(recrawl: Recrawl) -> list[str]:
    gap = "no date" if recrawl.gap is None else f"{formatter.span(recrawl.gap)} after its last visit"
    lines = [f"{gap}: {recrawl.why}", f"policy {recrawl.policy}, importance {recrawl.importance:.3g}"]
    lines.append(f"minimum value of a recrawl: {recrawl.price:.4g} (docs/RECRAWL.md)")
    if recrawl.usual_price is not None:
        lines.append(
            f"this minimum is higher than elsewhere ({recrawl.usual_price:.4g}), because its host allows too few visits"
        )
    if recrawl.host_pages:
        pages = formatter.number_of(recrawl.host_pages, "page")
        every = format_duration(recrawl.host_interval)
        lines.append(f"{pages} of its host with estimates: one changes about every {every}")
    if not recrawl.conditional:
        lines.append("requested unconditionally: its server has returned 304 for changed pages")
    return lines + _signals(recrawl.signals)


def _signals(said: Signals) -> list[str]:
    lines = []
    if said.forwarded:
        lines.append(
            f"brought forward: a sitemap or feed says that it was modified at {formatter.date_time(said.reported_at)}"
        )
    if said.dates_judged:
        share = f"{said.dates_true} of {said.dates_judged} were right"
        lines.append(f"Last-Modified of its host is {'used' if said.dates_believed else 'not used'}: {share}")
    if said.reports_judged:
        share = f"{said.reports_true} of {said.reports_judged} were right"
        if said.reports_believed:
            share += f", and {100 * said.recall:.0f} % of the changes are reported"
        used = "used" if said.reports_believed else "not used"
        lines.append(f"changes reported by sitemaps and feeds of its host are {used}: {share}")
    if said.changefreq is not None:
        lines.append(f"its sitemap says that it changes {said.changefreq}, which counts half at first")
    return lines
