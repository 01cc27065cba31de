"""One connection to Redis: commands go out in pipelines, and their replies come back in the same order.

Hot: benchmarks/bench_cache.py. A protocol of asyncio on hiredis, without tasks and streams, since every page costs some
commands (ADR 29).
"""

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, cast

import hiredis

from gossamer.backends.redis.address import PASSWORD, PASSWORD_FILE, CacheAddress, Server
from gossamer.errors import GossamerError
from gossamer.model.cache_fault import CacheFault

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

    def __init__(self, fault: CacheFault, message: str) -> None:
        super().__init__(message)
        self.fault = fault


_FAULTS: Final = {
    "OOM": CacheFault.OUT_OF_MEMORY,
    "READONLY": CacheFault.READ_ONLY,
    "NOREPLICAS": CacheFault.READ_ONLY,
    "MISCONF": CacheFault.READ_ONLY,
    "LOADING": CacheFault.AWAY,
    "MASTERDOWN": CacheFault.AWAY,
    "BUSY": CacheFault.SLOW,
    "NOPERM": CacheFault.PASSWORD,
    **dict.fromkeys(PASSWORD_ERRORS, CacheFault.PASSWORD),
}


def fault_of(error: str) -> CacheFault:
    """What an error means that a server has replied."""
    return _FAULTS.get(error.partition(" ")[0], CacheFault.OTHER)


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


class Connector:
    """Opens connections to the server that is in use, one after the other."""

    def __init__(self, address: CacheAddress) -> None:
        self._address = address
        self._names = _Names()
        self._tls: ssl.SSLContext | None = None  # created once: that takes milliseconds

    async def connect(self, probe: Sequence[Command]) -> tuple[Connection, Replies]:
        """A connection to the primary that a Sentinel names, or to the first server that answers, and what it has
        replied to the commands of `probe`; none of that is an error. Raises CacheFailed with what the last server
        said."""
        address, problem = self._address, CacheFailed(CacheFault.AWAY, "no server is named")
        for server in address.servers:
            try:
                if address.primary is not None:
                    server = await self._ask_sentinel(server, address.primary)
                return await self._open(server, _handshake(address, server), probe)
            except CacheFailed as error:
                problem = error
            except (ValueError, OverflowError):  # a host name that is none, or a port
                problem = CacheFailed(CacheFault.AWAY, f"{server}: not an address")
        raise problem

    async def _ask_sentinel(self, sentinel: Server, name: str) -> Server:
        connection, (reply,) = await self._open(sentinel, [], [("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)])
        connection.close()
        if not isinstance(reply, list) or len(reply) != 2:
            raise CacheFailed(CacheFault.AWAY, f"Sentinel {sentinel} knows no primary {name!r}")
        host, port = (bytes(word).decode() for word in reply)
        return Server(host, int(port))

    async def _open(self, server: Server, login: list[Command], probe: Sequence[Command]) -> tuple[Connection, Replies]:
        connection: Connection | None = None
        commands = [*login, *probe]
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await self._connect_to(server)
                replies = await _answers_on(connection, commands)
        except TimeoutError:
            _close(connection)
            raise CacheFailed(CacheFault.AWAY, f"{server} does not answer") from None
        except OSError as error:
            _close(connection)
            problem = error.strerror or type(error).__name__
            raise CacheFailed(CacheFault.AWAY, f"{server}: {problem}") from None
        except BaseException:
            _close(connection)
            raise
        if replies is None:
            raise CacheFailed(CacheFault.AWAY, f"{server} has closed the connection")
        for command, reply in zip(commands, replies, strict=True):
            if isinstance(reply, hiredis.ReplyError):
                connection.close()
                is_login = command[0] == "AUTH"
                fault = CacheFault.PASSWORD if is_login else fault_of(str(reply))
                raise CacheFailed(fault, f"{server}: {_problem(str(reply), is_login=is_login)}")
        return connection, replies[len(login) :]

    async def _connect_to(self, server: Server) -> Connection:
        """Raises OSError."""
        if server.tls and self._tls is None:
            self._tls = ssl.create_default_context()
        loop = asyncio.get_running_loop()
        failure = OSError(f"no address for {server.host}")
        for host in await self._names.look_up(server.host):
            try:
                _, connection = await loop.create_connection(
                    Connection,
                    host,
                    server.port,
                    ssl=self._tls if server.tls else None,
                    server_hostname=server.host if server.tls else None,
                )
                return connection
            except OSError as error:
                failure = error
        raise failure


class _Names:
    """Looks up host names with the resolver of the system. That may hang, so each name has at most one look-up under
    way, in a thread of its own: those of the event loop are for others."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Future[list[str]]] = {}

    async def look_up(self, host: str) -> list[str]:
        """Its addresses. Raises OSError."""
        with suppress(ValueError):
            ipaddress.ip_address(host)
            return [host]
        answer = self._under_way.get(host)
        if answer is None:
            answer = self._under_way[host] = asyncio.get_running_loop().create_future()
            answer.add_done_callback(lambda answer: self._forget(host, answer))
            threading.Thread(
                target=_look_up, args=(host, asyncio.get_running_loop(), answer), name="cache look-up", daemon=True
            ).start()
        return await asyncio.shield(answer)

    def _forget(self, host: str, answer: asyncio.Future[list[str]]) -> None:
        self._under_way.pop(host, None)
        answer.exception()  # it may no longer be awaited


def _look_up(host: str, loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[list[str]]") -> None:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        finish = partial(answer.set_result, [str(address[0]) for *_, address in found])
    except (OSError, UnicodeError) as error:
        finish = partial(answer.set_exception, error)
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(finish)


def _handshake(address: CacheAddress, server: Server) -> list[Command]:
    commands: list[Command] = [("AUTH", *address.login)] if address.login else []
    if server.database:
        commands.append(("SELECT", server.database))
    return commands


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
