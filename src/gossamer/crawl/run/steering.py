"""Steers a running crawl: applies the orders and settings that other processes leave in its store
(`store.table.orders`, which says how), and publishes what has taken effect.

Of several workers each applies settings, and the one that takes orders applies these (`CrawlMember.takes_orders`). They
learn with their heartbeats that there is something new: other settings, another configuration, or more seeds.

Runs on the event loop of the crawl. An order adds to the open batch, like everything else that is stored, and its
answer is part of the same batch.
"""

import asyncio
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

from gossamer.config.admission import ADMISSION_KEY
from gossamer.config.load import CONFIG_KEY, Config, config_following, config_to_text, shape_of
from gossamer.config.overrides import HOST_DROPPED, OVERRIDES_KEY, HostOverrides, Limits, Overrides
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.run.live import RecentOutcomes
from gossamer.crawl.run.opener import CrawlLocation, crawl_exists, open_part_database, store_kind
from gossamer.crawl.run.rule_changes import LIMIT_REASONS, exclusions
from gossamer.crawl.run.session import SNAPSHOTS_PER_SCAN, Session
from gossamer.errors import ConfigError, StoreFailed
from gossamer.filter.canonical import Canonical, Refusal, refusal
from gossamer.filter.rules import EntryRules
from gossamer.model.batch import BulkChange, OrderAnswer, SeedRecord
from gossamer.model.outcome import FailureClass
from gossamer.model.states import UrlState
from gossamer.model.units import HostKey, Instant, Url
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import REST_BOUNDS, LimitProgress, Snapshot, SteeringStatus
from gossamer.reports.ports import CrawlReader
from gossamer.reports.records import DeadFilter, ExcludedUrl, LimitedUrl
from gossamer.seed.lists import with_scheme
from gossamer.store.ports import Database
from gossamer.store.table.bulk_changes import DROPPED, MOST
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.orders import Order, OrderState, OrderTable, Settings, answer_order

SEEDS, DEAD, READMIT, STOP = "seeds", "dead", "readmit", "stop"
"""The kinds of orders: seeds to add; dead letters to requeue or drop; a host whose dropped URLs are to be requeued; the
end of the run."""
WHERE: Final = "POST /seed/urls"
_MOST_ORDERS: Final = 100  # applied at the same time
_ANSWERED_KEPT: Final = 200
_BUSY_POLL: Final = 0.005  # seconds until the next look after an order was found
_RETRY: Final = 0.25  # seconds until an order is tried again during which the store failed
_OLD: Final = 3600.0  # seconds after which an answer is removed
_UNUSED: Final = 86_400.0  # seconds after its rest; then an address is removed from those that workers share
_NOT_TEXT = re.compile("[\\x00-\\x1f\\x7f\\ud800-\\udfff]").search
_Pairs = list[tuple[int, str]]


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


class _Found(NamedTuple):
    """What a look at the store finds."""

    version: int
    overrides: Overrides | None  # None: as before
    orders: list[Order]
    rules_version: int = 0  # what workers share is of this version
    config: str | None = None  # of all workers
    seeds: frozenset[Url] | None = None  # None: as many as before


class Steering:
    """Applies orders and settings to one crawl."""

    def __init__(
        self,
        opened: Session,
        config: Config,
        overrides: Overrides,
        version: int,
        on_stop: Callable[[], None],
        *,
        is_served: bool = True,
    ) -> None:
        """`config`: without the overrides. `overrides`: the settings with which the crawl was opened, of this
        `version`; they have the crawl's own overrides of hosts. `on_stop` is called when the run is to end.
        `is_served`: the run is that of a service, so a pause is not over."""
        self._opened = opened
        self._base = config
        self._overrides = overrides
        self._version = version
        self._on_stop = on_stop
        self._is_served = is_served
        self._member = opened.crawl.member
        self._takes_orders = False
        self._applied_rules = -1  # the version of what workers share; unknown
        self._seeds = -1  # how many there are; unknown
        self._connection = opened.steering
        self._canonicaliser = canonicaliser_for(config)
        self._changing = asyncio.Lock()  # one change of rules at a time
        self._enforcement: asyncio.Task[None] | None = None
        self._is_superseded = False  # other limits are about to be applied
        self._requeued = self._unchecked = 0  # by the last change of limits
        self._applying: dict[int, asyncio.Task[None]] = {}  # orders that have no answer yet
        self._answered: deque[int] = deque(maxlen=_ANSWERED_KEPT)
        self._refused: dict[int, str] = {}  # orders that could not be applied, and why
        self._outcomes = RecentOutcomes()
        self._run = f"{1000 * opened.crawl.clock.now():.0f}"
        self._rests: tuple[int, ...] = ()
        self._looks = 0
        self._has_ended = False
        self._clean_at = 0.0  # monotonic
        opened.crawl.engine.pause(overrides.paused)
        if self._member is not None:
            self._member.rules.catch_up = self._catch_up

    @property
    def config(self) -> Config:
        """The current configuration, with the limits that override it."""
        return self._overrides.apply_limits(self._base)

    # --- the loop ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Apply what comes until cancelled. While the store cannot be read nothing is applied."""
        crawl = self._opened.crawl
        poll = store_kind(self._base.store).poll_seconds
        connection = self._connection
        is_first = True
        try:
            while True:
                found = None
                try:
                    if is_first:
                        if self._member is None or self._member.begins_run:
                            await connection.run(self._begin_run)
                        is_first = False
                        self._begin()
                    if self._member is not None:
                        await self._follow_ownership(self._member.takes_orders)
                    if self._must_look():
                        if crawl.clock.monotonic() >= self._clean_at:
                            await connection.run(self._clean)
                        found = await connection.run(self._look)
                except StoreFailed:
                    await asyncio.sleep(poll)
                    continue
                if found is not None:
                    await self._apply(found)
                await asyncio.sleep(_BUSY_POLL if found is not None and found.orders else poll)
        finally:
            for task in self._applying.values():
                task.cancel()
            self._opened.live.steering = None
            self._has_ended = True

    def _must_look(self) -> bool:
        member = self._member
        return member is None or self._takes_orders or member.rules.version > self._applied_rules

    async def _follow_ownership(self, takes_orders: bool) -> None:
        """Of several workers, the one that takes orders looks at refused links again, too."""
        if takes_orders is self._takes_orders:
            return
        readmission = self._opened.crawl.engine.readmission
        if takes_orders:
            readmission.take_over(await self._connection.run(lambda db: Metadata(db).fact(ADMISSION_KEY)))
        else:
            readmission.leave_to_others()
        self._takes_orders = takes_orders

    async def _catch_up(self, version: int) -> None:
        """`SharedRules.catch_up`."""
        if self._applied_rules >= version:
            return
        if self._has_ended:
            raise StoreFailed("the crawl ends")
        await self._apply((await self._connection.run(self._look))._replace(orders=[]))

    def _begin(self) -> None:
        """From now on the status says what is applied."""
        self._opened.crawl.engine.events.subscribe(self._outcomes)
        self._opened.live.steering = self._status
        self._opened.live.publish()

    def _begin_run(self, db: Database) -> None:
        """Refuse orders to stop that were left by a run before this one: they meant that one. A pause meant the
        service; limits are in the options."""
        if not self._is_served:
            Settings(db).change(OVERRIDES_KEY, _without_service, {}, self._opened.crawl.clock.now())
        for order in OrderTable(db).new(_MOST_ORDERS):
            if order.kind == STOP:
                answer_order(db, order.id, json.dumps("that run has ended"), OrderState.REFUSED)

    def _clean(self, db: Database) -> None:
        """Remove unread answers, whose client or API process is gone, and addresses that no worker uses any more."""
        clock = self._opened.crawl.clock
        OrderTable(db).clear(Instant(clock.now() - _OLD))
        if self._member is not None:
            db.execute("forget_gates", _UNUSED)
        self._clean_at = clock.monotonic() + _OLD

    def _look(self, db: Database) -> _Found:
        """What is new."""
        while self._refused:
            order_id, reason = self._refused.popitem()
            answer_order(db, order_id, json.dumps(reason), OrderState.REFUSED)
        orders: list[Order] = []
        if self._member is None or self._takes_orders:
            orders = OrderTable(db).new(_MOST_ORDERS)
        rules = self._applied_rules if self._member is None else int(db.fetch_value("rules_version"))
        version, overrides = Settings(db).version(), None  # after the orders: some are to be applied under new settings
        if version == self._version and rules == self._applied_rules:
            return _Found(version, None, orders)
        version, text = Settings(db).read(OVERRIDES_KEY)
        overrides = Overrides.from_text(text)
        if self._member is None:
            return _Found(version, overrides, orders)
        seeds = int(db.fetch_value("number_of_seeds"))
        facts = Metadata(db)
        found = facts.seeds() if seeds != self._seeds else None
        self._seeds = seeds
        return _Found(version, overrides, orders, rules, facts.fact(CONFIG_KEY), found)

    async def _apply(self, found: _Found) -> None:
        if found.overrides is not None:
            await self._apply_settings(found, found.overrides)
            if self._member is not None and self._member.rules.applied < found.rules_version:
                self._opened.crawl.store.hasten()
                await self._opened.crawl.store.until_committed()
                if self._enforcement is None or self._enforcement.done():
                    self._report_rules(found.rules_version)
                else:  # the crawl must not end before URLs are requeued that the limits allow now
                    self._enforcement.add_done_callback(lambda _: self._report_rules(found.rules_version))
        if self._opened.crawl.engine.stopping:
            return  # they are left to the next run
        for order in found.orders:
            if order.id not in self._applying and order.id not in self._answered:
                self._applying[order.id] = asyncio.create_task(self._carry_out(order))

    def _report_rules(self, version: int) -> None:
        assert self._member is not None
        self._member.rules.applied = max(version, self._member.rules.applied)

    async def _carry_out(self, order: Order) -> None:
        try:
            match order.kind:
                case "seeds":
                    await self._add_seeds(order)
                case "dead":
                    await self._change_dead(order)
                case "readmit":
                    await self._readmit_host(order)
                case "stop":
                    if self._member is not None:
                        await self._member.stop_crawl()
                    await self._commit(order, lambda _: json.dumps(None))
                    self._on_stop()
                case _:
                    raise ValueError(f"unknown kind of order: {order.kind}")
        except StoreFailed:
            await asyncio.sleep(_RETRY)  # it stays new, so it is found again
        except Exception as error:  # an order that cannot be applied must not end this crawl and every one after it
            self._opened.log.event("order.refused", kind=order.kind, error=f"{type(error).__name__}: {error}")
            self._refused[order.id] = str(error)
            self._answered.append(order.id)
        else:
            self._answered.append(order.id)
            self._opened.live.publish()
        finally:
            del self._applying[order.id]

    def _status(self, snapshot: Snapshot) -> SteeringStatus:
        crawl, enforcement = self._opened.crawl, self._enforcement
        if self._looks % SNAPSHOTS_PER_SCAN == 0:  # it reads all hosts
            self._rests = tuple(crawl.frontier.politeness_heap.histogram(snapshot.at, REST_BOUNDS))
        self._looks += 1
        reread = crawl.engine.readmission.counts
        returned, left = (0, 0) if reread is None else (reread.returned, reread.pages - reread.done)
        is_counted = reread is not None or not crawl.engine.readmission.is_pending
        limits = LimitProgress(
            crawl.engine.limit_enforcement.excluded,
            self._requeued + returned,
            self._unchecked,
            left,
            is_counted and (enforcement is None or enforcement.done()),
        )
        return SteeringStatus(
            self._version,
            tuple(self._answered),
            limits,
            self._run,
            self._outcomes.number,
            self._outcomes.shown(),
            self._rests,
        )

    # --- settings --------------------------------------------------------------------------------

    async def _apply_settings(self, found: _Found, wanted: Overrides) -> None:
        """Bring these settings into force. They are published as such when all that follows from them at once is
        committed; to look at every known URL under other limits takes longer and goes on in the background."""
        async with self._changing:
            opened, before = self._opened, self._overrides
            hosts = HostOverrides()
            hosts.add(before.hosts)
            if self._member is not None:
                await self._follow_rules(found.config, found.seeds, wanted.limits)
            if wanted.limits is not None and wanted.limit_changes != before.limit_changes:
                await self._change_limits(wanted.limits)
                before.limit_changes = wanted.limit_changes
            before.hosts.replace_with(wanted.hosts)
            _log_hosts(opened.log, hosts, wanted.hosts)
            if self._member is not None and not self._takes_orders:
                for host in sorted(hosts.dropped - wanted.hosts.dropped):
                    if self._member.owns_host(host):
                        with suppress(StoreFailed):  # what this worker has excluded since the order was applied
                            await self._readmit(host)
            if wanted.paused is not before.paused:
                before.paused = wanted.paused
                opened.crawl.engine.pause(wanted.paused)
                if wanted.paused:
                    opened.log.event("crawl.paused")
                else:
                    opened.log.event("crawl.resumed")
            self._version = found.version
            self._applied_rules = max(self._applied_rules, found.rules_version)
        opened.live.publish()

    async def _change_limits(self, limits: Limits) -> None:
        await self._end_enforcement()
        before, self._overrides.limits = self._overrides.limits, limits
        try:
            self._opened.crawl.change_rules(self.config)
        except ConfigError as error:  # the service has checked them, so hardly
            self._overrides.limits = before
            self._opened.log.event("rules.refused", error=str(error))
            return
        self._start_enforcement()
        await self._save_options()
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
            found = (self._canonicaliser.canonicalise(url) for url in seeds)
            self._extend_scope({url.host for url in found if isinstance(url, Canonical)} - crawl.scope_seeds)
        if config is not None:
            self._base = config_following(self._base, config)
        if limits is None:
            self._overrides.limits = None
        self._member.on_rules_changed()
        if self.config == before:
            return
        await self._end_enforcement()
        try:
            crawl.change_rules(self.config)
        except ConfigError as error:
            self._opened.log.event("rules.refused", error=str(error))
            return
        self._start_enforcement()
        self._opened.log.event("rules.changed")

    async def reload(self, config: Config) -> None:
        """Apply another configuration, as `gossamer crawl` does on SIGHUP: its rules and its settings for hosts. The
        overrides still take precedence. Raises ConfigError; then nothing was changed."""
        crawl = self._opened.crawl
        if self._member is not None:
            # All workers, this one too, apply what is on record: none may send links that others refuse by older rules.
            crawl.check_rules(self._overrides.apply_limits(config))
            await self._member.rules.announce(config_to_text(config), config.max_pages)
            await self._apply((await self._connection.run(self._look))._replace(orders=[]))
            await self._save_options()
            return
        async with self._changing:
            await self._end_enforcement()
            before, self._base = self._base, config
            try:
                crawl.change_rules(self.config)
            except BaseException:
                self._base = before
                raise
            self._start_enforcement()
            await self._save_options()
            crawl.change_page_limit(config.max_pages)

    async def _save_options(self) -> None:
        """So that `gossamer crawl` continues with the same limits."""
        self._opened.crawl.store.batch.facts["options"] = json.dumps(shape_of(self.config))
        await self._commit()

    # --- limits ----------------------------------------------------------------------------------

    async def _end_enforcement(self) -> None:
        """Stop applying the limits that are about to change. On return what they have changed is committed."""
        if self._enforcement is not None and not self._enforcement.done():
            self._is_superseded = True
            await asyncio.wait({self._enforcement})
        await self._commit()

    def _start_enforcement(self) -> None:
        """Apply the rules, which have changed just now, to the URLs that are known: queued ones become excluded, and
        URLs that only the old limits excluded are requeued."""
        crawl = self._opened.crawl
        unfinished = crawl.engine.limit_enforcement.start()
        self._is_superseded, self._requeued, self._unchecked = False, 0, crawl.counters.total["discovered"]
        self._enforcement = task = asyncio.create_task(self._apply_limits(unfinished))
        task.add_done_callback(self._on_enforced)

    def _on_enforced(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._opened.log.event("limits.failed", error=str(error))
        self._opened.live.publish()

    async def _apply_limits(self, unfinished: frozenset[int]) -> None:
        """Exclude queued URLs and requeue excluded ones as the rules say now, a slice per commit. If the store fails or
        the service stops, the queued URLs that are left are excluded by their visits, as after a restart."""
        crawl = self._opened.crawl
        pages, files = crawl.admission.rules, crawl.admission.file_rules

        def next_changes(windows: Iterator[tuple[list[LimitedUrl], int]]) -> tuple[_Pairs, list[int], int] | None:
            found = next(windows, None)
            if found is None:
                return None
            excluded: _Pairs = []
            allowed: list[int] = []
            for number, url, host, depth, sitemap, state in found[0]:
                reason = (files if sitemap else pages).may_enter(url, host, depth)
                if state != UrlState.QUEUED:
                    if reason is None:
                        allowed.append(number)
                elif reason is not None and reason in LIMIT_REASONS and number not in unfinished:
                    excluded.append((number, reason))
            return excluded, allowed, found[1]

        await self._commit()  # what the former limits have excluded, so that the reader finds it
        with closing(await asyncio.to_thread(crawl.open_own_reader)) as reader:
            windows = reader.dead_letters.limited(LIMIT_REASONS)
            while not self._is_superseded and (found := await asyncio.to_thread(next_changes, windows)) is not None:
                excluded, allowed, left = found
                for at in range(0, len(excluded), MOST):
                    crawl.store.batch.bulk_changes += exclusions(excluded[at : at + MOST])
                    await self._commit()
                self._requeued += await self._change_states(allowed, UrlState.EXCLUDED, UrlState.QUEUED, LIMIT_REASONS)
                self._unchecked = left
        await self._commit()  # with what was loaded meanwhile

    # --- seeds -----------------------------------------------------------------------------------

    async def _add_seeds(self, order: Order) -> None:
        """The answer has a row for each text: its status (`accepted`, `known` or `refused`), URL and reason."""
        texts: list[str] = json.loads(order.body)
        crawl = self._opened.crawl
        found = [self._read(text) for text in texts]
        hosts = frozenset(each.host for each in found if not isinstance(each, Refusal))
        rules = self._rules_with_seeds(hosts)
        refused: dict[int, str] = {}
        entering: dict[Url, SeedRecord] = {}
        candidates = []
        for at, (text, each) in enumerate(zip(texts, found, strict=True)):
            if isinstance(each, Refusal):
                continue
            if (reason := self._check(each.url, each.host, rules)) is not None:
                refused[at] = reason
            elif each.url not in entering:
                entering[each.url] = SeedRecord(each.url, each.host, text.strip(), WHERE)
                candidates.append(crawl.admission.admit_seed(each.url, each.host))

        def answer(new: frozenset[Url]) -> str:
            rows: list[tuple[str, str | None, str | None]] = []
            accepted: set[str] = set()
            for at, each in enumerate(found):
                if isinstance(each, Refusal):
                    rows.append(("refused", None, each.reason))
                elif at in refused:
                    rows.append(("refused", each.url, refused[at]))
                else:
                    is_new = each.url in new and each.url not in accepted
                    accepted.add(each.url)
                    rows.append(("accepted" if is_new else "known", each.url, None))
            return json.dumps(rows)

        if entering:
            self._extend_scope({record.host for record in entering.values()})
        batch = crawl.store.batch
        batch.seeds += entering.values()
        batch.candidates += candidates
        await self._commit(order, answer)

    def _read(self, text: str) -> Canonical | Refusal:
        """The canonical URL of a text. Control characters are refused, not removed as in the links of a page: a client
        that sends them made a mistake or means harm."""
        if _NOT_TEXT(text):
            return refusal("bad_url", text)
        return self._canonicaliser.canonicalise(with_scheme(text.strip()))

    def _check(self, url: Url, host: HostKey, rules: EntryRules) -> str | None:
        if self._opened.crawl.addresses.refused_as(host) is not None:
            return "blocked_address"
        return rules.may_enter(url, host, 0)

    def _rules_with_seeds(self, hosts: Iterable[HostKey]) -> EntryRules:
        """The rules after these hosts are added to the scope; the same object if that changes nothing."""
        current = self._opened.crawl.admission.rules
        scope = current.scope.with_seeds(hosts)
        return current if scope is current.scope else replace(current, scope=scope)

    def _extend_scope(self, hosts: set[HostKey]) -> None:
        crawl = self._opened.crawl
        crawl.scope_seeds.update(hosts)
        rules = self._rules_with_seeds(hosts)
        if rules is not crawl.admission.rules:
            crawl.admission.change_rules(rules)
            crawl.forget_sent_links()

    # --- URLs ------------------------------------------------------------------------------------

    async def _readmit_host(self, order: Order) -> None:
        """The answer is the number of URLs."""
        done = await self._readmit(HostKey(json.loads(order.body)))
        await self._commit(order, lambda _: json.dumps(done))

    async def _readmit(self, host: HostKey) -> int:
        """Requeue the URLs of a host that were excluded because it was dropped, as far as they are allowed."""
        reasons = (HOST_DROPPED,)
        await self._commit()
        admission = self._opened.crawl.admission
        pages, files = admission.rules, admission.file_rules

        def next_allowed(after: Iterator[list[ExcludedUrl]]) -> list[int] | None:
            chunk = next(after, None)
            if chunk is None:
                return None
            return [
                number
                for number, url, host, depth, sitemap in chunk
                if (files if sitemap else pages).may_enter(url, host, depth) is None
            ]

        done = 0
        with closing(await self._open_reader()) as reader:
            chunks = reader.dead_letters.excluded(reasons, host)
            while (ids := await asyncio.to_thread(next_allowed, chunks)) is not None:
                done += await self._change_states(ids, UrlState.EXCLUDED, UrlState.QUEUED, reasons)
        return done

    async def _change_dead(self, order: Order) -> None:
        """Requeue or drop dead letters: all of a kind, or those with the listed URLs. The answer is their number."""
        asked: dict[str, Any] = json.loads(order.body)
        drops = asked["action"] == "drop"
        to, because = (UrlState.EXCLUDED, DROPPED) if drops else (UrlState.QUEUED, None)
        kind = asked["class"]
        wanted = DeadFilter(
            host=asked["host"], reason=asked["reason"], failure_class=None if kind is None else FailureClass(kind)
        )
        done, after = 0, 0
        with closing(await self._open_reader()) as reader:
            letters = reader.dead_letters
            if asked["urls"] is not None:
                ids = await asyncio.to_thread(letters.ids_of, self._canonical(asked["urls"]))
                done = await self._change_states(ids, UrlState.DEAD, to, (), because)
            else:
                # Ids only grow, so URLs that die again meanwhile are not requeued a second time.
                while ids := await asyncio.to_thread(letters.ids, wanted, after=after, most=MOST):
                    after = ids[-1]
                    done += await self._change_states(ids, UrlState.DEAD, to, (), because)
        await self._commit(order, lambda _: json.dumps(done))

    def _canonical(self, urls: Sequence[str]) -> list[str]:
        found = (self._canonicaliser.canonicalise(with_scheme(url.strip())) for url in urls)
        return [each.url for each in found if not isinstance(each, Refusal)]

    async def _change_states(
        self, ids: Sequence[int], state: UrlState, to: UrlState, reasons: tuple[str, ...], because: str | None = None
    ) -> int:
        done = 0
        for at in range(0, len(ids), MOST):
            change = BulkChange(tuple(ids[at : at + MOST]), state, to, reasons, because)
            self._opened.crawl.store.batch.bulk_changes.append(change)
            await self._commit()
            done += change.changed
        return done

    # --- the store -------------------------------------------------------------------------------

    async def _open_reader(self) -> CrawlReader:
        return await asyncio.to_thread(self._opened.crawl.open_reader)

    async def _commit(self, order: Order | None = None, answer: OrderAnswer | None = None) -> None:
        """Wait until the open batch is committed, with the answer to an order. A store that fails is waited for."""
        store = self._opened.crawl.store
        if order is not None and answer is not None:
            store.batch.answers[order.id] = answer
        store.hasten()
        await store.until_commit()


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
