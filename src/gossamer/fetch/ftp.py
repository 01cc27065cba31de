"""FTP (RFC 959, 2428, 3659): files and directory listings, passive mode only (ADR 11). Disabled by default.

`FtpFetcher` implements `fetch.ports.Fetcher`: one visit is one session, from the greeting to QUIT. `ftp_session` is the
control connection, with limits, and the meaning of replies. `read_listing` parses directory listings, and `index_page`
makes an HTML page of them, so that the links of a directory are found like those of any page.

The result looks like an HTTP response, so that retries, robots.txt and the frontier need not know about FTP: a file or
a listing is 200, a directory requested without its final slash is a 301 to the URL with it, a missing file is 404, a
refused login 403, a temporary refusal 503. `head` and `request_head` of the response are the control connection, byte
for byte.

Formats of listings: MLSD (RFC 3659) and the two common forms of LIST; other lines are skipped. Work is linear in the
size: a line is split into a bounded number of parts. The same entries give the same bytes, so that an unchanged
directory is recognised as unchanged.

Invariants:
  * only the address of the request is ever dialled, for control and data; addresses in replies are ignored;
  * the server never connects to us (no PORT, no EPRT);
  * every wait has a deadline, every reply, file and listing a size limit;
  * no byte of a URL can end a command and begin another.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from gossamer.clock import Clock
from gossamer.fetch.ftp_session import ControlSession, FtpFailure, Reply, extended_port, passive_port, status_of_refusal
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.failures import OUR_OWN_ERRNO, Progress, SweepState, exclude_pause, overdue
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import Seconds

MAX_ENTRIES: Final = 5_000
"""The same as the limit of links per page."""

MAX_LINES: Final = 10_000
MAX_NAME_BYTES: Final = 255  # the limit of file systems
MAX_LINE_BYTES: Final = 4096

_MONTHS: Final = frozenset(b"jan feb mar apr may jun jul aug sep oct nov dec".split())
_KINDS: Final = b"-dlbcps"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or directory. `name` as the server spells it; `size` and `modified` as text, if given."""

    name: bytes
    directory: bool
    size: str = ""
    modified: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries by name, without repetitions. `cut`: some were dropped because of the limits."""

    entries: tuple[Entry, ...]
    cut: bool


def read_listing(data: bytes, *, facts: bool) -> Listing:
    """The entries of a listing. `facts`: it is the reply to MLSD, else to LIST.

    The directory itself and its parent are left out, as are names that cannot be part of a path.
    """
    read = _with_facts if facts else _as_listed
    lines = data.split(b"\n", MAX_LINES)
    cut = any(lines[MAX_LINES:])  # the part after the last line end is empty if all lines were read
    found: dict[bytes, Entry] = {}
    for line in lines[:MAX_LINES]:
        if len(line) > MAX_LINE_BYTES:
            continue
        entry = read(line.rstrip(b"\r"))
        if entry is None or not _is_name(entry.name):
            continue
        if len(found) >= MAX_ENTRIES:
            cut = True
            break
        found.setdefault(entry.name, entry)
    return Listing(tuple(found[name] for name in sorted(found)), cut)


def _is_name(name: bytes) -> bool:
    if not name or name in (b".", b"..") or len(name) > MAX_NAME_BYTES:
        return False
    return b"/" not in name and min(name) >= 0x20 and 0x7F not in name


def _with_facts(line: bytes) -> Entry | None:
    """`type=file;size=12;modify=20200131235959; name`"""
    text, space, name = line.partition(b" ")
    if not space or b"=" not in text:
        return None
    facts = dict(fact.lower().split(b"=", 1) for fact in text.split(b";", 32) if b"=" in fact)
    kind = facts.get(b"type", b"")
    if kind in (b"cdir", b"pdir"):
        return None
    return Entry(name, kind == b"dir", _number(facts.get(b"size", b"")), _number(facts.get(b"modify", b"")[:14]))


def _as_listed(line: bytes) -> Entry | None:
    return _unix(line) if line[:1] in _KINDS and line[:1] else _dos(line)


def _unix(line: bytes) -> Entry | None:
    """`drwxr-xr-x 2 owner group 4096 Jan 31 12:00 name`. Owner, group may be missing, the date `2020-01-31 12:00`."""
    kind = line[:1]
    for columns_before_size in (4, 3, 2):
        parts = line.split(None, columns_before_size + 4)
        if len(parts) > columns_before_size + 4 and parts[columns_before_size + 1].lower() in _MONTHS:
            date, name = parts[columns_before_size + 1 : -1], parts[-1]
            break
        parts = line.split(None, columns_before_size + 3)
        if len(parts) > columns_before_size + 3 and parts[columns_before_size + 1][4:5] == b"-":
            date, name = parts[columns_before_size + 1 : -1], parts[-1]
            break
    else:
        return None
    if kind == b"l":
        name = name.partition(b" -> ")[0]  # a link may lead to either; a request for it as a file will tell
    return Entry(name, kind == b"d", _number(parts[columns_before_size]), _text(b" ".join(date)))


def _dos(line: bytes) -> Entry | None:
    """`01-31-20  12:00PM  <DIR>  name`, or a size in place of the mark."""
    parts = line.split(None, 3)
    if len(parts) < 4 or parts[0].count(b"-") != 2 or b":" not in parts[1]:
        return None
    directory = parts[2].upper() == b"<DIR>"
    if not directory and not parts[2].isdigit():
        return None
    return Entry(parts[3], directory, "" if directory else _number(parts[2]), _text(b" ".join(parts[:2])))


def _number(text: bytes) -> str:
    return text.decode("ascii") if text.isdigit() and len(text) <= 20 else ""


def _text(text: bytes) -> str:
    return text[:40].decode("ascii", "replace")


CONTENT_TYPE = "text/html; charset=utf-8"


def index_page(path: bytes, listing: Listing) -> bytes:
    """An HTML page with one link per entry, relative to the directory's own URL, which ends with a slash."""
    title = f"Index of {_shown(path)}"
    lines = [f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n<body><ul>\n']
    for entry in listing.entries:
        slash = "/" if entry.directory else ""
        # Every byte is escaped, colons too: a name must not become a scheme, a query or another directory.
        href = quote_from_bytes(entry.name, safe="") + slash
        about = " ".join(filter(None, (entry.size, entry.modified)))
        lines.append(f'<li><a href="{href}">{_shown(entry.name)}{slash}</a> {escape(about)}\n')
    lines.append("</ul></body></html>\n")
    return "".join(lines).encode()


def _shown(name: bytes) -> str:
    return escape(name.decode("utf-8", "replace"))


_AFTER_SCHEME: Final = len("ftp://")
_TYPE: Final = re.compile(r";type=([aid])\Z", re.IGNORECASE)
_UNSAFE: Final = re.compile(rb"[\x00-\x1f\x7f]").search
LONGEST_PATH: Final = 4096
"""In bytes. No server accepts longer paths."""


@dataclass(frozen=True, slots=True)
class FtpPath:
    """An absolute path as it is sent to the server. `directory`: the URL ends with a slash."""

    path: bytes
    directory: bool


def as_directory(url: str) -> str:
    """The URL of the directory at `url`."""
    return _TYPE.sub("", url) + "/"


def ftp_path(url: str) -> FtpPath | None:
    """The path of a canonical `ftp://` URL; None if no command can carry it.

    Paths begin at the server's root, not at the directory after login: for anonymous users this is the same, and a URL
    then means the same on every visit. A path with a line break, NUL or another control character is refused, as it
    would be more than one command. A question mark belongs to the path: FTP has no queries.
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
"""Size limit of a listing, which is parsed on the event loop (about 60 ms for the slowest we could construct)."""

_READ_BYTES: Final = 64 * 1024
_NOT_IMPLEMENTED: Final = frozenset((500, 501, 502, 504))
_PLAIN_LINE: Final = re.compile(r"[ -~]+").fullmatch
_LONGEST_DETAIL: Final = 200


@dataclass(frozen=True, slots=True)
class _Answer:
    """The outcome of a session in terms of HTTP."""

    status: int
    body: bytes = b""
    content_type: str | None = None
    location: str | None = None
    truncated: Truncation | None = None


@dataclass(slots=True, eq=False)
class _Received:
    """What a data connection has received so far. Shares the memory limit with the bodies of other visits."""

    room: BodyMemory
    deadline: asyncio.Timeout  # of the visit
    data: bytearray = field(default_factory=bytearray)
    truncated: Truncation | None = None
    _again: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for_room(self) -> bool:
        """Wait while the memory is full. Returns whether that took any time, which must not count against the host."""
        if self.room.used <= self.room.limit or not self.room.must_wait(self, len(self.data)):
            return False
        loop = asyncio.get_running_loop()
        due, since = self.deadline.when(), loop.time()
        self.deadline.reschedule(None)
        await self._again.wait()
        self._again.clear()
        self.deadline.reschedule(None if due is None else due + loop.time() - since)
        return True

    def resume_reading(self) -> None:
        self._again.set()

    def take(self, piece: bytes) -> None:
        self.data += piece
        self.room.used += len(piece)


class FtpFetcher:
    """A `Fetcher` for ftp. Logs in as anonymous, with our user agent as the password, unless the host's options have
    basic credentials; these are never recorded.

    A connection serves one visit. `allow` is called with the address before every dial. A host with a proxy is not
    visited: FTP through a proxy is not supported.
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
            raise ValueError(f"a user agent must be printable ASCII on one line: {user_agent!r}")
        self._limits, self._clock, self._allow = limits, clock, allow
        self._name = user_agent.encode("ascii")
        self._room = room or BodyMemory()

    async def fetch(self, request: Request) -> FetchOutcome:
        """One visit; see `Fetcher.fetch`."""
        path = ftp_path(request.url)
        if path is None:
            return Failed(Failure.BAD_URL, "path cannot be sent as an FTP command", Seconds(0.0), contacted=False)
        if request.options is not None and request.options.proxy is not None:
            return Failed(
                Failure.BLOCKED_ADDRESS, "FTP through a proxy is not supported", Seconds(0.0), contacted=False
            )
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
            # What arrived until the deadline is worth keeping; a retry would end the same way.
            answer = _Answer(200, bytes(received.data), truncated=Truncation.TIME)
        except FtpFailure as trouble:
            return self._failed(trouble.failure, trouble.detail, begun)
        except _OurOwnFault as fault:
            return replace(self._failed(Failure.CONN_REFUSED, str(fault), begun), contacted=False)
        finally:
            self._room.release(received, len(received.data))
            if session is not None:
                session.abort()  # does nothing after `quit`
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
        """Does nothing: no connection is kept between visits."""

    async def _connect(self, request: Request) -> ControlSession:
        # An endless line may fill twice the limit before the reader pauses the peer.
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
            return _Answer(503)  # too many users, shutting down, "ready in ten minutes": temporary, whatever the code
        reply = await self._log_in(session, request)
        if not reply.good:
            return _Answer(status_of_refusal(reply))
        await session.command(b"TYPE", b"I")  # a server without types sends the bytes as they are
        if path.directory:
            return await self._directory(session, request, path, received)
        refused = await self._transfer(session, request, b"RETR", path.path, received, self._limits.body_bytes)
        if refused is None:
            return _Answer(200, bytes(received.data), truncated=received.truncated)
        if refused.code >= 500 and (await session.command(b"CWD", path.path)).good:
            # A directory: its links are relative to the URL with the slash.
            return _Answer(301, location=as_directory(request.url))
        return _Answer(status_of_refusal(refused))

    async def _log_in(self, session: ControlSession, request: Request) -> Reply:
        ours = request.options.basic if request.options is not None else None
        if ours is not None and not all(map(_PLAIN_LINE, ours)):
            raise FtpFailure(Failure.PROTOCOL_ERROR, "credentials cannot be sent as an FTP command")
        user, password = (b"anonymous", self._name) if ours is None else (part.encode("ascii") for part in ours)
        reply = await session.command(b"USER", user)
        if reply.code == 331:
            reply = await session.command(b"PASS", password, secret=ours is not None)
        return reply

    async def _directory(
        self, session: ControlSession, request: Request, path: FtpPath, received: _Received
    ) -> _Answer:
        # Change the directory first: LIST would interpret a name that begins with a dash as an option.
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
            data = data[: data.rfind(b"\n") + 1]  # the last line is incomplete
        listing = read_listing(data, facts=facts)
        truncated = received.truncated or (Truncation.LENGTH if listing.cut else None)
        return _Answer(200, index_page(path.path, listing), CONTENT_TYPE, truncated=truncated)

    async def _transfer(
        self, session: ControlSession, request: Request, verb: bytes, argument: bytes, received: _Received, cap: int
    ) -> Reply | None:
        """Fill `received` with what the command sends, at most `cap` bytes; returns the reply if the server refuses."""
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
            received.truncated = Truncation.DISCONNECT  # completeness was not confirmed
            return None
        if last.good:
            return None
        if not received.data:
            return last
        received.truncated = Truncation.DISCONNECT
        return None

    async def _data_port(self, session: ControlSession, request: Request) -> int | Reply:
        """The port to dial for a transfer, or the reply that refuses one."""
        reply = await session.command(b"EPSV")
        port = extended_port(reply) if reply.good else None
        if port is None and ":" not in request.address:
            reply = await session.command(b"PASV")
            port = passive_port(reply) if reply.good else None
        if port is not None:
            return port
        if reply.good:
            raise FtpFailure(Failure.PROTOCOL_ERROR, f"no port in: {reply.printable}")
        return reply

    async def _receive(self, reader: asyncio.StreamReader, received: _Received, cap: int) -> None:
        pace = SweepState(self._clock.monotonic())
        data = received.data
        while True:
            try:
                async with asyncio.timeout(self._limits.idle):
                    piece = await reader.read(_READ_BYTES)
            except TimeoutError:
                raise FtpFailure(Failure.READ_TIMEOUT, "timeout on the data connection") from None
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
            if late is not None and late is not Failure.TOTAL_TIMEOUT:  # the visit as a whole has its own deadline
                raise FtpFailure(late, "data connection too slow")

    def _failed(self, failure: Failure, detail: str, begun: float) -> Failed:
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(failure, detail[:_LONGEST_DETAIL], took, contacted=failure is not Failure.BLOCKED_ADDRESS)


class _OurOwnFault(Exception):
    """This machine refused us a socket: the host saw nothing of the visit."""


def _words(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _is_numeric(address: str) -> bool:
    try:
        ip_address(address)
    except ValueError:
        return False
    return True
