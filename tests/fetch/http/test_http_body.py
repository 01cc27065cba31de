"""From wire bytes to the document: codings, caps and broken streams."""

import asyncio
import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.http.body import LONG_WIRE_BODY, MAX_DECODED_BYTES, decodes_slowly, payload, payload_in_slices
from gossamer.fetch.http.codings import BLOCK, DECODERS, MAX_CHUNKS, MAX_MEMBERS, ChunkScanner, dechunk
from gossamer.model.outcome import Failure, Response, Truncation
from gossamer.model.units import Instant, Seconds, Url
from tests.effort import lines_run
from tests.fetch.http.scripted_server import StepClock
from tests.table import table

TEXT = b"<html><body>" + bytes(random.Random(7).choices(b"abcdefghij <>/=\n", k=200_000)) + b"</body></html>"


def response(body: bytes, truncated: Truncation | None = None, **headers: str) -> Response:
    return Response(
        url=Url("http://x.test/"),
        status=200,
        request_head=b"",
        head=b"",
        wire_body=body,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        address="127.0.0.1",
        started=Instant(0.0),
        took=Seconds(0.0),
        truncated=truncated,
    )


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 6),
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=2),
    "zstd": zstandard.compress,
}


def chunk(data: bytes, sizes: list[int]) -> bytes:
    wire, position = b"", 0
    for size in [*sizes, len(data)]:
        piece = data[position : position + size]
        position += size
        if piece:
            wire += b"%x\r\n%s\r\n" % (len(piece), piece)
    return wire + b"0\r\n\r\n"


def test_a_body_without_codings_is_handed_on_uncopied() -> None:
    taken = payload(response(TEXT, content_type="text/html"))

    assert taken.body is TEXT
    assert taken.entity is TEXT
    assert not taken.bad_encoding and taken.truncated is None


@table(
    ("coding", "wire"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("X-GZIP", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("deflate, identity, gzip", gzip.compress(zlib.compress(TEXT))),
        ("identity", TEXT),
        ("", TEXT),
        ("gzip", gzip.compress(TEXT[:1000]) + gzip.compress(TEXT[1000:])),
        ("gzip", gzip.compress(TEXT) + b"\0" * 100),
        ("gzip", gzip.compress(TEXT) + b"rubbish"),
        ("br", brotli.compress(TEXT, quality=5)),
        ("br", brotli.compress(TEXT[:9_000]) + b"rubbish"),
        ("BR", brotli.compress(TEXT, quality=1)),
        ("zstd", zstandard.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT[:1000]) + zstandard.compress(TEXT[1000:])),
        ("zstd", zstandard.compress(TEXT) + b"rubbish"),
        ("zstd", zstandard.ZstdCompressor(write_checksum=True, write_content_size=False).compress(TEXT)),
        ("gzip, br, zstd", zstandard.compress(PACK["br"](gzip.compress(TEXT)))),
    ],
)
def test_content_codings_are_taken_off(coding: str, wire: bytes) -> None:
    taken = payload(response(wire, content_encoding=coding))

    assert taken.body in (TEXT, TEXT[:9_000])
    assert taken.entity == wire
    assert not taken.bad_encoding and taken.truncated is None


def test_transfer_coding_goes_first_and_alone_into_the_entity() -> None:
    packed = gzip.compress(TEXT)
    wire = chunk(packed, [1, 10, 1000])

    taken = payload(response(wire, transfer_encoding="chunked", content_encoding="gzip"))

    assert taken.entity == packed
    assert taken.body == TEXT


@table(
    ("coding", "wire"),
    [
        ("gzip", TEXT),
        ("gzip", b"<html>"),
        ("gzip", b"\x1f\x8b"),
        ("deflate", b"\xff\xff\xff\xff"),
        ("deflate", TEXT),
        ("br", gzip.compress(TEXT)),
        ("br", TEXT),
        ("br", b"\xff" * 40_000),
        ("zstd", TEXT),
        ("zstd", gzip.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)[:9]),
        ("snappy", TEXT),
        ("gzip, gzip, gzip, gzip", TEXT),
        (", ".join(["gzip"] * 50), TEXT),
    ],
)
def test_a_coding_that_does_not_fit_leaves_the_bytes_and_a_flag(coding: str, wire: bytes) -> None:
    taken = payload(response(wire, content_encoding=coding))

    assert taken.bad_encoding
    assert taken.body is taken.entity is wire


def test_only_a_coding_that_nobody_knows_makes_the_bytes_unreadable() -> None:
    assert payload(response(TEXT, content_encoding="snappy")).unknown_coding
    assert not payload(response(TEXT, content_encoding="gzip")).unknown_coding
    assert not payload(response(TEXT, content_encoding="gzip, gzip, gzip, gzip")).unknown_coding


@pytest.mark.parametrize(
    ("coding", "wire"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", raw_deflate(TEXT)),
        ("br", brotli.compress(TEXT, quality=5)),
        ("zstd", zstandard.compress(TEXT)),
        ("gzip, zstd", zstandard.compress(gzip.compress(TEXT))),
    ],
)
def test_a_stream_that_breaks_off_gives_its_beginning(coding: str, wire: bytes) -> None:
    taken = payload(response(wire[: len(wire) * 7 // 10], content_encoding=coding))

    assert taken.truncated is Truncation.DISCONNECT
    assert not taken.bad_encoding
    assert 50_000 < len(taken.body) < len(TEXT)
    assert TEXT.startswith(taken.body)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("size", [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 5 * BLOCK + 17])
def test_every_size_comes_out_whole(coding: str, size: int) -> None:
    for document in (bytes(size), random.Random(size).randbytes(size)):
        taken = payload(response(PACK[coding](document), content_encoding=coding))

        assert taken.body == document
        assert taken.truncated is None


def test_a_stream_with_a_wrong_checksum_gives_what_it_held() -> None:
    wire = gzip.compress(TEXT[:20_000])[:-8] + b"\0" * 8

    taken = payload(response(wire, content_encoding="gzip"))

    assert taken.truncated is Truncation.DISCONNECT
    assert TEXT.startswith(taken.body)
    assert len(taken.body) > 10_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_is_cut_at_the_cap_in_bounded_memory(coding: str) -> None:
    bomb = PACK[coding](bytes(40 << 20))
    tracemalloc.start()

    taken = payload(response(bomb, content_encoding=coding))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(taken.body) == MAX_DECODED_BYTES
    assert taken.truncated is Truncation.LENGTH
    assert peak < 2 * MAX_DECODED_BYTES + 4 * BLOCK  # the pieces, and the body joined of them


@pytest.mark.parametrize("coding", DECODERS)
def test_no_piece_of_a_bomb_is_larger_than_a_block(coding: str) -> None:
    bomb = PACK[coding.removeprefix("x-")](bytes(20 << 20))

    assert max(map(len, DECODERS[coding](bomb))) <= BLOCK


def test_a_frame_that_asks_for_a_huge_window_is_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=30)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    wire = packer.compress(TEXT) + packer.flush()

    assert payload(response(wire, content_encoding="zstd")).bad_encoding


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd", "gzip, br"])
def test_opening_in_slices_gives_the_same(coding: str) -> None:
    document = random.Random(5).randbytes(3 << 20)
    wire = document
    for name in coding.split(", "):
        wire = PACK[name](wire)
    for packed in (wire, wire[:-1000], document):
        answer = response(packed, content_encoding=coding)

        assert decodes_slowly(answer)
        assert asyncio.run(payload_in_slices(answer, StepClock(0.001))) == payload(answer)


def test_only_large_packed_bodies_take_long() -> None:
    assert not decodes_slowly(response(bytes(LONG_WIRE_BODY + 1)))
    assert not decodes_slowly(response(bytes(LONG_WIRE_BODY), content_encoding="gzip"))


def test_work_without_end_is_ended_by_its_time() -> None:
    document = random.Random(6).randbytes(20 * BLOCK)
    answer = response(gzip.compress(document), content_encoding="gzip")

    taken = asyncio.run(payload_in_slices(answer, StepClock(0.1)))

    assert taken.truncated is Truncation.TIME
    assert 0 < len(taken.body) < len(document)
    assert document.startswith(taken.body)


def test_a_body_of_exactly_the_cap_is_whole() -> None:
    taken = payload(response(gzip.compress(TEXT), content_encoding="gzip"), max_bytes=len(TEXT))

    assert taken.body == TEXT
    assert taken.truncated is None


def test_a_bomb_of_empty_members_costs_no_more_than_a_few_of_them() -> None:
    few, many = (
        response(gzip.compress(b"x") + gzip.compress(b"") * number, content_encoding="gzip")
        for number in (2 * MAX_MEMBERS, 100 * MAX_MEMBERS)
    )

    assert lines_run(lambda: payload(many)) == lines_run(lambda: payload(few))


def test_a_truncated_response_stays_truncated_when_it_decodes_whole() -> None:
    assert payload(response(TEXT, Truncation.LENGTH)).truncated is Truncation.LENGTH
    short = payload(response(b"5\r\nhel", transfer_encoding="chunked"))

    assert (short.body, short.truncated) == (b"hel", Truncation.DISCONNECT)


@given(
    st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd", "gzip, deflate"]), st.integers(0, 400)
)
def test_no_bytes_break_the_decoder_and_no_document_exceeds_the_cap(noise: bytes, coding: str, cap: int) -> None:
    packed = [pack(noise) for pack in PACK.values()]
    for wire in (noise, *packed, *(each[:-3] + noise for each in packed), *(each + noise for each in packed)):
        taken = payload(response(wire, content_encoding=coding), max_bytes=cap)

        assert taken.bad_encoding or len(taken.body) <= cap


@given(st.binary(max_size=400), st.lists(st.integers(1, 50), max_size=10), st.lists(st.integers(1, 7), max_size=60))
def test_scanner_and_dechunker_agree_however_the_bytes_arrive(data: bytes, sizes: list[int], steps: list[int]) -> None:
    wire = chunk(data, sizes)
    stray = b"HTTP/1.1 200 OK"

    assert dechunk(wire).data == data
    assert dechunk(wire).complete
    assert _end_found(wire + stray, steps) == (len(wire), None)


@given(st.binary(max_size=60), st.lists(st.integers(1, 7), max_size=60))
def test_scanner_and_dechunker_refuse_the_same_noise(noise: bytes, steps: list[int]) -> None:
    _, failure = _end_found(noise, steps)

    if failure is Failure.BAD_CHUNK:
        assert not dechunk(noise).complete


def _end_found(wire: bytes, steps: list[int]) -> tuple[int | None, Failure | None]:
    scanner = ChunkScanner(line_limit=1000, trailer_limit=1000)
    position = 0
    for step in [*steps, len(wire)]:
        piece = wire[position : position + step]
        end = scanner.feed(piece)
        if end is not None:
            return position + end, None
        if scanner.failure is not None:
            return None, scanner.failure
        position += len(piece)
    return None, None


@pytest.mark.parametrize("size", [b"ZZ", b"-5", b"0x10", b"F" * 17, b"", b"5 5", b"1_0", b"+5"])
def test_a_chunk_size_that_is_no_number_ends_both(size: bytes) -> None:
    wire = size + b"\r\nhello\r\n0\r\n\r\n"

    assert _end_found(wire, []) == (None, Failure.BAD_CHUNK)
    assert dechunk(wire) == dechunk(b"")


def test_a_page_in_countless_chunks_is_cut_and_says_so() -> None:
    taken = payload(response(b"1\r\nx\r\n" * (MAX_CHUNKS + 10) + b"0\r\n\r\n", transfer_encoding="chunked"))

    assert taken.body == b"x" * MAX_CHUNKS
    assert taken.truncated is Truncation.LENGTH


def test_a_long_line_arriving_in_small_pieces_is_refused_at_its_limit() -> None:
    scanner = ChunkScanner(line_limit=1000, trailer_limit=1000)
    fed = 0
    while scanner.failure is None and fed < 5000:
        scanner.feed(b"5" if fed == 0 else b";" * 10)
        fed += 10

    assert scanner.failure is Failure.HEADER_TOO_LARGE
    assert fed <= 1020
