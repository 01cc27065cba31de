"""The fast ways of `links` against the slow and obvious one, and what holds for a page as a whole."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.filter.canonical import Canonical, Canonicaliser, CanonicalRules, Refusal, canonicalise
from gossamer.filter.links import MAX_SITES, LinkResolver
from tests.conformance import shared_data
from tests.examples import examples
from tests.table import table

NOISE_RULES = CanonicalRules(drop_tracking=True, drop_sessions=True, sort_query=True)


def page_at(url: str) -> Canonical:
    found = canonicalise(url)
    assert isinstance(found, Canonical)
    return found


def slowly(
    base: str, page: Canonical, hrefs: list[str], canonicaliser: Canonicaliser
) -> tuple[dict[str, str], set[str]]:
    links: dict[str, str] = {}
    reasons: set[str] = set()
    for href in hrefs:
        found = canonicaliser.canonicalise(href, base)
        if isinstance(found, Refusal):
            reasons.add(found.reason)
        else:
            links[found.url] = found.host
    links.pop(page.url, None)
    return links, reasons


def assert_same_as_slowly(
    base: str, hrefs: list[str], rules: CanonicalRules | None = None, page: Canonical | None = None
) -> None:
    canonicaliser = Canonicaliser(rules)
    page = page or page_at(base)
    resolver = LinkResolver(canonicaliser)
    expected, reasons = slowly(base, page, hrefs, canonicaliser)
    for _ in range(2):  # the second time from memory
        got = resolver.resolve_page(base, page, hrefs)
        assert list(got.links.items()) == list(expected.items())
        assert set(got.refused) == reasons
        assert got.dropped == 0


VISIBLE_PIECES = (
    "/ // . .. ../ ./ .a ? # % %2e %2E %2f %61 %C3 %a %% a b Z 0 - _ ~ : :80 :22 @ \\ | ^ ' \" < ( ) ; = & é 中 中/é? "
    "http: http:// https:// HTTP:// h.test h.test. www.h.test xn--a [::1] 127.1 u:p@ mailto: ;jsessionid=1 "
    "?utm_source=x ?sid=1&b=2&a=1 {x} ` , + $ ! * (S(abcdefghijklmnopqrstuvwx))"
)
PIECES = st.sampled_from(
    [*VISIBLE_PIECES.split(" "), " ", "\t", "\n", "\x00", "\x1f", "\x7f", "\x85", "\xa0", "\ud800", ""]
)
REFS = st.lists(PIECES, max_size=8).map("".join)
BASES = st.sampled_from(
    [
        "http://h.test/",
        "https://h.test/a/b/c.html?q=1",
        "http://h.test:8080/a//b/",
        "https://xn--a.test/x%20y/z",
        "http://h.test//",
        "http://h.test/a;p=1/b;jsessionid",
        "http://[::1]/d/e",
    ]
)


@given(base=BASES, hrefs=st.lists(REFS, max_size=6))
@example(base="http://h.test/x/y", hrefs=["a #b", "a ", "a", "a \n#c", "\x01#", " #"])
@example(
    base="http://h.test/x/y", hrefs=["../../../a", "..", ".", "../..", "../x/./y", "..a", ".a/../b", "b/..", "b/."]
)
@example(base="http://h.test:8080/a//b/", hrefs=["../x", "../../x", "../../../x", "..//x", "/..//x", "//..//x"])
@example(base="https://h.test/a/b/c.html?q=1", hrefs=["", "?", "??", "?x", "#", "/?", "/a?", "a?b?c"])
@examples(150)
def test_the_fast_way_gives_what_the_slow_way_gives(base: str, hrefs: list[str]) -> None:
    assert_same_as_slowly(base, hrefs)


@given(base=BASES, hrefs=st.lists(REFS, max_size=6))
@examples(75)
def test_the_fast_way_gives_what_the_slow_way_gives_when_noise_is_dropped(base: str, hrefs: list[str]) -> None:
    page = Canonicaliser(NOISE_RULES).canonicalise(base)
    assert isinstance(page, Canonical)
    assert_same_as_slowly(page.url, hrefs, NOISE_RULES, page)


@given(base=BASES, refs=st.lists(REFS, max_size=4), noise=st.booleans())
@example(
    base="http://h.test:8080/a//b/",
    refs=["", "//x", "/a:b", "/./a", "/..", "?x", "/a?sid=1", "80/a", "@b/"],
    noise=True,
)
@examples(75)
def test_a_site_s_links_by_its_full_name_are_resolved_as_the_slow_way_does(
    base: str, refs: list[str], noise: bool
) -> None:
    page = Canonicaliser(NOISE_RULES if noise else None).canonicalise(base)
    assert isinstance(page, Canonical)
    hrefs = [f"{page.origin}{slash}{ref}" for ref in refs for slash in ("", "/")]
    assert_same_as_slowly(page.url, hrefs, NOISE_RULES if noise else None, page)


@given(text=st.text(max_size=30), base=BASES)
@examples(75)
def test_any_text_is_resolved_as_the_slow_way_does(text: str, base: str) -> None:
    assert_same_as_slowly(base, [text, "/" + text, "x?" + text, "http://h.test/" + text])


def test_the_conformance_data_is_resolved_as_the_slow_way_does() -> None:
    by_base: dict[str, list[str]] = {}
    for case in json.loads(shared_data("conformance/url/urltestdata.json").read_text()):
        if isinstance(case, dict):
            by_base.setdefault(case["base"] or "http://example.org/foo/bar", []).append(case["input"])
    bases = {base: refs for base, refs in by_base.items() if isinstance(canonicalise(base), Canonical)}
    assert sum(map(len, bases.values())) > 500

    for base, refs in bases.items():
        assert_same_as_slowly(page_at(base).url, refs)


def test_the_normalisers_inputs_are_resolved_as_the_slow_way_does() -> None:
    for name in (
        "nutch-basic",
        "crawler-commons-basic",
        "urlcanon-semantic-precise",
        "safebrowsing",
        "w3lib-canonicalize",
    ):
        cases = json.loads(shared_data(f"conformance/url-normalise/{name}.json").read_text())["cases"]
        assert_same_as_slowly("http://example.org/a/b?c", [case["input"] for case in cases])


def test_links_come_in_document_order_each_once_with_its_host() -> None:
    page = page_at("http://h.test/dir/page")
    hrefs = ["b", "/a", "b#x", "http://other.test./c", "../dir/b", "//h.test/a"]

    found = LinkResolver().resolve_page(page.url, page, hrefs)

    assert list(found.links.items()) == [
        ("http://h.test/dir/b", "h.test"),
        ("http://h.test/a", "h.test"),
        ("http://other.test/c", "other.test"),
    ]


def test_a_page_does_not_link_to_itself() -> None:
    page = page_at("http://h.test/p?q")

    found = LinkResolver().resolve_page(page.url, page, ["", "#top", "?q", "/p?q", "http://h.test/p?q#x", "p"])

    assert list(found.links) == ["http://h.test/p"]


def test_references_that_are_refused_are_counted_by_reason() -> None:
    page = page_at("http://h.test/")
    hrefs = ["mailto:a@b", "mailto:c@d", "javascript:void(0)", "http://h.test:22/", "http:///x", "x" * 1_000_000]

    found = LinkResolver().resolve_page(page.url, page, hrefs)

    assert found.links == {}
    assert found.refused == {"bad_scheme": 3, "blocked_port": 1, "bad_url": 1, "url_too_long": 1}


@table(
    ("base", "expected"),
    [
        ("http://base.test/x/", "http://base.test/x/a"),
        ("/sub/", "http://h.test/sub/a"),
        ("sub/page#x", "http://h.test/dir/sub/a"),
        ("//base.test", "http://base.test/a"),
        ("http://u:p@base.test./y/z", "http://base.test/y/a"),
        ("data:text/html,x", "http://h.test/dir/a"),
        ("javascript:x", "http://h.test/dir/a"),
        ("http://[bad/", "http://h.test/dir/a"),
        ("", "http://h.test/dir/a"),
    ],
)
def test_a_base_element_is_read_against_the_page_and_then_counts(base: str, expected: str) -> None:
    page = page_at("http://h.test/dir/page")

    assert list(LinkResolver().resolve_page(base, page, ["a"]).links) == [expected]


def test_under_a_base_that_is_not_of_the_web_only_absolute_links_count() -> None:
    page = page_at("http://h.test/dir/page")

    found = LinkResolver().resolve_page("ftp://f.test/d/", page, ["a", "/b", "http://h.test/c"])

    assert found.links == {"http://h.test/c": "h.test"}
    assert found.refused == {"bad_scheme": 2}


def test_under_a_base_on_a_blocked_port_relative_links_are_refused() -> None:
    page = page_at("http://h.test/dir/page")

    found = LinkResolver().resolve_page("http://h.test:25/", page, ["a", "http://h.test/c"])

    assert found.links == {"http://h.test/c": "h.test"}
    assert found.refused == {"blocked_port": 1}


def test_no_more_links_are_kept_than_the_limit_and_the_rest_is_counted() -> None:
    page = page_at("http://h.test/")
    hrefs = ["mailto:x", "#self", *(f"p{n}" for n in range(30))]

    found = LinkResolver(max_links=10).resolve_page(page.url, page, hrefs)

    assert list(found.links) == [f"http://h.test/p{n}" for n in range(10)]
    assert found.dropped == 20


def test_a_page_of_refused_references_ends_too() -> None:
    page = page_at("http://h.test/")
    hrefs = [f"mailto:{n}" for n in range(300)]

    found = LinkResolver(max_links=10).resolve_page(page.url, page, hrefs)

    assert found.refused == {"bad_scheme": 40}
    assert found.dropped == 260


def test_the_memo_stays_within_its_bounds() -> None:
    resolver = LinkResolver(memo_entries=50, memo_entries_per_origin=20)
    for site in range(100):
        page = page_at(f"http://h{site}.test/")
        resolver.resolve_page(page.url, page, [f"http://other.test/é{n}" for n in range(30)] + ["/é" + "x" * 600])

        assert 20 <= resolver._remembered <= 50
    assert len(resolver._memos) <= 3


def test_no_more_than_so_many_other_sites_are_remembered() -> None:
    resolver = LinkResolver()
    page = page_at("http://h.test/")
    hrefs = [f"http://s{n}.test" for n in range(MAX_SITES + 10)]
    for start in range(0, len(hrefs), 1000):
        found = resolver.resolve_page(page.url, page, hrefs[start : start + 1000])

        assert list(found.links) == [href + "/" for href in hrefs[start : start + 1000]]
    assert len(resolver._sites) == MAX_SITES


def test_a_site_with_nothing_to_remember_leaves_nothing_behind() -> None:
    resolver = LinkResolver()
    for site in range(100):
        page = page_at(f"http://h{site}.test/")
        resolver.resolve_page(page.url, page, ["/a", "b", "../c"])

    assert not (resolver._memos or resolver._remembered or resolver._sites)


def test_a_page_in_another_encoding_has_its_queries_in_that_encoding() -> None:
    page = page_at("http://h.test/")

    found = LinkResolver().resolve_page(page.url, page, ["/s?q=é", "/é"], encoding="windows-1252")

    assert list(found.links) == ["http://h.test/s?q=%E9", "http://h.test/%C3%A9"]


def test_what_was_remembered_for_one_scheme_is_not_used_for_the_other() -> None:
    resolver = LinkResolver()
    plain, secure = page_at("http://h.test/"), page_at("https://h.test/")

    first = resolver.resolve_page(plain.url, plain, ["//x.test/a", "/b"])
    second = resolver.resolve_page(secure.url, secure, ["//x.test/a", "/b"])

    assert list(first.links) == ["http://x.test/a", "http://h.test/b"]
    assert list(second.links) == ["https://x.test/a", "https://h.test/b"]
