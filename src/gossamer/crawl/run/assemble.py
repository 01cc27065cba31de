"""The composition root of a running crawl: builds all objects on the store that `store` opens."""

import math
import os
import random
import secrets
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from gossamer.clock import Clock
from gossamer.config.admission import ADMISSION_KEY, AdmissionRecord, admission_rules_for
from gossamer.config.fetchers import fetcher_for
from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import (
    address_policy_for,
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
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.announcer import DocumentAnnouncer
from gossamer.crawl.document.known import DocumentOwners, SentLinkMemory, SentLinkTest
from gossamer.crawl.document.processor import DocumentProcessor, DocumentSettings, DuplicateTests
from gossamer.crawl.document.queue import DocumentQueue, DocumentQueueLimits
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.engine import Engine, EngineLimits, EngineStages
from gossamer.crawl.events import OutcomeEvents
from gossamer.crawl.member.joining import Tell
from gossamer.crawl.member.shared_store import SharedTables
from gossamer.crawl.member.worker import Worker
from gossamer.crawl.observers import Observers
from gossamer.crawl.requeue import Requeue
from gossamer.crawl.run.cache import check_cache, open_cache
from gossamer.crawl.run.crawl import Crawl, visit_limits_for
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.location import archive_folder, store_kind
from gossamer.crawl.run.object_archive import object_batches
from gossamer.crawl.run.recovery import RecoveredContacts, WarmUp, domain_rests
from gossamer.crawl.run.rule_changes import LimitEnforcement, Readmission, Reordering
from gossamer.crawl.run.store import (
    KnownCrawl,
    OpenArchive,
    Opening,
    commit_seeds,
    has_files,
    join_crawl,
    open_archive,
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
from gossamer.crawl.visit.settle import Counters, CrawlState, Settler
from gossamer.crawl.visit.sitemap_guess import SitemapGuesser
from gossamer.crawl.visit.visit import Visitor, VisitOutcomes, VisitRules
from gossamer.dedup import ContentSeen, NearDuplicates, NearMode, Soft404Detector
from gossamer.errors import StoreFailed
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
from gossamer.filter.identity import Identities, LearnedParameter, LearningPolicy, ParameterLearner
from gossamer.filter.links import LinkResolver
from gossamer.frontier.breaker import BreakerPolicy
from gossamer.frontier.decisions import FrontierLimits
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.ordering import Ordering
from gossamer.frontier.politeness import PolitenessPolicy
from gossamer.frontier.retries import RetryPolicy
from gossamer.frontier.selector import SelectorRatios
from gossamer.model.batch import LearntParameter
from gossamer.model.units import HostKey, Instant, Seconds, Url
from gossamer.observe.audit import PolitenessAudit, Violation
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.price import price_from
from gossamer.reports.readback import read_response
from gossamer.reports.table.reader import TableReader
from gossamer.seed.lists import Seed
from gossamer.seen import SeenTest
from gossamer.store.ports import Database
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.refusals import RefusalReader
from gossamer.store.table.writer import TableWriter
from gossamer.store.threads import ReaderThread, StoreQueries, WriterThread

CONTENTS_IN_MEMORY = 100_000
"""Digests of documents in the exact memory of the content-seen test; many times what is not committed yet."""


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
    policy, rules, importance = recrawl_policy_for(config), recrawl_rules_for(settings), importance_for(config)
    known = price_from(price, settings, opening_price_for(config), now)
    return RecrawlPlanner(settings, policy, rules, known, importance)


def restore_addresses(resolver: Resolver, host: HostKey, text: str) -> None:
    """Give the resolver the stored addresses of a host."""
    stored = StoredAnswer.from_text(text)
    if stored is not None:
        resolver.restore(host, stored)


def hosts_of(urls: Iterable[Url], canonicaliser: Canonicaliser) -> list[HostKey]:
    found = (canonicaliser.canonicalise(url) for url in urls)
    return [url.host for url in found if isinstance(url, Canonical)]


def audit_for(config: Config, on_violation: Callable[[Violation], None]) -> PolitenessAudit:
    """The audit of our own politeness."""
    return PolitenessAudit(
        min_delay=Seconds(config.delay),
        factor=config.delay_factor,
        max_adaptive_delay=Seconds(config.politeness.max_adaptive_delay),
        max_retry_after=Seconds(config.politeness.max_retry_after),
        on_violation=on_violation,
        domain_of=_domain_of(config),
    )


def _domain_of(config: Config) -> Callable[[HostKey], str] | None:
    """What hosts share a gap by, apart from their address; None: nothing."""
    return registrable_domain if config.politeness.per == "domain" else None


def assemble(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    may_be_empty: bool = False,
    clock: Clock | None = None,
    fetcher: SchemeFetcher | None = None,
    worker: Worker | None = None,
    tell: Tell = lambda _: None,
) -> Crawl:
    """Open or create the crawl in its directory or its store, with its seeds committed and its politeness clocks
    restored. `worker`: how to take part in a crawl that workers share; `tell` says what it waits for.

    Without a seed there is no crawl, unless it `may_be_empty`. `clock` and `fetcher` replace those of the
    configuration. Must be called on the event loop. Raises UsageError or DirectoryError; then nothing was changed.
    """
    policies, seeds = _policies_for(config), list(seeds)
    check_cache(config)
    directory = CrawlDirectory(
        Path(config.dir),
        archive=has_files(config),
        blobs=archive_folder(config.blobs),
        chosen_by="--name" if worker is not None and worker.joins and worker.name is not None else "--dir",
    )
    member = None
    try:
        tables, journal = store_for(config, directory)
        if store_kind(config.store).is_shared:
            shared = cast(SharedTables, tables)
            has_seeds = bool(seeds) or may_be_empty
            member = join_crawl(config, directory, shared, policies.hosts, has_seeds, worker or Worker(), tell)
            clock = clock or (member.clock() if config.rehearse is None else None)
        opening = Opening(
            config,
            seeds,
            add_seeds,
            may_be_empty,
            directory,
            tables,
            journal,
            clock or clock_for(directory, config, is_new=not tables.exist()),
            member,
        )
        return _assemble(opening, policies, fetcher)
    except BaseException:
        if member is not None:
            with suppress(StoreFailed):
                member.abandon()
            member.close()
        directory.discard()
        raise


class _Policies(NamedTuple):
    """What the configuration says, in objects. Built before anything is opened."""

    politeness: PolitenessPolicy
    breaker: BreakerPolicy
    retries: RetryPolicy
    ordering: Ordering
    canonicaliser: Canonicaliser
    hosts: HostSettingsTable


def _policies_for(config: Config) -> _Policies:
    check_config(config)
    return _Policies(
        politeness_for(config),
        breaker_for(config),
        retries_for(config),
        ordering_for(config),
        canonicaliser_for(config),
        host_settings_for(config, os.environ),
    )


def _assemble(opening: Opening, policies: _Policies, fetcher: SchemeFetcher | None) -> Crawl:
    config, clock, hosts = opening.config, opening.clock, policies.hosts
    stored = _open_store(opening, policies)
    known, planner, loader, queries = stored.known, stored.planner, stored.loader, stored.queries
    entry = _entry_for(opening, policies.canonicaliser, known)
    member = opening.member
    commit_seeds(opening, stored.writer, entry.admission, known.recovered)
    if member is not None and not member.life.joins:
        member.start_run(config.max_pages, Instant(math.inf) if config.recrawl.keep_fresh else clock.now())
    opening.journal.begin()

    observers, counters = Observers(clock), Counters(loader.counters())
    delivery = stored.archive.delivery
    store = WriterThread(stored.writer, clock, observers, None if delivery is None else object_batches(config.objects))
    resting = _resting_addresses(loader, known.recovered, policies.politeness, clock.now())
    resting_hosts = _resting_hosts(config, loader, policies.politeness, clock.now())
    state = CrawlState(_frontier_for(config, policies, loader, resting, resting_hosts), store, counters, clock)
    # The key is that of all workers; their random numbers differ.
    chance = random.Random(known.fingerprint_key + (member.life.epoch if member else 0))
    network = _network_for(opening, policies, state, (resting, resting_hosts), chance, observers, fetcher)
    host_contexts = HostContexts(config.robots_agent, partial(restore_addresses, network.resolver))
    settler, events = Settler(state, planner, observers), OutcomeEvents()
    requeue = Requeue(config.recrawl, planner, store, counters, clock.now(), known.tokens, known.pace)
    reordering = Reordering(policies.ordering, store)
    observers.subscribe(network.requester, counters, host_contexts, entry.feedback, requeue, reordering, events)

    epoch = secrets.randbits(63) if member is None else int(member.life.epoch)
    cache = open_cache(
        config.cache,
        known.crawl_id,
        # Without other workers that of this life: a directory may have been replaced by an older copy.
        epoch if member is None else member.generation,
        admission_rules_for(config, len(entry.scope_seeds)).version,
        epoch,
        known.announced,
        chance,
        observers.cache_failing,
        observers.cache_emptied,
    )
    owners = None if cache is None else DocumentOwners(cache.owners, queries.content_owners)
    if owners is not None:
        observers.subscribe(owners)
    sent_links: SentLinkTest | None = None
    if member is not None:
        memory = SentLinkMemory(None if cache is None else cache.sent_links)
        ownership = member.ownership
        sent_links = SentLinkTest(memory, ownership.owns, ownership.partition_of)
        observers.subscribe(sent_links)
        store.prepare = sent_links.leave_out_sent
    if cache is not None and cache.documents is not None:
        observers.subscribe(DocumentAnnouncer(cache.documents, texts=config.cache.text))
    documents = _documents_for(config, stored, entry, state, hosts, settler, owners)
    max_hosts = config.frontier.max_hosts
    only_silence = partial(only_silent_hosts_left, host_contexts, state.frontier, documents.queue, queries, max_hosts)
    health = HostHealth(policies.breaker, chance, only_silence)
    robots_fetcher = RobotsFetcher(
        state,
        host_contexts,
        health,
        network.requester,
        canonicaliser=policies.canonicaliser,
        settings=_robots_settings_for(config, policies.breaker),
        find_host=queries.find_host,
        on_sitemaps=documents.sitemaps.on_robots_lines,
        holds=None if member is None else member.holds,
    )
    guesser = SitemapGuesser(
        state,
        network.requester,
        entry.admission,
        enabled=config.sitemaps.enabled and config.sitemaps.well_known,
        on_found=documents.sitemaps.on_guessed,
    )
    disposition = Disposition(policies.retries, chance, entry.soft_404)
    visitor = Visitor(
        state,
        host_contexts,
        health,
        network.requester,
        robots_fetcher,
        guesser,
        rules=VisitRules(visit_limits_for(config), entry.admission, hosts, entry.feedback.trap_accounts),
        outcomes=VisitOutcomes(disposition, planner, settler, documents.queue.put),
        redirects_to=queries.redirects_to,
    )
    enforcement = LimitEnforcement(state, entry.admission)
    readmission = _readmission_for(opening, stored, entry, state, documents, observers)
    engine = Engine(
        state,
        observers,
        host_contexts,
        EngineStages(visitor, documents.queue, requeue, events, enforcement, readmission),
        queries=queries,
        bodies=network.bodies,
        warm_up=WarmUp(
            queries,
            documents.duplicates.contents,
            entry.seen,
            documents.duplicates.near,
            is_shared=member is not None,
        ),
        cache=None if cache is None else cache.server,
        delivery=delivery,
        limits=EngineLimits(
            concurrency=config.concurrency,
            max_pages=config.max_pages if member is None else None,  # it has grants
            max_hosts=max_hosts,
        ),
    )
    crawl = Crawl(
        directory=opening.directory,
        engine=engine,
        frontier=state.frontier,
        requester=network.requester,
        store=store,
        loader=loader,
        fetcher=network.fetcher,
        resolver=network.resolver,
        large_pages=documents.large_pages,
        journal=opening.journal,
        audit=network.audit,
        counters=counters,
        clock=clock,
        admission=entry.admission,
        hosts=hosts,
        addresses=network.addresses,
        trap_accounts=entry.feedback.trap_accounts,
        scope_seeds=entry.scope_seeds,
        host_contexts=host_contexts,
        health=health,
        reads=queries.thread,
        bodies=network.bodies,
        reports=TableReader(stored.reading),
        tables=opening.tables,
        archive=stored.archive.reading,
        delivery=delivery,
        reordering=reordering,
        member=member,
        contents=documents.duplicates.contents,
        cache=cache,
        owners=owners,
        sent_links=sent_links,
    )
    if member is not None:
        member.attach(crawl, stored.writer)
    return crawl


# --- store, entry and documents ------------------------------------------------------------------


class _Stored(NamedTuple):
    """The store, and what was read from it."""

    facts: Metadata
    known: KnownCrawl
    planner: RecrawlPlanner
    writer: TableWriter
    loader: TableLoader
    reading: Database  # of all partitions, for the reader thread
    queries: StoreQueries
    archive: OpenArchive


def _open_store(opening: Opening, policies: _Policies) -> _Stored:
    config, clock = opening.config, opening.clock
    db = open_database(opening)
    # First: it may refuse the configuration.
    archive = open_archive(config, opening.directory, Metadata(db), clock, opening.member)
    known = read_metadata(opening, db, policies.hosts, policies.politeness)
    planner = recrawl_planner_for(config, known.price, clock.now())
    writer = table_writer(opening, db, archive.captures, planner, policies.ordering)
    loader = TableLoader(opening.tables.open_reader() if opening.member is None else opening.member.open_reader())
    queries = StoreQueries(loader, ReaderThread())
    return _Stored(Metadata(db), known, planner, writer, loader, opening.tables.open_reader(), queries, archive)


class _Entry(NamedTuple):
    """What decides which URLs enter the crawl, and what learns from their outcomes."""

    admission: Admission
    scope_seeds: set[HostKey]
    seen: SeenTest
    feedback: OutcomeFeedback
    soft_404: Soft404Detector


def _entry_for(opening: Opening, canonicaliser: Canonicaliser, known: KnownCrawl) -> _Entry:
    config = opening.config
    scope_seeds = {*hosts_of(known.seeds, canonicaliser), *(seed.host for seed in opening.seeds)}
    seen, soft_404 = SeenTest(capacity=1_000_000), Soft404Detector()
    feedback, identities = outcome_feedback_for(config, known.parameters, soft_404)
    admission = Admission(
        rules=rules_for(config, scope_seeds),
        canonicaliser=canonicaliser,
        resolver=LinkResolver(canonicaliser),
        seen=seen,
        key=known.fingerprint_key,
        identities=identities,
        trap_observer=feedback.trap_accounts,
    )
    return _Entry(admission, scope_seeds, seen, feedback, soft_404)


class _Documents(NamedTuple):
    """What processes documents."""

    queue: DocumentQueue
    processor: DocumentProcessor
    sitemaps: Sitemaps
    duplicates: DuplicateTests
    large_pages: LargePages


def _documents_for(
    config: Config,
    stored: _Stored,
    entry: _Entry,
    state: CrawlState,
    hosts: HostSettingsTable,
    settler: Settler,
    owners: DocumentOwners | None,
) -> _Documents:
    sitemaps = Sitemaps(
        admission=entry.admission,
        store=state.store,
        counters=state.counters,
        settings=config.sitemaps,
        agent=config.robots_agent,
        load_facts=stored.queries.sitemap_facts,
        believes=stored.planner.trusts_reports_of,
    )
    duplicates, large_pages = _duplicate_tests_for(config, entry.soft_404), LargePages()
    processor = DocumentProcessor(
        entry.admission,
        duplicates,
        large_pages,
        _document_settings_for(config),
        capture=stored.archive.encode,
        hosts=hosts,
        planner=stored.planner,
    )
    queue = DocumentQueue(
        processor,
        state.clock,
        limits=DocumentQueueLimits(),
        settle=settler.settle,
        find_owners=stored.queries.content_owners if owners is None else owners.find,
        sitemaps=sitemaps,
    )
    return _Documents(queue, processor, sitemaps, duplicates, large_pages)


def _readmission_for(
    opening: Opening, stored: _Stored, entry: _Entry, state: CrawlState, documents: _Documents, observers: Observers
) -> Readmission:
    rules, known = admission_rules_for(opening.config, len(entry.scope_seeds)), stored.known.admission
    record = AdmissionRecord((rules,)) if known is None else known.changed_to(rules)
    is_left_to_others = opening.member is not None and not opening.member.begins_run
    if is_left_to_others:
        record = record.completed()
    elif opening.member is not None:
        stored.facts.save_fact(ADMISSION_KEY, record.to_text())  # at once: workers that join know the new rules only
    elif record is not known:
        state.store.batch.facts[ADMISSION_KEY] = record.to_text()
    readmission = Readmission(
        state,
        record,
        observers,
        admission=entry.admission,
        processor=documents.processor,
        sitemaps=documents.sitemaps,
        reader=RefusalReader(stored.reading),
        thread=stored.queries.thread,
        read_response=partial(read_response, stored.archive.reading),
        until_all_follow=None if opening.member is None else opening.member.rules.until_all_follow,
    )
    if is_left_to_others:
        readmission.leave_to_others()
    return readmission


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


def _resting_hosts(
    config: Config, loader: TableLoader, politeness: PolitenessPolicy, now: Instant
) -> list[tuple[HostKey, Instant]]:
    """Hosts that were contacted before this start, and until when their domains rest; none if domains have no gap."""
    if _domain_of(config) is None:
        return []
    return domain_rests(loader.resting_hosts(now), politeness, now)


def _frontier_for(
    config: Config,
    policies: _Policies,
    loader: TableLoader,
    resting: list[tuple[str, Instant]],
    resting_hosts: list[tuple[HostKey, Instant]],
) -> Frontier:
    ordering = policies.ordering
    ratios = SelectorRatios(config.frontier.shares, config.frontier.shares_under_load)
    limits = FrontierLimits(config.frontier.max_hosts)
    frontier = Frontier(policies.politeness, ratios, limits, ordering, loader.suffix_visits(), _domain_of(config))
    for address, until in resting:
        frontier.rest_address(address, until)
    for host, until in resting_hosts:
        frontier.rest_domain(host, until)
    return frontier


class _Network(NamedTuple):
    """What sends requests, and what watches over that."""

    requester: Requester
    fetcher: SchemeFetcher
    resolver: Resolver
    addresses: AddressPolicy
    bodies: BodyMemory
    audit: PolitenessAudit


def _network_for(
    opening: Opening,
    policies: _Policies,
    state: CrawlState,
    resting: tuple[list[tuple[str, Instant]], list[tuple[HostKey, Instant]]],
    chance: random.Random,
    observers: Observers,
    fetcher: SchemeFetcher | None,
) -> _Network:
    config, clock = opening.config, opening.clock
    addresses = address_policy_for(config)
    may_dial = may_dial_for(clock, addresses.may_dial)
    bodies = BodyMemory(max(BODY_MEMORY_BYTES, 2 * config.fetch.max_body_bytes))
    fetcher = fetcher or fetcher_for(config, clock, may_dial, bodies)
    resolver = Resolver(
        config.name_servers or None,
        clock,
        chance=chance,
        domain_of=registrable_domain,
        on_outage=observers.dns_failing,
    )
    audit = audit_for(config, observers.politeness_violated)
    for address, until in resting[0]:
        audit.restore(None, address, until)
    for host, until in resting[1]:
        audit.restore(host, None, until)
    requester = Requester(
        state,
        resolver=resolver,
        address_choice=AddressChoice(may_dial),
        fetcher=fetcher,
        journal=opening.journal,
        audit=audit,
        politeness=policies.politeness,
        hosts=policies.hosts,
        permit=None if opening.member is None else opening.member.permit,
    )
    return _Network(requester, fetcher, resolver, addresses, bodies, audit)


# --- settings ------------------------------------------------------------------------------------


def _robots_settings_for(config: Config, breaker: BreakerPolicy) -> RobotsSettings:
    policy = RobotsPolicy(first_retry=breaker.first_rest, longest_retry=breaker.longest_rest)
    return RobotsSettings(config.robots_agent, policy, Seconds(config.politeness.max_crawl_delay))


def _document_settings_for(config: Config) -> DocumentSettings:
    archive = config.archive
    return DocumentSettings(
        config.fetch.max_body_bytes, revisits=archive.revisits, outlinks=archive.outlinks, agent=config.robots_agent
    )


def _duplicate_tests_for(config: Config, soft_404: Soft404Detector) -> DuplicateTests:
    mode = config.content.near_duplicates
    near = None if mode == "off" else NearDuplicates(NearMode(mode))
    return DuplicateTests(ContentSeen(capacity=1_000_000, remember=CONTENTS_IN_MEMORY), near, soft_404)
