"""Bodies, BD-01 to BD-20: packed, endless, mislabelled or senseless documents, served and read as a crawl does it."""

import asyncio
import gzip
import random
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import pytest
import zstandard

from gossamer.extract.charset import encoding_of_label
from gossamer.extract.content_types import is_html
from gossamer.extract.crawl_page import MAX_LINK_CHARS, MAX_LINKS, PageContent, extract_page, is_large
from gossamer.extract.large_pages import LargePages
from gossamer.fetch.http.body import MAX_DECODED_BYTES, Payload, decodes_slowly, payload, payload_in_slices
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, Response, Truncation
from tests.effort import lines_run
from tests.fetch.http.scripted_server import HEAD, PATIENT, Script, StepClock, Talk, always, answered, failed, hasty
from tests.hostile.scripted import GOOD_PAGE, drive, page, site
from tests.hostile.small_crawl import NEIGHBOUR, RETRY, SmallCrawl, archived
from tests.hostile.survival import MIB
from tests.integration.crawl_process import gossamer

KIB = 1024
LINKS = b"<!DOCTYPE html><title>t</title>" + b"".join(b"<p>text %d <a href='/%d'>x</a>\n" % (n, n) for n in range(3000))
NO_RULES = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@cache
def gzip_bomb() -> bytes:
    """A GiB of zeros in about a MB. Flushed blocks stand for themselves, so one of them is repeated."""
    packer = zlib.compressobj(9, wbits=31)
    first = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + again * 1023


@cache
def brotli_bomb() -> bytes:
    """Four GiB of zeros in a few KB."""
    packer = brotli.Compressor(quality=5)
    first = packer.process(bytes(16 * MIB)) + packer.flush()
    again = packer.process(bytes(16 * MIB)) + packer.flush()
    return bytes(first + again * 255)


@cache
def zstd_bomb() -> bytes:
    """256 MiB of zeros in some 8 KB."""
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join(packer.compress(bytes(MIB)) for _ in range(256)) + packer.flush()


class Document:
    """A response, opened and read."""

    def __init__(self, response: Response, opened: Payload, content: PageContent | None) -> None:
        self.response, self.opened, self.content = response, opened, content

    @property
    def hrefs(self) -> list[str]:
        return self.content.hrefs if self.content is not None else []


def served(script: Script, limits: FetchLimits = PATIENT, reading: float = 20.0) -> Document:
    """Fetch, open and read: large documents where they hold nobody up, all under the rules for every case."""
    with site(script) as server:

        async def work(fetcher: CurlFetcher) -> Document:
            response = await answered(fetcher, server.request())
            # A thousandth of a second for each block, which is what a slow machine takes.
            opened = await (
                payload_in_slices(response, StepClock(0.001)) if decodes_slowly(response) else _at_once(response)
            )
            return Document(response, opened, await _read(response, opened, reading))

        return drive(work, limits)


async def _at_once(response: Response) -> Payload:
    return payload(response)


async def _read(response: Response, opened: Payload, reading: float) -> PageContent | None:
    kind = response.headers.get("content-type")
    if opened.unknown_coding or not opened.body or not is_html(kind, opened.body[:1024]):
        return None
    if not is_large(opened.body):
        return extract_page(opened.body, kind, response.url)
    elsewhere = LargePages(reading)
    try:
        return (await elsewhere.extract(opened.body, kind, response.url, None)).content
    finally:
        await elsewhere.close()


def document(body: bytes, *fields: bytes, limits: FetchLimits = PATIENT) -> Document:
    return served(always(page(body, *fields)), limits)


def typed(body: bytes, content_type: bytes | None, reading: float = 20.0) -> Document:
    """A document with this Content-Type, or none. `reading`: seconds for it; a busy machine needs more than the usual
    two for what an idle one reads in half of one."""
    field = b"" if content_type is None else b"Content-Type: " + content_type + b"\r\n"
    head = b"HTTP/1.1 200 OK\r\n" + field + b"Content-Length: %d\r\n\r\n" % len(body)
    return served(always(head + body), reading=reading)


# --- codings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("coding", "bomb"),
    [(b"gzip", gzip_bomb), (b"br", brotli_bomb), (b"zstd", zstd_bomb)],
    ids=["BD-01 gzip", "BD-02 br", "zstd"],
)
def test_bd_01_and_02_a_bomb_is_cut_at_the_cap(coding: bytes, bomb: Callable[[], bytes]) -> None:
    found = document(bomb(), b"Content-Encoding: " + coding)

    assert len(found.response.wire_body) < 2 * MIB
    assert found.opened.body == bytes(MAX_DECODED_BYTES)
    assert found.opened.truncated is Truncation.LENGTH


@pytest.mark.service
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (page(gzip.compress(bytes(3 * MIB)), b"Content-Encoding: gzip"), "length"),
        (page(gzip.compress(LINKS)[: int(len(gzip.compress(LINKS)) * 0.6)], b"Content-Encoding: gzip"), "disconnect"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + bytes(0x10000) + b"\r\n") * 40, "length"),
    ],
    ids=["BD-01", "BD-04", "BD-07"],
)
def test_bd_01_04_and_07_what_is_cut_says_so_in_the_archive_and_on_record(
    tmp_path: Path, answer: bytes, why: str
) -> None:
    crawl = SmallCrawl(tmp_path, f"{RETRY}[fetch]\nmax_body_bytes = {MIB}\n")

    async def script(talk: Talk) -> None:
        asked = await talk.request()
        await talk.say(NO_RULES if asked.startswith(b"GET /robots.txt ") else answer)

    with site(script) as server:
        url = f"http://127.0.0.1:{server.port}/"
        crawl.run(url)

    found = next(each for each in crawl.pages() if each["url"] == url)
    assert (found["state"], found["truncated"]) == ("stored", why)
    assert f"truncated ({why})" in gossamer("explain", url, "--dir", crawl.dir).out
    cut = {fields["WARC-Target-URI"]: fields.get("WARC-Truncated") for fields in archived(crawl.dir, "response")}
    assert cut.pop(url) == why
    assert set(cut.values()) <= {None, why}  # of the links that were found, and of the healthy host
    assert [v for target, v in cut.items() if NEIGHBOUR in target] == [None] * 5


def layered(*codings: str) -> bytes:
    pack = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress, "deflate": zlib.compress}
    body = GOOD_PAGE
    for coding in codings:
        body = pack[coding](body)
    return body


@pytest.mark.parametrize(
    ("codings", "body"),
    [(["gzip"] * 50, layered("gzip")), (["gzip", "br", "zstd", "deflate"], layered("gzip", "br", "zstd", "deflate"))],
    ids=["fifty", "four"],
)
def test_bd_03_more_than_three_codings_are_refused_and_nothing_decoded(codings: list[str], body: bytes) -> None:
    found = document(body, b"Content-Encoding: " + ", ".join(codings).encode())

    assert found.opened.bad_encoding
    assert found.opened.body == body
    assert found.hrefs == []


def test_three_codings_are_taken_off() -> None:
    found = document(layered("deflate", "br", "zstd"), b"Content-Encoding: deflate, br, zstd")

    assert found.opened.body == GOOD_PAGE
    assert found.hrefs == ["/next"]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_bd_04_a_coding_cut_short_gives_its_beginning_and_the_links_in_it(coding: str) -> None:
    pack = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "br": lambda data: brotli.compress(data, quality=4),
        "zstd": zstandard.compress,
    }
    # Text that does not pack well: otherwise the first tenth of the packed bytes holds nearly all of it.
    noise = random.Random(4)
    text = b"".join(b"%s <a href='/%d'>x</a>\n" % (noise.randbytes(40).hex().encode(), n) for n in range(3000))
    packed: bytes = pack[coding](b"<!DOCTYPE html>" + text)

    found = document(packed[: len(packed) * 6 // 10], b"Content-Encoding: " + coding.encode())

    assert found.opened.truncated is Truncation.DISCONNECT
    assert (b"<!DOCTYPE html>" + text).startswith(found.opened.body)
    assert 500 < len(found.hrefs) < 3000


def test_bd_05_plain_html_behind_a_wrong_coding_is_kept_and_read() -> None:
    for coding in (b"gzip", b"deflate", b"br", b"zstd"):
        found = document(GOOD_PAGE, b"Content-Encoding: " + coding)

        assert found.opened.bad_encoding
        assert found.opened.body == GOOD_PAGE
        assert found.hrefs == ["/next"]


def test_bd_05_one_coding_behind_the_name_of_another_is_kept() -> None:
    packed = gzip.compress(LINKS)

    found = document(packed, b"Content-Encoding: br")

    assert found.opened.bad_encoding
    assert found.opened.body == packed


def test_bd_06_a_coding_that_nobody_knows_is_kept_and_not_read() -> None:
    found = document(GOOD_PAGE, b"Content-Encoding: snappy")

    assert found.opened.bad_encoding and found.opened.unknown_coding
    assert found.opened.body == GOOD_PAGE
    assert found.hrefs == []


@pytest.mark.service
def test_bd_03_05_and_06_what_cannot_be_decoded_is_stored_as_it_came_asked_for_once_and_flagged(tmp_path: Path) -> None:
    bodies = {
        "/fifty": (", ".join(["gzip"] * 50), layered("gzip")),
        "/plain": ("gzip", b"<!DOCTYPE html><title>good</title><a href='/found'>read</a>"),
        "/other": ("br", gzip.compress(LINKS)),
        "/unknown": ("snappy", b"<!DOCTYPE html><title>good</title><a href='/lost'>not read</a>"),
    }
    start = "".join(f"<a href='{path}'>x</a>" for path in bodies).encode()

    async def script(talk: Talk) -> None:
        while True:
            path = (await talk.request()).split(b" ")[1].decode()
            if path in ("/robots.txt", "/found"):
                await talk.say(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            elif path == "/":
                await talk.say(page(start))
            else:
                coding, body = bodies[path]
                await talk.say(page(body, b"Content-Encoding: " + coding.encode()))

    crawl = SmallCrawl(tmp_path)
    with site(script) as server:
        crawl.run(f"http://127.0.0.1:{server.port}/")
        asked = sorted(head.split(b" ")[1].decode() for _, head in server.heard)

    assert asked == sorted(["/robots.txt", "/", *bodies, "/found"])
    found = {str(each["url"]).partition(str(server.port))[2]: each for each in crawl.pages()}
    for path, (_, body) in bodies.items():
        assert (found[path]["state"], found[path]["reason"]) == ("stored", "bad_encoding")
        assert found[path]["size"] == len(body)


# --- length and pace ----------------------------------------------------------------------------------


def test_bd_07_chunks_without_end_are_cut_at_the_cap() -> None:
    limits = FetchLimits(body_bytes=MIB)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    sent: list[int] = []

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(10_000):
            sent.append(len(chunk))
            await talk.say_and_wait(chunk)

    found = served(script, limits)

    assert len(found.response.wire_body) == MIB
    assert found.opened.truncated is Truncation.LENGTH
    assert sum(sent) <= MIB + 256 * KIB


def test_bd_08_a_body_that_drips_is_too_slow() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Content-Length: 1000000\r\n\r\n")
        for _ in range(1000):
            await talk.say(b"x")
            await asyncio.sleep(0.05)  # well within the idle deadline

    with site(script) as server:

        async def work(fetcher: CurlFetcher) -> Failed:
            return await failed(fetcher, server.request())

        assert drive(work, hasty(rate_window=0.6)).failure is Failure.TOO_SLOW
        assert server.connections == 1


# --- characters ---------------------------------------------------------------------------------------


def test_bd_09_bytes_that_are_not_in_their_charset_never_raise_and_keep_their_links() -> None:
    text = "<meta charset=windows-1251><title>Привет</title><a href='/мир'>мир</a>".encode("windows-1251")

    found = typed(text, b"text/html; charset=utf-8")

    assert found.content is not None
    assert found.content.encoding.lower() == "utf-8"
    assert len(found.hrefs) == 1
    assert found.content.replaced == text.decode("utf-8", "replace").count("\ufffd") > 0


@pytest.mark.service
def test_bd_09_and_17_what_could_not_be_read_is_counted_on_record(tmp_path: Path) -> None:
    garbled = page("<title>Привет</title>".encode("windows-1251"), b"X: y").replace(b"html", b"html; charset=utf-8", 1)
    deep = page(b"<div>" * 100_000 + b"<a href='/garbled'>x</a><a href='/garbled?2'>x</a>")
    crawl = SmallCrawl(tmp_path)

    async def script(talk: Talk) -> None:
        asked = await talk.request()
        answers = {b"/robots.txt": NO_RULES, b"/": deep}
        await talk.say(answers.get(asked.split(b" ")[1], garbled))

    with site(script) as server:
        url = f"http://127.0.0.1:{server.port}/"
        crawl.run(url)

    counts = {str(each["url"]): each["replaced_characters"] for each in crawl.pages()}
    assert counts == {url: 0, url + "garbled": 6, url + "garbled?2": 0}  # the last is a duplicate, and was not read
    explained = [gossamer("explain", each, "--dir", crawl.dir).out for each in (url, url + "garbled")]
    assert "2 links nested deeper than 512 elements" in explained[0]
    assert "6 characters could not be read in its encoding" in explained[1]


def test_bd_10_a_page_without_a_charset_is_read_the_same_every_time() -> None:
    text = ("<title>日本語のページ</title><a href='/x'>リンク</a>" * 20).encode("shift_jis")

    first, second = typed(text, b"text/html"), typed(text, b"text/html")

    assert first.content == second.content
    assert first.hrefs == ["/x"] * 20


@pytest.mark.parametrize("label", ["\0utf-8", "rot13", "zlib", "idna", "undefined", "x" * 10_000])
def test_bd_11_labels_that_name_no_text_encoding_are_not_followed(label: str) -> None:
    assert encoding_of_label(label) is None
    assert lines_run(lambda: encoding_of_label(label)) <= 20

    quoted = label.replace("\0", "%00").encode()
    found = typed(GOOD_PAGE, b"text/html; charset=" + quoted)

    assert found.hrefs == ["/next"]


def test_bd_12_nuls_do_not_hide_links() -> None:
    before = b"<a href='/1'>1</a>\0<a hr\0ef='/x' \0 href='/2'>2</a>"
    body = before + b"<p\0 class='\0'>\0</p>\0<a href='/3\0'>3</a><a href='/4'>4</a>"

    found = document(body)

    assert {"/1", "/2", "/4"} <= set(found.hrefs)
    assert len(found.hrefs) == 4


def test_bd_13_utf_16_is_read_by_its_mark_and_by_its_header() -> None:
    marked = typed(b"\xff\xfe" + GOOD_PAGE.decode().encode("utf-16-le"), b"text/html")
    declared = typed(GOOD_PAGE.decode().encode("utf-16-le"), b"text/html; charset=utf-16le")

    assert marked.hrefs == declared.hrefs == ["/next"]


# --- markup -------------------------------------------------------------------------------------------

JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + random.Random(2).randbytes(200_000)


@pytest.mark.parametrize("body", [random.Random(1).randbytes(5 * MIB), JPEG], ids=["random bytes", "a picture"])
def test_bd_14_noise_gives_next_to_no_links(body: bytes) -> None:
    found = typed(body, b"text/html")

    assert found.response.wire_body == body
    assert len(found.hrefs) <= 100


@pytest.mark.parametrize(
    "body",
    [
        b"<a href='/first'>x</a><p " + b"x=1 " * 1_250_000 + b">",
        b"<a href='/first'>x</a>" + b"<!--" * 20_000,
        b"<a href='/first'>x</a>" + b"<![CDATA[" * 20_000,
    ],
    ids=["BD-15 attributes", "BD-16 comments", "BD-16 CDATA"],
)
def test_bd_15_and_16_markup_made_to_be_slow_is_read_or_given_up_in_time(body: bytes) -> None:
    found = typed(body, b"text/html", reading=2.0)

    assert found.response.wire_body == body  # stored either way
    assert found.content is None or found.hrefs == ["/first"]


def test_bd_17_links_in_deep_nesting_are_found() -> None:
    parts = [b"<div>"] * 100_000
    for depth, name in ((10, b"a"), (500, b"b"), (99_999, b"c")):
        parts[depth] = b"<div><a href='/%s'>x</a>" % name

    found = typed(b"".join(parts), b"text/html")

    assert found.hrefs == ["/a", "/b", "/c"]
    assert found.content is not None
    assert found.content.deep_links == 1


def test_bd_18_no_more_than_so_many_links_are_kept() -> None:
    body = b"".join(b"<a href='/%d'>x</a>\n" % n for n in range(400_000))[: 10 * MIB]

    found = typed(body, b"text/html")

    assert found.content is not None
    assert len(found.hrefs) == MAX_LINKS
    assert found.content.dropped_links > 0  # of the part that was parsed


@pytest.mark.parametrize(
    ("content_type", "body", "read"),
    [
        (b"text/plain", GOOD_PAGE, False),
        (b"application/octet-stream", GOOD_PAGE, False),
        (b"application/xhtml+xml", GOOD_PAGE, True),
        (None, GOOD_PAGE, True),
        (None, b"\x89PNG\r\n\x1a\n" + GOOD_PAGE, False),
    ],
)
def test_bd_19_only_declared_or_recognised_html_is_read(content_type: bytes | None, body: bytes, read: bool) -> None:
    found = typed(body, content_type)

    assert found.response.wire_body == body
    assert (found.hrefs == ["/next"]) is read


def test_bd_20_a_huge_data_uri_is_no_link() -> None:
    found = typed(b"<a href='data:text/plain," + b"A" * (8 * MIB) + b"'>x</a><a href='/next'>y</a>", b"text/html")

    assert found.hrefs == ["/next"]


def test_bd_21_no_body_makes_the_process_tree_grow_by_more_than_64_mib() -> None:
    """`survival` adds up the memory of this process and of the one that parses."""
    units = {
        "NULs": b"\0",
        "zstd frames that are skipped": b"\x50\x2a\x4d\x18\x08\0\0\0" + bytes(8),
        "paragraphs": b"<p>",
        "links": b"<a href=/1>x</a>\n",
        "long links": b"<a href='/" + b"x" * 16_000 + b"'>x</a>",
    }
    for name, unit in units.items():
        coding = (b"Content-Encoding: zstd",) if name.startswith("zstd") else ()
        page = document(unit * (10 * MIB // len(unit)), *coding).content

        assert page is not None, name
        assert len(page.hrefs) <= MAX_LINKS and sum(map(len, page.hrefs)) <= MAX_LINK_CHARS, name
