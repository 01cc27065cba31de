"""Link extraction, refresh and robots directives against the cases of Nutch, Scrapy, webarchive-commons and WPT."""

import json
from typing import Any

import ada_url
import pytest

from gossamer.extract.crawl_page import extract_page, refresh_target
from gossamer.extract.full_page import Page, Wanted, read_page
from tests.conformance import shared_data
from tests.table import table

_HTML = "text/html; charset=utf-8"
_LINKS = json.loads(shared_data("conformance/html/link-extraction.json").read_text())["cases"]
_REFRESH = json.loads(shared_data("conformance/html/meta-refresh.json").read_text())["cases"]
_ROBOTS = json.loads(shared_data("conformance/html/meta-robots.json").read_text())["cases"]

# Where our anchor text is not the source's: the case, the link, our text.
_OTHER_TEXTS = {(15, "http://example.com/sample1.html"): "sample1"}  # of an area its alt counts, as of an image

# For webarchive-commons every link names its element and attribute, so that the policy can be said in these.
_PARTS_OF_A_PAGE = "images, media and other parts of a page are not pages"
_GUESSES = "data- attributes, scripts and citations are guesses, not links"
_OUR_PLACES = {"__meta_refresh__", "A@/href", "AREA@/href", "LINK@/href", "IFRAME@/src", "FRAME@/src"}
_IF_ASKED_FOR = {"IMG@/src", "SOURCE@/src", "IMG@/srcset", "FORM@/action"}
_OTHER_PLACES = {
    "BODY@/background": _PARTS_OF_A_PAGE,
    "IMG@/longdesc": _PARTS_OF_A_PAGE,
    "OBJECT@/data": _PARTS_OF_A_PAGE,
    "VIDEO@/poster": _PARTS_OF_A_PAGE,
    "Q@/cite": _GUESSES,
    "BLOCKQUOTE@/cite": _GUESSES,
    "DIV@/data-href": _GUESSES,
    "DIV@/data-uri": _GUESSES,
    "DIV@/onclick": _GUESSES,
    "BUTTON@/data-href": _GUESSES,
    "ARTICLE@/data-href": _GUESSES,
    "LINK@/data-href": _GUESSES,
    "A@/data-href": _GUESSES,
    "INPUT@/onclick": _GUESSES,
}
_STYLE_SHEETS = {"standard.css"}

_RESOLVED = [number for number, case in enumerate(_LINKS) if "links" in case]
_RAW = [number for number, case in enumerate(_LINKS) if "raw_links" in case]
_NO_FORMS = 10  # the same page as the one before it, read with forms off
_NO_IMAGES = {15}  # Scrapy asks for anchors and areas only


def read(number: int, *, everything: bool) -> Page:
    case = _LINKS[number]
    want = Wanted(forms=everything and number != _NO_FORMS, images=everything and number not in _NO_IMAGES)
    return read_page(case["html"].encode(), _HTML, case["base"] or "http://x.test/elsewhere", want=want)


@table("number", _RESOLVED)
def test_the_links_of_a_page_and_their_texts_are_those_other_crawlers_find(number: int) -> None:
    case = _LINKS[number]
    expected = {
        ada_url.normalize_url(link["url"]): _OTHER_TEXTS.get((number, link["url"]), link["text"])
        for link in case["links"]
    }

    page = read(number, everything=True)

    base = case["base"] if page.base is None else ada_url.join_url(case["base"], page.base)
    found: dict[str, str] = {}
    for link in page.links:
        if not link.nofollow:
            found.setdefault(ada_url.join_url(base, link.href), link.text)
    assert list(found.items()) == list(expected.items())


@pytest.mark.parametrize("number", _RAW)
def test_raw_links_are_those_of_the_places_we_read(number: int) -> None:
    expected = [
        link["value"].replace("&amp;", "&")
        for link in _LINKS[number]["raw_links"]
        if link["where"] in _OUR_PLACES | _IF_ASKED_FOR and link["value"] not in _STYLE_SHEETS
    ]

    assert [link.href for link in read(number, everything=True).links] == expected


def test_every_place_of_a_raw_link_is_ours_or_left_out_for_a_reason() -> None:
    places = {link["where"] for number in _RAW for link in _LINKS[number]["raw_links"]}

    assert places - _OUR_PLACES - _IF_ASKED_FOR - {"__base__"} == _OTHER_PLACES.keys()


@table("number", range(len(_LINKS)))
def test_the_crawl_finds_the_links_that_an_export_lists(number: int) -> None:
    case = _LINKS[number]

    found = extract_page(case["html"].encode(), _HTML, case["base"] or "http://x.test/elsewhere")

    listed = [link.href for link in read(number, everything=False).links if not link.nofollow]
    assert sorted(found.hrefs) == sorted(listed)


def test_the_base_of_a_page_is_found() -> None:
    pages = ((number, read(number, everything=False)) for number in range(len(_LINKS)))
    bases = {number: page.base for number, page in pages if page.base is not None}

    assert bases == {15: "http://example.com", 16: "http://www.example.com/"}


@table("case", _REFRESH)
def test_a_refresh_leads_where_a_browser_would_go(case: dict[str, Any]) -> None:
    base = "http://x.test/dir/"

    target = refresh_target(case["input"])

    expected = case["expected"] and case["expected"]["url"]
    assert (target and ada_url.join_url(base, target)) == (expected and ada_url.join_url(base, expected))


@table("case", _ROBOTS)
def test_meta_robots_means_what_other_crawlers_take_it_for(case: dict[str, Any]) -> None:
    page = extract_page(f"<html><head>{case['head']}</head><body></body></html>".encode(), None, "http://x.test/")

    assert (page.noindex, page.nofollow) == (case["noindex"], case["nofollow"])
