"""A crawl that is ready to run: its objects, the change of its rules, and its end. Built by `assemble`."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.config.admission import admission_rules_for
from gossamer.config.hosts import HostSettingsTable, host_settings_for
from gossamer.config.load import Config
from gossamer.config.policies import (
    address_policy_for,
    opening_price_for,
    priority_rules_for,
    recrawl_policy_for,
    recrawl_rules_for,
    rules_for,
    trap_exemption,
)
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.known import DocumentOwners, SentLinkTest
from gossamer.crawl.engine import Engine
from gossamer.crawl.member.shared_rules import SharedRules
from gossamer.crawl.run.cache import OpenCache
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.rule_changes import Reordering
from gossamer.crawl.trap_accounts import TrapAccounts
from gossamer.crawl.visit.host_context import HostContexts, HostHealth
from gossamer.crawl.visit.request import Requester
from gossamer.crawl.visit.settle import Counters
from gossamer.crawl.visit.visit import VisitLimits
from gossamer.dedup import ContentSeen
from gossamer.errors import StoreFailed, WorkerEnded
from gossamer.extract.large_pages import LargePages
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.ports import SchemeFetcher
from gossamer.filter.rules import EntryRules
from gossamer.frontier.frontier import Frontier
from gossamer.frontier.orderings.class_rules import PriorityRules
from gossamer.model.units import HostKey, Seconds
from gossamer.observe.audit import PolitenessAudit
from gossamer.observe.snapshot import SharingCounts
from gossamer.recrawl.policy import RecrawlPolicy
from gossamer.recrawl.rules import RecrawlRules
from gossamer.reports.ports import Archive, CrawlReader
from gossamer.reports.table.reader import TableReader
from gossamer.store.ports import ContactJournal, Database, Delivery, Tables
from gossamer.store.table.loader import TableLoader
from gossamer.store.threads import ReaderThread, WriterThread


def visit_limits_for(config: Config) -> VisitLimits:
    return VisitLimits(
        max_redirects=config.fetch.max_redirects,
        max_per_domain=config.politeness.max_per_domain,
        max_crawl_delay=Seconds(config.politeness.max_crawl_delay),
        revisits=config.archive.revisits,
    )


class _Rules(NamedTuple):
    """What a configuration says that a running crawl can change to."""

    entry: EntryRules
    hosts: HostSettingsTable
    addresses: AddressPolicy
    priorities: PriorityRules
    policy: RecrawlPolicy
    recrawls: RecrawlRules


def _rules_of(config: Config, scope_seeds: set[HostKey]) -> _Rules:
    """Raises ConfigError."""
    return _Rules(
        rules_for(config, scope_seeds),
        host_settings_for(config, os.environ),
        address_policy_for(config),
        priority_rules_for(config),
        recrawl_policy_for(config),
        recrawl_rules_for(config.recrawl),
    )


class CrawlMember(Protocol):
    """This process as one of the workers that share the crawl (`crawl.member`)."""

    @property
    def name(self) -> str: ...

    @property
    def begins_run(self) -> bool:
        """Whether this process starts a run of the crawl, and no other worker takes part yet."""
        ...

    @property
    def takes_orders(self) -> bool:
        """Whether orders are left to this worker."""
        ...

    rules: SharedRules
    """Which version of rules, settings and seeds this worker follows."""

    def open_reader(self) -> Database:
        """A connection that reads the partitions of this worker. Raises StoreFailed."""
        ...

    def owns_host(self, host: HostKey) -> bool:
        """Whether the host is in a partition of this worker."""
        ...

    def on_rules_changed(self) -> None:
        """There may be another limit of pages."""
        ...

    async def stop_crawl(self) -> None:
        """Have all workers finish their visits and leave. Raises StoreFailed."""
        ...

    async def run(self) -> None:
        """Beside the engine, until cancelled. Raises WorkerEnded."""
        ...

    def on_history_lost(self) -> None:
        """The store has lost commits that it had acknowledged. Raises StoreFailed."""
        ...

    def retire(self) -> None:
        """Give up all partitions after the last commit, and take no others, in the thread of the store. Raises
        StoreFailed, WorkerEnded."""
        ...

    def counts(self) -> SharingCounts:
        """For the metrics."""
        ...

    def leave(self) -> None:
        """Give everything up after the last commit, in the thread of the store. Raises StoreFailed, WorkerEnded."""
        ...

    def close(self) -> None: ...


@dataclass(slots=True)
class Crawl:
    """A crawl that is ready to run."""

    directory: CrawlDirectory
    engine: Engine
    frontier: Frontier
    requester: Requester
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
    addresses: AddressPolicy
    trap_accounts: TrapAccounts | None
    scope_seeds: set[HostKey]  # hosts of all seeds
    host_contexts: HostContexts
    health: HostHealth
    reads: ReaderThread
    bodies: BodyMemory
    reports: CrawlReader  # for the reader thread
    tables: Tables
    archive: Archive  # what is committed
    delivery: Delivery | None  # of captures to object storage
    reordering: Reordering
    contents: ContentSeen[int]
    cache: OpenCache | None
    owners: DocumentOwners | None  # None without a cache
    sent_links: SentLinkTest | None  # None where no workers share the crawl
    member: CrawlMember | None = None  # where workers share the crawl
    delivering: bool = False  # the engine has ended, and what is in the spool is delivered

    def open_reader(self) -> CrawlReader:
        """The store of this crawl, for reading while it runs. Raises StoreFailed."""
        return TableReader(self.tables.open_reader())

    def open_own_reader(self) -> CrawlReader:
        """The same; windows of URLs have those of this worker only."""
        return self.open_reader() if self.member is None else TableReader(self.member.open_reader())

    def check_rules(self, config: Config) -> None:
        """Raises ConfigError where `change_rules` would."""
        _rules_of(config, self.scope_seeds)

    def change_rules(self, config: Config) -> None:
        """Take scope rules, limits, host settings, priority rules and recrawl settings from another configuration, at
        once and for queued URLs too. Raises ConfigError; then nothing was changed."""
        made = _rules_of(config, self.scope_seeds)
        self.admission.change_rules(made.entry)
        self.hosts.replace_with(made.hosts)
        self.addresses.replace_with(made.addresses)
        self.engine.visitor.change_limits(visit_limits_for(config))
        if self.trap_accounts is not None:
            self.trap_accounts.change_exemption(trap_exemption(config))
        self.reordering.change_rules(made.priorities)
        self.engine.readmission.change_rules(admission_rules_for(config, len(self.scope_seeds)))
        self.forget_sent_links()
        requeue = self.engine.requeue
        requeue.planner.reconfigure(config.recrawl, made.policy, made.recrawls, opening_price_for(config))
        requeue.change_to(config.recrawl, self.clock.now())
        self.engine.pump_soon()

    def forget_sent_links(self) -> None:
        """The rules have changed: links that their owners refused may be welcome now."""
        if self.sent_links is not None:
            self.sent_links.clear()
        if self.cache is not None:
            self.cache.change_rules(self.engine.readmission.rules.with_seed_hosts(len(self.scope_seeds)).version)

    def change_page_limit(self, pages: int | None) -> None:
        """Stop when this number of pages is stored; None for no limit. Not for one of several workers."""
        self.engine.change_page_limit(pages)

    async def until_delivered(self, may_leave: Callable[[], bool] = lambda: False) -> None:
        """After the engine has ended: wait until nothing is left in the spool, or until that may be left there. Other
        workers crawl meanwhile what was this one's."""
        if self.delivery is None or self.delivery.is_done:
            return
        self.delivery.announce_wait()
        self.delivering = True
        if self.member is not None:
            with suppress(StoreFailed, WorkerEnded):  # then that is done at the end, or they take over
                await self.store.call(self.member.retire)
        while not self.delivery.is_done and not may_leave():  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # its thread knows nothing of the event loop
        self.delivering = False

    async def close(self) -> None:
        """Release all resources, after the engine has ended."""
        await self.fetcher.close()
        await self.resolver.close()
        await self.large_pages.close()
        if self.cache is not None:
            await self.cache.server.flush()
            if self.cache.documents is not None:
                self.cache.documents.finish()
            await self.cache.server.close()
        self.reads.close()  # a crawl that never ran may have a query under way
        self.reports.close()
        self.loader.close()
        if self.member is not None:
            self.store.finish()  # a server that is away is not waited for any more
            with suppress(StoreFailed, WorkerEnded):  # then others take over
                await self.store.call(self.member.leave)
            self.member.close()
        self.store.close()  # the last connection, so that it can tidy up the store
        self.tables.close()
        self.journal.close()
        # Only the journal knows of visits that were cancelled and outcomes that could not be committed: then it stays.
        if self.store.is_idle and not self.requester.open_contacts:
            self.journal.clear()
        self.directory.close()
