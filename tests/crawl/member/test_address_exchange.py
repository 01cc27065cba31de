"""The exchange of addresses with other workers, on a session that does what a test says."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gossamer.clock import SteadyClock
from gossamer.cluster.handover import RestPolicy
from gossamer.cluster.shared_addresses import IDLE, LOOK, GateAnswer, GatePlan, SharedAddresses
from gossamer.crawl.member.address_exchange import AddressExchange
from gossamer.model.units import Epoch, Instant, Seconds

ADDRESS = "10.0.0.1"


def addresses() -> SharedAddresses:
    return SharedAddresses(RestPolicy(Seconds(30.0), Seconds(10.0)), Seconds(1.0))


class Table:
    """A session whose transactions wait, and which notices when two threads use it."""

    def __init__(self) -> None:
        self.began, self.go_on = threading.Event(), threading.Event()
        self.users = 0
        self.transactions: list[int] = []  # users of the session during each

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.users += 1
        self.began.set()
        self.go_on.wait(60.0)
        self.transactions.append(self.users)
        yield
        self.users -= 1

    def execute(self, name: str, *values: object) -> int:
        return 1

    def fetch_value(self, name: str, *values: object) -> Any:
        return 1

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        return None

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        return []

    def close(self) -> None: ...


def test_an_exchange_that_is_under_way_ends_before_the_last_one() -> None:
    async def leave(table: Table) -> None:
        shared = addresses()
        shared.acquire(ADDRESS, Instant(1000.0))
        exchange = AddressExchange(table, Epoch(1), shared)
        running = asyncio.create_task(exchange.run(SteadyClock()))
        await asyncio.to_thread(table.began.wait, 60.0)
        running.cancel()
        await asyncio.sleep(0)
        table.go_on.set()
        await asyncio.gather(running, return_exceptions=True)
        exchange.give_all(Instant(1000.0))

    table = Table()
    asyncio.run(leave(table))

    assert table.transactions == [1, 1]


def test_an_address_whose_taking_was_not_answered_is_given_up_when_others_want_it() -> None:
    shared = addresses()
    now = Instant(1000.0)
    shared.acquire(ADDRESS, now)
    assert shared.plan(now) == GatePlan((ADDRESS,), ())  # it is ours now, and the answer is lost

    assert shared.plan(Instant(now + LOOK / 2)) is None
    now = Instant(now + LOOK)
    assert shared.plan(now) == GatePlan((), ())
    shared.apply(GateAnswer(GatePlan((), ()), (), (ADDRESS,)), now)

    assert shared.plan(now) == GatePlan((ADDRESS,), ())
    assert IDLE > LOOK
