"""What is fuzzed: for each target a corpus to begin with, and what must hold for any bytes at all.

A check raises AssertionError where the result is wrong; any other exception is a crash of the code under test.
"""

import gzip
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import brotli  # type: ignore[import-untyped]
import zstandard

from gossamer.errors import SearchFailed
from gossamer.extract.charset import (
    NAME_OF_LABEL,
    charset_parameter,
    choose_encoding,
    declared_encoding,
    encoding_of_label,
)
from gossamer.extract.content_types import Kinds, is_html
from gossamer.extract.crawl_page import MAX_LINKS, extract_page
from gossamer.extract.mime import (
    RESOURCE_HEADER,
    computed_type,
    declared_type,
    identify,
    nosniff,
    parse_mime_type,
    root_element,
)
from gossamer.extract.sitemaps import Entry, ListKind, Outcome, ReadLimits, read_list
from gossamer.extract.sitemaps.entries import CHANGE_FREQUENCIES, MAX_HREF
from gossamer.fetch.ftp import MAX_ENTRIES, ftp_path, index_page, read_listing
from gossamer.fetch.ftp_session import BadReply, ReplyReader, extended_port, passive_port, status_of_refusal
from gossamer.fetch.http.body import payload
from gossamer.fetch.http.codings import ChunkScanner, dechunk
from gossamer.fetch.http.exchange import Exchange
from gossamer.fetch.http.headers import parse_fields
from gossamer.fetch.ports import FetchLimits
from gossamer.fetch.robots import max_age_of, parse_robots, rules_from_answer
from gossamer.filter.canonical import Canonical, CanonicalRules, canonicalise
from gossamer.filter.links import LinkResolver
from gossamer.model.http_dates import http_date, retry_after
from gossamer.model.outcome import Response
from gossamer.model.units import Instant, Seconds, Url
from gossamer.seed.search import DuckDuckGo, SearchAnswer
from tests.fuzz.corpus import FEED, HTML_PAGES, LISTINGS, LONG_URLS, ROBOTS, SEARCH_PAGES, SITEMAPS, URLS

NOW = Instant(1_700_000_000.0)
_MAX_DECODED = 1 << 18
_CODINGS = ("", "gzip", "deflate", "br", "zstd", "gzip, gzip", "br, gzip", "identity", "x-unknown")
_BASE = "http://www.example.test/a/b/c?d=e"
_KINDS = Kinds(["html", "image/*"])


@dataclass(frozen=True)
class Target:
    """One thing that takes bytes. `share` is its part of the inputs, by how cheap it is."""

    name: str
    check: Callable[[bytes], None]
    corpus: Sequence[bytes]
    tokens: Sequence[bytes] = ()
    share: int = 10


def check_header_fields(data: bytes) -> None:
    fields, dropped = parse_fields(b"HTTP/1.1 200 OK\r\n" + data)

    assert "" not in fields and len(fields) + dropped <= data.count(b"\n") + 1
    assert all(name == name.strip().lower() and "\n" not in name + value for name, value in fields.items())
    assert sum(map(len, fields)) + sum(map(len, fields.values())) <= 2 * len(data)
    for value in [*list(fields.values())[:3], data.decode("latin-1")]:
        wait = retry_after(value, NOW)
        assert wait is None or 0 < wait <= 86_400
        date = http_date(value, NOW)
        assert date is None or -1e11 < date < 1e12
        age = max_age_of(value)
        assert age is None or age >= 0


_EXCHANGE_LIMITS = FetchLimits(body_bytes=300, head_bytes=2000, head_fields=20, header_bytes=500)


def check_exchange(data: bytes) -> None:
    """An answer as libcurl hands it over: lines of the head, then pieces of the body, until it is told to stop."""
    exchange = Exchange(_EXCHANGE_LIMITS)
    position, told_to_stop = 0, None
    while not exchange.head and told_to_stop is None and position < len(data):
        end = data.find(b"\n", position) + 1 or len(data)
        told_to_stop = exchange.on_head(data[position:end])
        position = end
    while told_to_stop is None and exchange.head and position < len(data):
        told_to_stop = exchange.on_body(data[position : position + 50])
        position += 50

    assert told_to_stop in (None, 0)
    assert exchange.failure is None or exchange.truncated is None
    assert len(exchange.head) <= _EXCHANGE_LIMITS.head_bytes and len(exchange.wire_body) <= _EXCHANGE_LIMITS.body_bytes
    assert len(exchange.wire_body) == exchange.body_bytes or exchange.failure is not None
    if exchange.head:
        assert 200 <= exchange.status <= 9999


def response_with(data: bytes) -> Response:
    """A response whose first byte says how its body is coded."""
    how, body = (data[0], data[1:]) if data else (0, b"")
    headers = {"content-type": "text/html", "content-encoding": _CODINGS[how % len(_CODINGS)]}
    if how & 0x80:
        headers["transfer-encoding"] = "chunked"
    return Response(Url("http://x.test/"), 200, b"", b"", body, headers, "127.0.0.1", NOW, Seconds(0.1))


def check_body(data: bytes) -> None:
    response = response_with(data)

    found = payload(response, _MAX_DECODED)

    assert len(found.body) <= max(_MAX_DECODED, len(found.entity))
    assert len(found.entity) <= len(response.wire_body)
    if found.bad_encoding or not response.headers["content-encoding"]:
        assert found.body == found.entity


def check_chunks(data: bytes) -> None:
    """However the bytes are cut into pieces, the scanner finds the same end, and agrees with `dechunk`."""
    at_once, ends_at = ChunkScanner(512, 2048), None
    ends_at = at_once.feed(data)
    bit_by_bit, position, found = ChunkScanner(512, 2048), 0, None
    for size in (1, 2, 3, 5, 8, 13, 21, 1 << 20):
        piece = data[position : position + size]
        taken = bit_by_bit.feed(piece)
        if taken is not None:
            found = position + taken
            break
        if bit_by_bit.failure is not None:
            break
        position += len(piece)
    assert found == ends_at
    assert bit_by_bit.failure == at_once.failure
    if ends_at is not None:
        assert dechunk(data[:ends_at]).complete


def check_robots(data: bytes) -> None:
    rules = parse_robots(data, "gossamer")
    lines = len(data) + 1  # there cannot be more

    assert rules.crawl_delay is None or 0 <= rules.crawl_delay <= 1e9
    for path in ("/", "/private/x?y=z", "/robots.txt", "/" + data[:40].decode("latin-1")):
        verdict = rules.verdict(path)
        assert verdict.allowed == rules.allows(path)
        assert verdict.line_number is None or 1 <= verdict.line_number <= lines
    assert rules.allows("/robots.txt")
    answer = rules_from_answer(200, data, agent="gossamer", now=NOW, truncated=True)
    assert not answer.closed and answer.expires_at > NOW


def check_robots_matching(data: bytes) -> None:
    """A pattern and a path of a few plain characters, against the obvious matcher."""
    letters = bytes(b"ab/*$"[byte % 5] for byte in data)
    pattern, path = letters[: len(letters) // 3][:40], letters[len(letters) // 3 :][:80].replace(b"*", b"c")
    rules = parse_robots(b"User-agent: *\nDisallow: /" + pattern, "gossamer")

    assert rules.allows("/" + path.decode()) is not _obviously_matches(b"/" + pattern, b"/" + path)


def _obviously_matches(pattern: bytes, path: bytes) -> bool:
    """Every place of the path that a beginning of the pattern can reach, one pattern character after the other."""
    anchored = pattern.endswith(b"$")
    places = {0}
    for character in pattern[:-1] if anchored else pattern:
        if character == ord("*"):
            places = set(range(min(places, default=len(path) + 1), len(path) + 1))
        else:
            places = {place + 1 for place in places if path[place : place + 1] == bytes((character,))}
    return len(path) in places if anchored else bool(places)


def check_charset(data: bytes) -> None:
    label, _, body = data.partition(b"\n")
    text = label.decode("latin-1")

    for encoding in (choose_encoding(data, None), choose_encoding(body, text)):
        assert encoding in _ENCODINGS
    assert declared_encoding(body, None) in _ENCODINGS | {None}
    assert encoding_of_label(text) in _ENCODINGS | {None}
    charset_parameter(text)
    # Nothing past the prescan can declare anything.
    head = body[:1024].ljust(1024)
    assert declared_encoding(head, None) == declared_encoding(head + b"<meta charset=koi8-r>", None)


_ENCODINGS = frozenset(NAME_OF_LABEL.values())


def check_page(data: bytes) -> None:
    page = extract_page(data, None, "http://x.test/")

    assert len(page.hrefs) <= MAX_LINKS and page.encoding in _ENCODINGS
    assert page.title is None or page.title == " ".join(page.title.split())


def check_url(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    for found in (canonicalise(text), canonicalise(text, _BASE)):
        if not isinstance(found, Canonical):
            assert len(found.shown.encode()) <= 256 and found.reason in {
                *("bad_scheme", "bad_url", "url_too_long", "blocked_port"),
            }
            continue
        assert found.url.isascii() and found.url.startswith(found.origin + "/")
        assert found.origin.split("://")[0] in ("http", "https")
        assert "#" not in found.url and "@" not in found.origin and " " not in found.url
        # Escaping may make more of a text than is taken; rules refuse such URLs long before.
        assert canonicalise(found.url) == found or len(found.url) > CanonicalRules().max_text_chars


_RESOLVER = LinkResolver(memo_entries=1000)
_PAGE = canonicalise(_BASE)
assert isinstance(_PAGE, Canonical)


def check_links(data: bytes) -> None:
    """The quick way to resolve the links of a page gives what the obvious way gives."""
    assert isinstance(_PAGE, Canonical)
    hrefs = data.decode("utf-8", "replace").split("\n")
    base, hrefs = (hrefs[0], hrefs[1:]) if len(hrefs) > 1 else (_BASE, hrefs)
    found = _RESOLVER.resolve_page(base, _PAGE, hrefs)

    assert not found.dropped
    for url, host in found.links.items():
        again = canonicalise(url)
        assert again[:2] == (url, host) or len(url) > CanonicalRules().max_text_chars
    if base == _BASE:
        # A link too long for its fragment alone is not: the resolver cuts it off first.
        obvious = (canonicalise(href.partition("#")[0] if len(href) > 2000 else href, _BASE) for href in hrefs)
        assert set(found.links) == {c.url for c in obvious if isinstance(c, Canonical)} - {_PAGE.url}


def check_mime(data: bytes) -> None:
    header, _, start = data.partition(b"\n")
    text = header.decode("latin-1")

    found = parse_mime_type(text)
    if found is not None:
        assert parse_mime_type(str(found)) == found
        assert found.essence == found.essence.lower()
    declared = declared_type(text)
    nosniff(text)
    computed = computed_type(text, start)
    assert parse_mime_type(str(computed)) == computed
    assert computed == computed_type(text, start[:RESOURCE_HEADER])
    if declared is not None and not computed_type(text, b"").is_html:
        # A declared type never becomes something that runs, or that is read for links.
        assert declared.essence in ("unknown/unknown", "application/unknown") or not computed.is_html
    assert not identify(start, scriptable=False).is_html
    assert is_html(None, start) == is_html("", start[:RESOURCE_HEADER])
    root = root_element(start)
    assert root is None or root.encode() in start
    # What the head decides, no body contradicts.
    assert _KINDS.wants_document({"content-type": text}, start) is (computed.is_html or computed.type == "image")


_LIST_LIMITS = ReadLimits(max_bytes=_MAX_DECODED, max_entries=50, max_depth=40)


def check_list(data: bytes) -> None:
    entries: list[Entry] = []
    reading = read_list(data, NOW, content_type="text/xml; charset=utf-8", limits=_LIST_LIMITS)
    outcome: Outcome | None = None
    while outcome is None:
        try:
            entries += next(reading).entries
        except StopIteration as end:
            outcome = end.value

    assert len(entries) == outcome.entries <= _LIST_LIMITS.max_entries
    assert outcome.read_bytes <= _MAX_DECODED
    assert (outcome.fault is None) == (outcome.detail is None)
    assert outcome.kind is not ListKind.UNKNOWN or (outcome.fault is not None and not entries)
    for entry in entries:
        assert (entry.url or entry.related) and len(entry.url or "") <= 4 * MAX_HREF
        assert entry.lastmod is None or 6e8 < entry.lastmod <= NOW + 86_400
        assert entry.priority is None or 0 <= entry.priority <= 1
        assert entry.changefreq is None or entry.changefreq in CHANGE_FREQUENCIES
        assert entry.url is None or "root:" not in entry.url


def check_search_page(data: bytes) -> None:
    for status in (200, 202):
        try:
            results = DuckDuckGo().results(SearchAnswer(status, data), "words")
        except SearchFailed as failed:
            why = failed.why
        else:
            why = "results" if all(results) and results else "nothing"
        assert why in ({"results", "no results", "blocked", "changed"} if status == 200 else {"blocked"})


def check_ftp_listing(data: bytes) -> None:
    for facts in (True, False):
        listing = read_listing(data, facts=facts)
        names = [entry.name for entry in listing.entries]
        assert names == sorted(set(names)) and len(names) <= MAX_ENTRIES
        page = index_page(b"/" + data[:20], listing)
        assert page.count(b"<a href=") == len(names)
        for name in names:
            assert name not in (b".", b"..") and b"/" not in name and min(name) >= 32
    if names[:1]:
        content = extract_page(index_page(b"/", listing), "text/html; charset=utf-8", "ftp://h/")
        paths = [ftp_path(f"ftp://h/{href}") for href in content.hrefs]
        assert [path and path.path.strip(b"/") for path in paths] == names


def check_ftp_replies(data: bytes) -> None:
    reader = ReplyReader()
    for line in data.split(b"\n"):
        try:
            reply = reader.feed(line + b"\n")
        except BadReply:
            break
        if reply is not None:
            assert 100 <= reply.code < 600 and reply.printable.isascii() and reply.printable.isprintable()
            for port in (extended_port(reply), passive_port(reply)):
                assert port is None or 1024 <= port < 65536
            assert status_of_refusal(reply) in (403, 404, 501, 503)
    path = ftp_path("ftp://h/" + data.decode("latin-1"))
    assert path is None or (path.path.startswith(b"/") and min(path.path) >= 32)


_GOOD_BODY = b"<html><body>" + b"Some text that can be made smaller. " * 40 + b"</body></html>"
_CHUNKED = b"5\r\nhello\r\n3;x=y\r\n, w\r\n0\r\nTrailer: x\r\n\r\n"
_DEFLATE = zlib.compressobj(wbits=-15)
_RAW_DEFLATE = _DEFLATE.compress(_GOOD_BODY) + _DEFLATE.flush()
_BODIES = (
    bytes([1]) + gzip.compress(_GOOD_BODY, mtime=0),
    bytes([1]) + gzip.compress(b"one", mtime=0) + gzip.compress(b"two", mtime=0),
    bytes([1]) + gzip.compress(bytes(1 << 20), mtime=0),
    bytes([2]) + zlib.compress(_GOOD_BODY),
    bytes([2]) + _RAW_DEFLATE,
    bytes([3]) + brotli.compress(_GOOD_BODY),
    bytes([4]) + zstandard.compress(_GOOD_BODY),
    bytes([4]) + zstandard.compress(bytes(1 << 20)),
    bytes([5]) + gzip.compress(gzip.compress(_GOOD_BODY, mtime=0), mtime=0),
    bytes([0x80 + 7]) + _CHUNKED,
    bytes([0x80 + 1]) + b"%x\r\n" % len(_GOOD_BODY) + _GOOD_BODY + b"\r\n0\r\n\r\n",
)
_FIELDS = (
    b"Content-Type: text/html; charset=utf-8\r\nRetry-After: 120\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\n\r\n",
    b"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nExpires: Sunday, 06-Nov-94 08:49:37 GMT\r\n X: folded\r\n\r\n",
    b"Sun Nov  6 08:49:37 1994",
    b"max-age=3600, private",
    b"no colon\r\n: no name\r\nX : space\r\nX\xff: y\r\n\r\n",
)
_TYPES = (
    b'text/html;charset="utf-8";x="a\\"b",text/plain\n<!DOCTYPE html>',
    b"text/plain\n\x89PNG\r\n\x1a\n",
    b"*/*\n" + FEED,
    b"image/gif\nRIFF....WEBPVP8 ",
    b"video/mp4\n\0\0\0\x18ftypisom\0\0\0\0isommp41",
    b"\n\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm\x42\x87",
    b"\n" + (b"\xff\xfb\x90\0" + bytes(413)) * 2,
)
_REPLIES = (
    b"220-hello\r\n220 done\r\n331 ok\r\n",
    b"229 ok (|||50000|)\r\n227 (10,0,0,1,200,10)\r\n",
    b"a%20b;type=d",
)

_ANSWERS = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/2 200 \r\nTransfer-Encoding: gzip, chunked\r\n\r\n" + _CHUNKED,
    b"HTTP/1.0 404\n\n",
)

TARGETS: tuple[Target, ...] = (
    Target("exchange", check_exchange, _ANSWERS, (b"HTTP/1.1 ", b"\r\n\r\n", b"5\r\nhello\r\n", b": x\r\n")),
    Target("header fields", check_header_fields, _FIELDS, (b": ", b"Retry-After: ", b" GMT", b"charset=")),
    Target("body", check_body, _BODIES, (b"0\r\n\r\n", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"), share=8),
    Target("chunks", check_chunks, (_CHUNKED, b"0\r\n\r\n", b"5\nhello\n0\n\n"), (b"0\r\n", b"\r\n", b";", b"5\r\n")),
    Target("robots", check_robots, ROBOTS, (b"User-agent: *\n", b"Disallow: ", b"Allow: /*", b"$", b"#"), share=8),
    Target("robots matching", check_robots_matching, ROBOTS, (), share=8),
    Target("charset", check_charset, HTML_PAGES, (b"<meta charset=", b"charset", b"<!--", b"-->", b"<?xml encoding=")),
    Target("page", check_page, HTML_PAGES, (b"<a href=", b"<base href=", b"<template>", b"<title>", b"</"), share=4),
    Target(
        "url", check_url, (*URLS, *LONG_URLS), (b"http://", b"//", b"/../", b"%2e", b"@", b"[::1]", b"#", b"?", b":80")
    ),
    Target(
        "links",
        check_links,
        (b"\n".join(URLS), *URLS),
        (b"\n", b"../", b"//", b"?", b"#", b"%41", b"\xc3\xa9"),
        share=6,
    ),
    Target(
        "mime", check_mime, (*_TYPES, *HTML_PAGES), (b"charset=", b"text/html", b"/", b"=", b"<?xml", b"<!--", b"RIFF")
    ),
    Target(
        "list",
        check_list,
        (*SITEMAPS, FEED, *(gzip.compress(data, mtime=0) for data in SITEMAPS[:2])),
        (
            b"<url><loc>",
            b"</loc>",
            b"<![CDATA[",
            b"]]>",
            b"&amp;",
            b"<!ENTITY a '&b;'>",
            b"<link href='",
            b"<!--",
            b"-->",
        ),
        share=6,
    ),
    Target(
        "search page", check_search_page, SEARCH_PAGES, (b"result__a", b"uddg=", b"<div class=", b"</div>"), share=2
    ),
    Target("ftp listing", check_ftp_listing, LISTINGS, (b"type=dir;", b" -> ", b"Jan 31 12:00 ", b"<DIR> "), share=4),
    Target("ftp replies", check_ftp_replies, _REPLIES, (b"220 ", b"220-", b"(|||", b",", b"%0d%0a", b";type=")),
)
