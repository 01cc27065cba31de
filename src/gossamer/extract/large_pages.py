"""Parses large pages in another process, with a deadline and a limit on memory.

The parser holds the GIL, so a thread would not help: ten hostile megabytes would block the event loop for seconds. The
process is started for the first large page, and replaced if a page takes too long. The limit is in CPU time, so that a
busy machine does not give up a page that an idle one would parse, with a much longer limit in wall-clock time. At most
`PARSED_BYTES` of a page are parsed, and less if its tree takes too much memory (`page_worker`).
"""

import asyncio
import re
import sys
from contextlib import suppress
from typing import NamedTuple

import msgspec

from gossamer.extract.crawl_page import MAX_HREF, PageContent
from gossamer.extract.page_meta import OUR_NAME
from gossamer.extract.page_worker import LENGTH, MEMORY_BYTES, PageAnswer, PageRequest

START_SECONDS = 30.0
READING_SECONDS = 2.0
"""CPU time for each page."""
_ANY_TIME = 15  # wall-clock seconds allowed per second of CPU time
PARSED_BYTES = 2 * 1024 * 1024
"""How much of a page is parsed at most. The tree of more would hardly ever fit into the memory of the child."""
_PIECE = 64 * 1024
_LONG_DATA = re.compile(rb"data:[^\"'<>\s]{%d}([^\"'<>\s]++)" % MAX_HREF)
"""A `data:` URI that is too long for a link, and what is left out of it: images in pages can be megabytes."""


class LargePage(NamedTuple):
    """The content of a page; None if it could not be parsed. Unless it is `whole`, only a beginning was parsed."""

    content: PageContent | None
    whole: bool


class LargePages:
    """One child process, which parses one page at a time. Call `close` at the end."""

    def __init__(self, reading_seconds: float | None = None) -> None:
        self._limit = READING_SECONDS if reading_seconds is None else reading_seconds
        self._child: asyncio.subprocess.Process | None = None
        self._least_bytes = 0  # the memory of a child without a page
        self._lock = asyncio.Lock()
        self.given_up = 0
        self.peak_bytes = 0  # the most memory that a child has had, as far as is known

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
    ) -> LargePage:
        """As `extract_page`, of the part of the page that can be parsed within the limits."""
        parts, whole = parts_to_parse(body)
        size = sum(map(len, parts))
        question = PageRequest(size, content_type, url, robots_tag, sign, content_language, agent, self._limit)
        async with self._lock:
            try:
                child = self._child or await self._start()
                async with asyncio.timeout(self._limit * _ANY_TIME):
                    answer = await self._request(child, question, parts)
                self.peak_bytes = max(self.peak_bytes, answer.peak_bytes)
                return LargePage(answer.content, whole and answer.parsed_bytes == size)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                self.given_up += 1
                self.peak_bytes = max(self.peak_bytes, self._least_bytes + MEMORY_BYTES)
                await self._stop()
                return LargePage(None, False)
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
        async with asyncio.timeout(START_SECONDS):
            self._least_bytes = msgspec.msgpack.decode(await _receive(child), type=int)
        self.peak_bytes = max(self.peak_bytes, self._least_bytes)
        return child

    @staticmethod
    async def _request(child: asyncio.subprocess.Process, question: PageRequest, body: list[memoryview]) -> PageAnswer:
        assert child.stdin is not None
        data = msgspec.msgpack.encode(question)
        child.stdin.write(LENGTH.pack(len(data)))
        child.stdin.write(data)
        for part in body:
            for at in range(0, len(part), _PIECE):  # piece by piece: what is not yet sent would be copied
                child.stdin.write(part[at : at + _PIECE])
                await child.stdin.drain()
        await child.stdin.drain()
        return msgspec.msgpack.decode(await _receive(child), type=PageAnswer)

    async def _stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    async def close(self) -> None:
        await self._stop()


async def _receive(child: asyncio.subprocess.Process) -> bytes:
    """The next frame from a child."""
    assert child.stdout is not None
    (length,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
    return await child.stdout.readexactly(length)


def parts_to_parse(body: bytes) -> tuple[list[memoryview], bool]:
    """The parts of a body that are parsed: without the rest of long `data:` URIs, `PARSED_BYTES` at most; and whether
    they reach its end."""
    view, parts, room, at = memoryview(body), [], PARSED_BYTES, 0
    for left_out in _LONG_DATA.finditer(body):
        end = left_out.start(1)
        parts.append(view[at : min(end, at + room)])
        room -= len(parts[-1])
        at = left_out.end()
        if not room:
            return parts, False
    parts.append(view[at : at + room])
    return parts, at + len(parts[-1]) == len(body)
