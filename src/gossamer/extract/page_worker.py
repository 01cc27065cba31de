"""The child process that parses large pages: `python -m gossamer.extract.page_worker`, started by `large_pages`.

Frames on standard input and output: four bytes of length, then MessagePack. It exits at the end of its input, so it
cannot outlive the crawler. A page that exceeds its CPU time kills it: the parser is in C and cannot be interrupted
otherwise.
"""

import signal
import struct
import sys
from typing import BinaryIO

import msgspec

from gossamer.extract.crawl_page import PageContent, extract_page
from gossamer.extract.page_meta import OUR_NAME
from gossamer.model.formats import LongLink

LENGTH = struct.Struct("<I")


class PageRequest(msgspec.Struct, array_like=True):
    body: bytes
    content_type: str | None
    url: str
    robots_tag: str | None
    sign: bool = False
    content_language: str | None = None
    agent: str = OUR_NAME
    seconds: float = 0.0  # of CPU time; 0 for no limit


ANSWER = msgspec.msgpack.Decoder(
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
)


def process_request(question: bytes) -> bytes:
    """Parse one page."""
    asked = msgspec.msgpack.decode(question, type=PageRequest)
    signal.setitimer(signal.ITIMER_PROF, asked.seconds)  # its signal is not handled, so it kills the process
    page = extract_page(
        asked.body,
        asked.content_type,
        asked.url,
        robots_tag=asked.robots_tag,
        content_language=asked.content_language,
        agent=asked.agent,
        sign=asked.sign,
    )
    found = msgspec.msgpack.encode(tuple(page))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return found


def read_result(data: bytes) -> PageContent:
    return PageContent(*ANSWER.decode(data))


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer requests until the input ends."""
    sink.write(LENGTH.pack(0))  # ready
    sink.flush()
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        question = source.read(LENGTH.unpack(head)[0])
        found = process_request(question)
        sink.write(LENGTH.pack(len(found)) + found)
        sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
