"""Documents made to hurt a parser (HOSTILE_WEB, group Bodies). That they end at all is the test; time is not."""

import random

import pytest

from gossamer.extract.links import MAX_LINKS, PageContent, extract_page


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
