"""The child process that parses large pages: `python -m gossamer.extract.page_worker`, started by `large_pages`.

Frames on standard input and output: four bytes of length, then MessagePack; the body of the page follows its request as
it is. The process exits at the end of its input, so it cannot outlive the crawler. A page that exceeds its CPU time
kills it: the parser is in C and cannot be interrupted otherwise.

Memory is limited to `MEMORY_BYTES` more than the process needs to start. A tree takes six to fifty times as much as its
source, so a page whose tree does not fit is parsed again from a shorter beginning. What was allocated is returned to
the system after each page.
"""

import ctypes
import resource
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

import msgspec

from gossamer.extract.crawl_page import PageContent, extract_page
from gossamer.extract.page_meta import OUR_NAME
from gossamer.model.formats import LongLink

LENGTH = struct.Struct("<I")
MEMORY_BYTES = 16 * 1024 * 1024
_SHORTER = 0.7  # of a page whose tree does not fit, as often as necessary
_SHORTEST = 32 * 1024


class PageRequest(msgspec.Struct, array_like=True):
    body_bytes: int
    content_type: str | None
    url: str
    robots_tag: str | None
    sign: bool = False
    content_language: str | None = None
    agent: str = OUR_NAME
    seconds: float = 0.0  # of CPU time; 0 for no limit


class PageAnswer(msgspec.Struct, array_like=True):
    page: (
        tuple[
            str | None,
            list[str],
            str | None,
            bool,
            bool,
            str,
            int,
            int,
            int,
            list[LongLink],
            int,
            int,
            bytes | None,
            str | None,
            str | None,
        ]
        | None
    )
    """The fields of `PageContent`; None if not even the shortest beginning could be parsed."""
    parsed_bytes: int
    peak_bytes: int
    """The most memory that this process has had."""

    @property
    def content(self) -> PageContent | None:
        return None if self.page is None else PageContent(*self.page)


def process_request(asked: PageRequest, body: bytes) -> PageAnswer:
    """Parse one page, or as much of its beginning as memory permits."""
    signal.setitimer(signal.ITIMER_PROF, asked.seconds)  # its signal is not handled, so it kills the process
    size = len(body)
    page = _parse(asked, body, size)
    while page is None and size > _SHORTEST:
        size = int(size * _SHORTER)
        page = _parse(asked, body, size)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return PageAnswer(page, 0 if page is None else size, memory("VmHWM"))


def _parse(asked: PageRequest, body: bytes, size: int) -> PageContent | None:
    """The content of the first bytes of a page; None if memory does not suffice. Then all of it is released on
    return."""
    try:
        return extract_page(
            body[:size],
            asked.content_type,
            asked.url,
            robots_tag=asked.robots_tag,
            content_language=asked.content_language,
            agent=asked.agent,
            sign=asked.sign,
        )
    except MemoryError:
        return None


def memory(name: str) -> int:
    """A figure about the memory of this process, in bytes; 0 without procfs."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def limit_memory() -> None:
    """Allow `MEMORY_BYTES` more than is in use. Does nothing where that is not known."""
    used = memory("VmData")
    if used:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY_BYTES, hard))


def memory_returner() -> Callable[[], object]:
    """A function that returns unused memory to the system, where the C library has one."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return (lambda: None) if trim is None else (lambda: trim(0))


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests until the input ends."""
    return_memory = memory_returner()
    limit_memory()
    send(sink, memory("VmHWM"))  # ready
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        asked = msgspec.msgpack.decode(source.read(LENGTH.unpack(head)[0]), type=PageRequest)
        answer = process_request(asked, source.read(asked.body_bytes))
        return_memory()
        send(sink, answer)


def send(sink: BinaryIO, what: object) -> None:
    found = msgspec.msgpack.encode(what)
    sink.write(LENGTH.pack(len(found)))
    sink.write(found)
    sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
