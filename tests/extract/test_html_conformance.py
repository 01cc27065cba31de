"""Link extraction, refresh and robots directives against the cases of Nutch, Scrapy, webarchive-commons and WPT."""

import json
from typing import Any

import ada_url
import pytest

from conformance import shared_data
from gossamer.extract.links import PageContent, extract_page
from gossamer.extract.refresh import refresh_target

_LINKS = json.loads(shared_data("conformance/html/link-extraction.json").read_text())["cases"]
_REFRESH = json.loads(shared_data("conformance/html/meta-refresh.json").read_text())["cases"]
_ROBOTS = json.loads(shared_data("conformance/html/meta-robots.json").read_text())["cases"]

# Where the sources' policies differ from ours: the case, the links it lists that we do not take, and why.
_PARTS_OF_A_PAGE = "images, media and other parts of a page are not pages"
_FORMS = "a form is not a link: nobody asked us to submit it"
_GUESSES = "data- attributes, scripts and citations are guesses, not links"
_DIFFERENT: dict[int, tuple[set[str], str]] = {
    5: ({"http://www.nutch.org/maps/logo.gif"}, _PARTS_OF_A_PAGE),
    9: ({"http://www.nutch.org/dummy.jsp"}, _FORMS),
    13: ({"http://www.nutch.org/test.gif"}, _PARTS_OF_A_PAGE),
    14: ({"http://www.nutch.org/movie.mp4"}, _PARTS_OF_A_PAGE),
}
# For webarchive-commons every link names its element and attribute, so that the policy can be said in these.
_OUR_PLACES = {"__meta_refresh__", "A@/href", "AREA@/href", "LINK@/href", "IFRAME@/src", "FRAME@/src"}
_OTHER_PLACES = {
    "BODY@/background": _PARTS_OF_A_PAGE,
    "IMG@/src": _PARTS_OF_A_PAGE,
    "IMG@/longdesc": _PARTS_OF_A_PAGE,
    "OBJECT@/data": _PARTS_OF_A_PAGE,
    "VIDEO@/poster": _PARTS_OF_A_PAGE,
    "SOURCE@/src": _PARTS_OF_A_PAGE,
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


def read(case: dict[str, Any]) -> PageContent:
    return extract_page(case["html"].encode(), "text/html; charset=utf-8", case["base"] or "http://x.test/elsewhere")


def resolved(page: PageContent, base: str) -> list[str]:
    if page.base is not None:
        base = ada_url.join_url(base, page.base)
    return [ada_url.join_url(base, href) for href in page.hrefs]


@pytest.mark.parametrize("number", _RESOLVED)
def test_the_links_of_a_page_are_those_other_crawlers_find(number: int) -> None:
    case = _LINKS[number]
    not_ours, _reason = _DIFFERENT.get(number, (set(), ""))
    expected = [ada_url.normalize_url(link["url"]) for link in case["links"] if link["url"] not in not_ours]

    found = resolved(read(case), case["base"])

    assert list(dict.fromkeys(found)) == list(dict.fromkeys(expected))


def test_the_list_of_differences_is_not_stale() -> None:
    for number, (links, _reason) in _DIFFERENT.items():
        assert links <= {link["url"] for link in _LINKS[number]["links"]}


@pytest.mark.parametrize("number", _RAW)
def test_raw_links_are_those_of_the_places_we_read(number: int) -> None:
    case = _LINKS[number]
    expected = [
        link["value"].replace("&amp;", "&")
        for link in case["raw_links"]
        if link["where"] in _OUR_PLACES and link["value"] not in _STYLE_SHEETS
    ]

    assert read(case).hrefs == expected


def test_every_place_of_a_raw_link_is_ours_or_left_out_for_a_reason() -> None:
    places = {link["where"] for number in _RAW for link in _LINKS[number]["raw_links"]}

    assert places - _OUR_PLACES - {"__base__"} == _OTHER_PLACES.keys()


def test_the_base_of_a_page_is_found() -> None:
    bases = {number: read(case).base for number, case in enumerate(_LINKS) if read(case).base is not None}

    assert bases == {15: "http://example.com", 16: "http://www.example.com/"}


@pytest.mark.parametrize("case", _REFRESH, ids=lambda case: repr(case["input"]))
def test_a_refresh_leads_where_a_browser_would_go(case: dict[str, Any]) -> None:
    base = "http://x.test/dir/"

    target = refresh_target(case["input"])

    expected = case["expected"] and case["expected"]["url"]
    assert (target and ada_url.join_url(base, target)) == (expected and ada_url.join_url(base, expected))


@pytest.mark.parametrize("case", _ROBOTS, ids=lambda case: case["head"])
def test_meta_robots_means_what_other_crawlers_take_it_for(case: dict[str, Any]) -> None:
    page = extract_page(f"<html><head>{case['head']}</head><body></body></html>".encode(), None, "http://x.test/")

    assert (page.noindex, page.nofollow) == (case["noindex"], case["nofollow"])
