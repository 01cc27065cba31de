"""CPU time of a WARC record, from response to gzip member in a file: ours and warcio's in the same run.

.venv/bin/python -m benchmarks.bench_warc
"""

import io
import platform
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.backends.warc import (
    Original,
    RecordIds,
    Warcinfo,
    WarcWriter,
    build_request,
    build_response,
    build_revisit,
    payload_digest_of,
    read_record,
)
from gossamer.clock import SteadyClock
from gossamer.model.outcome import Response
from gossamer.model.units import Instant, Seconds, Url

SEED = 11
PAGE_BYTES = 29_000
PAGES = 200
INFO = Warcinfo(software="gossamer", user_agent="gossamer/0 (+mailto:bench@x.test)", contact="bench@x.test")


def some_page(rng: random.Random) -> bytes:
    """HTML that compresses about as real pages do (4 to 5 times)."""
    words = [rng.randbytes(rng.randint(1, 4)).hex() for _ in range(600)]
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    parts: list[str] = ["<!doctype html><html><head><title>page</title></head><body>"]
    size = 0
    while size < PAGE_BYTES:
        text = " ".join(rng.choices(words, weights, k=9))
        part = f'<div class="item"><a href="/{rng.choice(words)}/{rng.choice(words)}">{text}</a></div>\n'
        parts.append(part)
        size += len(part)
    return "".join(parts).encode()[:PAGE_BYTES]


def some_response(rng: random.Random, number: int) -> Response:
    headers = {"content-type": "text/html; charset=utf-8", "server": "nginx", "content-length": str(PAGE_BYTES)}
    head = "HTTP/1.1 200 OK\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
    return Response(
        url=Url(f"http://host{number % 7}.test/page/{number}"),
        status=200,
        request_head=f"GET /page/{number} HTTP/1.1\r\nHost: host.test\r\nUser-Agent: gossamer\r\n\r\n".encode(),
        head=head.encode(),
        wire_body=some_page(rng),
        headers=headers,
        address="192.0.2.7",
        started=Instant(1_700_000_000.5 + number),
        took=Seconds(0.1),
    )


def cpu_us(work: Callable[[], object], rounds: int = 7) -> float:
    """The least CPU time per page over some rounds, in microseconds: what noise is left only adds."""
    least = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return least * 1e6 / PAGES


def main() -> None:
    rng = random.Random(SEED)
    responses = [some_response(rng, number) for number in range(PAGES)]
    digests = [payload_digest_of(response.wire_body) for response in responses]
    ids = RecordIds(rng)
    original = Original(responses[0].url, responses[0].started, ids.next())
    print(
        f"WARC records: CPython {platform.python_version()}, {platform.machine()}, seed {SEED}, "
        f"{PAGES} pages of {PAGE_BYTES} bytes, CPU time per record, best of 7"
    )

    def ours() -> list[bytes]:
        return [build_response(one, record_id=ids.next()) for one in responses]

    def ours_digest_known() -> None:
        for one, digest in zip(responses, digests, strict=True):
            build_response(one, record_id=ids.next(), payload_digest=digest)

    def requests() -> None:
        for one in responses:
            build_request(one, record_id=ids.next())

    def revisits() -> None:
        for one, digest in zip(responses, digests, strict=True):
            build_revisit(one, record_id=ids.next(), original=original, payload_digest=digest)

    def theirs() -> int:
        out = io.BytesIO()
        writer = WARCWriter(out, gzip=True, warc_version="1.1")
        for one in responses:
            status = StatusAndHeaders("200 OK", list(one.headers.items()), protocol="HTTP/1.1")
            body = io.BytesIO(one.wire_body)
            extra = {"WARC-IP-Address": one.address}
            writer.write_record(
                writer.create_warc_record(one.url, "response", body, http_headers=status, warc_headers_dict=extra)
            )
        return out.tell()

    members = ours()
    with tempfile.TemporaryDirectory() as directory:
        writer = WarcWriter(Path(directory), info=INFO, ids=ids, clock=SteadyClock())
        places = [writer.append(member) for member in members]

        def append() -> None:
            for member in members:
                writer.append(member)

        def read() -> None:
            for file_name, offset, length in places:
                read_record(Path(directory) / file_name, offset, length)

        mine, known = cpu_us(ours), cpu_us(ours_digest_known)
        other = cpu_us(theirs, rounds=3)
        ratio = PAGES * PAGE_BYTES / sum(map(len, members))
        print(f"response, both digests     {mine:7.1f} µs   compressed {ratio:.2f} times")
        print(f"response, digest known     {known:7.1f} µs")
        print(f"request                    {cpu_us(requests):7.1f} µs")
        print(f"revisit                    {cpu_us(revisits):7.1f} µs")
        print(f"append to the file         {cpu_us(append):7.1f} µs")
        print(f"read back by its place     {cpu_us(read):7.1f} µs")
        print(
            f"warcio, response           {other:7.1f} µs   compressed {PAGES * PAGE_BYTES / theirs():.2f} times"
            f"   ours is {other / mine:.1f} times as fast"
        )
        writer.close()


if __name__ == "__main__":
    main()
