"""Message channel between two processes: whole messages over a socket pair, in order.

Both ends belong to the same program, one process being the child of the other, so messages are trusted (pickle).
"""

import asyncio
import pickle
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

_LENGTH: Final = 4
_MOST_WAITING: Final = 1 << 20

Message = tuple[Any, ...]
"""The kind of the message and its arguments."""


class Link:
    """One end of the channel."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, end: socket.socket) -> "Link":
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end))

    @property
    def is_backed_up(self) -> bool:
        """Whether the peer is not draining its buffer."""
        return self._writer.transport.get_write_buffer_size() > _MOST_WAITING

    def send(self, *message: Any) -> None:
        """Does nothing if the peer is gone; `messages` ends then."""
        if self._writer.is_closing():
            return
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._writer.write(len(body).to_bytes(_LENGTH, "big") + body)

    async def messages(self) -> AsyncIterator[Message]:
        """Messages of the peer, until it is gone."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
                yield pickle.loads(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def drain(self) -> None:
        """Wait until everything was handed to the peer, or it is gone."""
        with suppress(ConnectionError):
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
