"""The page that a user of the library receives: what it says about a response, and what it reads only on request."""

import gzip
import json
from datetime import UTC, datetime

import pytest

from gossamer.crawl.events import Outcome
from gossamer.crawl.page import Page, PageLink
from gossamer.errors import SelectorError
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


SHOP = """<html><head><title>Shop</title><base href="/shop/">
<meta name=description content="Things to buy"><meta property="og:title" content="Our shop">
<meta property="og:image" content="logo.png">
<script type="application/ld+json">{"@type": "Store", "name": "Café"}</script>
<script type="application/ld+json">{broken</script></head>
<body><nav><a href="/">Home</a></nav><main><h1>All <em>things</em></h1>
<p>We sell <a href="chairs">chairs</a> and many other things that you can find in the table below.</p>
<div itemscope itemtype="https://schema.org/Product"><b itemprop=name>Chair</b></div>
<table><tr><th>What<th>Price<tr><td>Chair<td>10</table></main>
<form id=search action=find><input name=q value=x><input type=submit name=go></form>
<form id=login method=POST enctype=multipart/form-data><input name=user><input type=hidden name=t value=1></form>
</body></html>"""


def test_a_page_gives_its_html_its_encoding_and_what_selectors_find() -> None:
    found = page(SHOP.encode("latin-1"), "text/html; charset=iso-8859-1")

    assert (found.encoding, found.html) == ("windows-1252", SHOP)
    assert found.css("h1 ::text").getall() == ["All ", "things"]
    assert found.xpath("body/main/p/a/@href").get() == "chairs"
    assert found.tree.find("title") is not None
    assert found.description == "Things to buy"


def test_a_byte_order_mark_is_not_part_of_the_html() -> None:
    assert page("\ufeff<p>x".encode("utf-16-le"), "text/html").html == "<p>x"


def test_a_page_gives_its_structured_data() -> None:
    found = page(SHOP.encode())

    assert found.json_ld == [{"@type": "Store", "name": "Café"}]
    assert found.opengraph == {"title": "Our shop", "image": "http://a.test/shop/logo.png"}
    assert found.microdata == [{"type": ["https://schema.org/Product"], "properties": {"name": ["Chair"]}}]
    assert found.tables == [[["What", "Price"], ["Chair", "10"]]]
    assert json.loads(json.dumps(found.microdata)) == found.microdata


def test_markdown_is_the_main_text_or_the_whole_page_with_absolute_links() -> None:
    found = page(SHOP.encode())

    assert "# All *things*" in found.markdown()
    assert "[chairs](http://a.test/shop/chairs)" in found.markdown()
    assert "Home" not in found.markdown() and "[Home](http://a.test/)" in found.markdown(main=False)
    assert found.css("nav a::text").get() == "Home"  # the tree of selectors is not modified


def test_forms_have_an_absolute_address_and_the_fields_that_would_be_sent() -> None:
    found = page(SHOP.encode())
    search, login = found.forms

    assert (search.action, search.method, search.fields) == ("http://a.test/shop/find", "get", (("q", "x"),))
    assert (login.action, login.method, login.enctype) == (URL, "post", "multipart/form-data")
    assert found.form("#login").fields == (("user", ""), ("t", "1"))
    assert repr(found.form()) == "<Form get http://a.test/shop/find: q>"
    with pytest.raises(SelectorError, match=r"bad CSS selector '#buy': it matches no form on http://a\.test/dir/page"):
        found.form("#buy")


def test_a_text_document_is_its_own_text() -> None:
    found = page("Zeile f\u00fcr Zeile\n".encode("iso-8859-1"), "text/plain; charset=iso-8859-1")

    assert (found.text, found.text_source, found.markdown()) == ("Zeile f\u00fcr Zeile\n", "plain", found.text)
    assert (page(b"GIF89a", "image/gif").text, page(b"GIF89a", "image/gif").text_source) == ("", None)


def test_selectors_find_nothing_in_other_documents_but_are_checked() -> None:
    found = page(b"%PDF-1.7 <h1>x</h1>", "application/pdf")

    assert not found.css("html") and not found.xpath("//*") and found.css("h1::text").get(default="-") == "-"
    assert (found.html, found.json_ld, found.opengraph, found.tables, found.forms) == ("", [], {}, [], [])
    with pytest.raises(SelectorError):
        found.css("h1[[")
