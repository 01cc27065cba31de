"""A whole page, for exports and users of the library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.crawl_page import MAX_HREF, MAX_LINKS, extract_page
from gossamer.extract.full_page import MAX_DESCRIPTION, Alternate, Link, LinkKind, Page, Wanted, read_page
from tests.table import table

URL = "http://x.test/dir/page.html"


def read(html: str, want: Wanted | None = None, robots_tag: str | None = None, language: str | None = None) -> Page:
    return read_page(
        html.encode(), "text/html; charset=utf-8", URL, robots_tag=robots_tag, content_language=language, want=want
    )


def test_every_link_is_told_with_its_kind_in_document_order() -> None:
    html = (
        "<link rel=canonical href=c><link rel=alternate hreflang=DE href=d><link rel=next href=n>"
        "<link rel=prev href=p><link rel=license href=l><link rel=stylesheet href=no>"
        "<meta http-equiv=refresh content='1;url=r'><a href=a></a><map><area href=b></map><iframe src=i></iframe>"
    )

    assert [(link.href, str(link.kind)) for link in read(html).links] == [
        ("c", "canonical"),
        ("d", "alternate"),
        ("n", "next"),
        ("p", "prev"),
        ("l", "link"),
        ("r", "refresh"),
        ("a", "a"),
        ("b", "area"),
        ("i", "frame"),
    ]


@table(
    ("inside", "text"),
    [
        ("plain", "plain"),
        ("  two\n words ", "two words"),
        ("<b>bo</b>ld <i>too</i>", "bold too"),
        ("<img alt='a picture'>", "a picture"),
        ("named <img alt='a picture'>", "named"),
        ("<svg><title>drawn</title></svg>", "drawn"),
        ("<script>no()</script>yes<style>no</style>", "yes"),
        ("<!-- no -->", ""),
        ("", ""),
        ("long " * 1000, ("long " * 60).strip()),
        ("<b>long </b>" * 1000, ("long " * 60).strip()),
    ],
)
def test_the_text_of_a_link_is_what_the_reader_sees(inside: str, text: str) -> None:
    assert read(f"<a href=x>{inside}</a> after").links[0].text == text


def test_a_link_without_text_has_that_of_its_title() -> None:
    assert read("<a href=x title=' go  there '><img></a>").links[0].text == "go there"


def test_texts_of_links_are_not_looked_for_unless_wanted() -> None:
    assert read("<a href=x>text</a>", Wanted(anchor_text=False)).links == [Link("x", LinkKind.ANCHOR)]


@pytest.mark.parametrize(
    ("rel", "words", "nofollow"),
    [
        ("NoFollow  UGC", "nofollow ugc", True),
        ("sponsored", "sponsored", False),
        ("ugc", "ugc", False),
        ("donofollow", "donofollow", False),
        ("", "", False),
    ],
)
def test_links_that_ask_not_to_be_followed_are_listed_and_marked(rel: str, words: str, nofollow: bool) -> None:
    [link] = read(f"<a href=x rel='{rel}'>y</a>").links

    assert (link.rel, link.nofollow) == (words, nofollow)


def test_forms_and_images_are_links_only_if_asked_for() -> None:
    html = (
        "<form action=get>search</form><form method=POST action=no></form>"
        "<picture><source srcset='s1 1x, s2 2x'><img src=i srcset='j 3x' alt=picture></picture>"
    )

    assert read(html).links == []
    found = read(html, Wanted(forms=True, images=True)).links
    assert [(link.href, link.kind, link.text) for link in found] == [
        ("get", LinkKind.FORM, "search"),
        ("s1", LinkKind.IMAGE, ""),
        ("s2", LinkKind.IMAGE, ""),
        ("i", LinkKind.IMAGE, "picture"),
        ("j", LinkKind.IMAGE, "picture"),
    ]


def test_the_canonical_address_is_the_first_in_the_head() -> None:
    html = "<head><link rel='nofollow CANONICAL' href=one><link rel=canonical href=two></head>"

    assert read(html).canonical == "one"
    assert extract_page(html.encode(), None, URL).canonical == "one"


@pytest.mark.parametrize(
    "html", ["<p><link rel=canonical href=x>", "<link rel=canonical>", "<link rel=canonical href=''>", "<p>"]
)
def test_a_canonical_address_in_the_body_or_an_empty_one_is_none(html: str) -> None:
    assert read(html).canonical is None
    assert extract_page(html.encode(), None, URL).canonical is None


def test_what_the_head_of_the_answer_says_is_canonical_where_the_page_says_nothing() -> None:
    link = '<style.css>; rel=preload, </paper>; rel="canonical"'

    assert read_page(b"<p>", "text/html", URL, link=link).canonical == "/paper"
    assert read_page(b"<link rel=canonical href=own>", "text/html", URL, link=link).canonical == "own"
    assert read_page(b"<p>", "text/html", URL, link="<style.css>; rel=preload").canonical is None


def test_a_page_that_names_itself_as_canonical_says_so_but_links_nowhere() -> None:
    html = f"<link rel=canonical href='{URL}'>"

    assert (read(html).canonical, read(html).links) == (URL, [])
    found = extract_page(html.encode(), None, URL)
    assert (found.canonical, found.hrefs) == (URL, [])


def test_other_languages_of_a_page_are_told() -> None:
    html = (
        "<link rel=alternate hreflang=en_us href=1><link rel=alternate hreflang=X-Default href=2>"
        "<link rel=alternate type=application/rss+xml href=3><link rel=alternate hreflang='?' href=4>"
    )

    page = read(html)

    assert page.alternates == [Alternate("en-US", "1"), Alternate("x-default", "2")]
    assert [link.hreflang for link in page.links] == ["en-US", "x-default", None, None]


@pytest.mark.parametrize(
    ("html", "header", "expected"),
    [
        ("<html lang=de>", "fr", "de"),
        ("<html lang=''><meta http-equiv=content-language content=it>", "fr", "it"),
        ("<html xml:lang=pt-br>", None, "pt-BR"),
        ("<p lang=de>", "fr", "fr"),
        ("<html lang='no language at all'>", "fr", "fr"),
        ("<p>", "de, en", None),
        ("<p>", None, None),
    ],
)
def test_the_language_is_that_of_the_page_then_of_its_header(
    html: str, header: str | None, expected: str | None
) -> None:
    assert read(html, language=header).language == expected
    assert extract_page(html.encode(), None, URL, content_language=header).language == expected


def test_a_language_that_is_not_declared_is_guessed_if_asked_for() -> None:
    html = "<p>Dies ist eine gewöhnliche deutsche Seite, auf der es um das Wetter und um gute Bücher geht.</p>" * 5

    assert read(html, Wanted(guess_language=True)).language == "de"
    assert read(html, Wanted(guess_language=True, text=False)).language == "de"
    assert read(html).language is None
    assert read("<p>hm", Wanted(guess_language=True)).language is None


def test_the_main_text_is_without_navigation_scripts_and_comments() -> None:
    story = "The harbour was quiet in the morning, and the boats, which had come in late, lay still. " * 4
    html = (
        "<title>T</title><nav><ul><li><a href=1>Home</a><li><a href=2>News</a></ul></nav>"
        f"<article><h1>Head</h1><p>{story}</p><script>code()</script><!-- note --><p>{story}</p></article>"
        "<footer>imprint</footer>"
    )

    text = read(html).text

    assert text is not None
    assert text.count("The harbour was quiet") == 8
    assert not any(word in text for word in ("Home", "code", "note", "imprint"))


def test_a_page_without_a_main_part_has_all_its_text() -> None:
    assert read("<p>one <b>wo</b>rd<p>two<script>x</script>").text == "one word\n\ntwo"
    assert read("<p>one", Wanted(text=False)).text is None


def test_a_description_is_tidied_and_cut() -> None:
    assert read("<meta name=' Description' content=' a\n b '><meta name=description content=c>").description == "a b"
    assert read("<meta name=description content=' '>").description is None
    long = read("<meta name=description content='" + "x" * 5000 + "'>").description
    assert long == "x" * MAX_DESCRIPTION


def test_directives_to_the_agent_count_more_than_those_to_all() -> None:
    html = b"<meta name=robots content=none><meta name=MyBot content=noindex>"

    page = read_page(html, None, URL, agent="mybot")
    found = extract_page(html, None, URL, agent="mybot")

    assert (page.noindex, page.nofollow) == (found.noindex, found.nofollow) == (True, False)
    assert extract_page(html, None, URL).nofollow


def test_links_that_are_too_many_or_too_long_are_dropped_and_counted() -> None:
    page = read("<a href=x></a>" * (MAX_LINKS + 3) + f"<a href={'x' * (MAX_HREF + 1)}>")

    assert (len(page.links), page.dropped_links) == (MAX_LINKS, 4)


_PIECES = st.sampled_from(
    [
        *("<a href=1>", "</a>", "<a href=2 rel=nofollow>", "<area href=4>", "<iframe src=5>", "<form action=10>"),
        *(
            "<b>",
            "<p>",
            "text ",
            "<table>",
            "<td>",
            "</table>",
            "<object>",
            "<svg>",
            "<a xlink:href=11>",
            "<select>",
            "<html lang=de>",
        ),
        *("<link rel=canonical href=3>", "<base href=6>", "<title>", "</title>", "<template>", "</template>"),
        *("<meta name=robots content=none>", "<meta http-equiv=refresh content='0;7'>", "<img alt=8 srcset='9 2x'>"),
    ]
)


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_the_crawl_and_the_export_agree_on_any_page(html: str) -> None:
    page = read(html, Wanted(forms=True, images=True))
    found = extract_page(html.encode(), "text/html; charset=utf-8", URL)

    optional = (LinkKind.FORM, LinkKind.IMAGE)
    listed = [link.href for link in page.links if not link.nofollow and link.kind not in optional]
    assert sorted(found.hrefs) == sorted(listed)
    assert found.nofollow_links == sum(link.nofollow for link in page.links)
    assert (found.base, found.title, found.canonical, found.language) == (
        page.base,
        page.title,
        page.canonical,
        page.language,
    )
    assert (found.noindex, found.nofollow, found.encoding) == (page.noindex, page.nofollow, page.encoding)


@given(st.binary(max_size=300), st.sampled_from([None, "text/html", "text/html; charset=utf-16"]))
def test_no_bytes_make_reading_a_page_raise(body: bytes, content_type: str | None) -> None:
    want = Wanted(forms=True, images=True, guess_language=True)

    assert isinstance(read_page(body, content_type, URL, want=want), Page)
