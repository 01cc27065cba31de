"""Documents made to hurt a parser (docs/HOSTILE.md, Bodies). That they end at all is the test, and that the time
grows with the size and not with its square: in CPU time, two sizes in the same run."""

import random

import pytest

from gossamer.extract.charset import guess_encoding
from gossamer.extract.crawl_page import MAX_LINKS, PageContent, extract_page
from gossamer.extract.full_page import Wanted, read_page, srcset_candidates
from tests.effort import Cost, by_cost, growth


def read(body: bytes) -> PageContent:
    return extract_page(body, "text/html; charset=utf-8", "http://x.test/")


def test_links_before_between_and_after_nul_bytes_are_found() -> None:
    body = b"<a href=1>\0</a><p\0 title='\0'>\0<\0a href=no><a href='2\0'>x</a\0>\0\0<a \0 href=3>"

    assert read(body).hrefs == ["1", "2\ufffd", "3"]


@pytest.mark.parametrize(
    "attributes",
    [b"x=1 " * 1_250_000, b" ".join(b"x%d=1" % i for i in range(50_000))],
    ids=["one name 1,250,000 times", "50,000 names"],
)
def test_a_tag_of_nothing_but_attributes_hides_no_links(attributes: bytes) -> None:
    assert read(b"<a href=1></a><p " + attributes + b"><a href=2>").hrefs == ["1", "2"]


@pytest.mark.parametrize("opening", [b"<!--", b"<![CDATA["])
def test_twenty_thousand_openings_of_a_comment_swallow_only_what_follows(opening: bytes) -> None:
    assert read(b"<a href=1></a>" + opening * 20_000 + b"<a href=2>").hrefs == ["1"]


def test_links_at_any_depth_of_nesting_are_found() -> None:
    levels = [b"<div>"] * 100_000
    for depth in (10, 500, 99_999):
        levels[depth] += b"<a href=%d>x</a>" % depth

    assert read(b"".join(levels)).hrefs == ["10", "500", "99999"]


@pytest.mark.parametrize(
    "unit",
    [b"<a href=1><b>", b"<font><i><a href=1>", b"<table><a href=1>", b"<a href=1><p>", b"<svg><g><a href=1>"],
)
def test_ill_nested_markup_by_the_thousand_is_read_to_its_end(unit: bytes) -> None:
    page = read(unit * 20_000 + b"</table></svg><iframe src=last>")

    assert len(page.hrefs) == MAX_LINKS
    assert page.dropped_links >= 15_000


def test_templates_by_the_thousand_hide_their_links_and_no_others() -> None:
    assert read(b"<template><a href=no></a></template>" * 20_000 + b"<a href=1>").hrefs == ["1"]
    assert read(b"<a href=1></a>" + b"<template>" * 20_000 + b"<a href=no>").hrefs == ["1"]


def test_four_hundred_thousand_links_are_cut_to_the_limit() -> None:
    page = read(b"".join(b"<a href=/%d>x</a>\n" % i for i in range(400_000)))

    assert (len(page.hrefs), page.dropped_links) == (MAX_LINKS, 400_000 - MAX_LINKS)


def test_random_bytes_sent_as_html_yield_hardly_any_links() -> None:
    page = extract_page(random.Random(14).randbytes(5 << 20), "text/html", "http://x.test/")

    assert len(page.hrefs) <= 100


@pytest.mark.parametrize("content", [b"1" * 1_000_000 + b"x", b" " * 1_000_000, b"0;" + b" " * 1_000_000 + b"url"])
def test_a_megabyte_in_a_refresh_is_no_trap(content: bytes) -> None:
    assert read(b"<meta http-equiv=refresh content='" + content + b"'><a href=1>").hrefs[-1] == "1"


_HEAVY = {
    "anchors in one another": b"<a href=1 title=x><object>",
    "anchors with text in one another": b"<a href=1><object>w ",
    "anchors and bold text": b"<a href=1><b>",
    "anchors in drawings": b"<svg><g><a href=1>",
    "anchors not to be followed": b"<a href=1 rel=nofollow>x</a>",
    "canonical links": b"<link rel=canonical href=x>",
    "alternate links": b"<link rel=alternate hreflang=de href=x>",
    "sets of images": b"<img srcset='a 1x, b 2x'>",
    "languages": b"<meta http-equiv=content-language content=de>",
    "nested tables": b"<table><tr><td>",
    "nested preformatted text": b"<pre>x\n",
    "words": b"word, ",
    "drawings with titles": b"<svg><title>x</title></svg>",
}


@by_cost
@pytest.mark.parametrize("unit", _HEAVY.values(), ids=_HEAVY.keys())
def test_reading_a_whole_page_takes_work_in_proportion_to_its_size(unit: bytes, cost: Cost) -> None:
    want = Wanted(forms=True, images=True)

    def job(size: int) -> object:
        return read_page(unit * (size // len(unit)), "text/html; charset=utf-8", "http://x.test/", want=want)

    assert growth(cost, job, 10_000) < 25


@by_cost
@pytest.mark.parametrize("unit", [b"\xe9", b"caf\xe9 ", b"\x1b$B", b"\x82\xa0", b"\xff\xfe"])
def test_guessing_an_encoding_hardly_takes_more_work_for_a_larger_page(unit: bytes, cost: Cost) -> None:
    assert growth(cost, lambda size: guess_encoding(b"<p>" + unit * (size // len(unit)) + b"\xe9 "), 100_000) < 12


@by_cost
@pytest.mark.parametrize("unit", ["a 1x, ", ",", "(", "a (", " ", "1x ", "a,"])
def test_a_set_of_images_takes_work_in_proportion_to_its_size(unit: str, cost: Cost) -> None:
    assert growth(cost, lambda size: srcset_candidates("a " + unit * (size // len(unit))), 20_000) < 25
