"""`CacheTier`: Redis as a tier that nothing depends on. Hot: benchmarks/bench_cache.py."""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.backends.redis.address import CacheAddress
from gossamer.backends.redis.connection import (
    CacheFailed,
    Command,
    Connection,
    Connector,
    Pipeline,
    Replies,
    fault_of,
    pack,
)
from gossamer.cluster.tiers import TierBreaker, TierPolicy
from gossamer.model.cache_fault import CacheFault

OPERATION_SECONDS: Final = 0.05
POLICY: Final = TierPolicy()
KEPT_SECONDS: Final = 7 * 86_400
"""Lifetime of an unused entry: those of a finished crawl expire."""

PIPELINE_BYTES: Final = 256_000
"""A pipeline is not larger, unless it is one request. What is in flight at a time is not more."""
WAITING_BYTES: Final = 32_000_000
"""That wait to be sent. More is given up."""

MARKER_SECONDS: Final = 1.0
"""Between two looks at whether the server still has what was written, while it is used."""

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
    failures: Mapping[CacheFault, int]  # operations that failed, and connections that could not be opened
    times_opened: int
    pipelines: int  # answered in time
    emptied: int  # how often the server had lost everything
    fault: CacheFault | None  # of the last failure
    reason: str | None  # the same in words


class CacheTier:
    """Sends commands to Redis, and does without it while it fails. Owned by the event loop.

    All commands of one turn of the loop go in one pipeline, many of them in several, one after the other. A pipeline
    has to be answered within `timeout`, and no answer is waited for longer. No method raises because of the server:
    whatever happens to it, the answer is None, which means that nothing is known. After
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
        on_change: Callable[[CacheFault | None, str], None] = lambda fault, reason: None,
        on_emptied: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_change` gets the fault and the reason when the tier is opened, and None when it is closed again;
        `on_emptied` is called when the server has lost everything, or is another one."""
        self._connector = Connector(address)
        self.scope = scope
        self._timeout = timeout
        self._chance = chance
        self._breaker = TierBreaker(POLICY, chance)
        self._on_change = on_change
        self._on_emptied = on_emptied
        self._marker: bytes | None = None  # what the server has under the name of the marker
        self._next_marker = 0.0
        self._connection: Connection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._waiting: deque[Pipeline] = deque()  # to be sent
        self._waiting_bytes = self._bytes_in_flight = 0
        self._open_turn: Pipeline | None = None  # the last of them, to which commands of this turn are added
        self._deadline: asyncio.TimerHandle | None = None
        self._probe: asyncio.TimerHandle | None = None
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self._failures: Counter[CacheFault] = Counter()
        self._times_opened = self._pipelines = self._emptied = 0
        self._fault: CacheFault | None = None
        self._reason: str | None = None

    @property
    def is_usable(self) -> bool:
        """Whether a command would be sent now. If not for want of a connection, one is opened."""
        if self._connection is None and not self._breaker.is_open:
            self.connect_soon()
        return self._connection is not None and not self._breaker.is_open

    def statistics(self) -> TierStatistics:
        counts = (dict(self._failures), self._times_opened, self._pipelines, self._emptied)
        return TierStatistics(self._breaker.is_open, *counts, self._fault, self._reason)

    # --- commands --------------------------------------------------------------------------------

    def send(self, commands: Sequence[Command], done: Callable[[Replies | None], None]) -> None:
        """Send commands with the others of this turn. `done` is called with their replies; or with None, if one of them
        failed or was not answered in time, at once if none was sent."""
        if not self.is_usable:
            done(None)
            return
        self._add(commands, done)

    async def ask(self, command: Command) -> object | None:
        """The reply to one command; None if there is none."""
        if not self.is_usable:
            return None
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[object | None] = loop.create_future()

        def on_done(replies: Replies | None) -> None:
            if not answer.done():
                answer.set_result(None if replies is None else replies[0])

        def on_late() -> None:
            if pipeline is not None and pipeline.deadline is None:  # others have not been answered yet
                on_done(None)

        pipeline = self._add((command,), on_done)
        late = loop.call_later(self._timeout, on_late)
        try:
            return await answer
        finally:
            late.cancel()

    def _add(self, commands: Sequence[Command], done: Callable[[Replies | None], None]) -> Pipeline | None:
        """Add a request to the pipeline of this turn, or to another one if that is full. Now and then the first request
        of a turn is to look at the marker."""
        if self._open_turn is None:
            now = asyncio.get_running_loop().time()
            if now >= self._next_marker:
                self._next_marker = now + MARKER_SECONDS
                self._add_to_turn(self._marker_commands(), self._on_marker)
        return self._add_to_turn(commands, done)

    def _add_to_turn(self, commands: Sequence[Command], done: Callable[[Replies | None], None]) -> Pipeline | None:
        packed = pack(commands)
        size = sum(map(len, packed))
        if self._waiting_bytes and self._waiting_bytes + size > WAITING_BYTES:
            done(None)
            return None
        turn = self._open_turn
        if turn is None:
            asyncio.get_running_loop().call_soon(self._end_turn)
        if turn is None or turn.size + size > PIPELINE_BYTES:
            turn = self._open_turn = Pipeline()
            self._waiting.append(turn)
            self._idle.clear()
        turn.add(packed, size, done)
        self._waiting_bytes += size
        return turn

    def _end_turn(self) -> None:
        """Send what waits, as far as there is room."""
        self._open_turn = None
        connection, waiting = self._connection, self._waiting
        while connection is not None and waiting:
            size = waiting[0].size
            if self._bytes_in_flight and self._bytes_in_flight + size > PIPELINE_BYTES:
                return
            pipeline = waiting.popleft()
            pipeline.deadline = asyncio.get_running_loop().time() + self._timeout
            self._waiting_bytes -= size
            self._bytes_in_flight += size
            connection.send(pipeline)
            if self._deadline is None:
                self._set_deadline(pipeline.deadline)

    def _on_answer(self, pipeline: Pipeline) -> None:
        self._pipelines += 1
        self._bytes_in_flight -= pipeline.size
        error = pipeline.finish()
        if error is not None:
            self._give_up(fault_of(error), error)
            return
        self._breaker.on_success()
        if self._waiting:
            self._end_turn()
        self._rest()

    def _rest(self) -> None:
        """Wait for no answer, if nothing is in flight."""
        if self._connection is not None and self._connection.in_flight:
            return
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if not self._waiting:
            self._idle.set()

    def _drop_waiting(self) -> None:
        """Nothing is known for those that wait to be sent, unless there is a connection."""
        if self._connection is not None and not self._breaker.is_open:
            return
        waiting, self._waiting, self._waiting_bytes, self._open_turn = self._waiting, deque(), 0, None
        for pipeline in waiting:
            pipeline.fail()
        self._rest()

    def _set_deadline(self, at: float) -> None:
        self._deadline = asyncio.get_running_loop().call_at(at, self._on_deadline, at)

    def _on_deadline(self, at: float) -> None:
        self._deadline = None
        connection = self._connection
        if connection is None or not connection.in_flight:
            return
        now, oldest = asyncio.get_running_loop().time(), connection.in_flight[0].deadline
        assert oldest is not None
        if now < oldest:
            self._set_deadline(oldest)
        elif now - at > _BUSY_SECONDS:  # the loop was busy itself: the answer may be there, unread
            self._set_deadline(now + _BUSY_SECONDS / 2)
        else:
            self._give_up(CacheFault.SLOW, "no answer in time")

    def _give_up(self, fault: CacheFault, reason: str) -> None:
        """A connection is of no use any more. What waits is sent on another one, if there soon is one."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.close()
        self._bytes_in_flight = 0
        self._fail(fault, reason)
        for pipeline in connection.in_flight:
            pipeline.fail()
        if self._breaker.is_open:
            self._drop_waiting()
        elif self._waiting:
            self.connect_soon()
            asyncio.get_running_loop().call_later(self._timeout, self._drop_waiting)
        self._rest()

    # --- failures and recovery -----------------------------------------------------------------------

    def _note(self, fault: CacheFault, reason: str) -> None:
        self._failures[fault] += 1
        self._fault, self._reason = fault, reason

    def _fail(self, fault: CacheFault, reason: str) -> None:
        self._note(fault, reason)
        if self._breaker.on_failure(asyncio.get_running_loop().time()):
            self._times_opened += 1
            self._on_change(fault, reason)
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
        problem: CacheFailed | None = None
        try:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            probe = ("SET", self.scope.prefix + b"probe", "", "EX", _PROBE_KEPT)
            connection, replies = await self._connector.connect([probe, *self._marker_commands()])
            connection.on_answer, connection.on_lost = self._on_answer, self._on_lost
            self._connection = connection
            self._on_marker(replies[1:])
        except CacheFailed as error:
            problem = error
        except Exception as error:  # whatever it is, the next probe has to be scheduled
            problem = CacheFailed(CacheFault.OTHER, f"cannot connect: {error!r}")
        finally:
            self._connecting = None
        if problem is not None:
            self._drop_waiting()
        if not was_open:
            if problem is not None:
                self._fail(problem.fault, str(problem))
            else:
                self._end_turn()
            return
        if problem is not None:
            self._note(problem.fault, str(problem))
        if self._breaker.on_probe(problem is None, asyncio.get_running_loop().time()):
            self._on_change(None, "")
        else:
            self._schedule_probe()

    def _marker_commands(self) -> list[Command]:
        """The marker is a random value that the first one writes. Another value, or none, means that the server has
        lost everything since, or is another one."""
        key, value = f"gossamer:{self.scope.crawl_id}:marker", self._chance.getrandbits(64)
        return [("SET", key, value, "NX", "EX", KEPT_SECONDS), ("GET", key), ("EXPIRE", key, KEPT_SECONDS)]

    def _on_marker(self, replies: Replies | None) -> None:
        found = None if replies is None else replies[1]
        if not isinstance(found, bytes):
            return
        before, self._marker = self._marker, found
        if before is not None and before != found:
            self._emptied += 1
            self._on_emptied()

    def _on_lost(self) -> None:
        self._give_up(CacheFault.AWAY, "the server has closed the connection")

    def _schedule_probe(self) -> None:
        if self._breaker.next_probe is not None and not self._closed:
            self._probe = asyncio.get_running_loop().call_at(self._breaker.next_probe, self.connect_soon)

    async def flush(self) -> None:
        """Wait until everything that was sent is answered or given up."""
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
