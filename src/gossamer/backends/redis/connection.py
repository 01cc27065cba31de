"""One connection to Redis: commands go out in pipelines, and their replies come back in the same order.

Hot: benchmarks/bench_cache.py. A protocol of asyncio on hiredis, without tasks and streams, since every page costs some
commands (ADR 29).
"""

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, cast

import hiredis

from gossamer.backends.redis.address import PASSWORD, PASSWORD_FILE, CacheAddress, Server
from gossamer.errors import GossamerError

CONNECT_SECONDS: Final = 1.0
"""For opening a connection to one server. Nothing waits for it."""

PASSWORD_ERRORS: Final = ("NOAUTH", "WRONGPASS")
STATE_ERRORS: Final = ("READONLY", "OOM", "LOADING", "MISCONF", "BUSY", "NOREPLICAS", "MASTERDOWN")
"""First words of errors of a server that is of no use at the moment. They repeat nothing of what it was sent."""

Word = str | bytes | int | float
Command = tuple[Word, ...]
Replies = list[object]


class CacheFailed(GossamerError):
    """The cache cannot be used at the moment. The message has no secrets. Does not leave this package."""


def pack(commands: Sequence[Command]) -> list[bytes]:
    """Commands as they are sent."""
    pack_one: Callable[[Command], bytes] = hiredis.pack_command  # type: ignore[assignment]
    return [pack_one(command) for command in commands]


class Pipeline:
    """Commands that are sent together, and their replies. `done` is called once: with the replies, or with None."""

    __slots__ = ("data", "deadline", "done", "expected", "replies", "size")

    def __init__(self) -> None:
        self.deadline: float | None = None  # set when it is sent
        self.data: list[bytes] = []
        self.size = 0  # bytes
        self.expected = 0
        self.replies: Replies = []
        self.done: list[tuple[int, int, Callable[[Replies | None], None]]] = []  # from, to, for whom

    def add(self, packed: Sequence[bytes], size: int, done: Callable[[Replies | None], None]) -> None:
        """Add the commands of one request, which have this size in bytes."""
        self.data += packed
        self.size += size
        self.done.append((self.expected, self.expected + len(packed), done))
        self.expected += len(packed)

    def finish(self) -> str | None:
        """Deliver the replies; a request with an error among them gets None. Returns the first error."""
        error: str | None = None
        replies = self.replies
        for reply in replies:
            if isinstance(reply, hiredis.ReplyError):
                error = str(reply)
                break
        for start, end, done in self.done:
            own = replies[start:end]
            done(own if error is None or not any(isinstance(r, hiredis.ReplyError) for r in own) else None)
        return error

    def fail(self) -> None:
        for _, _, done in self.done:
            done(None)


class Connection(asyncio.Protocol):
    """An open connection. `on_answer` gets each answered pipeline; `on_lost` is called once if the server closes the
    connection or sends what cannot be understood, and not after `close`."""

    def __init__(self) -> None:
        self.on_answer: Callable[[Pipeline], None] = lambda pipeline: None
        self.on_lost: Callable[[], None] = lambda: None
        self.in_flight: deque[Pipeline] = deque()
        self._nothing = object()
        self._reader = hiredis.Reader(notEnoughData=self._nothing)
        self._transport: asyncio.Transport | None = None

    def send(self, pipeline: Pipeline) -> None:
        assert self._transport is not None
        self.in_flight.append(pipeline)
        self._transport.write(b"".join(pipeline.data))

    def close(self) -> None:
        """Close it at once. What is in flight is left to the caller."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()

    def _is_closed(self) -> bool:
        return self._transport is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._is_closed():
            return
        reader, in_flight, nothing = self._reader, self.in_flight, self._nothing
        reader.feed(data)
        try:
            while (reply := reader.gets()) is not nothing:
                if not in_flight:
                    raise hiredis.ProtocolError("a reply without a request")
                pipeline = in_flight[0]
                pipeline.replies.append(reply)
                if len(pipeline.replies) == pipeline.expected:
                    in_flight.popleft()
                    self.on_answer(pipeline)
                    if self._is_closed():  # by whom it was handed to
                        return
        except hiredis.ProtocolError:
            self._lose()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_closed():
            self._lose()

    def _lose(self) -> None:
        self.close()
        self.on_lost()


async def connect(address: CacheAddress, probe: Sequence[Command]) -> tuple[Connection, Server]:
    """A connection to the server that is in use: the primary that a Sentinel names, or the first that answers. It has
    accepted the commands of `probe`. Raises CacheFailed with what the last server said."""
    problem = "no server is named"
    for server in address.servers:
        try:
            if address.primary is not None:
                server = await _ask_sentinel(server, address.primary)
            return await _open(server, _handshake(address, server, probe)), server
        except CacheFailed as error:
            problem = str(error)
        except ValueError:  # a host name that is none
            problem = f"{server}: not an address"
    raise CacheFailed(problem)


def _handshake(address: CacheAddress, server: Server, probe: Sequence[Command]) -> list[Command]:
    commands: list[Command] = [("AUTH", *address.login)] if address.login else []
    if server.database:
        commands.append(("SELECT", server.database))
    return [*commands, *probe]


async def _ask_sentinel(sentinel: Server, name: str) -> Server:
    asked: Replies = []
    connection = await _open(sentinel, [("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)], asked)
    connection.close()
    if not isinstance(asked[0], list) or len(asked[0]) != 2:
        raise CacheFailed(f"Sentinel {sentinel} knows no primary {name!r}")
    host, port = (bytes(word).decode() for word in asked[0])
    return Server(host, int(port))


async def _open(server: Server, commands: list[Command], answers: Replies | None = None) -> Connection:
    """A connection on which these commands have been answered. Raises CacheFailed."""
    connection: Connection | None = None
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            loop = asyncio.get_running_loop()
            tls = ssl.create_default_context() if server.tls else None
            _, connection = await loop.create_connection(Connection, server.host, server.port, ssl=tls)
            replies = await _answers_on(connection, commands)
    except TimeoutError:
        _close(connection)
        raise CacheFailed(f"{server} does not answer") from None
    except OSError as error:
        _close(connection)
        raise CacheFailed(f"{server}: {error.strerror or type(error).__name__}") from None
    except BaseException:
        _close(connection)
        raise
    if replies is None:
        raise CacheFailed(f"{server} has closed the connection")
    for command, reply in zip(commands, replies, strict=True):
        if isinstance(reply, hiredis.ReplyError):
            connection.close()
            raise CacheFailed(f"{server}: {_problem(str(reply), is_login=command[0] == 'AUTH')}")
    if answers is not None:
        answers += replies
    return connection


def _problem(error: str, *, is_login: bool) -> str:
    """What a server has replied. To a login it may repeat the password, as servers without AUTH do."""
    word = error.partition(" ")[0]
    if word in PASSWORD_ERRORS:
        return f"{word}: wrong or no password; it comes from the URL, {PASSWORD} or {PASSWORD_FILE}"
    if not is_login or word in STATE_ERRORS:
        return error
    return f"the server does not accept a login; its password comes from the URL, {PASSWORD} or {PASSWORD_FILE}"


async def _answers_on(connection: Connection, commands: list[Command]) -> Replies | None:
    answered: asyncio.Future[Replies | None] = asyncio.get_running_loop().create_future()

    def on_end(replies: Replies | None) -> None:
        if not answered.done():
            answered.set_result(replies)

    pipeline = Pipeline()
    pipeline.add(pack(commands), 0, lambda replies: None)
    connection.on_answer = lambda pipeline: on_end(pipeline.replies)
    connection.on_lost = lambda: on_end(None)
    connection.send(pipeline)
    return await answered


def _close(connection: Connection | None) -> None:
    if connection is not None:
        connection.close()
