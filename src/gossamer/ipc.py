"""The link between two processes of one program: whole messages over a pair of sockets, in the order of telling.

Both ends are ours, of the same program, one the child of the other: what comes over it may be taken for what it says.
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
"""What it is, and what belongs to it."""


class Link:
    """One end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, end: socket.socket) -> "Link":
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end))

    @property
    def is_backed_up(self) -> bool:
        """Whether the other end does not take what it is told."""
        return self._writer.transport.get_write_buffer_size() > _MOST_WAITING

    def send(self, *message: Any) -> None:
        """Nothing happens where the other end is gone; `heard` ends there too."""
        if self._writer.is_closing():
            return
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._writer.write(len(body).to_bytes(_LENGTH, "big") + body)

    async def messages(self) -> AsyncIterator[Message]:
        """What the other end tells, until it is gone."""
        try:
            while True:
                length = int.from_bytes(await self._reader.readexactly(_LENGTH), "big")
                yield pickle.loads(await self._reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return

    async def drain(self) -> None:
        """Until the other end has taken what it was told, or is gone."""
        with suppress(ConnectionError):
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
