"""The composition root of a running crawl: opens the store, chooses the backends and builds all objects.

`opener` opens existing crawls for readers."""

import os
import random
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from gossamer.backends.contact_journal import ContactLog
from gossamer.backends.memory import MemoryCaptures, MemoryContactJournal, MemoryTables
from gossamer.backends.sqlite.tables import SqliteTables
from gossamer.backends.warc.captures import WarcCaptures, WarcEncoder
from gossamer.backends.warc.record import RecordIds, Warcinfo
from gossamer.backends.warc.writer import RepairKind, WarcWriter, cut_back
from gossamer.clock import Clock
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config, shape_of
from gossamer.config.policies import (
    any_host_exempt,
    breaker_for,
    canonicaliser_for,
    check_config,
    domain_of,
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
from gossamer.crawl.run.opener import MEMORY, archive_folder
from gossamer.crawl.run.recovery import RecoveredContacts, WarmUp, recover_contacts
from gossamer.crawl.run.time_lapse import clock_for, may_dial_for
from gossamer.crawl.trap_accounts import OutcomeFeedback, TrapAccounts
from gossamer.crawl.visit.disposition import Disposition
from gossamer.crawl.visit.host_context import HostContexts, HostHealth, only_silent_hosts_left
from gossamer.crawl.visit.host_overrides import ORDERS, HostControls
from gossamer.crawl.visit.request import Requester
from gossamer.crawl.visit.robots import RobotsFetcher, RobotsSettings
from gossamer.crawl.visit.settle import Settler
from gossamer.crawl.visit.visit import VisitLimits, Visitor, VisitOutcomes, VisitRules
from gossamer.dedup.exact import ContentSeen
from gossamer.dedup.near import NearDuplicates, NearMode
from gossamer.dedup.soft404 import Soft404Detector
from gossamer.errors import DirectoryError, NotThisCrawl
from gossamer.extract.large_pages import LargePages
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.cache import StoredAnswer
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import BODY_MEMORY_BYTES, BodyMemory
from gossamer.fetch.ports import SchemeFetcher
from gossamer.fetch.robots import RobotsPolicy, parse_robots
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
from gossamer.model.batch import Batch, LearntParameter, SeedRecord
from gossamer.model.units import HostId, HostKey, Instant, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.recrawl.budget import PACE, TOKENS
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.price import PRICE, price_from
from gossamer.reports.ports import CrawlReader
from gossamer.seed.lists import Seed
from gossamer.seen.url_seen import SeenTest
from gossamer.store.ports import CaptureFiles, ContactJournal, Database, PartitionOwner, Tables
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.metadata import Metadata, learned_parameters, lift_cuts
from gossamer.store.table.priorities import reorder
from gossamer.store.table.writer import TableWriter
from gossamer.store.threads import ReaderThread, StoreQueries, WriterThread
from gossamer.version import __version__


class CrawlTables(Tables, Protocol):
    """The tables of a crawl, for the store and for reports."""

    def open_crawl_reader(self) -> CrawlReader:
        """A connection for reports. Raises StoreFailed."""
        ...


STORES: dict[str, Callable[[CrawlDirectory], tuple[CrawlTables, ContactJournal]]] = {
    "sqlite": lambda directory: (SqliteTables(directory.database), ContactLog(directory.contacts)),
    "memory": lambda directory: (MemoryTables(), MemoryContactJournal()),
}
"""The scheme of a store's URL -> its tables and the contact journal that goes with them."""


def has_files(config: Config) -> bool:
    """Whether captures are stored in files."""
    return config.store != MEMORY or config.blobs is not None


def store_for(config: Config, directory: CrawlDirectory) -> tuple[CrawlTables, ContactJournal]:
    """The tables that a configuration names, and the contact journal that goes with them."""
    scheme, _, _ = (config.store or "sqlite:").partition(":")
    return STORES[scheme](directory)


def captures_for(
    config: Config, directory: CrawlDirectory, committed: dict[str, int], clock: Clock, ids: RecordIds
) -> CaptureFiles:
    """The WARC files, truncated to what was committed. Raises DirectoryError if committed records are missing."""
    if not has_files(config):
        return MemoryCaptures(WarcEncoder(ids).encode)
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
    controls: HostControls
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
    controls = HostControls()
    hosts = host_settings_for(config, os.environ, controls.delays)
    directory = CrawlDirectory(Path(config.dir), archive=has_files(config), blobs=archive_folder(config.blobs))
    try:
        opening = _Opening(
            config,
            list(seeds),
            add_seeds,
            may_be_empty,
            part,
            secrets.randbits(63) if fingerprint_key is None else fingerprint_key,
            directory,
            *store_for(config, directory),
            clock or clock_for(directory, config),
        )
        return _assemble(opening, hosts, controls, fetcher)
    except BaseException:
        directory.close()
        raise


class _Opening(NamedTuple):
    """What a crawl is opened with."""

    config: Config
    seeds: list[Seed]
    add_seeds: bool
    may_be_empty: bool
    part: PartitionOwner | None
    new_fingerprint_key: int  # for a crawl that has none
    directory: CrawlDirectory
    tables: CrawlTables
    journal: ContactJournal
    clock: Clock


def _assemble(
    opening: _Opening, hosts: HostSettingsTable, controls: HostControls, fetcher: SchemeFetcher | None
) -> Crawl:
    config, directory, clock = opening.config, opening.directory, opening.clock
    politeness = politeness_for(config)
    db = _open_database(opening)
    known = _read_metadata(opening, db, hosts, controls, politeness)
    planner = recrawl_planner_for(config, known.price, clock.now())
    ids = RecordIds(random.Random(secrets.randbits(128)))
    captures, ordering = captures_for(config, directory, known.warc_lengths, clock, ids), ordering_for(config)
    writer = _table_writer(opening, db, captures, planner, ordering)
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
    _commit_seeds(opening, writer, admission, known.recovered)
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
            capture=WarcEncoder(ids).capture,
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
        rules=VisitRules(_visit_limits_for(config), admission, hosts, controls, feedback.trap_accounts),
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
        controls=controls,
        reads=queries.thread,
        bodies=network.bodies,
        reports=opening.tables.open_crawl_reader(),
        tables=opening.tables,
    )


# --- the store -----------------------------------------------------------------------------------


def _open_database(opening: _Opening) -> Database:
    """The database of the crawl. Raises NotThisCrawl if there is no crawl to resume, or another one."""
    directory, seeds = opening.directory, opening.seeds
    nothing = NotThisCrawl(f"there is no crawl in {directory.path} to resume; give it a URL or --seeds to start one")
    if directory.is_new and not seeds and not opening.may_be_empty:
        raise nothing
    db = opening.tables.open_writer()
    facts = Metadata(db)
    facts.settle_identity(opening.clock.now(), secrets.token_hex(8), opening.new_fingerprint_key)
    known_seeds = facts.seeds()
    # Also where a process was killed before its seeds were committed.
    if not known_seeds and not seeds and not opening.may_be_empty:
        db.close()
        raise nothing
    strangers = [seed for seed in seeds if seed.url not in known_seeds]
    if known_seeds and strangers and not opening.add_seeds:
        db.close()
        raise NotThisCrawl(
            f"{directory.path} holds another crawl ({len(known_seeds)} seeds, among them {min(known_seeds)}); "
            f"{strangers[0].url} is none of them. Use another --dir, or --add-seeds to add it to this crawl"
        )
    return db


class _Known(NamedTuple):
    """What the database says about the crawl itself."""

    seeds: frozenset[Url]
    fingerprint_key: int
    warc_lengths: dict[str, int]
    parameters: list[LearntParameter]
    recovered: RecoveredContacts
    price: str | None
    tokens: str | None
    pace: str | None


def _read_metadata(
    opening: _Opening,
    db: Database,
    hosts: HostSettingsTable,
    controls: HostControls,
    politeness: PolitenessPolicy,
) -> _Known:
    """Read what is known, and remember the configuration. Restores the operator's overrides into `controls`."""
    config, facts = opening.config, Metadata(db)
    controls.restore(facts.fact(ORDERS))

    def known_clock(host_id: HostId) -> tuple[Instant, Seconds | None]:
        next_contact, bodies = facts.clock_and_robots(host_id)
        delays = (parse_robots(body, config.robots_agent).crawl_delay for body in bodies)
        known = [delay for delay in (*delays, hosts.for_host(facts.host(host_id)).min_delay) if delay is not None]
        return next_contact, max(known, default=None)

    now = opening.clock.now()
    recovered = recover_contacts(opening.journal.last_contacts(), politeness, now, known_clock)
    facts.save_options(shape_of(config))
    facts.set_recrawl_policy(config.recrawl.policy)
    return _Known(
        seeds=facts.seeds(),
        fingerprint_key=facts.fingerprint_key(),
        warc_lengths=facts.warc_lengths(),
        parameters=learned_parameters(db),
        recovered=recovered,
        price=facts.fact(PRICE),
        tokens=facts.fact(TOKENS),
        pace=facts.fact(PACE),
    )


def _table_writer(
    opening: _Opening, db: Database, captures: CaptureFiles, planner: RecrawlPlanner, ordering: Ordering
) -> TableWriter:
    """What commits batches, after the queued URLs were reprioritised for the ordering of the configuration."""
    config, now = opening.config, opening.clock.now()
    reorder(db, ordering.name, ordering, now, settings=ordering.settings)
    if any_host_exempt(config):
        lift_cuts(db, trap_exemption(config), ordering, now)
    return TableWriter(
        db,
        captures,
        domain_of,
        ordering,
        opening.clock,
        date_of_reported=planner.dates.date_of_reported,
        postpone=planner.dates.postpone,
        replan=planner.dates.replan,
        part=opening.part,
    )


def _commit_seeds(opening: _Opening, writer: TableWriter, admission: Admission, recovered: RecoveredContacts) -> None:
    """Commit the seeds that are new, and the politeness clocks that were recovered from the contact journal."""
    part, now = opening.part, opening.clock.now()
    first = Batch()
    first.hosts = {host.host_id: host for host in recovered.clocks}
    first.seeds = [SeedRecord(seed.url, seed.host, str(seed.url), seed.where) for seed in opening.seeds]
    first.candidates = [
        admission.admit_seed(seed.url, seed.host)
        for seed in opening.seeds
        if part is None or part.owns(domain_of(seed.host)[1])
    ]
    if first:
        writer.commit(first, now)
    opening.journal.clear()
    writer.requeue_missing(opening.clock.now())


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
    if ordering.fronts == 1:
        ratios = SelectorRatios((1,), (1,))
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
    opening: _Opening,
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
