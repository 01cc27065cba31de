"""Which faults happen, in an order that a seed decides, and how long each takes to be over.

There is a lane for workers, for the database, for the cache and for the object storage; faults of different lanes
overlap, those of one lane follow each other. Each lane deals its kinds of faults like a deck of cards, so that all of
them happen, in proportion.
"""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from signal import SIGCONT, SIGSTOP, SIGTERM

import redis

from tests.faults.fleet import Fleet, Worker
from tests.faults.surroundings import Surroundings

LOOK = 0.05
"""Seconds between two looks whether a fault is over."""
PATIENCE = 300.0
"""Seconds after which a fault that is not over counts as one that needs help."""
PAUSES = {"workers": (0.05, 0.6), "database": (0.5, 3.0), "cache": (0.2, 2.0), "storage": (0.05, 0.5)}
"""Lease times between two faults of a lane."""
LONGEST_STEP = 20.0
"""Seconds by which the clock of the database is stepped at most."""

REQUIRED = {
    "worker killed": 200,
    "PostgreSQL killed": 50,
    "Redis killed": 50,
    "Redis flushed": 20,
    "Redis failed over by Sentinel": 10,
    "object storage: cut": 20,
}
"""Faults of these kinds at least in an hour, in proportion in a longer or shorter run of more than ten minutes."""

Fault = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class Event:
    """One fault. `seconds` until it was `recovered` count from its end, or from its beginning if it has no end; there
    are none if PostgreSQL was away meanwhile, without which nothing else recovers."""

    kind: str
    at: float
    recovered: bool = False
    seconds: float | None = None
    is_over: bool = False


class Schedule:
    """Faults for one crawl."""

    def __init__(
        self,
        around: Surroundings,
        fleet: Fleet,
        seed: int,
        ttl: float,
        *,
        disk: bool,
    ) -> None:
        """`disk`: the spool of the first worker has a small disk of its own."""
        self._around, self._fleet, self._ttl = around, fleet, ttl
        self._chances = {lane: random.Random(f"{seed} {lane}") for lane in PAUSES}
        self.events: list[Event] = []
        self._began = time.monotonic()
        self._database_back = 0.0  # inf while it is away
        lost = [self.lose_machine] if any(worker.remote for worker in fleet.workers) else []
        full = [self.fill_spool_disk] if disk else []
        step = [self.step_clock] if around.clock is not None else []
        self._decks: dict[str, list[Fault]] = {
            "workers": [*[self.kill_worker] * 9, self.kill_worker_twice, self.pause_worker, self.drain_worker, *lost],
            "database": [
                *[self.kill_database] * 6,
                *(self.cut_database, self.half_close_database, self.slow_database, self.swallow_database, *step),
            ],
            "cache": [
                *[self.kill_cache] * 5,
                *(self.flush_cache, self.flush_cache, self.fail_cache_over, self.hang_cache, self.slow_cache),
                *(self.fill_cache, self.forbid_cache_writes, self.deny_cache_commands),
            ],
            "storage": [
                *(self._storage_fault(kind) for kind in ("cut", "cut", "cut", "503", "403", "507")),
                *(self._storage_fault(kind) for kind in ("swallow", "half-open", "slow")),
                *full,
            ],
        }

    @property
    def kinds(self) -> dict[str, int]:
        """Kinds of faults in each lane."""
        return {lane: len({*deck}) for lane, deck in self._decks.items()}

    async def run(self, seconds: float, most: int | None = None) -> None:
        """Until the time is over, or there were so many faults in each lane, or the crawl has finished. Ends when the
        last fault is over."""
        async with asyncio.TaskGroup() as group:
            for lane in PAUSES:
                group.create_task(self._run_lane(lane, time.monotonic() + seconds, most))

    async def _run_lane(self, lane: str, end: float, most: int | None) -> None:
        chance = self._chances[lane]
        for number, fault in enumerate(_dealt(self._decks[lane], chance)):
            if most is not None and number == most:
                return
            pause = self._ttl * chance.uniform(*PAUSES[lane])
            await _until(lambda: self._fleet.is_finished or (time.monotonic() > end and most is None), pause)
            if self._fleet.is_finished or (time.monotonic() > end and most is None):
                return
            await fault()

    # --- bookkeeping ----------------------------------------------------------------------------------

    @contextmanager
    def _fault(self, kind: str) -> Iterator[Event]:
        event = Event(kind, round(time.monotonic() - self._began, 1))
        self.events.append(event)
        yield event
        event.is_over = True

    async def _recover(
        self, event: Event, since: float, is_over: Callable[[], bool], *, needs_database: bool = True
    ) -> None:
        """Wait until a fault is over that ended, or began, at `since`."""
        event.recovered = await _until(lambda: is_over() or self._fleet.is_finished)
        if event.recovered:
            event.seconds = None if needs_database and self._database_back > since else time.monotonic() - since
        else:
            event.kind += " (NOT OVER)"

    # --- workers ----------------------------------------------------------------------------------------

    async def _member(self, *, remote: bool | None = None) -> tuple[Worker, set[int], set[int]] | None:
        """A worker that runs and owns partitions, with its epochs and those partitions. None if the crawl ends."""
        found: list[tuple[Worker, set[int], set[int]]] = []
        candidates = [each for each in self._fleet.workers if remote is None or each.remote is remote]
        self._chances["workers"].shuffle(candidates)

        def look() -> bool:
            owners = self._fleet.owners()
            for worker in candidates if owners is not None else ():
                epoch = self._fleet.epoch_of(worker) if worker.runs else None
                parts = {part for part, owner in (owners or {}).items() if owner == epoch}
                if epoch is not None and parts:
                    found.append((worker, {epoch}, parts))
                    return True
            return self._fleet.is_finished

        await _until(look)
        return found[0] if found else None

    def _owned_again(self, parts: set[int], by_others_than: set[int]) -> bool:
        owners = self._fleet.owners()
        return owners is not None and all(owners.get(part) not in (None, *by_others_than) for part in parts)

    async def kill_worker(self) -> None:
        if (member := await self._member()) is None:
            return
        worker, epochs, parts = member
        with self._fault("worker killed") as event:
            self._fleet.kill(worker)
            await self._recover(event, time.monotonic(), lambda: self._owned_again(parts, epochs))

    async def kill_worker_twice(self) -> None:
        """The second time while it starts, or soon afterwards."""
        if (member := await self._member()) is None:
            return
        worker, epochs, parts = member
        with self._fault("worker killed again at its start") as event:
            self._fleet.kill(worker)
            await _until(lambda: not worker.runs)
            await _until(lambda: worker.runs)
            await asyncio.sleep(self._chances["workers"].uniform(0.0, 2.0))
            self._fleet.kill(worker)
            since = time.monotonic()
            await asyncio.sleep(LOOK)  # a transaction may still have been on its way
            if (second := self._fleet.epoch_of(worker)) is not None:
                epochs.add(second)
            await self._recover(event, since, lambda: self._owned_again(parts, epochs))

    async def pause_worker(self) -> None:
        if (member := await self._member()) is None:
            return
        worker, epochs, parts = member
        with self._fault("worker stopped for 3 lease times") as event:
            since = time.monotonic()
            worker.send(SIGSTOP)
            await self._recover(event, since, lambda: self._owned_again(parts, epochs))
            await asyncio.sleep(max(0.0, since + 3 * self._ttl - time.monotonic()))
            worker.send(SIGCONT)

    async def drain_worker(self) -> None:
        if (member := await self._member()) is None:
            return
        worker, epochs, parts = member
        with self._fault("worker drained") as event:
            worker.is_wanted = False
            worker.send(SIGTERM)
            await self._recover(event, time.monotonic(), lambda: self._owned_again(parts, epochs))
            if not await _until(lambda: not worker.runs or self._fleet.is_finished):
                event.kind += " (DOES NOT END)"
        if self._fleet.is_finished:
            return
        with self._fault("worker joined") as event:
            since = time.monotonic()
            worker.is_wanted = True
            await self._recover(event, since, lambda: self._owns_something(worker))

    def _owns_something(self, worker: Worker) -> bool:
        epoch = self._fleet.epoch_of(worker)
        return epoch is not None and epoch in (self._fleet.owners() or {}).values()

    async def lose_machine(self) -> None:
        if (member := await self._member(remote=True)) is None:
            return
        worker, epochs, parts = member
        assert worker.machine is not None
        with self._fault("machine lost") as event:
            worker.is_wanted = False
            worker.machine.cut()
            await self._recover(event, time.monotonic(), lambda: self._owned_again(parts, epochs))
            self._fleet.kill(worker)
            worker.lose_machine()
            worker.is_wanted = True  # the machine starts again, with its disk

    # --- database -------------------------------------------------------------------------------------------

    async def _until_commits(self, event: Event) -> None:
        """The database answers from now on: wait until workers commit and fetch."""
        since, fleet = time.monotonic(), self._fleet
        before, log = fleet.commits() or 0, fleet.answered_bytes()
        await self._recover(
            event,
            since,
            lambda: (fleet.commits() or 0) > before and fleet.answered_bytes() > log,
            needs_database=False,
        )

    async def kill_database(self) -> None:
        chance = self._chances["database"]
        with self._fault("PostgreSQL killed") as event, self._database_away():
            self._around.database.kill()
            await asyncio.sleep(chance.choice((0.0, chance.uniform(0.0, 5.0), chance.uniform(0.0, 1.5 * self._ttl))))
            self._around.start_database()
            await self._until_commits(event)

    async def cut_database(self) -> None:
        with self._fault("connections to PostgreSQL cut") as event, self._database_away():
            self._around.network.cut()
            await self._until_commits(event)

    async def half_close_database(self) -> None:
        with self._fault("connections to PostgreSQL half closed") as event, self._database_away():
            self._around.network.half_close()
            await self._until_commits(event)

    async def slow_database(self) -> None:
        await self._fail_network("PostgreSQL slow", "delay")

    async def swallow_database(self) -> None:
        await self._fail_network("network to PostgreSQL silent", "swallow")

    async def _fail_network(self, kind: str, fault: str) -> None:
        with self._fault(kind) as event, self._database_away():
            self._around.network.fault = fault
            await asyncio.sleep(self._chances["database"].uniform(1.0, 2.0 * self._ttl))
            self._around.network.fault = None
            await self._until_commits(event)

    async def step_clock(self) -> None:
        assert self._around.clock is not None
        with self._fault("clock of PostgreSQL stepped") as event:
            self._around.clock.step(self._chances["database"].uniform(-LONGEST_STEP, LONGEST_STEP))
            await self._until_commits(event)

    @contextmanager
    def _database_away(self) -> Iterator[None]:
        """Until workers commit again."""
        self._database_back = math.inf
        yield
        self._database_back = time.monotonic()

    # --- cache ----------------------------------------------------------------------------------------------

    async def _until_cached(self, event: Event) -> None:
        await self._recover(event, time.monotonic(), lambda: not self._fleet.failing("cache"))
        if not await _until(self._around.cache.is_whole):
            event.kind += " (no replica)"

    async def kill_cache(self) -> None:
        with self._fault("Redis killed") as event:
            server = self._around.cache.server()
            server.kill()
            await asyncio.sleep(self._chances["cache"].choice((0.0, 0.2, 2.0, 5.0)))
            server.start()
            await self._until_cached(event)

    async def flush_cache(self) -> None:
        with self._fault("Redis flushed") as event:
            with suppress(redis.RedisError):
                self._around.cache.server().client().flushall()
            await self._until_cached(event)

    async def fail_cache_over(self) -> None:
        cache = self._around.cache
        before = cache.current()
        with self._fault("Redis failed over by Sentinel") as event:
            with suppress(redis.RedisError):
                cache.fail_over()
            since = time.monotonic()
            await _until(lambda: cache.current() != before)
            await self._recover(event, since, lambda: not self._fleet.failing("cache"))
            await _until(cache.is_whole)

    async def hang_cache(self) -> None:
        with self._fault("Redis hangs") as event:
            server = self._around.cache.server()
            server.hang()
            await asyncio.sleep(self._chances["cache"].uniform(0.1, 5.0))
            server.wake()
            await self._until_cached(event)

    async def slow_cache(self) -> None:
        """Every answer takes most of the time that an operation has, or more."""
        with self._fault("Redis slow") as event:
            server = self._around.cache.server()
            end = time.monotonic() + self._chances["cache"].uniform(1.0, 5.0)
            while time.monotonic() < end:
                server.hang()
                await asyncio.sleep(self._chances["cache"].uniform(0.02, 0.08))
                server.wake()
                await asyncio.sleep(0.005)
            await self._until_cached(event)

    async def fill_cache(self) -> None:
        await self._refuse_in_cache("Redis out of memory", ("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"))

    async def forbid_cache_writes(self) -> None:
        """As a primary does that has lost its replicas."""
        name = "CONFIG SET min-replicas-to-write"
        await self._refuse_in_cache("Redis read-only", (f"{name} 5", f"{name} 0"))

    async def deny_cache_commands(self) -> None:
        """What Sentinel needs stays allowed."""
        denied = "-eval -mget -set -xadd"
        await self._refuse_in_cache(
            "Redis denies commands", (f"ACL SETUSER default {denied}", "ACL SETUSER default +@all")
        )

    async def _refuse_in_cache(self, kind: str, commands: tuple[str, str]) -> None:
        """By the first command the primary refuses what workers ask of it, by the second it no longer does."""
        with self._fault(kind) as event:
            client = self._around.cache.server().client()
            with suppress(redis.RedisError):
                client.execute_command(*commands[0].split())  # type: ignore[no-untyped-call]
            await asyncio.sleep(self._chances["cache"].uniform(1.0, 10.0))
            client.execute_command(*commands[1].split())  # type: ignore[no-untyped-call]
            await self._until_cached(event)

    # --- object storage ---------------------------------------------------------------------------------------

    def _storage_fault(self, kind: str) -> Fault:
        async def fail() -> None:
            with self._fault(f"object storage: {kind}") as event:
                self._around.storage.fail(kind)
                await asyncio.sleep(self._chances["storage"].uniform(2.0, 6.0 * self._ttl))
                self._around.storage.fail(None)
                await self._until_delivered(event)

        return fail

    async def _until_delivered(self, event: Event) -> None:
        """All spools are empty."""
        await self._recover(
            event,
            time.monotonic(),
            lambda: not self._fleet.failing("blobs") and not any(w.spooled for w in self._fleet.workers),
        )

    async def fill_spool_disk(self) -> None:
        with self._fault("disk of a spool full") as event:
            ballast = self._fleet.workers[0].folder / "spool" / "ballast"
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            self._around.storage.fail("cut")
            await asyncio.sleep(self._chances["storage"].uniform(2.0, 3.0 * self._ttl))
            ballast.unlink()
            await asyncio.sleep(self._chances["storage"].uniform(0.0, 5.0))
            self._around.storage.fail(None)
            await self._until_delivered(event)


def _dealt(deck: Iterable[Fault], chance: random.Random) -> Iterator[Fault]:
    """The deck again and again, shuffled each time."""
    cards = list(deck)
    while True:
        chance.shuffle(cards)
        yield from cards


async def _until(is_over: Callable[[], bool], patience: float = PATIENCE) -> bool:
    """Whether it was over in time."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if is_over():
            return True
        await asyncio.sleep(LOOK)
    return False
