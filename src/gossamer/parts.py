"""Parts of a crawl that take some making, from its configuration and what is on record."""

from collections.abc import Iterable

from gossamer.backends.warcfile.captures import WarcCaptures
from gossamer.backends.warcfile.record import RecordIds, Warcinfo
from gossamer.backends.warcfile.recover import RepairKind, cut_back
from gossamer.backends.warcfile.writer import WarcWriter
from gossamer.clock import Clock
from gossamer.config import Config
from gossamer.crawl.budgets import Budgets
from gossamer.crawl.directory import CrawlDirectory
from gossamer.crawl.lessons import Lessons
from gossamer.crawl.prices import price_from
from gossamer.crawl.recrawl_rules import recrawl_rules_of
from gossamer.crawl.recrawling import Recrawling
from gossamer.errors import DirectoryError
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.dns.stored import StoredAnswer
from gossamer.filter.canonical import Canonical, Canonicaliser
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, Learnt
from gossamer.filter.learning import LearningPolicy, ParameterLearner
from gossamer.model.units import HostKey, Instant, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.store.changes import LearntParameter
from gossamer.version import __version__
from gossamer.wishes import (
    identity_rules_for,
    importance_for,
    is_free_of_traps,
    opening_price_for,
    recrawl_policy_for,
    trap_policy_for,
)


def captures_for(
    config: Config, directory: CrawlDirectory, committed: dict[str, int], clock: Clock, ids: RecordIds
) -> WarcCaptures:
    """The WARC files, cut back to what was committed. Raises DirectoryError if committed records are missing."""
    for repair in cut_back(directory.warcs, committed):
        if repair.kind is RepairKind.DAMAGED:
            raise DirectoryError(
                f"{directory.warcs / repair.file_name} is damaged: {repair.committed_length} bytes were committed, "
                f"{repair.length_found} are there; gossamer verify --repair fetches again what is lost"
            )
    info = Warcinfo(f"gossamer/{__version__}", config.user_agent, "")
    writer = WarcWriter(
        directory.warcs,
        info=info,
        ids=ids,
        clock=clock,
        rotate_bytes=config.archive.warc_rotate_bytes,
        committed=committed,
    )
    return WarcCaptures(writer, ids)


def lessons_for(config: Config, parameters: list[LearntParameter]) -> tuple[Lessons, Identities]:
    """What learns from outcomes, and what it knows of parameters from before."""
    learnt = [Learnt(*known[:5]) for known in parameters if not known.refuted] if config.identity.learn else []
    refuted = [known[:3] for known in parameters if known.refuted]
    identities = Identities(identity_rules_for(config), learnt)
    learner = ParameterLearner(LearningPolicy(), tuple(learnt), tuple(refuted)) if config.identity.learn else None
    budgets = None
    if config.traps.cut:
        budgets = Budgets(trap_policy_for(config), domain_of=registrable_domain, is_free=is_free_of_traps(config))
    return Lessons(identities, budgets, learner), identities


def recrawling_for(config: Config, price: str | None, now: Instant) -> Recrawling:
    """What plans the next visits. `price`: what the crawl remembers of it."""
    wishes = config.recrawl
    known = price_from(price, wishes, opening_price_for(config), now)
    return Recrawling(wishes, recrawl_policy_for(config), recrawl_rules_of(wishes), known, importance_for(config))


def recall(resolver: Resolver, host: HostKey, text: str) -> None:
    """Tell the resolver where a host was before the restart, as its row has it."""
    stored = StoredAnswer.from_text(text)
    if stored is not None:
        resolver.recall(host, stored)


def hosts_of(urls: Iterable[Url], canonicaliser: Canonicaliser) -> list[HostKey]:
    found = (canonicaliser.canonicalise(url) for url in urls)
    return [url.host for url in found if isinstance(url, Canonical)]


def audit_for(config: Config) -> PolitenessAudit:
    """The crawl's own audit of its politeness."""
    return PolitenessAudit(
        min_delay=Seconds(config.delay),
        factor=config.delay_factor,
        max_adaptive_delay=Seconds(config.politeness.max_adaptive_delay),
        max_retry_after=Seconds(config.politeness.max_retry_after),
    )
