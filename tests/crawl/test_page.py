"""The page that a user of the library receives: what it says about a response, and what it reads only on request."""

import gzip
from datetime import UTC, datetime

from gossamer.crawl.events import Outcome
from gossamer.crawl.hooks import Page, PageLink
from gossamer.extract.full_page import LinkKind
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Seconds, Url

URL = Url("http://a.test/dir/page")
STARTED = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


def page(body: bytes, content_type: str | None = "text/html; charset=utf-8", **headers: str) -> Page:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    if content_type is not None:
        fields["content-type"] = content_type
    started = Instant(STARTED.timestamp())
    response = Response(URL, 200, b"", b"", body, fields, "192.0.2.1", started, Seconds(0.1))
    return Page(Outcome(URL, UrlState.STORED, started, 2, 200, None, "A title", None, response))


def urls(links: list[PageLink]) -> list[str]:
    return [link.url for link in links]


def test_a_page_describes_its_response() -> None:
    found = page(b"<p>text", x_served_by="one")

    assert (found.url, found.status, found.depth, found.title) == (URL, 200, 2, "A title")
    assert found.content_type == "text/html; charset=utf-8"
    assert found.headers["x-served-by"] == "one"
    assert found.fetched_at == STARTED
    assert repr(found) == "<Page 200 http://a.test/dir/page>"


def test_a_response_without_a_content_type_has_none() -> None:
    assert page(b"\x00\x01", None).content_type is None


def test_the_body_is_decoded_and_the_response_keeps_the_bytes_of_the_wire() -> None:
    packed = gzip.compress(b"<p>text")
    found = page(packed, content_encoding="gzip")

    assert found.body == b"<p>text"
    assert found.response.wire_body == packed


def test_links_are_absolute_and_in_document_order() -> None:
    found = page(b"<a href='b'>second dir</a> <a href='/a' rel=nofollow>root</a> <a href='//c.test/'>other</a>")

    assert urls(found.links) == ["http://a.test/dir/b", "http://a.test/a", "http://c.test/"]
    assert [link.text for link in found.links] == ["second dir", "root", "other"]
    assert [link.nofollow for link in found.links] == [False, True, False]
    assert {link.kind for link in found.links} == {LinkKind.ANCHOR}


def test_links_are_relative_to_the_base_of_the_page() -> None:
    found = page(b"<base href='http://b.test/docs/'><a href='x'>x</a>")

    assert urls(found.links) == ["http://b.test/docs/x"]


def test_a_base_that_is_no_web_address_is_ignored() -> None:
    found = page(b"<base href='mailto:somebody@a.test'><a href='x'>x</a>")

    assert urls(found.links) == ["http://a.test/dir/x"]


def test_links_that_are_no_web_addresses_are_left_out() -> None:
    found = page(b"<a href='mailto:somebody@a.test'>mail</a><a href='javascript:go()'>go</a><a href='/ok'>ok</a>")

    assert urls(found.links) == ["http://a.test/ok"]


def test_html_has_a_text_and_a_language() -> None:
    found = page("<html lang=de><body><p>Ein längerer Absatz mit Text.</p>".encode())

    assert found.is_html
    assert "Ein längerer Absatz" in found.text
    assert found.language == "de"


def test_other_documents_have_neither_text_nor_links() -> None:
    found = page(b"%PDF-1.7 <a href='/x'>x</a>", "application/pdf")

    assert not found.is_html
    assert (found.text, found.language, found.links, found.read()) == ("", None, [], None)


def test_html_without_a_content_type_is_recognised_by_its_first_bytes() -> None:
    found = page(b"<!DOCTYPE html><a href='/x'>x</a>", None)

    assert found.is_html
    assert urls(found.links) == ["http://a.test/x"]
