"""The composition root of a running crawl: builds all objects on the store that `store` opens."""

import os
import random
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from gossamer.clock import Clock
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import (
    breaker_for,
    canonicaliser_for,
    check_config,
    identity_rules_for,
    importance_for,
    opening_price_for,
    ordering_for,
    politeness_for,
    recrawl_policy_for,
    recrawl_rules_for,
    retries_for,
    rules_for,
    trap_exemption,
    trap_policy_for,
)
from gossamer.crawl.counters import Counters, CrawlState
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DocumentProcessor, DocumentSettings, DuplicateTests
from gossamer.crawl.document.queue import DocumentQueue, DocumentQueueLimits
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.engine import Engine, EngineLimits, EngineStages
from gossamer.crawl.events import OutcomeEvents
from gossamer.crawl.observers import Observers
from gossamer.crawl.requeue import Requeue
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.opener import CrawlTables, archive_folder
from gossamer.crawl.run.recovery import RecoveredContacts, WarmUp
from gossamer.crawl.run.store import (
    Opening,
    captures_for,
    commit_seeds,
    has_files,
    open_database,
    read_metadata,
    store_for,
    table_writer,
)
from gossamer.crawl.run.time_lapse import clock_for, may_dial_for
from gossamer.crawl.trap_accounts import OutcomeFeedback, TrapAccounts
from gossamer.crawl.visit.disposition import Disposition
from gossamer.crawl.visit.host_context import HostContexts, HostHealth, only_silent_hosts_left
from gossamer.crawl.visit.request import Requester
from gossamer.crawl.visit.robots import RobotsFetcher, RobotsSettings
from gossamer.crawl.visit.settle import Settler
from gossamer.crawl.visit.visit import VisitLimits, Visitor, VisitOutcomes, VisitRules
from gossamer.dedup.exact import ContentSeen
from gossamer.dedup.near import NearDuplicates, NearMode
from gossamer.dedup.soft404 import Soft404Detector
from gossamer.extract.large_pages import LargePages
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.cache import StoredAnswer
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import BODY_MEMORY_BYTES, BodyMemory
from gossamer.fetch.ports import SchemeFetcher
from gossamer.fetch.robots import RobotsPolicy
from gossamer.filter.canonical import Canonical, Canonicaliser
from gossamer.filter.domains import registrable_domain
from gossamer.filter.identity import Identities, LearnedParameter
from gossamer.filter.links import LinkResolver
from gossamer.filter.parameter_learner import LearningPolicy, ParameterLearner
from gossamer.filter.scope import parse_scope
from gossamer.frontier.decisions import FrontierLimits
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.frontier.selector import SelectorRatios
from gossamer.model.batch import LearntParameter
from gossamer.model.units import HostKey, Instant, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.price import price_from
from gossamer.reports.ports import CrawlReader
from gossamer.seed.lists import Seed
from gossamer.seen.url_seen import SeenTest
from gossamer.store.ports import ContactJournal, PartitionOwner
from gossamer.store.table.loader import TableLoader
from gossamer.store.threads import ReaderThread, StoreQueries, WriterThread


def outcome_feedback_for(
    config: Config, parameters: list[LearntParameter], soft_404: Soft404Detector
) -> tuple[OutcomeFeedback, Identities]:
    """What learns from outcomes, with the parameters that were learned before."""
    learnt = (
        [LearnedParameter(*known[:5]) for known in parameters if not known.refuted] if config.identity.learn else []
    )
    refuted = [known[:3] for known in parameters if known.refuted]
    identities = Identities(identity_rules_for(config), learnt)
    learner = ParameterLearner(LearningPolicy(), tuple(learnt), tuple(refuted)) if config.identity.learn else None
    budgets = None
    if config.traps.cut:
        budgets = TrapAccounts(trap_policy_for(config), domain_of=registrable_domain, is_free=trap_exemption(config))
    return OutcomeFeedback(identities, budgets, learner, soft_404), identities


def recrawl_planner_for(config: Config, price: str | None, now: Instant) -> RecrawlPlanner:
    """What plans the next visits. `price`: its stored state."""
    settings = config.recrawl
    known = price_from(price, settings, opening_price_for(config), now)
    return RecrawlPlanner(
        settings, recrawl_policy_for(config), recrawl_rules_for(settings), known, importance_for(config)
    )


def restore_addresses(resolver: Resolver, host: HostKey, text: str) -> None:
    """Give the resolver the stored addresses of a host."""
    stored = StoredAnswer.from_text(text)
    if stored is not None:
        resolver.restore(host, stored)


def hosts_of(urls: Iterable[Url], canonicaliser: Canonicaliser) -> list[HostKey]:
    found = (canonicaliser.canonicalise(url) for url in urls)
    return [url.host for url in found if isinstance(url, Canonical)]


def audit_for(config: Config) -> PolitenessAudit:
    """The audit of our own politeness."""
    return PolitenessAudit(
        min_delay=Seconds(config.delay),
        factor=config.delay_factor,
        max_adaptive_delay=Seconds(config.politeness.max_adaptive_delay),
        max_retry_after=Seconds(config.politeness.max_retry_after),
    )


@dataclass(slots=True)
class Crawl:
    """A crawl that is ready to run."""

    directory: CrawlDirectory
    engine: Engine
    frontier: Frontier
    visitor: Visitor
    store: WriterThread
    loader: TableLoader
    fetcher: SchemeFetcher
    resolver: Resolver
    large_pages: LargePages
    journal: ContactJournal
    audit: PolitenessAudit
    counters: Counters
    clock: Clock
    admission: Admission
    hosts: HostSettingsTable
    scope_seeds: set[HostKey]  # hosts of all seeds
    host_contexts: HostContexts
    reads: ReaderThread
    bodies: BodyMemory
    reports: CrawlReader  # for the reader thread
    tables: CrawlTables

    def open_reader(self) -> CrawlReader:
        """The store of this crawl, for reading while it runs. Raises StoreFailed."""
        return self.tables.open_crawl_reader()

    def change_rules(self, config: Config) -> None:
        """Take scope rules, host settings and recrawl settings from another configuration, at once and for queued URLs
        too. Raises ConfigError; then nothing was changed."""
        hosts, recrawls = host_settings_for(config, os.environ), recrawl_rules_for(config.recrawl)
        self.admission.change_rules(rules_for(config, parse_scope(config.scope).with_seeds(self.scope_seeds)))
        self.hosts.replace_with(hosts)
        requeue = self.engine.requeue
        requeue.planner.reconfigure(config.recrawl, recrawls, opening_price_for(config))
        requeue.change_to(config.recrawl, self.clock.now())
        self.engine.pump_soon()

    async def close(self) -> None:
        """Release all resources, after the engine has ended."""
        await self.fetcher.close()
        await self.resolver.close()
        await self.large_pages.close()
        self.store.close()
        self.reports.close()
        self.loader.close()  # the last one: a connection for reports cannot leave the database without a log
        self.tables.close()
        self.journal.close()
        # Only the journal knows of visits that were cancelled and outcomes that could not be committed: then it stays.
        if self.store.is_idle and not self.visitor.open_contacts:
            self.journal.clear()
        self.directory.close()


def assemble(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    may_be_empty: bool = False,
    part: PartitionOwner | None = None,
    fingerprint_key: int | None = None,
    clock: Clock | None = None,
    fetcher: SchemeFetcher | None = None,
) -> Crawl:
    """Open or create the crawl in its directory, with its seeds committed and its politeness clocks restored.

    Without a seed there is no crawl, unless it `may_be_empty`. A worker with a `part` owns the domains of that share
    only, and shares the `fingerprint_key` of a new crawl with the others. `clock` and `fetcher` replace those of the
    configuration. Must be called on the event loop. Raises UsageError or DirectoryError; then nothing was changed.
    """
    check_config(config)
    hosts = host_settings_for(config, os.environ)
    directory = CrawlDirectory(Path(config.dir), archive=has_files(config), blobs=archive_folder(config.blobs))
    try:
        tables, journal = store_for(config, directory)
        opening = Opening(
            config,
            list(seeds),
            add_seeds,
            may_be_empty,
            part,
            secrets.randbits(63) if fingerprint_key is None else fingerprint_key,
            directory,
            tables,
            journal,
            clock or clock_for(directory, config, is_new=not tables.exist()),
        )
        return _assemble(opening, hosts, fetcher)
    except BaseException:
        directory.close()
        raise


def _assemble(opening: Opening, hosts: HostSettingsTable, fetcher: SchemeFetcher | None) -> Crawl:
    config, directory, clock = opening.config, opening.directory, opening.clock
    politeness = politeness_for(config)
    db = open_database(opening)
    known = read_metadata(opening, db, hosts, politeness)
    planner = recrawl_planner_for(config, known.price, clock.now())
    captures, capture = captures_for(config, directory, known.warc_lengths, clock)
    ordering = ordering_for(config)
    writer = table_writer(opening, db, captures, planner, ordering)
    loader = TableLoader(opening.tables.open_reader())
    queries = StoreQueries(loader, ReaderThread())

    canonicaliser = canonicaliser_for(config)
    scope_seeds = {*hosts_of(known.seeds, canonicaliser), *(seed.host for seed in opening.seeds)}
    seen, soft_404 = SeenTest(capacity=1_000_000), Soft404Detector()
    feedback, identities = outcome_feedback_for(config, known.parameters, soft_404)
    admission = Admission(
        rules=rules_for(config, parse_scope(config.scope).with_seeds(scope_seeds)),
        canonicaliser=canonicaliser,
        resolver=LinkResolver(canonicaliser),
        seen=seen,
        key=known.fingerprint_key,
        identities=identities,
        trap_observer=feedback.trap_accounts,
    )
    commit_seeds(opening, writer, admission, known.recovered)
    opening.journal.begin()

    observers, counters = Observers(clock), Counters(loader.counters())
    store = WriterThread(writer, clock, before_commit=observers.before_commit, on_commit=observers.committed)
    resting = _resting_addresses(loader, known.recovered, politeness, clock.now())
    state = CrawlState(_frontier_for(config, ordering, politeness, loader, resting), store, counters, clock)
    # The key is that of all workers; their random numbers differ.
    chance = random.Random(known.fingerprint_key + (opening.part.number if opening.part else 0))
    network = _network_for(opening, politeness, hosts, state, resting, chance, fetcher)
    host_contexts = HostContexts(config.robots_agent, partial(restore_addresses, network.resolver))
    settler, events = Settler(state, planner, observers), OutcomeEvents()
    requeue = Requeue(config.recrawl, planner, store, counters, clock.now(), known.tokens, known.pace)
    observers.subscribe(network.requester, counters, host_contexts, feedback, requeue, events)

    sitemaps = Sitemaps(
        admission=admission,
        store=store,
        counters=counters,
        settings=config.sitemaps,
        agent=config.robots_agent,
        load_facts=queries.sitemap_facts,
        believes=planner.trusts_reports_of,
    )
    duplicates = _duplicate_tests_for(config, soft_404)
    large_pages = LargePages()
    documents = DocumentQueue(
        DocumentProcessor(
            admission,
            duplicates,
            large_pages,
            _document_settings_for(config),
            capture=capture,
            hosts=hosts,
            planner=planner,
        ),
        clock,
        limits=DocumentQueueLimits(),
        settle=settler.settle,
        find_owners=queries.content_owners,
        sitemaps=sitemaps,
    )

    breaker, max_hosts = breaker_for(config), config.frontier.max_hosts
    only_silence = partial(only_silent_hosts_left, host_contexts, state.frontier, documents, queries, max_hosts)
    health = HostHealth(breaker, chance, only_silence)
    robots_fetcher = RobotsFetcher(
        state,
        host_contexts,
        health,
        network.requester,
        canonicaliser=canonicaliser,
        settings=RobotsSettings(
            config.robots_agent,
            RobotsPolicy(first_retry=breaker.first_rest, longest_retry=breaker.longest_rest),
            Seconds(config.politeness.max_crawl_delay),
        ),
        find_host=queries.find_host,
        on_sitemaps=sitemaps.on_robots_lines,
    )
    visitor = Visitor(
        state,
        host_contexts,
        health,
        network.requester,
        robots_fetcher,
        rules=VisitRules(_visit_limits_for(config), admission, hosts, feedback.trap_accounts),
        outcomes=VisitOutcomes(Disposition(retries_for(config), chance, soft_404), planner, settler, documents.put),
        redirects_to=queries.redirects_to,
    )
    engine = Engine(
        state,
        observers,
        host_contexts,
        EngineStages(visitor, documents, requeue, events),
        queries=queries,
        bodies=network.bodies,
        warm_up=WarmUp(queries, duplicates.contents, seen, duplicates.near),
        limits=EngineLimits(concurrency=config.concurrency, max_pages=config.max_pages, max_hosts=max_hosts),
    )
    return Crawl(
        directory=directory,
        engine=engine,
        frontier=state.frontier,
        visitor=visitor,
        store=store,
        loader=loader,
        fetcher=network.fetcher,
        resolver=network.resolver,
        large_pages=large_pages,
        journal=opening.journal,
        audit=network.audit,
        counters=counters,
        clock=clock,
        admission=admission,
        hosts=hosts,
        scope_seeds=scope_seeds,
        host_contexts=host_contexts,
        reads=queries.thread,
        bodies=network.bodies,
        reports=opening.tables.open_crawl_reader(),
        tables=opening.tables,
    )


# --- frontier and network ------------------------------------------------------------------------


def _resting_addresses(
    loader: TableLoader, recovered: RecoveredContacts, politeness: PolitenessPolicy, now: Instant
) -> list[tuple[str, Instant]]:
    """Addresses that were contacted before this start, and until when they rest.

    The Crawl-delay or Retry-After of one site does not hold for others at its address: an address rests no longer than
    its own load demands.
    """
    longest = Instant(now + max(politeness.min_delay, politeness.max_adaptive_delay))
    resting = [*loader.resting_addresses(now), *recovered.addresses.items()]
    return [(address, min(until, longest)) for address, until in resting]


def _frontier_for(
    config: Config,
    ordering: Ordering,
    politeness: PolitenessPolicy,
    loader: TableLoader,
    resting: list[tuple[str, Instant]],
) -> Frontier:
    ratios = SelectorRatios(config.frontier.shares, config.frontier.shares_under_load)
    limits = FrontierLimits(config.frontier.max_hosts)
    frontier = Frontier(politeness, ratios, limits, ordering, loader.suffix_visits())
    for address, until in resting:
        frontier.rest_address(address, until)
    return frontier


class _Network(NamedTuple):
    """What sends requests, and what watches over that."""

    requester: Requester
    fetcher: SchemeFetcher
    resolver: Resolver
    bodies: BodyMemory
    audit: PolitenessAudit


def _network_for(
    opening: Opening,
    politeness: PolitenessPolicy,
    hosts: HostSettingsTable,
    state: CrawlState,
    resting: list[tuple[str, Instant]],
    chance: random.Random,
    fetcher: SchemeFetcher | None,
) -> _Network:
    config, clock = opening.config, opening.clock
    addresses = AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)
    may_dial = may_dial_for(clock, addresses.may_dial)
    resolver = Resolver(config.name_servers or None, clock, chance=chance, domain_of=registrable_domain)
    bodies = BodyMemory(max(BODY_MEMORY_BYTES, 2 * config.fetch.max_body_bytes))
    fetcher = fetcher or fetcher_for(config, clock, may_dial, bodies)
    audit = audit_for(config)
    for address, until in resting:
        audit.restore(None, address, until)
    requester = Requester(
        state,
        resolver=resolver,
        address_choice=AddressChoice(may_dial),
        fetcher=fetcher,
        journal=opening.journal,
        audit=audit,
        politeness=politeness,
        hosts=hosts,
    )
    return _Network(requester, fetcher, resolver, bodies, audit)


# --- settings ------------------------------------------------------------------------------------


def _visit_limits_for(config: Config) -> VisitLimits:
    return VisitLimits(
        max_redirects=config.fetch.max_redirects,
        max_per_domain=config.politeness.max_per_domain,
        max_crawl_delay=Seconds(config.politeness.max_crawl_delay),
        revisits=config.archive.revisits,
    )


def _document_settings_for(config: Config) -> DocumentSettings:
    archive = config.archive
    return DocumentSettings(
        config.fetch.max_body_bytes, revisits=archive.revisits, outlinks=archive.outlinks, agent=config.robots_agent
    )


def _duplicate_tests_for(config: Config, soft_404: Soft404Detector) -> DuplicateTests:
    mode = config.content.near_duplicates
    near = None if mode == "off" else NearDuplicates(NearMode(mode))
    return DuplicateTests(ContentSeen(capacity=1_000_000), near, soft_404)
