"""Links, title, base and wishes of a page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.crawl_page import LARGE_BODY, MAX_HREF, MAX_LINKS, MAX_TITLE, PageContent, extract_page, is_large

URL = "http://x.test/dir/page.html"


def read(html: str | bytes, content_type: str | None = "text/html", robots_tag: str | None = None) -> PageContent:
    body = html if isinstance(html, bytes) else html.encode()
    return extract_page(body, content_type, URL, robots_tag=robots_tag)


def hrefs(html: str | bytes) -> list[str]:
    return read(html).hrefs


def test_links_come_as_written_each_kind_in_document_order() -> None:
    html = (
        "<a href=1>x</a><map><area href=' 2 '></map><iframe src=3></iframe><a href=1>again</a>"
        "<link rel=next href=4><A HREF='a&amp;b'><meta http-equiv=refresh content='1; 5'>"
    )

    assert hrefs(html) == ["4", "5", "1", "1", "a&b", " 2 ", "3"]


def test_anchors_in_drawings_are_links_in_the_old_spelling_too() -> None:
    html = "<svg><a href=1 xlink:href=no /><a xlink:href=2 /><a xlink:href=no rel=nofollow /></svg><a xlink:href=no>"

    assert hrefs(html) == ["1", "2"]


def test_frames_are_links() -> None:
    assert hrefs("<frameset><frame src=top.html><frame src=left.html></frameset>") == ["top.html", "left.html"]


def test_an_anchor_without_href_is_no_link_and_one_with_an_empty_href_is() -> None:
    assert hrefs("<a name=top>x</a><a href>y</a><area><iframe></iframe>") == [""]


@pytest.mark.parametrize(
    "hidden",
    [
        "<template><a href=no></a></template>",
        "<template><p><template><a href=no></a></template><a href=no></a></p></template>",
        "<script>document.write('<a href=no>')</script>",
        "<style>/* <a href=no> */</style>",
        "<!-- <a href=no></a> -->",
        "<textarea><a href=no></a></textarea>",
        "<title><a href=no></a></title>",
        "<xmp><a href=no></a></xmp>",
    ],
)
def test_what_a_reader_cannot_follow_is_no_link(hidden: str) -> None:
    assert hrefs(f"<a href=before></a>{hidden}<a href=after></a>") == ["before", "after"]


def test_links_in_a_declared_shadow_root_and_in_noscript_are_links() -> None:
    html = "<div><template shadowrootmode=open><a href=shadow></a></template></div><noscript><a href=plain></noscript>"

    assert hrefs(html) == ["shadow", "plain"]


@pytest.mark.parametrize("rel", ["stylesheet", "alternate stylesheet", "preconnect", "DNS-Prefetch", "icon", ""])
def test_link_elements_that_lead_to_no_page_are_left_out(rel: str) -> None:
    assert hrefs(f"<link rel='{rel}' href=no><link href=no>") == []


@pytest.mark.parametrize("rel", ["canonical", "next", "prev", "alternate", "amphtml", "license"])
def test_link_elements_that_lead_to_pages_are_links(rel: str) -> None:
    assert hrefs(f"<link rel='{rel}' href=yes>") == ["yes"]


def test_a_page_that_names_itself_as_canonical_or_refreshes_itself_adds_no_link() -> None:
    html = f"<link rel=canonical href='{URL}'><meta http-equiv=refresh content='30; url={URL}'>"

    assert hrefs(html) == []


@pytest.mark.parametrize("rel", ["nofollow", "NoFollow", "external nofollow noopener"])
def test_a_link_marked_nofollow_is_left_out_and_counted(rel: str) -> None:
    page = read(f"<a href=1></a><a href=2 rel='{rel}'></a><map><area href=3 rel='{rel}'></map>")

    assert (page.hrefs, page.nofollow_links) == (["1"], 2)


def test_a_rel_that_only_contains_the_word_nofollow_is_followed() -> None:
    assert hrefs("<a href=1 rel=donofollowme></a>") == ["1"]


def test_the_first_base_with_an_href_counts() -> None:
    page = read("<svg><base href=drawing></svg><base target=_blank><base href=' one/'><base href=two/>")

    assert page.base == " one/"


def test_a_page_without_a_base_has_none() -> None:
    assert read("<a href=1>").base is None


def test_the_title_is_trimmed_and_of_the_page_not_of_a_drawing() -> None:
    page = read("<svg><title>drawing</title></svg><title>\n  My &amp; \t your\ntitle </title><title>second</title>")

    assert page.title == "My & your title"


@pytest.mark.parametrize("html", ["", "<p>no title", "<title></title>", "<title> \n </title>"])
def test_no_title_or_an_empty_one_is_none(html: str) -> None:
    assert read(html).title is None


def test_a_title_is_cut() -> None:
    page = read("<title>" + "long " * 100_000)

    assert page.title is not None
    assert MAX_TITLE - 5 <= len(page.title) <= MAX_TITLE


def test_only_robots_and_our_own_name_are_heeded() -> None:
    assert read("<meta name=otherbot content='noindex, nofollow'>").nofollow is False
    assert read("<meta name=Gossamer content='nofollow'>").nofollow is True


def test_wishes_of_several_elements_and_of_the_header_add_up() -> None:
    page = read("<meta name=robots content=noindex><meta name=robots content=index>", robots_tag="nofollow")

    assert (page.noindex, page.nofollow) == (True, True)


def test_links_of_a_nofollow_page_are_listed_all_the_same() -> None:
    page = read("<meta name=robots content=nofollow><a href=1>")

    assert (page.nofollow, page.hrefs) == (True, ["1"])


def test_links_beyond_the_limit_are_counted_as_dropped() -> None:
    page = read("".join(f"<a href=/{i}>x</a>" for i in range(MAX_LINKS + 7)))

    assert (len(page.hrefs), page.dropped_links) == (MAX_LINKS, 7)


def test_an_overlong_link_is_dropped_and_counted() -> None:
    page = read(f"<a href='data:text/html,{'x' * (8 << 20)}'>x</a><a href={'y' * MAX_HREF}><a href=1>")

    assert (page.hrefs, page.long_links, page.dropped_links) == (["y" * MAX_HREF, "1"], 1, 0)


def test_links_are_decoded_in_the_encoding_of_the_page() -> None:
    page = read("<a href=/привет>".encode("windows-1251"), "text/html; charset=cp1251")

    assert (page.hrefs, page.encoding) == (["/привет"], "windows-1251")


def test_a_late_declaration_in_the_page_is_heeded() -> None:
    body = b"<!--" + b"x" * 3000 + b"--><meta charset=windows-1251>" + "<a href=/привет>".encode("windows-1251")

    page = read(body)

    assert (page.hrefs, page.encoding) == (["/привет"], "windows-1251")


def test_a_header_outranks_a_late_declaration() -> None:
    body = b"<!--" + b"x" * 3000 + b"--><meta charset=windows-1251>" + "<a href=/привет>".encode()

    assert read(body, "text/html; charset=utf-8").hrefs == ["/привет"]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_links_are_found_in_utf_16_by_mark_or_by_header(codec: str) -> None:
    body = "<a href=/x>y</a>".encode(codec)

    assert read("\ufeff".encode(codec) + body, None).hrefs == ["/x"]
    assert read(body, f"text/html; charset={codec[:6]}{codec[7:]}").hrefs == ["/x"]


def test_only_bodies_over_the_limit_are_large() -> None:
    assert not is_large(b"x" * LARGE_BODY)
    assert is_large(b"x" * (LARGE_BODY + 1))


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/html; charset=utf-16", "; charset=\0"]))
def test_no_bytes_make_it_raise(body: bytes, content_type: str | None) -> None:
    page = extract_page(body, content_type, URL)

    assert all(isinstance(href, str) for href in page.hrefs)


_PIECES = st.sampled_from(
    b"<a href=|'|\"|>|<!--|-->|<meta |charset=|utf-16|rot13|<template>|</template>|\0|\xff|<svg>|<title>|"
    b"<base href=|http-equiv=refresh content=|0;url=|<![CDATA[".split(b"|")
)


@given(st.lists(_PIECES, max_size=40).map(b"".join))
def test_no_heap_of_markup_makes_it_raise(body: bytes) -> None:
    page = extract_page(body, None, URL)

    assert len(page.hrefs) <= body.count(b"<")


@given(st.lists(st.from_regex(r"[a-z0-9/?=.#:-]{1,20}", fullmatch=True), max_size=30))
def test_every_quoted_link_of_a_plain_page_comes_out(links: list[str]) -> None:
    html = "<p>".join(f'text <a href="{link}">x</a> <b>more</b>' for link in links)

    assert hrefs(html) == links
