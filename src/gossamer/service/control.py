"""Control of a running crawl: every change that the API offers, as orders and settings in its store.

A change is durable before it is acknowledged, and it is acknowledged when the crawl has applied it: then whatever is
read next shows it. If the crawl does not get to it in time, an order is withdrawn, and `Unavailable` says so; a change
of settings stays, since the crawl reads them whenever it can.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

from gossamer.clock import Clock
from gossamer.config.overrides import OVERRIDES_KEY, Limits, Overrides
from gossamer.crawl.run.location import CrawlLocation, store_kind
from gossamer.crawl.run.opener import open_part_database, open_steering
from gossamer.crawl.steering.orders import DEAD, READMIT, SEEDS, STOP
from gossamer.errors import StoreFailed
from gossamer.model.states import meaning_of
from gossamer.model.units import HostKey, Seconds
from gossamer.observe.snapshot import LimitProgress, SteeringStatus
from gossamer.reports.records import DeadFilter
from gossamer.service.live_view import LiveView
from gossamer.store.ports import Database
from gossamer.store.table.orders import Answer, OrderState, OrderTable, Settings
from gossamer.store.threads import ConnectionThread

T = TypeVar("T")

ENFORCEMENT_PATIENCE = 10.0
"""Seconds that a request waits until changed limits are applied to all known URLs; then it says how many are left."""
_FIRST_LOOK, _SLOWEST_LOOK = 0.01, 0.1  # seconds between looks for an answer
SLOW_PATIENCE = 15.0
"""Seconds that a request waits for a crawl that goes on, but whose commits take long."""
_SHOW_PATIENCE: Final = 2.0  # seconds until an applied order must be seen in the status


class SeedResult(NamedTuple):
    """Result for one seed: `accepted`, `known` or `refused`."""

    given: str
    status: str
    url: str | None = None
    reason: str | None = None

    @property
    def meaning(self) -> str | None:
        """The reason as readable text."""
        return None if self.reason is None else meaning_of(self.reason)


class Unavailable(Exception):
    """Changes cannot be made at present; carries the reason. Nothing was acknowledged."""

    def __init__(self, reason: str = "the store is unavailable") -> None:
        super().__init__(reason)


class Control:
    """Makes changes to one crawl."""

    def __init__(self, location: CrawlLocation, live: LiveView, clock: Clock, *, patience: float) -> None:
        """`patience`: seconds that a request waits until its change is durable and applied."""
        self._live = live
        self._clock = clock
        self._patience = patience
        self._writing = ConnectionThread(lambda: open_steering(location), "gossamer-order")
        self._reading = ConnectionThread(lambda: open_part_database(location), "gossamer-answer")
        self._slowest = max(_SLOWEST_LOOK, store_kind(location.store).poll_seconds)
        self._read: list[int] = []  # orders of which the answers were read: to be removed

    @property
    def available(self) -> bool:
        """Whether changes can be made."""
        latest = self._live.latest
        is_taken = self._live.workers is None or self._live.takes_orders
        return latest is not None and not latest.stopping and not latest.store_failing and is_taken

    @property
    def limit_progress(self) -> LimitProgress:
        """Of the last change of limits."""
        return self._steering.limits

    def close(self) -> None:
        self._writing.close()
        self._reading.close()

    # --- what the API offers ---------------------------------------------------------------------

    async def add_seeds(self, texts: Sequence[str], patience: float | None = None) -> list[SeedResult]:
        """Add seeds given as text. Returns a result for each, in order. Raises Unavailable; then none is acknowledged,
        though some may have been committed. `patience`: seconds to wait for a slow store."""
        rows = await self._order(SEEDS, list(texts), patience)
        found = []
        for text, (status, url, reason) in zip(texts, rows, strict=True):
            given = text.encode("utf-8", "replace").decode()  # invalid UTF-8 is shown as question marks
            found.append(SeedResult(given, status, url, reason))
        return found

    async def requeue_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        """Returns how many."""
        return await self._dead("requeue", wanted, urls)

    async def drop_dead(self, wanted: DeadFilter, urls: Sequence[str] | None = None) -> int:
        return await self._dead("drop", wanted, urls)

    async def _dead(self, action: str, wanted: DeadFilter, urls: Sequence[str] | None) -> int:
        kind = wanted.failure_class
        body = {
            "action": action,
            "host": wanted.host,
            "reason": wanted.reason,
            "class": None if kind is None else kind.value,
            "urls": None if urls is None else list(urls),
        }
        return int(await self._order(DEAD, body))

    async def stop(self) -> None:
        """Finish the visits in flight and end the service."""
        await self._order(STOP, None)

    async def pause(self, paused: bool) -> None:
        """Start no more visits, or start them again."""

        def change(overrides: Overrides) -> None:
            overrides.paused = paused

        await self._set(change)

    async def set_limits(self, limits: Limits) -> LimitProgress:
        """Apply these limits to all URLs: queued ones become excluded, and URLs that only the old limits excluded are
        requeued. Returns when that is committed, or after some seconds with the progress so far; the rest is then done
        in the background."""
        await self._set(lambda overrides: overrides.set_limits(limits))
        await self._until(lambda steering: steering.limits.complete, ENFORCEMENT_PATIENCE)
        return self.limit_progress

    async def pause_host(self, host: HostKey) -> None:
        await self._set(lambda overrides: overrides.hosts.pause(host))

    async def resume_host(self, host: HostKey) -> int:
        """Undo a pause or a drop. Returns the number of requeued URLs."""

        def change(overrides: Overrides) -> None:
            overrides.hosts.resume(host)

        return int(await self._set(change, READMIT, host))

    async def drop_host(self, host: HostKey) -> None:
        """Exclude each URL of the host when it would be visited, until the host is resumed."""
        await self._set(lambda overrides: overrides.hosts.drop(host))

    async def delay_host(self, host: HostKey, seconds: float | None) -> None:
        """Set the minimum delay after each response of the host; None: as configured."""
        delay = None if seconds is None else Seconds(seconds)
        await self._set(lambda overrides: overrides.hosts.set_delay(host, delay))

    # --- orders and settings ---------------------------------------------------------------------

    async def _order(self, kind: str, body: object, patience: float | None = None) -> Any:
        """Have an order applied. Returns the answer. Raises Unavailable."""
        patience = patience or self._patience
        text, now = json.dumps(body), self._clock.now()
        order_id = await self._write(lambda db, read: OrderTable(db).add(kind, text, now, read=read), patience)
        return await self._answer(order_id, patience, is_shown=kind != STOP)

    async def _set(self, change: Callable[[Overrides], None], kind: str | None = None, body: object = None) -> Any:
        """Change the settings and wait until they are in force; with a kind, have an order applied under them, and
        return its answer. Raises Unavailable."""
        orders = {} if kind is None else {kind: json.dumps(body)}
        now = self._clock.now()

        def changed(text: str | None) -> str:
            overrides = Overrides.from_text(text)
            change(overrides)
            return overrides.to_text()

        since = self._clock.monotonic()
        version, added = await self._write(
            lambda db, read: Settings(db).change(OVERRIDES_KEY, changed, orders, now, read=read), self._patience
        )
        while not await self._until(lambda steering: steering.settings >= version, _SLOWEST_LOOK):
            if self._has_waited(since, self._patience):
                raise Unavailable
        return await self._answer(added[0], self._patience) if added else None

    def _has_waited(self, since: float, patience: float) -> bool:
        """Whether a request has waited long enough for the crawl: longer for one that is only slow than for one that
        fails or says nothing."""
        waited = self._clock.monotonic() - since
        is_stuck = self._live.age >= patience or not self.available
        return waited >= patience and (is_stuck or waited >= SLOW_PATIENCE)

    async def _write(self, use: Callable[[Database, Sequence[int]], T], patience: float) -> T:
        """`use` also removes the orders with these ids. Raises Unavailable if the store cannot be written to for as
        long as patience lasts."""
        latest = self._live.latest
        if latest is not None and latest.stopping:
            raise Unavailable("the service is stopping")
        if self._live.workers == ():
            raise Unavailable("no worker is running; start one with gossamer worker --store URL")
        if self._live.workers is not None and not self._live.takes_orders:
            raise Unavailable("no worker takes orders yet")
        if not self.available:
            raise Unavailable
        end = self._clock.monotonic() + patience
        read, self._read = self._read, []
        while True:
            try:
                return await self._writing.run(lambda db: use(db, read))
            except StoreFailed:
                if self._clock.monotonic() >= end:
                    self._read += read
                    raise Unavailable from None
                await asyncio.sleep(_SLOWEST_LOOK)

    async def _answer(self, order_id: int, patience: float, *, is_shown: bool = True) -> Any:
        """The answer to an order, once what it did is seen in the status too."""
        since, pause = self._clock.monotonic(), _FIRST_LOOK
        while True:
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, self._slowest)
            with suppress(StoreFailed):
                found = await self._reading.run(lambda db: OrderTable(db).answer(order_id))
                if found is not None:
                    break
            if self._has_waited(since, patience):
                await self._withdraw(order_id)
                raise Unavailable
        self._read.append(order_id)
        if is_shown:
            await self._until(lambda steering: order_id in steering.orders, _SHOW_PATIENCE)
        return _content(found)

    async def _withdraw(self, order_id: int) -> None:
        with suppress(StoreFailed):
            await self._writing.run(lambda db: OrderTable(db).withdraw(order_id))

    async def _until(self, is_so: Callable[[SteeringStatus], bool], patience: float) -> bool:
        """Whether the status of the crawl shows something before patience is at its end."""
        end, pause = self._clock.monotonic() + patience, _FIRST_LOOK
        while True:
            await self._live.refresh()
            if is_so(self._steering):
                return True
            if self._clock.monotonic() >= end:
                return False
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, self._slowest)

    @property
    def _steering(self) -> SteeringStatus:
        status = self._live.status
        return SteeringStatus() if status is None or status.steering is None else status.steering


def _content(answer: Answer) -> Any:
    content = json.loads(answer.text)
    if answer.state is OrderState.REFUSED:
        raise Unavailable(str(content))
    return content
