"""The child process that reads large pages: `python -m gossamer.extract.page_worker`, spoken to by `elsewhere`.

Frames on standard input and output: four bytes of length, then MessagePack. It ends when its input does, so it cannot
outlive the crawler, however that dies. A page that takes more CPU time than it may have ends it: the parser is in
C, and nothing gentler reaches it there.
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


class Question(msgspec.Struct, array_like=True):
    body: bytes
    content_type: str | None
    url: str
    robots_tag: str | None
    sign: bool = False
    content_language: str | None = None
    agent: str = OUR_NAME
    seconds: float = 0.0  # of CPU time; 0: as many as it takes


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


def answer(question: bytes) -> bytes:
    """One page, read."""
    asked = msgspec.msgpack.decode(question, type=Question)
    signal.setitimer(signal.ITIMER_PROF, asked.seconds)  # its signal, which nobody handles, ends the process
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


def read_answer(data: bytes) -> PageContent:
    return PageContent(*ANSWER.decode(data))


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer until the input ends."""
    sink.write(LENGTH.pack(0))  # ready
    sink.flush()
    while len(head := source.read(LENGTH.size)) == LENGTH.size:
        question = source.read(LENGTH.unpack(head)[0])
        found = answer(question)
        sink.write(LENGTH.pack(len(found)) + found)
        sink.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
