"""Carries out the orders that other processes leave in the store: seeds to add, dead letters or the URLs of a host to
requeue, the end of the run.

Each runs in a task of its own until its answer is committed. One during which the store fails stays new, so it is found
and carried out again; one that cannot be applied is refused.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from gossamer.crawl.run.session import Session
from gossamer.crawl.steering.seeds import SeedAdmission
from gossamer.crawl.steering.state_changes import StateChanges, commit
from gossamer.errors import StoreFailed
from gossamer.filter.canonical import Canonicaliser, Refusal
from gossamer.model.batch import OrderAnswer
from gossamer.model.outcome import FailureClass
from gossamer.model.units import HostKey
from gossamer.reports.records import DeadFilter
from gossamer.seed.lists import with_scheme
from gossamer.store.ports import Database
from gossamer.store.table.orders import Order, OrderState, OrderTable, answer_order

SEEDS, DEAD, READMIT, STOP = "seeds", "dead", "readmit", "stop"
"""The kinds of orders: seeds to add; dead letters to requeue or drop; a host whose dropped URLs are to be requeued; the
end of the run."""
MOST_ORDERS: Final = 100
"""Orders that are carried out at the same time."""
_ANSWERED_KEPT: Final = 200
_RETRY: Final = 0.25  # seconds until an order is tried again during which the store failed


def refuse_old_stops(db: Database) -> None:
    """Refuse orders to stop that were left by a run before this one: they meant that one."""
    for order in OrderTable(db).new(MOST_ORDERS):
        if order.kind == STOP:
            answer_order(db, order.id, json.dumps("that run has ended"), OrderState.REFUSED)


class OrderExecutor:
    """Carries out the orders of one crawl, each once. Owned by the event loop."""

    def __init__(
        self,
        opened: Session,
        seeds: SeedAdmission,
        changes: StateChanges,
        canonicaliser: Canonicaliser,
        on_stop: Callable[[], None],
    ) -> None:
        """`on_stop` is called when the run is to end."""
        self._opened = opened
        self._seeds = seeds
        self._changes = changes
        self._canonicaliser = canonicaliser
        self._on_stop = on_stop
        self._running: dict[int, asyncio.Task[None]] = {}  # orders that have no answer yet
        self._answered: deque[int] = deque(maxlen=_ANSWERED_KEPT)
        self._refused: dict[int, str] = {}  # orders that could not be applied, and why

    @property
    def answered(self) -> tuple[int, ...]:
        """The last orders that were answered."""
        return tuple(self._answered)

    def start(self, orders: Sequence[Order]) -> None:
        """Begin with those of these orders that were not found before."""
        for order in orders:
            if order.id not in self._running and order.id not in self._answered:
                self._running[order.id] = asyncio.create_task(self._carry_out(order))

    def answer_refused(self, db: Database) -> None:
        """Mark the orders that could not be applied. For a connection for orders, in its thread."""
        while self._refused:
            order_id, reason = self._refused.popitem()
            answer_order(db, order_id, json.dumps(reason), OrderState.REFUSED)

    def cancel(self) -> None:
        """Leave the orders that have no answer yet to the next run."""
        for task in self._running.values():
            task.cancel()

    async def _carry_out(self, order: Order) -> None:
        try:
            match order.kind:
                case "seeds":
                    await self._commit(order, self._seeds.admit(json.loads(order.body)))
                case "dead":
                    await self._change_dead(order)
                case "readmit":
                    await self._readmit_host(order)
                case "stop":
                    await self._stop(order)
                case _:
                    raise ValueError(f"unknown kind of order: {order.kind}")
        except StoreFailed:
            await asyncio.sleep(_RETRY)  # it stays new, and the next look finds it again
        except Exception as error:  # an order that cannot be applied must not end this crawl and every one after it
            self._opened.log.event("order.refused", kind=order.kind, error=f"{type(error).__name__}: {error}")
            self._refused[order.id] = str(error)
            self._answered.append(order.id)
        else:
            self._answered.append(order.id)
            self._opened.live.publish()
        finally:
            del self._running[order.id]

    async def _change_dead(self, order: Order) -> None:
        """Requeue or drop dead letters: all of a kind, or those with the listed URLs. The answer is their number."""
        asked: dict[str, Any] = json.loads(order.body)
        kind, urls = asked["class"], asked["urls"]
        wanted = DeadFilter(
            host=asked["host"], reason=asked["reason"], failure_class=None if kind is None else FailureClass(kind)
        )
        done = await self._changes.change_dead(
            wanted if urls is None else self._canonical(urls), drop=asked["action"] == "drop"
        )
        await self._commit(order, lambda _: json.dumps(done))

    def _canonical(self, urls: Sequence[str]) -> list[str]:
        found = (self._canonicaliser.canonicalise(with_scheme(url.strip())) for url in urls)
        return [each.url for each in found if not isinstance(each, Refusal)]

    async def _readmit_host(self, order: Order) -> None:
        """The answer is the number of URLs."""
        done = await self._changes.readmit(HostKey(json.loads(order.body)))
        await self._commit(order, lambda _: json.dumps(done))

    async def _stop(self, order: Order) -> None:
        if (member := self._opened.crawl.member) is not None:
            await member.stop_crawl()
        await self._commit(order, lambda _: json.dumps(None))
        self._on_stop()

    async def _commit(self, order: Order, answer: OrderAnswer) -> None:
        """Commit the open batch with the answer to an order."""
        store = self._opened.crawl.store
        store.batch.answers[order.id] = answer
        await commit(store)
