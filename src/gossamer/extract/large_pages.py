"""Reading large pages in another process, with a deadline.

The parser holds the interpreter's lock, so a thread would not help: ten hostile megabytes would stop the event loop for
seconds. The child is started when the first large page comes, and replaced when a page takes too long: it has so many
seconds of CPU time, so that a busy machine gives no page up that an idle one would read, and many more of any time.
"""

import asyncio
import sys
from contextlib import suppress

import msgspec

from gossamer.extract.crawl_page import PageContent
from gossamer.extract.page_meta import OUR_NAME
from gossamer.extract.page_worker import LENGTH, Question, read_answer

START_SECONDS = 30.0
READING_SECONDS = 2.0
"""CPU time for each page."""
_ANY_TIME = 15  # for each second of CPU time, so many may pass


class LargePages:
    """One child process; pages wait for one another. Call `close` at the end."""

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
        """What `extract_page` says, or None if the page could not be read in time."""
        question = Question(body, content_type, url, robots_tag, sign, content_language, agent, self._limit)
        async with self._lock:
            try:
                child = self._child or await self._start()
                async with asyncio.timeout(self._limit * _ANY_TIME):
                    return await self._ask(child, question)
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
            start_new_session=True,  # a Ctrl-C at the terminal is the crawler's business, not the child's
        )
        assert child.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            await child.stdout.readexactly(LENGTH.size)
        return child

    @staticmethod
    async def _ask(child: asyncio.subprocess.Process, question: Question) -> PageContent:
        assert child.stdin is not None
        assert child.stdout is not None
        data = msgspec.msgpack.encode(question)
        child.stdin.write(LENGTH.pack(len(data)))
        child.stdin.write(data)
        await child.stdin.drain()
        (length,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
        return read_answer(await child.stdout.readexactly(length))

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def close(self) -> None:
        await self._stop()
