"""`CacheTier`: Redis as a tier that nothing depends on. Hot: benchmarks/bench_cache.py."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.backends.redis.address import CacheAddress
from gossamer.backends.redis.connection import CacheFailed, Command, Connection, Pipeline, Replies, connect
from gossamer.cluster.tiers import TierBreaker, TierPolicy

OPERATION_SECONDS: Final = 0.05
POLICY: Final = TierPolicy()
KEPT_SECONDS: Final = 7 * 86_400
"""Lifetime of an unused entry: those of a finished crawl expire."""

_BUSY_SECONDS: Final = 0.01
_PROBE_KEPT: Final = 60  # seconds


class CacheScope(NamedTuple):
    """What entries depend on, and what their keys begin with: after a change of one of these nothing is known."""

    crawl_id: str
    generation: int = 0  # raised when the store has lost commits
    rules_version: int = 0

    @property
    def prefix(self) -> bytes:
        return f"gossamer:{self.crawl_id}:{self.generation}:{self.rules_version}:".encode()


@dataclass(frozen=True, slots=True)
class TierStatistics:
    """The state of the tier, and counts since the start."""

    is_open: bool
    failures: int  # operations that failed, and connections that could not be opened
    times_opened: int
    pipelines: int  # answered in time
    reason: str | None  # of the last failure


class CacheTier:
    """Sends commands to Redis, and does without it while it fails. Owned by the event loop.

    All commands of one turn of the loop go in one pipeline. Nothing waits longer than `timeout` for it, and no method
    raises because of it: whatever happens to the server, the answer is None, which means that nothing is known. After
    three failures in a row the tier is open and no command is sent, until two probes have succeeded (`TierBreaker`). A
    probe writes: a server that only reads, or has no memory left, is of no use.
    """

    def __init__(
        self,
        address: CacheAddress,
        scope: CacheScope,
        *,
        chance: random.Random,
        timeout: float = OPERATION_SECONDS,
        on_change: Callable[[str | None], None] = lambda reason: None,
    ) -> None:
        """`on_change` gets the reason when the tier is opened, and None when it is closed again."""
        self._address = address
        self.scope = scope
        self._timeout = timeout
        self._breaker = TierBreaker(POLICY, chance)
        self._on_change = on_change
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._open_turn: Pipeline | None = None  # commands of this turn of the loop
        self._deadline: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._failures = self._times_opened = self._pipelines = 0
        self._reason: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a command would be sent now. If not for want of a connection, one is opened."""
        if self._connection is None and not self._breaker.is_open:
            self.connect_soon()
        return self._connection is not None and not self._breaker.is_open

    def statistics(self) -> TierStatistics:
        return TierStatistics(self._breaker.is_open, self._failures, self._times_opened, self._pipelines, self._reason)

    # --- commands --------------------------------------------------------------------------------

    def send(self, commands: Sequence[Command], done: Callable[[Replies | None], None]) -> None:
        """Send commands with the others of this turn. `done` is called with their replies; or with None, if one of them
        failed or was not answered in time, at once if none was sent."""
        if not self.is_usable:
            done(None)
            return
        turn = self._open_turn
        if turn is None:
            loop = asyncio.get_running_loop()
            turn = self._open_turn = Pipeline(loop.time() + self._timeout)
            loop.call_soon(self._end_turn)
        turn.add(commands, done)

    async def ask(self, command: Command) -> object | None:
        """The reply to one command; None if there is none."""
        answer: asyncio.Future[object | None] = asyncio.get_running_loop().create_future()

        def on_done(replies: Replies | None) -> None:
            if not answer.done():
                answer.set_result(None if replies is None else replies[0])

        self.send((command,), on_done)
        return await answer

    def _end_turn(self) -> None:
        turn, self._open_turn = self._open_turn, None
        if turn is None:
            return
        if self._connection is None:
            turn.fail()
            return
        self._idle.clear()
        self._connection.send(turn)
        if self._deadline is None:
            self._set_deadline(turn.deadline)

    def _on_answer(self, pipeline: Pipeline) -> None:
        self._pipelines += 1
        error = pipeline.finish()
        if error is not None:
            self._give_up(error)
        else:
            self._breaker.on_success()
            if self._connection is not None and not self._connection.in_flight:
                self._rest()

    def _rest(self) -> None:
        """Nothing is in flight."""
        self._idle.set()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _set_deadline(self, at: float) -> None:
        self._deadline = asyncio.get_running_loop().call_at(at, self._on_deadline, at)

    def _on_deadline(self, at: float) -> None:
        self._deadline = None
        connection = self._connection
        if connection is None or not connection.in_flight:
            return
        now, oldest = asyncio.get_running_loop().time(), connection.in_flight[0].deadline
        if now < oldest:
            self._set_deadline(oldest)
        elif now - at > _BUSY_SECONDS:  # the loop was busy itself: the answer may be there, unread
            self._set_deadline(now + _BUSY_SECONDS / 2)
        else:
            self._give_up("no answer in time")

    def _give_up(self, reason: str) -> None:
        """A connection is of no use any more."""
        connection, self._connection = self._connection, None
        self._rest()
        if connection is not None:
            connection.close()
            self._fail(reason)
            for pipeline in connection.in_flight:
                pipeline.fail()

    # --- failures and recovery -----------------------------------------------------------------------

    def _fail(self, reason: str) -> None:
        self._failures += 1
        self._reason = reason
        if self._breaker.on_failure(asyncio.get_running_loop().time()):
            self._times_opened += 1
            self._on_change(reason)
            self._schedule_probe()

    def connect_soon(self) -> None:
        """Open a connection, unless that is under way."""
        if self._connecting is None and not self._closed:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def wait_for_connection(self) -> None:
        """Wait until a connection is open or could not be opened, no longer than for an answer."""
        if not self.is_usable and self._connecting is not None:
            await asyncio.wait({self._connecting}, timeout=self._timeout)

    async def _connect(self) -> None:
        """Open a connection, as a probe if the tier is open."""
        was_open = self._breaker.is_open
        problem: str | None = None
        try:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            probe = ("SET", self.scope.prefix + b"probe", "", "EX", _PROBE_KEPT)
            connection, _ = await connect(self._address, [probe])
            connection.on_answer, connection.on_lost = self._on_answer, self._on_lost
            self._connection = connection
        except CacheFailed as error:
            problem = str(error)
        finally:
            self._connecting = None
        if not was_open:
            if problem is not None:
                self._fail(problem)
            return
        if problem is not None:
            self._failures += 1
            self._reason = problem
        if self._breaker.on_probe(problem is None, asyncio.get_running_loop().time()):
            self._on_change(None)
        else:
            self._schedule_probe()

    def _on_lost(self) -> None:
        self._give_up("the server has closed the connection")

    def _schedule_probe(self) -> None:
        if self._breaker.next_probe is not None and not self._closed:
            self._probe = asyncio.get_running_loop().call_at(self._breaker.next_probe, self.connect_soon)

    async def flush(self) -> None:
        """Wait until everything that was sent is answered or given up, which takes no longer than one answer may."""
        self._end_turn()
        await self._idle.wait()

    async def close(self) -> None:
        """`flush`, and close the connection."""
        await self.flush()
        self._closed = True
        if self._probe is not None:
            self._probe.cancel()
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._connection is not None:
            self._connection.close()
            self._connection = None
