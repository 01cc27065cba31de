"""The settings that are in force in a running crawl: its configuration, and the overrides that were made through the
service (`config.overrides`).

Other settings come from the store, or with a configuration that is read again. They are in force when all that follows
from them at once is committed; to look at every known URL under other limits takes longer and goes on in the background
(`limit_pass`).
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing, suppress
from typing import NamedTuple

from gossamer.config.load import CONFIG_KEY, Config, config_following, config_to_text, shape_of
from gossamer.config.overrides import OVERRIDES_KEY, HostOverrides, Limits, Overrides
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import crawl_exists, open_part_database
from gossamer.crawl.run.session import Session
from gossamer.crawl.steering.limit_pass import LimitPass
from gossamer.crawl.steering.seeds import SeedAdmission
from gossamer.crawl.steering.state_changes import StateChanges, commit
from gossamer.errors import ConfigError, StoreFailed
from gossamer.model.units import Instant, Url
from gossamer.observe.log import EventLog
from gossamer.store.ports import Database
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.orders import Settings


def read_settings(location: CrawlLocation) -> tuple[int, Overrides]:
    """The settings stored with the crawl, and their version; none where there is no crawl yet."""
    if not crawl_exists(location):
        return 0, Overrides()
    with closing(open_part_database(location)) as db:
        version, text = Settings(db).read(OVERRIDES_KEY)
    return version, Overrides.from_text(text)


def stored_config(config: Config) -> Config:
    """The configuration that the workers of a crawl share, with the options of one worker."""
    with closing(open_part_database(CrawlLocation.of(config))) as db:
        text = db.fetch_value("fact", CONFIG_KEY)
    return config if text is None else config_following(config, str(text))


def end_service_overrides(db: Database, now: Instant) -> None:
    """For a run without the service: a pause meant the service; limits are in the options."""
    Settings(db).change(OVERRIDES_KEY, _without_service, {}, now)


class StoredSettings(NamedTuple):
    """Settings in the store that are not in force yet."""

    version: int
    overrides: Overrides
    rules_version: int = 0  # what workers share is of this version
    config: str | None = None  # of all workers
    seeds: frozenset[Url] | None = None  # None: as many as before


class SettingsInForce:
    """The settings in force in one crawl. Owned by the event loop; only `read_changed` runs elsewhere."""

    def __init__(
        self,
        opened: Session,
        config: Config,
        overrides: Overrides,
        version: int,
        *,
        seeds: SeedAdmission,
        changes: StateChanges,
        limit_pass: LimitPass,
        takes_orders: Callable[[], bool],
    ) -> None:
        """`config`: without the overrides. `overrides`: the settings with which the crawl was opened, of this
        `version`. `takes_orders`: whether orders are left to this one of several workers."""
        self._opened = opened
        self._member = opened.crawl.member
        self._base = config
        self._overrides = overrides
        self.version = version  # of the settings
        self.rules_version = -1  # of what workers share; unknown
        self._number_of_seeds = -1  # unknown
        self._seeds = seeds
        self._changes = changes
        self._limit_pass = limit_pass
        self._takes_orders = takes_orders
        self._changing = asyncio.Lock()  # one change of rules at a time

    @property
    def config(self) -> Config:
        """The current configuration, with the limits that override it."""
        return self._overrides.apply_limits(self._base)

    def read_changed(self, db: Database) -> StoredSettings | None:
        """The settings in the store; None if they are in force. For one connection, in its thread."""
        rules = self.rules_version if self._member is None else int(db.fetch_value("rules_version"))
        version = Settings(db).version()
        if version == self.version and rules == self.rules_version:
            return None
        version, text = Settings(db).read(OVERRIDES_KEY)
        overrides = Overrides.from_text(text)
        if self._member is None:
            return StoredSettings(version, overrides)
        seeds = int(db.fetch_value("number_of_seeds"))
        facts = Metadata(db)
        found = facts.seeds() if seeds != self._number_of_seeds else None
        self._number_of_seeds = seeds
        return StoredSettings(version, overrides, rules, facts.fact(CONFIG_KEY), found)

    async def apply(self, found: StoredSettings) -> None:
        """Bring these settings into force. They are published as such when all that follows from them at once is
        committed."""
        async with self._changing:
            await self._bring_into_force(found)
        self._opened.live.publish()
        if self._member is not None and self._member.rules.applied < found.rules_version:
            self._opened.crawl.store.hasten()
            await self._opened.crawl.store.until_committed()
            # Until then the crawl must not end: URLs may be requeued that the limits allow now.
            self._limit_pass.call_when_done(lambda: self._report_rules(found.rules_version))

    def _report_rules(self, version: int) -> None:
        assert self._member is not None
        self._member.rules.applied = max(version, self._member.rules.applied)

    async def _bring_into_force(self, found: StoredSettings) -> None:
        opened, before, wanted = self._opened, self._overrides, found.overrides
        hosts = HostOverrides()
        hosts.add(before.hosts)
        if self._member is not None:
            await self._follow_rules(found.config, found.seeds, wanted.limits)
        if wanted.limits is not None and wanted.limit_changes != before.limit_changes:
            await self._change_limits(wanted.limits)
            before.limit_changes = wanted.limit_changes
        before.hosts.replace_with(wanted.hosts)
        _log_hosts(opened.log, hosts, wanted.hosts)
        if self._member is not None and not self._takes_orders():
            for host in sorted(hosts.dropped - wanted.hosts.dropped):
                if self._member.owns_host(host):
                    with suppress(StoreFailed):  # what this worker has excluded since the order was applied
                        await self._changes.readmit(host)
        if wanted.paused is not before.paused:
            before.paused = wanted.paused
            opened.crawl.engine.pause(wanted.paused)
            if wanted.paused:
                opened.log.event("crawl.paused")
            else:
                opened.log.event("crawl.resumed")
        self.version = found.version
        self.rules_version = max(self.rules_version, found.rules_version)

    async def _change_limits(self, limits: Limits) -> None:
        await self._limit_pass.end()
        before, self._overrides.limits = self._overrides.limits, limits
        try:
            self._opened.crawl.change_rules(self.config)
        except ConfigError as error:  # the service has checked them, so hardly
            self._overrides.limits = before
            self._opened.log.event("rules.refused", error=str(error))
            return
        self._limit_pass.start()
        await self.save_options()
        self._opened.log.event(
            "limits.changed",
            excluded_domains=len(limits.excluded_domains),
            depth=limits.depth,
            url_bytes=limits.url_bytes,
        )

    async def _follow_rules(self, config: str | None, seeds: frozenset[Url] | None, limits: Limits | None) -> None:
        """Use what the workers share: the configuration, the hosts of seeds, and whether limits override it."""
        assert self._member is not None
        crawl, before = self._opened.crawl, self.config
        if seeds is not None:
            self._seeds.follow(seeds)
        if config is not None:
            self._base = config_following(self._base, config)
        if limits is None:
            self._overrides.limits = None
        self._member.on_rules_changed()
        if self.config == before:
            return
        await self._limit_pass.end()
        try:
            crawl.change_rules(self.config)
        except ConfigError as error:
            self._opened.log.event("rules.refused", error=str(error))
            return
        self._limit_pass.start()
        self._opened.log.event("rules.changed")

    async def reload(self, config: Config) -> None:
        """Apply another configuration, of a crawl by one worker. Raises ConfigError; then nothing was changed."""
        crawl = self._opened.crawl
        async with self._changing:
            await self._limit_pass.end()
            before, self._base = self._base, config
            try:
                crawl.change_rules(self.config)
            except BaseException:
                self._base = before
                raise
            self._limit_pass.start()
            await self.save_options()
            crawl.change_page_limit(config.max_pages)

    async def announce(self, config: Config) -> None:
        """Have all workers apply another configuration, this one too: it is on record afterwards. Raises ConfigError;
        then nothing was changed."""
        assert self._member is not None
        self._opened.crawl.check_rules(self._overrides.apply_limits(config))
        await self._member.rules.announce(config_to_text(config), config.max_pages)

    async def save_options(self) -> None:
        """So that `gossamer crawl` continues with the same limits."""
        store = self._opened.crawl.store
        store.batch.facts["options"] = json.dumps(shape_of(self.config))
        await commit(store)


def _without_service(text: str | None) -> str:
    """Overrides for a run without the service."""
    overrides = Overrides.from_text(text)
    overrides.paused, overrides.limits = False, None
    return overrides.to_text()


def _log_hosts(log: EventLog, before: HostOverrides, now: HostOverrides) -> None:
    for host in sorted(now.paused - before.paused):
        log.event("host.paused", host=host)
    for host in sorted(now.dropped - before.dropped):
        log.event("host.dropped", host=host)
    held = before.paused | before.dropped
    for host in sorted(held - now.paused - now.dropped):
        log.event("host.resumed", host=host)
    for host in sorted(before.delays.keys() | now.delays.keys()):
        if before.delays.get(host) != now.delays.get(host):
            log.event("host.delayed", host=host, delay_s=now.delays.get(host))
