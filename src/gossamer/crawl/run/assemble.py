"""Parts of a crawl that take some making, from its configuration and what is on record.

Putting a crawl together: plain code that chooses backends and calls constructors. The only place that does.
"""

import os
import random
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gossamer.backends.contactlog import ContactLog
from gossamer.backends.memory import MemoryCaptures, MemoryContactJournal, MemoryTables
from gossamer.backends.sqlite.crawl_reader import SqliteCrawlReader
from gossamer.backends.sqlite.driver import SqliteTables
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
from gossamer.crawl.counters import Counters
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DocumentProcessor
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.engine import Engine, EngineLimits
from gossamer.crawl.events import OutcomeEvents
from gossamer.crawl.observers import Observers
from gossamer.crawl.requeue import Requeue
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.opener import MEMORY, archive_folder
from gossamer.crawl.run.recovery import contacts_before_the_crash
from gossamer.crawl.run.time_lapse import clock_for, may_dial_for
from gossamer.crawl.trap_accounts import OutcomeFeedback, TrapAccounts
from gossamer.crawl.visit.disposition import Disposition
from gossamer.crawl.visit.host_context import HostContexts, HostHealth
from gossamer.crawl.visit.host_settings import ORDERS, HostControls
from gossamer.crawl.visit.request import Requester
from gossamer.crawl.visit.robots import RobotsFetcher
from gossamer.crawl.visit.settle import Settler
from gossamer.crawl.visit.visit import VisitLimits, Visitor
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
from gossamer.frontier.selector import SelectorRatios
from gossamer.model.batch import Batch, LearntParameter, SeedRecord
from gossamer.model.partition import WorkerShare
from gossamer.model.units import HostId, HostKey, Instant, Seconds, Url
from gossamer.observe.audit import PolitenessAudit
from gossamer.recrawl.budget import PACE, TOKENS
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.price import PRICE, price_from
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import RecrawlReport
from gossamer.seed.lists import Seed
from gossamer.seen.tiers import SeenTest
from gossamer.store.ports import CaptureFiles, ContactJournal
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.metadata import Metadata, learned_parameters, lift_cuts
from gossamer.store.table.priorities import reorder
from gossamer.store.table.writer import TableWriter
from gossamer.store.threads import ReaderThread, WriterThread
from gossamer.version import __version__


def has_files(config: Config) -> bool:
    """Whether captures are stored in files."""
    return config.store != MEMORY or config.blobs is not None


def tables_for(config: Config, directory: CrawlDirectory) -> tuple[SqliteTables | MemoryTables, ContactJournal]:
    """The store that a configuration names, and the contact journal that goes with it."""
    if config.store == MEMORY:
        return MemoryTables(), MemoryContactJournal()
    return SqliteTables(directory.database), ContactLog(directory.path)


def captures_for(
    config: Config, directory: CrawlDirectory, committed: dict[str, int], clock: Clock, ids: RecordIds
) -> CaptureFiles:
    """The WARC files, cut back to what was committed. Raises DirectoryError if committed records are missing."""
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
    """What learns from outcomes, and what it knows of parameters from before."""
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
    """What plans the next visits. `price`: what the crawl remembers of it."""
    wishes = config.recrawl
    known = price_from(price, wishes, opening_price_for(config), now)
    return RecrawlPlanner(wishes, recrawl_policy_for(config), recrawl_rules_for(wishes), known, importance_for(config))


def recall(resolver: Resolver, host: HostKey, text: str) -> None:
    """Tell the resolver where a host was before the restart, as its row has it."""
    stored = StoredAnswer.from_text(text)
    if stored is not None:
        resolver.restore(host, stored)


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


@dataclass(slots=True)
class Crawl:
    """A crawl, ready to run: what the supervisor needs of it."""

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
    scope_seeds: set[HostKey]  # hosts of seeds, all of them
    controls: HostControls
    host_contexts: HostContexts
    reads: ReaderThread
    bodies: BodyMemory
    recrawl_report: Callable[[Instant], RecrawlReport]  # for the reader thread: how fresh the copies are, by a sample
    tables: SqliteTables | MemoryTables

    def open_reader(self) -> CrawlReader:
        """The store of this crawl, for reading while it runs. Raises StoreFailed."""
        return SqliteCrawlReader(self.tables.open_reader().connection)

    def change_rules(self, config: Config) -> None:
        """Take the rules of entry from another configuration, at once and for queued URLs too, what it wishes for
        single hosts, and when pages are to be visited again. Raises ConfigError; then nothing was changed."""
        hosts, recrawls = host_settings_for(config, os.environ), recrawl_rules_for(config.recrawl)
        self.admission.change_rules(rules_for(config, parse_scope(config.scope).with_seeds(self.scope_seeds)))
        self.hosts.replace_with(hosts)
        requeue = self.engine.requeue
        requeue.planner.change_to(config.recrawl, recrawls, opening_price_for(config))
        requeue.change_to(config.recrawl, self.clock.now())
        self.engine.pump_soon()

    async def close(self) -> None:
        """Give everything back. The pipeline has ended."""
        await self.fetcher.close()
        await self.resolver.close()
        await self.large_pages.close()
        self.store.close()
        self.loader.close()
        self.tables.close()
        self.journal.close()
        # Visits that were cut off, and outcomes that could not be committed, are known to the journal alone: it stays.
        if self.store.is_idle and not self.visitor.open_contacts:
            self.journal.clear()
        self.directory.close()


def assemble(
    config: Config,
    seeds: Iterable[Seed],
    *,
    add_seeds: bool = False,
    may_be_empty: bool = False,
    part: WorkerShare | None = None,
    clock: Clock | None = None,
    fetcher: SchemeFetcher | None = None,
) -> Crawl:
    """A crawl in its directory, with its seeds committed and its politeness clocks restored. Without a seed there is
    none, unless it `may_be_empty`. As one `part` of a crawl it owns that part's domains alone. `clock` and `fetcher`
    replace those that the configuration asks for.

    Must be called on the event loop. Raises UsageError or DirectoryError; then nothing was changed.
    """
    check_config(config)
    hosts = host_settings_for(config, os.environ)
    seeds = list(seeds)
    directory = CrawlDirectory(Path(config.dir), archive=has_files(config), blobs=archive_folder(config.blobs))
    try:
        clock = clock or clock_for(directory, config)
        return _assemble(config, hosts, seeds, directory, clock, fetcher, add_seeds, may_be_empty, part)
    except BaseException:
        directory.close()
        raise


def _assemble(
    config: Config,
    hosts: HostSettingsTable,
    seeds: list[Seed],
    directory: CrawlDirectory,
    clock: Clock,
    fetcher: SchemeFetcher | None,
    add_seeds: bool,
    may_be_empty: bool,
    part: WorkerShare | None,
) -> Crawl:
    nothing = NotThisCrawl(f"there is no crawl in {directory.path} to resume; give it a URL or --seeds to start one")
    if directory.is_new and not seeds and not may_be_empty:
        raise nothing
    tables, journal = tables_for(config, directory)
    db = tables.open_writer()
    facts = Metadata(db)
    facts.settle_identity(clock.now(), secrets.token_hex(8), secrets.randbits(63))
    known_seeds = facts.seeds()
    # Also where a process was killed before its seeds were committed.
    if not known_seeds and not seeds and not may_be_empty:
        db.close()
        raise nothing
    strangers = [seed for seed in seeds if seed.url not in known_seeds]
    if known_seeds and strangers and not add_seeds:
        db.close()
        raise NotThisCrawl(
            f"{directory.path} holds another crawl ({len(known_seeds)} seeds, among them {min(known_seeds)}); "
            f"{strangers[0].url} is none of them. Use another --dir, or --add-seeds to add it to this crawl"
        )
    politeness, controls = politeness_for(config), HostControls()
    controls.restore(facts.fact(ORDERS))
    hosts.delays = controls.delays

    def known_clock(host_id: HostId) -> tuple[Instant, Seconds | None]:
        next_contact, bodies = facts.clock_and_robots(host_id)
        delays = (parse_robots(body, config.robots_agent).crawl_delay for body in bodies)
        known = [delay for delay in (*delays, hosts.for_host(facts.host(host_id)).min_delay) if delay is not None]
        return next_contact, max(known, default=None)

    rested = contacts_before_the_crash(journal.last_contacts(), politeness, clock.now(), known_clock)
    committed = facts.warc_lengths()
    key = facts.fingerprint_key()
    facts.remember(shape_of(config))
    parameters = learned_parameters(db)
    facts.plan_by(config.recrawl.policy)
    planner = recrawl_planner_for(config, facts.fact(PRICE), clock.now())
    tokens, pace = facts.fact(TOKENS), facts.fact(PACE)

    ids = RecordIds(random.Random(secrets.randbits(128)))
    captures, encoder = captures_for(config, directory, committed, clock, ids), WarcEncoder(ids)
    ordering = ordering_for(config)
    reorder(db, ordering.name, ordering, clock.now(), settings=ordering.settings)
    if any_host_exempt(config):
        lift_cuts(db, trap_exemption(config), ordering, clock.now())
    writer = TableWriter(
        db,
        captures,
        domain_of,
        ordering,
        clock,
        when_reported=planner.dates.when_reported,
        when_due=planner.dates.when_due,
        part=part,
        plan_anew=planner.dates.plan_anew,
    )
    reading = tables.open_reader()
    loader, reads = TableLoader(reading), ReaderThread()
    canonicaliser = canonicaliser_for(config)
    scope_seeds = {*hosts_of(known_seeds, canonicaliser), *(seed.host for seed in seeds)}
    scope = parse_scope(config.scope).with_seeds(scope_seeds)
    seen, soft = SeenTest(capacity=1_000_000), Soft404Detector()
    feedback, identities = outcome_feedback_for(config, parameters, soft)
    admission = Admission(
        rules=rules_for(config, scope),
        canonicaliser=canonicaliser,
        resolver=LinkResolver(canonicaliser),
        seen=seen,
        key=key,
        identities=identities,
        trap_observer=feedback.trap_accounts,
    )
    first = Batch()
    first.hosts = {host.host_id: host for host in rested.clocks}
    first.seeds = [SeedRecord(seed.url, seed.host, str(seed.url), seed.where) for seed in seeds]
    first.candidates = [admission.seed(s.url, s.host) for s in seeds if part is None or part.owns(domain_of(s.host)[1])]
    if first:
        writer.commit(first, clock.now())
    journal.clear()
    writer.ask_missing_again(clock.now())

    counters = Counters(loader.counters())
    ratios = SelectorRatios(config.frontier.shares, config.frontier.shares_under_load)
    if ordering.fronts == 1:
        ratios = SelectorRatios((1,), (1,))
    limits = FrontierLimits(config.frontier.max_hosts)
    frontier = Frontier(politeness, ratios, limits, ordering, loader.suffix_visits())
    resting = [*loader.resting_addresses(clock.now()), *rested.addresses.items()]
    # A site's Crawl-delay or Retry-After is not its neighbours': an address rests no longer than its load asks for.
    longest = Instant(clock.now() + max(politeness.min_delay, politeness.max_adaptive_delay))
    for address, until in resting:
        frontier.rest_address(address, min(until, longest))
    contents: ContentSeen[int] = ContentSeen(capacity=1_000_000)
    mode = config.content.near_duplicates
    large_pages = LargePages()
    journal.begin()
    addresses = AddressPolicy(allow_private=config.allow_private, allowed_networks=config.allow_networks)
    may_dial = may_dial_for(clock, addresses.may_dial)
    chance = random.Random(key)
    resolver = Resolver(config.name_servers or None, clock, chance=chance, domain_of=registrable_domain)
    host_contexts = HostContexts(config.robots_agent, lambda host, text: recall(resolver, host, text))
    bodies = BodyMemory(max(BODY_MEMORY_BYTES, 2 * config.fetch.max_body_bytes))
    fetcher = fetcher or fetcher_for(config, clock, may_dial, bodies)
    audit = audit_for(config)
    for address, until in resting:
        audit.restore(None, address, min(until, longest))
    observers = Observers(clock)
    store = WriterThread(
        writer,
        clock,
        before_commit=observers.before_commit,
        on_commit=observers.committed,
    )
    requeue = Requeue(config.recrawl, planner, store, counters, clock.now(), tokens, pace)
    sitemaps = Sitemaps(
        admission=admission,
        store=store,
        counters=counters,
        wishes=config.sitemaps,
        agent=config.robots_agent,
        ask=lambda url_id, host_id: reads.ask(loader.sitemap_facts, url_id, host_id),
        believes=planner.believes_reports_of,
    )
    requester = Requester(
        frontier=frontier,
        resolver=resolver,
        address_choice=AddressChoice(may_dial),
        fetcher=fetcher,
        journal=journal,
        audit=audit,
        store=store,
        politeness=politeness,
        clock=clock,
        hosts=hosts,
        counters=counters,
    )
    settler, events = Settler(store, planner, observers, counters), OutcomeEvents()
    observers.subscribe(requester, counters, host_contexts, feedback, requeue, events)
    engine = Engine(
        frontier=frontier,
        loader=loader,
        reads=reads,
        store=store,
        bodies=bodies,
        reader=DocumentProcessor(
            admission,
            contents,
            large_pages,
            config.fetch.max_body_bytes,
            encoder.capture,
            hosts,
            revisits=config.archive.revisits,
            outlinks=config.archive.outlinks,
            near=None if mode == "off" else NearDuplicates(NearMode(mode)),
            soft=soft,
            agent=config.robots_agent,
            planner=planner,
        ),
        seen=seen,
        contents=contents,
        host_contexts=host_contexts,
        requeue=requeue,
        counters=counters,
        clock=clock,
        limits=EngineLimits(
            concurrency=config.concurrency, max_pages=config.max_pages, max_hosts=config.frontier.max_hosts
        ),
        observers=observers,
        settler=settler,
        events=events,
        lists=sitemaps,
    )
    breaker = breaker_for(config)
    health = HostHealth(breaker, chance, engine.only_silence_left)
    visitor = Visitor(
        frontier=frontier,
        host_contexts=host_contexts,
        requester=requester,
        robots_fetcher=RobotsFetcher(
            frontier=frontier,
            host_contexts=host_contexts,
            requester=requester,
            health=health,
            store=store,
            counters=counters,
            canonicaliser=canonicaliser,
            clock=clock,
            agent=config.robots_agent,
            policy=RobotsPolicy(first_retry=breaker.first_rest, longest_retry=breaker.longest_rest),
            max_crawl_delay=Seconds(config.politeness.max_crawl_delay),
            find_host=lambda host: reads.ask(loader.find_host, host),
            on_sitemaps=sitemaps.named,
        ),
        health=health,
        store=store,
        counters=counters,
        admission=admission,
        disposition=Disposition(retries_for(config), chance, soft),
        trap_accounts=feedback.trap_accounts,
        planner=planner,
        settler=settler,
        clock=clock,
        limits=VisitLimits(
            max_redirects=config.fetch.max_redirects,
            max_per_domain=config.politeness.max_per_domain,
            max_crawl_delay=Seconds(config.politeness.max_crawl_delay),
            revisits=config.archive.revisits,
        ),
        hosts=hosts,
        controls=controls,
        redirects_to=lambda url_id, most: reads.ask(loader.redirects_to, url_id, most),
        on_document=engine.documents.put,
    )
    engine.visitor = visitor
    return Crawl(
        directory, engine, frontier, visitor, store, loader, fetcher, resolver, large_pages, journal, audit, counters,
        clock, admission, hosts, scope_seeds, controls, host_contexts, reads, bodies,
        SqliteCrawlReader(reading.connection).status.recrawl_report, tables,
    )  # fmt: skip
