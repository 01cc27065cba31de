"""Other crawlers' normalisers: where their policy is ours we agree, and where it is not the list says why (ADR 2).

Every case of a file is compared. A case that starts or stops to differ fails the test, so the lists cannot go stale.
"""

import json
from typing import TypedDict

import pytest

from gossamer.filter.canonical import Canonical, Canonicaliser, CanonicalRules, canonicalise, parse
from tests.conformance import shared_data


class Case(TypedDict, total=False):
    input: str
    expected: str | None
    base: str | None
    options: dict[str, object]
    scheme_kind: str


def cases_of(name: str) -> list[Case]:
    found: list[Case] = json.loads(shared_data(f"conformance/url-normalise/{name}.json").read_text())["cases"]
    return found


def form(canonicaliser: Canonicaliser, case: Case) -> str | None:
    found = canonicaliser.canonicalise(case["input"], case.get("base"))
    return found.url if isinstance(found, Canonical) else None


NOT_OF_THE_WEB = {
    "ftp:/",
    "ftP://example.com",
    "ftp://foo.com/index.html",
    "file:/var/www/html/foo/../bar/index.html",
    "ftp://user@ftp.example.org/path/file.txt",
    "ftp://john.doe@ftp.example.org/",
    "ftp://user:password@ftp.example.org/path/file.txt",
}
NO_HOST = {"http:////", "http:///////", "http://...host..com..", "?b=1"}
DOUBLE_SLASH_KEPT = {"http://foo.com/aa//bb/foo.html", "http://foo.com/aa/bb//foo.html"}
# The standard leaves a stray `%` and these characters as they are in a query.
LEFT_BY_THE_STANDARD = {
    "http://x.com/?x[y]=1",
    "http://www.example.com/a/c/../b/search?q=foobar%",
    "http://www.example.com/a/c/../b/search?q=foobar`",
    "http://www.example.com/p%zz%77%v",
    "http://www.example.com/search?q=foobar%",
    "http://www.example.com/do?1750,4",
}
# An empty value or name is something else than none, and `+` is a space for forms only.
PARAMETERS_NOT_REWRITTEN = {
    "http://foo.com/index?a=1&b=",
    "http://foo.com/index?&=1&a=1",
    "http://foo.com/index?=1&b=1&a=1",
    "http://www.example.com/do?q=a space&a=1",
    "http://www.example.com/do?q=a%20space&a=1",
}
A_LABELS_AND_HEX_ADDRESSES = {"http://bücher.de/", "http://[::ffff:127.0.0.1]/"}
USERINFO_AND_FRAGMENT_DROPPED = {"http://user:pass@例え.jp:8080/p", "#right-menu"}
SERVICE_PORT = {"http://user:pass@foo:21/bar;par?b#c"}
HEX_FOLDED = {"/a/%2f/c"}
WE_DIFFER = (
    NOT_OF_THE_WEB
    | NO_HOST
    | DOUBLE_SLASH_KEPT
    | LEFT_BY_THE_STANDARD
    | PARAMETERS_NOT_REWRITTEN
    | A_LABELS_AND_HEX_ADDRESSES
    | USERINFO_AND_FRAGMENT_DROPPED
    | SERVICE_PORT
    | HEX_FOLDED
)
FILES = {
    # name: (cases without options, rules, how many differ)
    "nutch-basic": (51, CanonicalRules(), 15),
    "crawler-commons-basic": (76, CanonicalRules(sort_query=True), 16),
    "crawler-commons-resolve": (14, CanonicalRules(), 3),
    "webarchive-ordinary": (6, CanonicalRules(), 2),
    "w3lib-canonicalize": (37, CanonicalRules(sort_query=True), 5),
}


@pytest.mark.parametrize("name", FILES)
def test_we_agree_with_other_normalisers_but_for_the_listed_cases(name: str) -> None:
    count, rules, differing = FILES[name]
    canonicaliser = Canonicaliser(rules)
    cases = [case for case in cases_of(name) if not case.get("options")]

    differ = {case["input"] for case in cases if form(canonicaliser, case) != case["expected"]}

    assert len(cases) == count
    assert differ <= WE_DIFFER
    assert len(differ) == differing


def test_every_listed_difference_is_one() -> None:
    inputs = {case["input"] for name in FILES for case in cases_of(name)}

    assert inputs >= WE_DIFFER


def test_dot_segments_are_removed_as_urlcanon_does() -> None:
    cases = [case for case in cases_of("urlcanon-path-dots") if case["scheme_kind"] == "special"]
    assert len(cases) == 233
    for case in cases:
        expected = case["expected"]
        assert expected is not None
        # urlcanon turns backslashes round in a step of its own; the standard has no such step to leave out.
        assert canonicalise("http://h.test" + case["input"]) == canonicalise("http://h.test" + expected), case
        if "\\" not in expected:
            assert form(Canonicaliser(), {"input": "http://h.test" + case["input"]}) == "http://h.test" + expected


def test_numbers_are_addresses_as_urlcanon_reads_them() -> None:
    cases = cases_of("urlcanon-funky-ipv4")
    assert len(cases) == 28
    for case in cases:
        found = canonicalise(f"http://{case['input']}/")
        assert (found.host if isinstance(found, Canonical) else None) == case["expected"], case


# The standard of 2016 read an empty IPv4 part as zero and let a bare `%` stand in a host; that of today does not.
CHANGED_SINCE_2016 = {
    "http://%/",
    "http:/%/",
    "http:%/",
    "http:%2e/a/b",
    "http:%2e%2e%2e/a/b",
    "http:/%2e/a/b",
    "http:/%2e%2e/a/b",
    "http:/%2e%2e%2e/a/b",
    "http://%2e%2e/a/b",
    "http:///%2e/a/b",
    "http:///%2e%2e%2e/a/b",
    "file://%2e%2e/a/b",
    "file://%2e%2e%2e/a/b",
    "http://info@merseburger.de%20/",
    "www.google.com/",  # relative, so without base it is no URL
    "http://â\x98\x83.net/",  # UTF-8 read as Latin-1; the C1 control is forbidden today
}


def test_the_extra_whatwg_cases_serialise_as_expected() -> None:
    cases = cases_of("urlcanon-supplemental-whatwg")

    def serialised(text: str) -> str | None:
        try:
            return parse(text)
        except ValueError:
            return None

    assert len(cases) == 78
    assert {case["input"] for case in cases if serialised(case["input"]) != case["expected"]} == CHANGED_SINCE_2016
