"""`gossamer explain`: the whole story of a URL."""

import argparse
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

from gossamer.backends.sqlite.story import StoryReader
from gossamer.clock import SteadyClock
from gossamer.commands import arguments as given
from gossamer.commands.options import add_options, config_from
from gossamer.commands.reading import holder_of, reading, remembered_by_crawl
from gossamer.config import Config
from gossamer.crawl.recrawl_rules import NEVER_AGAIN, recrawl_rules_of, standing_of
from gossamer.crawl.recrawling import HostChanging, price_from
from gossamer.errors import NotThisCrawl, UsageError
from gossamer.explain.facts import Facts, RecordCheck, UrlFact, VisitFact
from gossamer.explain.form import fingerprints_of, form_of
from gossamer.explain.recrawls import Basis, RecrawlTerms
from gossamer.explain.scoping import scope_near
from gossamer.explain.story import Story
from gossamer.explain.tell import CrawlRules, refused, tell
from gossamer.explain.trapped import identities_with
from gossamer.explain.waiting import Caps
from gossamer.explain.words import story_lines, story_object
from gossamer.model.units import Domain, HostKey, Instant, Seconds
from gossamer.recrawl.rules import PageFacts
from gossamer.seed.lists import with_scheme
from gossamer.wishes import (
    canonicaliser_for,
    check_config,
    domain_of,
    identity_rules_for,
    importance_for,
    is_free_of_traps,
    opening_price_for,
    ordering_for,
    politeness_for,
    recrawl_policy_for,
    rules_for,
    trap_policy_for,
)

USAGE = "URL [--dir DIR] [--json] [options]"
DESCRIPTION = """\
The whole story of a URL from what is stored: how it was found, its canonical
form, what each rule says of it, what it waits for, what came of its visits and
where it lies. For a URL never seen: what would happen to it. The crawl may be
running. The rules are those of the crawl, of gossamer.toml and the options."""
EXAMPLE = """\
  gossamer explain https://example.org/news/ --dir news
  gossamer explain example.org/old --json | jq .next"""

_RULES = (
    *("dir", "scope", "max_depth", "order", "delay", "delay_factor", "user_agent", "filter.exclude_domains"),
    "politeness.max_per_domain",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="https:// is added where it is missing")
    parser.add_argument("--config", metavar="FILE", help="read options from FILE (default: ./gossamer.toml if present)")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    add_options(parser, _RULES)


def run(arguments: argparse.Namespace) -> int:
    file = given.path(arguments, "config")
    config = config_from(arguments, file, remembered_by_crawl(arguments, file))
    check_config(config)
    text = (given.text(arguments, "url") or "").strip()
    if not text:
        raise UsageError("there is no URL to explain: the text is empty")
    directory = Path(config.dir)
    if not (directory / "crawl.db").exists():
        raise NotThisCrawl(f"there is no crawl in {str(directory)!r}; choose another with --dir")
    form = form_of(text, with_scheme(text), canonicaliser_for(config))
    as_json = given.flag(arguments, "json")
    running = holder_of(directory) is not None
    if form.url is None or form.host is None or form.origin is None:
        return _show(refused(form), as_json)
    domain, _, suffix = domain_of(form.host)
    with reading(directory) as db:
        reader = StoryReader(db, directory / "crawl.db")
        learnt = reader.learnt_parameters(form.host) if config.identity.learn else ()
        identities = identities_with(identity_rules_for(config), learnt)
        sought = fingerprints_of(form.url, form.host, reader.fingerprint_key(), identities)
        facts = reader.facts(form.host, domain, suffix, form.origin, sought)
        rules = rules_of(config, reader, facts.host.host if facts.host is not None else form.host, domain)
        rules = replace(rules, identities=identities)
    record = None if facts.visit is None else checked_record(directory / "warc", facts.visit)
    # The clock is read last, so that nothing on record is younger than now.
    story = tell(form, facts, rules, now=SteadyClock().now(), running=running, record=record)
    return _show(story, as_json)


def _show(story: Story, as_json: bool) -> int:
    if as_json:
        print(json.dumps(story_object(story)))
    else:
        sys.stdout.write("\n".join(story_lines(story)) + "\n")
    return 0


def rules_of(config: Config, reader: StoryReader, host: HostKey, domain: Domain) -> CrawlRules:
    """What a crawl with this configuration would decide by, as far as it concerns this host."""
    scope = scope_near(config.scope, reader, host, domain)
    return CrawlRules(
        entry=rules_for(config, scope),
        ordering=ordering_for(config),
        politeness=politeness_for(config, host),
        caps=Caps(config.politeness.max_per_domain, Seconds(config.politeness.max_crawl_delay)),
        robots_agent=config.robots_agent,
        minimise=config.filter.minimise,
        traps=None if is_free_of_traps(config)(host) else trap_policy_for(config),
        recrawl=RecrawlTerms(recrawl_policy_for(config), partial(_basis, config)),
    )


def _basis(config: Config, known: UrlFact, facts: Facts) -> Basis:
    """What the plan of a URL's next visit would rest on now."""
    wishes, fact, visit = config.recrawl, facts.recrawl, facts.visit
    host = facts.host.host if facts.host is not None else ""
    status, mime, near = (None, "", False) if visit is None else (visit.status, visit.mime, visit.distance is not None)
    standing = standing_of(known.state, status, near)
    rules = recrawl_rules_of(wishes)
    ruling = rules.ruling(PageFacts(host, known.url, mime or "", standing))
    changing = HostChanging.from_text(fact.changing) if fact.changing else HostChanging()
    price = price_from(fact.price, wishes.budget, opening_price_for(config), Instant(0.0)).price
    importance, prior = importance_for(config)(known.priority), changing.rates.prior()
    terms = rules.terms(ruling, importance=importance, price=price, prior=prior)
    return Basis(terms, None if ruling.fixed in (None, NEVER_AGAIN) else ruling.fixed, ruling.rule, not changing.lies)


def checked_record(folder: Path, visit: VisitFact) -> RecordCheck | None:
    """What lies where the document should be; None if it was not archived."""
    if visit.warc_file is None or visit.warc_offset is None or visit.warc_length is None:
        return None
    from gossamer.backends.warcfile.reader import DamagedRecord, read_record  # a tenth of the time; few stories need it

    try:
        record = read_record(folder / visit.warc_file, visit.warc_offset, visit.warc_length)
    except DamagedRecord as error:
        return RecordCheck(problem=str(error))
    except OSError as error:
        return RecordCheck(problem=f"{visit.warc_file}: {error.strerror}")
    return RecordCheck(None, record.kind, record.target_uri, record.block_digest_ok(), record.payload_digest_ok())
