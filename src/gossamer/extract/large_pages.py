"""Parses large pages in another process, with a deadline.

The parser holds the GIL, so a thread would not help: ten hostile megabytes would block the event loop for seconds. The
process is started for the first large page, and replaced if a page takes too long. The limit is in CPU time, so that a
busy machine does not give up a page that an idle one would parse, with a much longer limit in wall-clock time.
"""

import asyncio
import sys
from contextlib import suppress

import msgspec

from gossamer.extract.crawl_page import PageContent
from gossamer.extract.page_meta import OUR_NAME
from gossamer.extract.page_worker import LENGTH, PageRequest, read_result

START_SECONDS = 30.0
READING_SECONDS = 2.0
"""CPU time for each page."""
_ANY_TIME = 15  # wall-clock seconds allowed per second of CPU time


class LargePages:
    """One child process, which parses one page at a time. Call `close` at the end."""

    def __init__(self, reading_seconds: float | None = None) -> None:
        self._limit = READING_SECONDS if reading_seconds is None else reading_seconds
        self._child: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self.given_up = 0

    async def extract(
        self,
        body: bytes,
        content_type: str | None,
        url: str,
        robots_tag: str | None = None,
        *,
        content_language: str | None = None,
        agent: str = OUR_NAME,
        sign: bool = False,
    ) -> PageContent | None:
        """As `extract_page`, or None if the page could not be parsed in time."""
        question = PageRequest(body, content_type, url, robots_tag, sign, content_language, agent, self._limit)
        async with self._lock:
            try:
                child = self._child or await self._start()
                async with asyncio.timeout(self._limit * _ANY_TIME):
                    return await self._request(child, question)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                self.given_up += 1
                await self._stop()
                return None
            except asyncio.CancelledError:
                await self._stop()
                raise

    async def _start(self) -> asyncio.subprocess.Process:
        child = self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "gossamer.extract.page_worker",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C at the terminal is for the crawler, not for the child
        )
        assert child.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            await child.stdout.readexactly(LENGTH.size)
        return child

    @staticmethod
    async def _request(child: asyncio.subprocess.Process, question: PageRequest) -> PageContent:
        assert child.stdin is not None
        assert child.stdout is not None
        data = msgspec.msgpack.encode(question)
        child.stdin.write(LENGTH.pack(len(data)))
        child.stdin.write(data)
        await child.stdin.drain()
        (length,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
        return read_result(await child.stdout.readexactly(length))

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def close(self) -> None:
        await self._stop()
