"""Looks for new orders and settings in the store of a running crawl, has them applied, and makes the status that says
what has taken effect."""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from gossamer.config.admission import ADMISSION_KEY
from gossamer.config.load import Config
from gossamer.config.overrides import Overrides
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.run.live import RecentOutcomes
from gossamer.crawl.run.location import store_kind
from gossamer.crawl.run.session import SNAPSHOTS_PER_SCAN, Session
from gossamer.crawl.steering.limit_pass import LimitPass
from gossamer.crawl.steering.orders import MOST_ORDERS, OrderExecutor, refuse_old_stops
from gossamer.crawl.steering.seeds import SeedAdmission
from gossamer.crawl.steering.settings import SettingsInForce, StoredSettings, end_service_overrides
from gossamer.crawl.steering.state_changes import StateChanges
from gossamer.errors import StoreFailed
from gossamer.model.units import Instant
from gossamer.observe.snapshot import REST_BOUNDS, Snapshot, SteeringStatus
from gossamer.store.ports import Database
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.orders import Order, OrderTable

_BUSY_POLL: Final = 0.005  # seconds until the next look after an order was found
_OLD: Final = 3600.0  # seconds after which an answer is removed
_UNUSED: Final = 86_400.0  # seconds after its rest; then an address is removed from those that workers share


class _Found(NamedTuple):
    """What a look at the store finds."""

    settings: StoredSettings | None  # None: as before
    orders: list[Order]


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
        crawl = opened.crawl
        self._opened = opened
        self._member = crawl.member
        self._poll = store_kind(config.store).poll_seconds
        self._is_served = is_served
        self._takes_orders = False
        self._connection = opened.steering
        canonicaliser = canonicaliser_for(config)
        seeds = SeedAdmission(crawl, canonicaliser)
        changes = StateChanges(crawl.store, crawl.admission, crawl.open_reader)
        self._limit_pass = LimitPass(opened, changes)
        self._settings = SettingsInForce(
            opened,
            config,
            overrides,
            version,
            seeds=seeds,
            changes=changes,
            limit_pass=self._limit_pass,
            takes_orders=lambda: self._takes_orders,
        )
        self._orders = OrderExecutor(opened, seeds, changes, canonicaliser, on_stop)
        self._outcomes = RecentOutcomes()
        self._run = f"{1000 * crawl.clock.now():.0f}"
        self._rests: tuple[int, ...] = ()
        self._looks = 0
        self._has_ended = False
        self._clean_at = 0.0  # monotonic
        crawl.engine.pause(overrides.paused)
        if self._member is not None:
            self._member.rules.catch_up = self._catch_up

    async def run(self) -> None:
        """Apply what comes until cancelled. While the store cannot be read nothing is applied."""
        crawl = self._opened.crawl
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
                    await asyncio.sleep(self._poll)
                    continue
                if found is not None:
                    await self._apply(found)
                await asyncio.sleep(_BUSY_POLL if found is not None and found.orders else self._poll)
        finally:
            self._orders.cancel()
            self._opened.live.steering = None
            self._has_ended = True

    async def reload(self, config: Config) -> None:
        """Apply another configuration, as `gossamer crawl` does on SIGHUP: its rules and its settings for hosts. The
        overrides still take precedence. Raises ConfigError; then nothing was changed."""
        if self._member is None:
            await self._settings.reload(config)
            return
        # All workers, this one too, apply what is on record: none may send links that others refuse by older rules.
        await self._settings.announce(config)
        await self._apply_settings()
        await self._settings.save_options()

    def _must_look(self) -> bool:
        member = self._member
        return member is None or self._takes_orders or member.rules.version > self._settings.rules_version

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
        if self._settings.rules_version >= version:
            return
        if self._has_ended:
            raise StoreFailed("the crawl ends")
        await self._apply_settings()

    async def _apply_settings(self) -> None:
        """Apply what is new, except for orders."""
        await self._apply((await self._connection.run(self._look))._replace(orders=[]))

    async def _apply(self, found: _Found) -> None:
        if found.settings is not None:
            await self._settings.apply(found.settings)
        if not self._opened.crawl.engine.stopping:  # else they are left to the next run
            self._orders.start(found.orders)

    def _begin(self) -> None:
        """From now on the status says what is applied."""
        self._opened.crawl.engine.events.subscribe(self._outcomes)
        self._opened.live.steering = self._status
        self._opened.live.publish()

    def _status(self, snapshot: Snapshot) -> SteeringStatus:
        if self._looks % SNAPSHOTS_PER_SCAN == 0:  # it reads all hosts
            heap = self._opened.crawl.frontier.politeness_heap
            self._rests = tuple(heap.histogram(snapshot.at, REST_BOUNDS))
        self._looks += 1
        return SteeringStatus(
            self._settings.version,
            self._orders.answered,
            self._limit_pass.progress(),
            self._run,
            self._outcomes.number,
            self._outcomes.shown(),
            self._rests,
        )

    # --- in the thread of the connection ---------------------------------------------------------

    def _begin_run(self, db: Database) -> None:
        if not self._is_served:
            end_service_overrides(db, self._opened.crawl.clock.now())
        refuse_old_stops(db)

    def _clean(self, db: Database) -> None:
        """Remove unread answers, whose client or API process is gone, and addresses that no worker uses any more."""
        clock = self._opened.crawl.clock
        OrderTable(db).clear(Instant(clock.now() - _OLD))
        if self._member is not None:
            db.execute("forget_gates", _UNUSED)
        self._clean_at = clock.monotonic() + _OLD

    def _look(self, db: Database) -> _Found:
        """What is new."""
        self._orders.answer_refused(db)
        orders: list[Order] = []
        if self._member is None or self._takes_orders:
            orders = OrderTable(db).new(MOST_ORDERS)
        # The settings after the orders: some are to be applied under new settings.
        return _Found(self._settings.read_changed(db), orders)
