"""Selections: the same results as parsel's on many pages, the real differences, and bad selectors."""

import gzip
from collections.abc import Iterator

import pytest
from parsel import Selector

from gossamer.errors import SelectorError
from gossamer.extract.selection import Selection
from gossamer.extract.tree import page_tree
from gossamer.lab.simweb.config import preset
from gossamer.lab.simweb.hosts import path_of
from gossamer.lab.simweb.web import SimWeb
from gossamer.model.units import Instant
from tests.conformance import shared_data

SELECTORS = (
    "title::text",
    "h1::text",
    "h2 ::text",
    "a::attr(href)",
    "a[href^=http]::attr(href)",
    "p::text",
    "p ::text",
    "p:not([class])::text",
    "div div::text",
    "div > p:first-child ::text",
    "li > a::text",
    "ul li:nth-child(2n+1) ::text",
    "span + a::text, h2 ~ p::text",
    "meta[name=description]::attr(content)",
    "link[rel~=canonical]::attr(href)",
    "img[alt]::attr(src)",
    "div[class*=a]::attr(class)",
    "script::text",
    "table tr td ::text",
    "h1::text, a::attr(title)",
)

WITH_TEMPLATE = "021109347266"
"""The end of the name of the labelled page that has elements in a template: see DIFFERENCES."""


def selected(html: bytes, content_type: str = "text/html; charset=utf-8") -> Selection:
    return Selection([page_tree(html, content_type)[0]])


def by_parsel(html: bytes) -> Selector:
    return Selector(text=html.decode("utf-8", "replace"), type="html")


def labelled_pages() -> Iterator[tuple[str, bytes]]:
    for path in sorted(shared_data("text/html").glob("*.gz")):
        yield path.name.partition(".")[0], gzip.decompress(path.read_bytes())


def simulated_pages() -> Iterator[tuple[str, bytes]]:
    web = SimWeb(preset("demo", hosts=20, pages=1_000, seed=5))
    for host in web.hosts:
        for page in range(min(host.pages, 40)):
            answer = web.respond(str(host.name), path_of(host, page), Instant(0.0))
            if answer.status == 200 and answer.body and "html" in (answer.header("Content-Type") or ""):
                yield f"{host.name}{path_of(host, page)}", answer.body


def test_twenty_selectors_give_the_results_of_parsel_on_five_hundred_pages() -> None:
    wrong, pages, found = [], 0, 0
    for name, body in (*labelled_pages(), *simulated_pages()):
        if name.endswith(WITH_TEMPLATE):
            continue
        pages += 1
        ours, theirs = selected(body), by_parsel(body)
        for selector in SELECTORS:
            values = ours.css(selector).getall()
            found += len(values)
            if values != theirs.css(selector).getall():
                wrong.append((name, selector))

    assert wrong == []
    assert len(SELECTORS) == 20 and pages >= 500 and found > 100_000


BOOK = b"""<html><head><title>A book</title></head><body>
<div class="quote big" id=one><span class=text>To be<b> or</b> not</span>
<a class=tag href="/t/1?a=1&amp;b=2">life</a></div>
<div class=quote id=two><span class=text>Cogito &lt;3&nbsp;&amp;</span> <a class=tag href="/t/2" title="Think">mind</a>
  <div class=quote id=three>inner<p>deep</p>after</div></div>
<p lang=en>5 apples, 7 pears</p><!-- note --><br></body></html>"""

WITHIN = (
    ("div.quote", "span::text"),
    ("div.quote", "div.quote"),  # the element itself is found
    ("div.quote", "div.quote p::text"),
    ("div.quote", "body p"),  # but nothing above it counts
    ("div.quote", "body > div"),
    ("div.quote", ":scope > a::attr(href)"),
    ("div.quote", "::text"),
    ("div.quote", " ::text"),
    ("div.quote", "*::attr(class)"),
    ("div.quote", "::attr(id)"),
    ("div.quote", "a::attr(title), a::text, b"),
    ("div.quote", "div::text"),
    ("div.quote", "div ::text"),
    ("div.quote", "div *"),
    ("div.quote", "div > *::text"),
    ("div.quote", "a.tag[href*='?a=1,']::text, a[title=\"Think\"]::attr(title)"),
    ("body", "div:has(p)::attr(id)"),
    ("a::text", "a"),
    ("nothing", "a"),
)


def test_searches_within_elements_give_the_results_of_parsel() -> None:
    ours, theirs = selected(BOOK), by_parsel(BOOK)

    found = [ours.css(outer).css(inner).getall() for outer, inner in WITHIN]

    assert found == [theirs.css(outer).css(inner).getall() for outer, inner in WITHIN]
    assert sum(map(bool, found)) >= 13


XPATHS = (
    "//a/@href",
    "//span//text()",
    "//div[@class='quote']/span/text()",
    "//div[has-class('quote', 'big')]/@id",
    "//p[contains(., 'apples')]/@lang",
    "//a[re:test(@href, '2$')]/text()",
    "count(//a)",
    "count(//a) > 1",
    "count(//a) > 5",
    "string(//title)",
    "//div//div/preceding-sibling::a/text()",
    "body/p/text()",
    "//a[@title=$title]/text()",
)


def test_xpath_expressions_give_the_results_of_parsel() -> None:
    ours, theirs = selected(BOOK).css(":root"), by_parsel(BOOK)

    found = [ours.xpath(expression, title="Think").getall() for expression in XPATHS]

    assert found == [theirs.xpath(expression, title="Think").getall() for expression in XPATHS]
    assert all(found)
    boxes = [box.xpath(".//a/text()").getall() for box in ours.css("div.quote")]
    assert boxes == [box.xpath(".//a/text()").getall() for box in theirs.css("div.quote")]


@pytest.mark.parametrize("pattern", [r"\d+", r"(\d+) (\w+)", r"(?P<extract>\w+) pears", r"&\w+;?", r"[^<>]+&"])
def test_regular_expressions_give_the_results_of_parsel(pattern: str) -> None:
    ours, theirs = selected(BOOK), by_parsel(BOOK)

    for selector in ("p::text", "span", "a::attr(href)", "nothing"):
        assert ours.css(selector).re(pattern) == theirs.css(selector).re(pattern)
        assert ours.css(selector).re_first(pattern, "-") == theirs.css(selector).re_first(pattern, "-")
        assert ours.css(selector).re(pattern, replace_entities=False) == theirs.css(selector).re(
            pattern, replace_entities=False
        )


def test_a_selection_is_a_sequence_of_its_matches_and_answers_for_the_first() -> None:
    quotes = selected(BOOK).css("div.quote")

    assert len(quotes) == 3 and [quote.attrib["id"] for quote in quotes] == ["one", "two", "three"]
    assert quotes[1].css(".text::text").get() == "Cogito <3\xa0&"
    assert [quote.attrib["id"] for quote in quotes[1:]] == ["two", "three"]
    assert quotes.attrib == {"class": "quote big", "id": "one"}
    assert quotes.text == "To be or not\nlife"
    assert quotes[2].html == quotes[2].get() == '<div class="quote" id="three">inner<p>deep</p>after</div>'
    assert quotes.element is not None and quotes.element.tag == "div"
    assert quotes.css("b::text").element is None and quotes.css("b::text").text == " or"
    assert repr(quotes.css("b::text")) == "<Selection of 1: ' or'>"


def test_a_selection_without_matches_is_false_and_has_empty_values() -> None:
    nothing = selected(BOOK).css("h1")

    assert not nothing and nothing.getall() == [] and nothing.get() is None and nothing.get("-") == "-"
    assert (nothing.text, nothing.html, nothing.attrib, nothing.element) == ("", "", {}, None)
    assert repr(nothing) == "<Selection of 0>"


BAD = {
    "div[[": "bad CSS selector 'div[[': expected an identifier at position 4",
    "h1::text, div[[": "bad CSS selector 'h1::text, div[[': expected an identifier at position 14",
    "": "bad CSS selector '': expected a selector at position 0",
    "p::before": (
        "bad CSS selector 'p::before': unknown pseudo-element ::before at position 1; there are ::text and ::attr(name)"
    ),
    "a::attr()": (
        "bad CSS selector 'a::attr()': unknown pseudo-element ::attr at position 1; there are ::text and ::attr(name)"
    ),
    "a::text b": "bad CSS selector 'a::text b': unexpected 'b' after ::text or ::attr() at position 8",
}


def test_a_bad_selector_is_named_with_the_place_of_the_error() -> None:
    for page in (selected(BOOK), selected(BOOK).css("div"), selected(BOOK).css("a::text")):
        for selector, message in BAD.items():
            with pytest.raises(SelectorError) as raised:
                page.css(selector)
            assert str(raised.value) == message
    with pytest.raises(SelectorError, match=r"^bad XPath expression '//\[': expected a node test at offset 2"):
        selected(BOOK).xpath("//[")
    with pytest.raises(SelectorError, match="unbound variable"):
        selected(BOOK).xpath("//a[@href=$where]")


DIFFERENCES: dict[str, tuple[bytes, str, list[str], list[str]]] = {
    "names of SVG attributes keep their capitals": (
        b"<svg viewBox='0 0 1 1'></svg>",
        "svg",
        ['<svg viewBox="0 0 1 1"></svg>'],
        ['<svg viewbox="0 0 1 1"></svg>'],
    ),
    "quotes in attributes are entities": (
        b"""<p title='a "b"'>x</p>""",
        "p",
        ['<p title="a &quot;b&quot;">x</p>'],
        ["""<p title='a "b"'>x</p>"""],
    ),
    "what is inside a template is not part of the page": (
        b"<template><p>hidden</p></template><p>shown</p>",
        "p::text",
        ["shown"],
        ["hidden", "shown"],
    ),
    "tables have the tbody that browsers add": (b"<table><tr><td>1</table>", "table > tr", [], ["<tr><td>1</td></tr>"]),
    "what is misplaced in a table comes before it, as in browsers": (
        b"<table><tr><td>cell</td></tr><p>stray</p></table>",
        "td::text, p::text",
        ["stray", "cell"],
        ["cell", "stray"],
    ),
}


@pytest.mark.parametrize("what", DIFFERENCES)
def test_the_differences_from_parsel_are_those_of_the_html_standard(what: str) -> None:
    html, selector, ours, theirs = DIFFERENCES[what]

    assert selected(html).css(selector).getall() == ours
    assert by_parsel(html).css(selector).getall() == theirs
