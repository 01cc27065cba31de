"""Responses to write, and other people's readers to read them back with."""

import io
import random
from pathlib import Path
from typing import NamedTuple

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator as StrictIterator

from gossamer.backends.warc import RecordIds, Warcinfo, WarcWriter
from gossamer.clock import VirtualClock
from gossamer.model.outcome import Response, Truncation
from gossamer.model.units import Instant, Seconds, Url

INFO = Warcinfo(software="gossamer/0.1", user_agent="gossamer/0.1 (+http://x.test/bot)", contact="crawl@x.test")
STARTED = Instant(1_700_000_000.123456)


def new_ids(seed: int = 1) -> RecordIds:
    return RecordIds(random.Random(seed))


def response_of(
    body: bytes = b"<html>hello</html>",
    *,
    url: str = "http://x.test/page?a=1",
    status: int = 200,
    more_headers: dict[str, str] | None = None,
    truncated: Truncation | None = None,
    address: str = "192.0.2.7",
) -> Response:
    headers = {"content-type": "text/html", **(more_headers or {})}
    head = f"HTTP/1.1 {status} Whatever\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return Response(
        url=Url(url),
        status=status,
        request_head=b"GET /page?a=1 HTTP/1.1\r\nHost: x.test\r\nUser-Agent: gossamer/0.1\r\n\r\n",
        head=head.encode() + b"\r\n",
        wire_body=body,
        headers=headers,
        address=address,
        started=STARTED,
        took=Seconds(0.1),
        truncated=truncated,
    )


def writer_in(
    directory: Path, *, rotate_bytes: int = 1_000_000_000, committed: dict[str, int] | None = None, seed: int = 1
) -> WarcWriter:
    return WarcWriter(
        directory,
        "gossamer",
        info=INFO,
        ids=new_ids(seed),
        clock=VirtualClock(STARTED),
        rotate_bytes=rotate_bytes,
        committed=committed,
    )


class Seen(NamedTuple):
    """A record as another reader sees it."""

    offset: int
    headers: dict[str, str]
    body: bytes  # after the HTTP head, if there is one

    @property
    def kind(self) -> str:
        return self.headers["WARC-Type"]


def read_by_warcio(data: bytes, *, check_digests: bool = True) -> list[Seen]:
    """Raises where warcio finds a digest wrong, a record malformed, or two records in one gzip member."""
    records = StrictIterator(io.BytesIO(data), check_digests="raise" if check_digests else False)
    seen: list[Seen] = []
    for record in records:
        body = record.raw_stream.read()
        seen.append(Seen(records.get_record_offset(), dict(record.rec_headers.headers), body))
    return seen


def read_by_fastwarc(data: bytes) -> list[Seen]:
    """Fails where fastwarc finds a block digest missing or wrong."""
    seen: list[Seen] = []
    for record in FastIterator(io.BytesIO(data), parse_http=False, auto_decode="none"):
        record.freeze()
        assert record.verify_block_digest(), dict(record.headers)
        block = record.reader.read()
        body = block.partition(b"\r\n\r\n")[2] if block[:5] in (b"HTTP/", b"GET /") else block
        seen.append(Seen(record.stream_pos, dict(record.headers), body))
    return seen
