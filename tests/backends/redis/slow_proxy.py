"""A slow network: a proxy in front of a Redis server that delays what passes, and limits how much passes."""

import asyncio
import math
import threading
from functools import partial
from types import TracebackType
from typing import Self


class SlowProxy:
    """Listens on loopback. `delay` is in seconds, of each answer; `bytes_per_second` of each connection and
    direction. Both may be changed at any time."""

    def __init__(self, port: int) -> None:
        """In front of the server on this port."""
        self.delay = 0.0
        self.bytes_per_second = math.inf
        self.port = 0
        self._server_port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return int(server.sockets[0].getsockname()[1])

    async def _end(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(
            self._pass_on(reader, server_writer, answers=False), self._pass_on(server_reader, writer, answers=True)
        )

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        loop, free_at = asyncio.get_running_loop(), 0.0
        try:
            while data := await reader.read(16_384):
                free_at = max(free_at, loop.time()) + len(data) / self.bytes_per_second
                await asyncio.sleep(free_at - loop.time())
                loop.call_later(self.delay if answers else 0.0, partial(writer.write, data))
        except OSError:
            pass
        finally:
            loop.call_later(self.delay if answers else 0.0, writer.close)
