"""The control connection of one FTP visit, and the meaning of replies: several lines, the data port, refusals."""

import asyncio
import re
from dataclasses import dataclass
from typing import Final

from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure

_CODE: Final = re.compile(rb"([1-5][0-9]{2})([ -]|\Z)").match
_EXTENDED_PORT: Final = re.compile(rb"\((.)\1\1([0-9]{1,5})\1\)", re.DOTALL).search
# Some servers omit the parentheses.
_PASSIVE_PORT: Final = re.compile(rb"[0-9]{1,3}(?:,[0-9]{1,3}){3},([0-9]{1,3}),([0-9]{1,3})").search
_LOWEST_PORT: Final = 1024  # ports below are services, never data connections


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete reply: its code, and its last line without the line end."""

    code: int
    text: bytes

    @property
    def preliminary(self) -> bool:
        return self.code < 200

    @property
    def good(self) -> bool:
        return 200 <= self.code < 300

    @property
    def printable(self) -> str:
        """For messages: one line, at most 100 characters, control characters escaped."""
        return ascii(self.text[:100].decode("latin-1"))[1:-1]


class BadReply(Exception):
    """Bytes that are not a reply. Never leaves this package."""


class ReplyReader:
    """Assembles lines into replies. `feed` returns a reply when its last line has arrived.

    A reply of several lines begins with `123-` and ends with the line that begins with `123 ` (RFC 959, 4.2).
    """

    def __init__(self) -> None:
        self._code: bytes | None = None

    def feed(self, line: bytes) -> Reply | None:
        """Raises BadReply if a reply must begin with this line and does not."""
        line = line.rstrip(b"\r\n")
        found = _CODE(line)
        if self._code is None:
            if found is None:
                raise BadReply(ascii(line[:60])[1:])
            if found[2] == b"-":
                self._code = found[1]
                return None
        elif found is None or found[1] != self._code or found[2] == b"-":
            return None
        self._code = None
        return Reply(int(found[1]), line)


def extended_port(reply: Reply) -> int | None:
    """The port in the reply to EPSV; None if there is none that may be dialled."""
    found = _EXTENDED_PORT(reply.text)
    return _check_port(int(found[2])) if found else None


def passive_port(reply: Reply) -> int | None:
    """The port in the reply to PASV. Its address is ignored: the server must not choose whom we dial."""
    found = _PASSIVE_PORT(reply.text)
    if found is None:
        return None
    high, low = int(found[1]), int(found[2])
    return _check_port(256 * high + low) if high < 256 and low < 256 else None


def _check_port(port: int) -> int | None:
    return port if _LOWEST_PORT <= port < 65536 else None


def status_of_refusal(reply: Reply) -> int:
    """The HTTP status that corresponds to a refusal.

    4xx in FTP is temporary. 530 and similar codes refuse the login; 550 and similar codes refuse the file.
    """
    if reply.code < 500:
        return 503
    if reply.code in (530, 532, 534):
        return 403
    return 404 if 550 <= reply.code < 560 else 501


_MAX_REPLIES = 64  # a visit needs a dozen


class FtpFailure(Exception):
    """Why a visit has no response. Never leaves this package."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure, self.detail = failure, detail


class ControlSession:
    """Sends commands and reads replies.

    Invariants: all replies of a session together stay within the limits for a response head, so an endless greeting
    ends; a reply has one deadline from the start of the wait to its last byte, however slowly it arrives.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: FetchLimits) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._sent: list[bytes] = []
        self._received: list[bytes] = []
        self._room = limits.head_bytes
        self._replies = 0

    @property
    def sent(self) -> bytes:
        """Every command, as sent."""
        return b"".join(self._sent)

    @property
    def received(self) -> bytes:
        """Every reply, as received."""
        return b"".join(self._received)

    async def command(self, verb: bytes, argument: bytes = b"", *, secret: bool = False) -> Reply:
        """Send a command and wait for its reply. Raises FtpFailure; ValueError if it would be more than one line.

        With `secret` the argument is not recorded.
        """
        line = verb + b" " + argument if argument else verb
        if b"\r" in line or b"\n" in line or b"\0" in line:
            raise ValueError(f"command is not one line: {verb!r} and its argument")
        self._sent.append((verb + b" ***" if secret else line) + b"\r\n")
        self._writer.write(line + b"\r\n")
        return await self.reply()

    async def reply(self) -> Reply:
        """The next reply. Raises FtpFailure for a timeout, a lost connection, too much data, and what is not a
        reply."""
        self._replies += 1
        if self._replies > _MAX_REPLIES:
            raise FtpFailure(Failure.PROTOCOL_ERROR, "too many replies")
        try:
            async with asyncio.timeout(self._limits.head):
                return await self._whole_reply()
        except TimeoutError:
            raise FtpFailure(Failure.READ_TIMEOUT, "no reply") from None
        except asyncio.LimitOverrunError:
            raise FtpFailure(Failure.HEADER_TOO_LARGE, "endless line") from None
        except (asyncio.IncompleteReadError, OSError):
            raise FtpFailure(Failure.CONNECTION_LOST, "control connection lost") from None
        except BadReply as bad:
            raise FtpFailure(Failure.PROTOCOL_ERROR, f"not a reply: {bad}") from None

    async def _whole_reply(self) -> Reply:
        reader = ReplyReader()
        await self._writer.drain()
        for _ in range(self._limits.head_fields):
            line = await self._reader.readuntil(b"\n")
            self._room -= len(line)
            if self._room < 0 or len(line) > self._limits.header_bytes:
                break
            self._received.append(line)
            reply = reader.feed(line)
            if reply is not None:
                return reply
        raise FtpFailure(Failure.HEADER_TOO_LARGE, "endless reply")

    def quit(self) -> None:
        """Send QUIT and close without waiting for the reply, so that an unresponsive server cannot hold us."""
        self._writer.write(b"QUIT\r\n")
        if self._writer.transport.get_write_buffer_size() == 0:
            self._writer.close()
        else:
            self._writer.transport.abort()

    def abort(self) -> None:
        self._writer.transport.abort()
