"""The control connection of one visit: commands out, replies in, both kept for the record."""

import asyncio

from gossamer.fetch.ftp.replies import BadReply, Reply, ReplyReader
from gossamer.fetch.http.ports import FetchLimits
from gossamer.model.outcome import Failure

_MAX_REPLIES = 64  # a visit needs a dozen


class Trouble(Exception):
    """Why a visit has no answer. Never leaves this package."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure, self.detail = failure, detail


class ControlSession:
    """Says a line, hears a reply.

    Invariants: all replies of a session together stay within the limits for a response's head, so an endless greeting
    ends; a reply has one deadline from its first byte waited for to its last, however it drips in.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: FetchLimits) -> None:
        self._reader, self._writer, self._limits = reader, writer, limits
        self._said: list[bytes] = []
        self._heard: list[bytes] = []
        self._room = limits.head_bytes
        self._replies = 0

    @property
    def said(self) -> bytes:
        """Every command, as sent."""
        return b"".join(self._said)

    @property
    def heard(self) -> bytes:
        """Every reply, as received."""
        return b"".join(self._heard)

    async def command(self, verb: bytes, argument: bytes = b"", *, secret: bool = False) -> Reply:
        """Send a command and wait for its reply. Raises Trouble; ValueError if it would be more than one line.

        With `secret` the argument is not kept for the record.
        """
        line = verb + b" " + argument if argument else verb
        if b"\r" in line or b"\n" in line or b"\0" in line:
            raise ValueError(f"not one line: {verb!r} and its argument")
        self._said.append((verb + b" ***" if secret else line) + b"\r\n")
        self._writer.write(line + b"\r\n")
        return await self.reply()

    async def reply(self) -> Reply:
        """The next reply. Raises Trouble for silence, a lost connection, too much, and what is no reply."""
        self._replies += 1
        if self._replies > _MAX_REPLIES:
            raise Trouble(Failure.PROTOCOL_ERROR, "too many replies")
        try:
            async with asyncio.timeout(self._limits.head):
                return await self._whole_reply()
        except TimeoutError:
            raise Trouble(Failure.READ_TIMEOUT, "no reply") from None
        except asyncio.LimitOverrunError:
            raise Trouble(Failure.HEADER_TOO_LARGE, "a line without end") from None
        except (asyncio.IncompleteReadError, OSError):
            raise Trouble(Failure.CONNECTION_LOST, "the control connection broke") from None
        except BadReply as bad:
            raise Trouble(Failure.PROTOCOL_ERROR, f"not a reply: {bad}") from None

    async def _whole_reply(self) -> Reply:
        reader = ReplyReader()
        await self._writer.drain()
        for _ in range(self._limits.head_fields):
            line = await self._reader.readuntil(b"\n")
            self._room -= len(line)
            if self._room < 0 or len(line) > self._limits.header_bytes:
                break
            self._heard.append(line)
            reply = reader.feed(line)
            if reply is not None:
                return reply
        raise Trouble(Failure.HEADER_TOO_LARGE, "a reply without end")

    def leave(self) -> None:
        """Say goodbye without waiting for the answer, and close: nobody is kept by a server that does not answer."""
        self._writer.write(b"QUIT\r\n")
        if self._writer.transport.get_write_buffer_size() == 0:
            self._writer.close()
        else:
            self._writer.transport.abort()

    def abort(self) -> None:
        self._writer.transport.abort()
