"""What a URL with the scheme `ftp` asks for. Pure.

One visit over FTP: a file, or a directory as a page (ADR 11).
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote_to_bytes

from gossamer.clock import Clock
from gossamer.fetch.ftp.listing import CONTENT_TYPE, index_page, read_listing
from gossamer.fetch.ftp.session import ControlSession, FtpFailure, Reply, extended_port, passive_port, status_of_refusal
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.deadlines import Progress, SweepState, exclude_pause, overdue
from gossamer.fetch.http.failures import OUR_OWN_ERRNO
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import Seconds

_AFTER_SCHEME: Final = len("ftp://")
_TYPE: Final = re.compile(r";type=([aid])\Z", re.IGNORECASE)
_UNSAFE: Final = re.compile(rb"[\x00-\x1f\x7f]").search
LONGEST_PATH: Final = 4096
"""Bytes. No server takes longer ones, and commands have one line."""


@dataclass(frozen=True, slots=True)
class FtpPath:
    """An absolute path as the server is to be given it. `directory`: the URL says that it is one."""

    path: bytes
    directory: bool


def as_directory(url: str) -> str:
    """The URL of the directory that turned out to stand at `url`."""
    return _TYPE.sub("", url) + "/"


def ftp_path(url: str) -> FtpPath | None:
    """The path of a canonical `ftp://` URL; None if no command can carry it.

    Paths begin at the server's root, not where the login lands: for anonymous users this is the same, and a URL then
    means the same on every visit. A path with a line break, NUL or another control character is refused: it would
    be more than one command. What follows a question mark belongs to the path: FTP knows no queries.
    """
    slash = url.find("/", _AFTER_SCHEME)
    text = url[slash:] if slash >= 0 else "/"
    kind = _TYPE.search(text)
    if kind is not None:
        text = text[: kind.start()]
    path = unquote_to_bytes(text)
    if _UNSAFE(path) or len(path) > LONGEST_PATH:
        return None
    listed = kind is not None and kind[1] in "dD"
    return FtpPath(path or b"/", directory=listed or path.endswith(b"/") or not path)


MAX_LISTING_BYTES: Final = 1024 * 1024
"""Of a listing; it is read on the event loop (some 60 ms for the slowest we could build)."""

_READ_BYTES: Final = 64 * 1024
_NOT_IMPLEMENTED: Final = frozenset((500, 501, 502, 504))
_PLAIN_LINE: Final = re.compile(r"[ -~]+").fullmatch
_LONGEST_DETAIL: Final = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a session came to, in the words of HTTP."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    location: str | None = None
    truncated: Truncation | None = None


@dataclass(slots=True, eq=False)
class _Received:
    """What a data connection gave so far. Shares room with the bodies of other visits."""

    room: BodyMemory
    deadline: asyncio.Timeout  # of the visit
    data: bytearray = field(default_factory=bytearray)
    truncated: Truncation | None = None
    _again: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for_room(self) -> bool:
        """Whether that took any time. It is none of the host's."""
        if self.room.used <= self.room.limit or not self.room.must_wait(self, len(self.data)):
            return False
        loop = asyncio.get_running_loop()
        due, since = self.deadline.when(), loop.time()
        self.deadline.reschedule(None)
        await self._again.wait()
        self._again.clear()
        self.deadline.reschedule(None if due is None else due + loop.time() - since)
        return True

    def go_on(self) -> None:
        self._again.set()

    def take(self, piece: bytes) -> None:
        self.data += piece
        self.room.used += len(piece)


class FtpFetcher:
    """A `Fetcher` for ftp. Anonymous, with our name for a password as is the custom, unless the host's options have
    basic credentials; these stand in no record.

    A connection serves one visit. `allow` is asked about the address before every dial. A host that is to be reached
    through a proxy is not visited: FTP here goes directly or not at all.
    """

    def __init__(
        self,
        user_agent: str,
        limits: FetchLimits,
        clock: Clock,
        *,
        allow: Callable[[str], bool],
        room: BodyMemory | None = None,
    ) -> None:
        if not _PLAIN_LINE(user_agent):
            raise ValueError(f"a user agent is printable ASCII on one line: {user_agent!r}")
        self._limits, self._clock, self._allow = limits, clock, allow
        self._name = user_agent.encode("ascii")
        self._room = room or BodyMemory()

    async def fetch(self, request: Request) -> FetchOutcome:
        """One visit; see `Fetcher.fetch`."""
        path = ftp_path(request.url)
        if path is None:
            return Failed(Failure.BAD_URL, "no FTP command can carry this path", Seconds(0.0), contacted=False)
        if request.options is not None and request.options.proxy is not None:
            return Failed(Failure.BLOCKED_ADDRESS, "FTP goes through no proxy", Seconds(0.0), contacted=False)
        if not _is_numeric(request.address) or not self._allow(request.address):
            return Failed(Failure.BLOCKED_ADDRESS, f"may not dial {request.address}", Seconds(0.0), contacted=False)
        started, begun = self._clock.now(), self._clock.monotonic()
        deadline = asyncio.timeout(self._limits.total)
        received = _Received(self._room, deadline)
        session: ControlSession | None = None
        try:
            async with deadline:
                session = await self._connect(request)
                answer = await self._converse(session, request, path, received)
            session.quit()
        except TimeoutError:
            if session is None or not received.data or path.directory:
                return self._failed(Failure.TOTAL_TIMEOUT, "deadline passed", begun)
            # What arrived in all that time is worth keeping; asking again would end the same way.
            answer = _Answer(200, bytes(received.data), truncated=Truncation.TIME)
        except FtpFailure as trouble:
            return self._failed(trouble.failure, trouble.detail, begun)
        except _OurOwnFault as fault:
            return replace(self._failed(Failure.CONN_REFUSED, str(fault), begun), contacted=False)
        finally:
            self._room.release(received, len(received.data))
            if session is not None:
                session.abort()  # does nothing after `leave`
        headers = {"content-type": answer.content_type, "location": answer.location}
        return Response(
            url=request.url,
            status=answer.status,
            request_head=session.sent,
            head=session.received,
            wire_body=answer.body,
            headers={name: value for name, value in headers.items() if value is not None},
            address=request.address,
            started=started,
            took=Seconds(self._clock.monotonic() - begun),
            truncated=answer.truncated,
        )

    async def close(self) -> None:
        """Nothing is kept between visits."""

    async def _connect(self, request: Request) -> ControlSession:
        # One line that does not end may fill twice the limit before the reader stops the peer.
        reader, writer = await self._dial(request.address, request.port, self._limits.header_bytes)
        return ControlSession(reader, writer, self._limits)

    async def _dial(self, address: str, port: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if not self._allow(address):
            raise FtpFailure(Failure.BLOCKED_ADDRESS, f"may not dial {address}")
        try:
            async with asyncio.timeout(self._limits.connect):
                return await asyncio.open_connection(address, port, limit=limit)
        except TimeoutError:
            raise FtpFailure(Failure.CONNECT_TIMEOUT, f"no connection to port {port}") from None
        except ConnectionResetError as error:
            raise FtpFailure(Failure.CONNECTION_LOST, _words(error)) from None
        except OSError as error:
            if error.errno in OUR_OWN_ERRNO:
                raise _OurOwnFault(_words(error)) from None
            raise FtpFailure(Failure.CONN_REFUSED, _words(error)) from None

    async def _converse(self, session: ControlSession, request: Request, path: FtpPath, received: _Received) -> _Answer:
        greeting = await session.reply()
        if not greeting.good:
            return _Answer(503)  # too many users, going down, "ready in ten minutes": whatever the code, not now
        reply = await self._log_in(session, request)
        if not reply.good:
            return _Answer(status_of_refusal(reply))
        await session.command(b"TYPE", b"I")  # a server that knows no types sends the bytes as they are
        if path.directory:
            return await self._directory(session, request, path, received)
        refused = await self._transfer(session, request, b"RETR", path.path, received, self._limits.body_bytes)
        if refused is None:
            return _Answer(200, bytes(received.data), truncated=received.truncated)
        if refused.code >= 500 and (await session.command(b"CWD", path.path)).good:
            # A directory after all: its links are relative to the URL with the slash.
            return _Answer(301, location=as_directory(request.url))
        return _Answer(status_of_refusal(refused))

    async def _log_in(self, session: ControlSession, request: Request) -> Reply:
        ours = request.options.basic if request.options is not None else None
        if ours is not None and not all(map(_PLAIN_LINE, ours)):
            raise FtpFailure(Failure.PROTOCOL_ERROR, "credentials that no FTP command can carry")
        user, password = (b"anonymous", self._name) if ours is None else (part.encode("ascii") for part in ours)
        reply = await session.command(b"USER", user)
        if reply.code == 331:
            reply = await session.command(b"PASS", password, secret=ours is not None)
        return reply

    async def _directory(
        self, session: ControlSession, request: Request, path: FtpPath, received: _Received
    ) -> _Answer:
        # Into the directory first: LIST would take a name that begins with a dash for an option.
        entered = await session.command(b"CWD", path.path)
        if not entered.good:
            return _Answer(status_of_refusal(entered))
        cap = min(self._limits.body_bytes, MAX_LISTING_BYTES)
        facts = True
        refused = await self._transfer(session, request, b"MLSD", b"", received, cap)
        if refused is not None and refused.code in _NOT_IMPLEMENTED:
            facts = False
            refused = await self._transfer(session, request, b"LIST", b"", received, cap)
        if refused is not None:
            return _Answer(status_of_refusal(refused))
        data = bytes(received.data)
        if received.truncated is not None:
            data = data[: data.rfind(b"\n") + 1]  # the last line is half a name
        listing = read_listing(data, facts=facts)
        truncated = received.truncated or (Truncation.LENGTH if listing.cut else None)
        return _Answer(200, index_page(path.path, listing), CONTENT_TYPE, truncated=truncated)

    async def _transfer(
        self, session: ControlSession, request: Request, verb: bytes, argument: bytes, received: _Received, cap: int
    ) -> Reply | None:
        """Fill `received` with what the command sends, at most `cap` bytes; or give the reply that refuses it."""
        port = await self._data_port(session, request)
        if isinstance(port, Reply):
            return port
        reader, writer = await self._dial(request.address, port, _READ_BYTES)
        try:
            reply = await session.command(verb, argument)
            if not reply.preliminary and not reply.good:
                return reply
            await self._receive(reader, received, cap)
        finally:
            writer.transport.abort()
        if received.truncated is not None or not reply.preliminary:
            return None
        try:
            last = await session.reply()
        except FtpFailure:
            received.truncated = Truncation.DISCONNECT  # nobody says that this was all
            return None
        if last.good:
            return None
        if not received.data:
            return last
        received.truncated = Truncation.DISCONNECT
        return None

    async def _data_port(self, session: ControlSession, request: Request) -> int | Reply:
        """The port to dial for a transfer, or the reply by which there is none."""
        reply = await session.command(b"EPSV")
        port = extended_port(reply) if reply.good else None
        if port is None and ":" not in request.address:
            reply = await session.command(b"PASV")
            port = passive_port(reply) if reply.good else None
        if port is not None:
            return port
        if reply.good:
            raise FtpFailure(Failure.PROTOCOL_ERROR, f"no port in: {reply.shown}")
        return reply

    async def _receive(self, reader: asyncio.StreamReader, received: _Received, cap: int) -> None:
        pace = SweepState(self._clock.monotonic())
        data = received.data
        while True:
            try:
                async with asyncio.timeout(self._limits.idle):
                    piece = await reader.read(_READ_BYTES)
            except TimeoutError:
                raise FtpFailure(Failure.READ_TIMEOUT, "the data connection fell silent") from None
            except OSError:
                received.truncated = Truncation.DISCONNECT
                return
            if not piece:
                return
            if await received.wait_for_room():
                exclude_pause(pace, len(data), self._clock.monotonic())
            if len(data) + len(piece) > cap:
                received.take(piece[: cap - len(data)])
                received.truncated = Truncation.LENGTH
                return
            received.take(piece)
            progress = Progress(False, True, Seconds(0.0), head_complete=True, body_bytes=len(data))
            late = overdue(self._limits, pace, progress, self._clock.monotonic())
            if late is not None and late is not Failure.TOTAL_TIMEOUT:  # the whole visit has its own deadline
                raise FtpFailure(late, "too few bytes in too long a time")

    def _failed(self, failure: Failure, detail: str, begun: float) -> Failed:
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(failure, detail[:_LONGEST_DETAIL], took, contacted=failure is not Failure.BLOCKED_ADDRESS)


class _OurOwnFault(Exception):
    """The machine refused us a socket: the host never saw anything."""


def _words(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _is_numeric(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True
