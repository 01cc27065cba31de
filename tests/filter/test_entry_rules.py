import fnmatch
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import ConfigError
from gossamer.filter.host_table import UrlPattern
from gossamer.filter.rules import EXCLUDED_EXTENSIONS, EntryRules
from gossamer.filter.scope import Scope, parse_domains, parse_scope
from gossamer.model.units import Domain, HostKey, Url
from tests.examples import examples
from tests.table import table

HERE = Url("http://www.h.test/a/page.html")
HOST = HostKey("www.h.test")


def in_scope(text: str, host: str, *seeds: str) -> bool:
    scope = parse_scope(text).with_seeds([HostKey(seed) for seed in seeds])
    return scope.admitted_by(HostKey(host)) is not None


@table(
    ("scope", "inside", "outside"),
    [
        ("host", ["www.h.test"], ["h.test", "a.www.h.test", "x.test"]),
        ("domain", ["www.h.test", "h.test", "a.b.h.test"], ["xh.test", "test", "x.test"]),
        ("any", ["x.test", "127.0.0.1", "[::1]"], []),
        ("tld:nz", ["a.co.nz", "nz", "b.nz"], ["anz", "nz.org", "www.h.test"]),
        ("tld:.NZ", ["a.co.nz"], ["a.au"]),
        ("domain:example.org", ["example.org", "www.example.org"], ["notexample.org", "www.h.test"]),
        ("host:WWW.Example.ORG.", ["www.example.org"], ["example.org"]),
        ("domain:bücher.de", ["www.xn--bcher-kva.de"], ["www.xn--bcher-kva.com"]),
        ("host, tld:nz ,host:[::1]", ["www.h.test", "a.nz", "[::1]"], ["h.test"]),
    ],
)
def test_a_scope_admits_what_it_says(scope: str, inside: list[str], outside: list[str]) -> None:
    assert all(in_scope(scope, host, "www.h.test") for host in inside)
    assert not any(in_scope(scope, host, "www.h.test") for host in outside)


@table(
    ("scope", "shown"),
    [
        ("host", "host"),
        ("domain,any", "any"),
        ("domain, tld:.NZ", "domain"),
        ("tld:nz,host:a.test,domain:b.test", "host:a.test,domain:b.test,tld:nz"),
    ],
)
def test_a_scope_is_shown_as_it_was_configured(scope: str, shown: str) -> None:
    assert str(parse_scope(scope).with_seeds([HostKey("www.h.test")])) == shown


@table(
    ("text", "part"),
    [
        ("", "''"),
        ("hosts", "'hosts'"),
        ("host,", "''"),
        ("any:x", "'any:x'"),
        ("tld:", "'tld:'"),
        ("host, host:a b", "'host:a b'"),
        ("domain:http://h.test/", "'domain:http://h.test/'"),
        ("host:h.test:80", "'host:h.test:80'"),
        ("host:u@h.test", "'host:u@h.test'"),
    ],
)
def test_a_scope_that_cannot_be_read_names_its_part(text: str, part: str) -> None:
    with pytest.raises(ConfigError, match="scope: ") as raised:
        parse_scope(text)

    assert part in str(raised.value)


def test_seeds_added_later_widen_a_scope_of_seeds_only() -> None:
    assert in_scope("host", "b.test", "a.test", "b.test")
    assert not in_scope("host:a.test", "b.test", "b.test")


def test_a_scope_that_seeds_do_not_change_stays_the_same_value() -> None:
    scope = parse_scope("domain").with_seeds([HOST])

    assert scope.with_seeds([HostKey("other.h.test")]) is scope


@table(
    ("rules", "url", "depth", "reason"),
    [
        (EntryRules(), HERE, 20, None),
        (EntryRules(), HERE, 21, "depth_limit"),
        (EntryRules(max_depth=None), HERE, 10_000, None),
        (EntryRules(max_depth=0), HERE, 0, None),
        (EntryRules(max_url_bytes=len(HERE)), HERE, 0, None),
        (EntryRules(max_url_bytes=len(HERE) - 1), HERE, 0, "url_too_long"),
        (EntryRules(), "http://www.h.test/" + "a" * 2_066, 0, "url_too_long"),
        (EntryRules(), "http://www.h.test/" + "a" * 2_065, 0, None),
        (EntryRules(scope=Scope()), HERE, 0, "out_of_scope"),
        (EntryRules(excluded_domains=frozenset({Domain("h.test")})), HERE, 0, "excluded_domain"),
        (EntryRules(scope=Scope(), excluded_domains=frozenset({Domain("h.test")})), HERE, 0, "excluded_domain"),
        (EntryRules(excluded_domains=frozenset({Domain("ww.h.test")})), HERE, 0, None),
        (EntryRules(), "http://www.h.test/a.zip", 0, "extension"),
        (EntryRules(), "http://www.h.test/a.ZIP?x=1", 0, "extension"),
        (EntryRules(), "http://www.h.test/a.zip/", 0, None),
        (EntryRules(), "http://www.h.test/zip", 0, None),
        (EntryRules(), "http://www.h.test/get?file=a.zip", 0, None),
        (EntryRules(), "http://www.h.test/a.pdf", 0, None),
        (EntryRules(excluded_extensions=frozenset({"pdf"})), "http://www.h.test/a.pdf", 0, "extension"),
        (EntryRules(exclude_patterns=(UrlPattern("*/a/*"),)), HERE, 0, "pattern"),
        (EntryRules(include_patterns=(UrlPattern("*/b/*"),)), HERE, 0, "pattern"),
        (EntryRules(include_patterns=(UrlPattern("*/b/*"), UrlPattern("*.html"))), HERE, 0, None),
        (EntryRules(include_patterns=(UrlPattern("*"),), exclude_patterns=(UrlPattern(HERE),)), HERE, 0, "pattern"),
        (EntryRules(), "http://www.h.test" + "".join(f"/a{n}" for n in range(20)), 0, None),
        (EntryRules(), "http://www.h.test" + "".join(f"/a{n}" for n in range(21)), 0, "trap_limit"),
        (EntryRules(), "http://www.h.test/?" + "&".join(map(str, range(100))), 0, None),
        (EntryRules(), "http://www.h.test/?" + "&".join(map(str, range(101))), 0, "trap_limit"),
        (EntryRules(), "http://www.h.test/?u=" + "/a" * 30, 0, None),
    ],
)
def test_a_url_enters_or_is_refused_for_its_reason(rules: EntryRules, url: str, depth: int, reason: str | None) -> None:
    assert rules.may_enter(Url(url), HOST, depth) == reason


URLS = st.sampled_from(
    [
        "http://www.h.test/",
        "http://x.nz/a.zip",
        "http://x.nz/" + "b/" * 25,
        "http://h.test/?" + "a&" * 120 + "b",
        str(HERE),
    ]
)
RULES = st.builds(
    EntryRules,
    scope=st.sampled_from([parse_scope("any"), parse_scope("tld:nz"), parse_scope("host:www.h.test")]),
    excluded_domains=st.sets(st.sampled_from([Domain("h.test"), Domain("nz")])).map(frozenset),
    include_patterns=st.lists(st.sampled_from([UrlPattern("*/"), UrlPattern("http://*")]), max_size=2).map(tuple),
    exclude_patterns=st.lists(st.sampled_from([UrlPattern("*b*"), UrlPattern("*.zip")]), max_size=2).map(tuple),
    max_depth=st.none() | st.integers(0, 3),
    max_url_bytes=st.integers(0, 60),
)


@given(rules=RULES, url=URLS, depth=st.integers(0, 4))
@examples(75)
def test_the_explanation_and_the_decision_agree(rules: EntryRules, url: str, depth: int) -> None:
    host = HostKey(url.split("/")[2])
    explained = rules.explain_entry(Url(url), host, depth)
    refusals = [verdict.split(" ")[0] for _, verdict in explained if not verdict.startswith("passes")]

    assert rules.may_enter(Url(url), host, depth) == (refusals[0] if refusals else None)


def test_an_explanation_names_the_value_that_decided() -> None:
    rules = EntryRules(
        scope=parse_scope("tld:nz"),
        excluded_domains=frozenset({Domain("bad.nz")}),
        exclude_patterns=(UrlPattern("*/x/*"),),
    )

    explained = dict(rules.explain_entry(Url("http://a.bad.nz/x/y.pdf"), HostKey("a.bad.nz"), 2))

    assert explained == {
        "depth": "passes (2, at most 20)",
        "scheme": "passes (http)",
        "length": "passes (23 bytes, at most 2083)",
        "excluded domains": "excluded_domain (bad.nz)",
        "scope": "passes (tld:nz)",
        "shape": "passes (segments: 2, parameters: 0)",
        "repeats": "passes (none)",
        "extension": "passes (pdf)",
        "patterns": "pattern (excluded by */x/*)",
    }


def test_rules_changed_while_running_decide_anew() -> None:
    rules = EntryRules()
    assert rules.may_enter(HERE, HOST, 0) is None

    changed = replace(rules, excluded_domains=parse_domains(["H.test"], "excludedDomains"))

    assert changed.may_enter(HERE, HOST, 0) == "excluded_domain"
    assert rules.may_enter(HERE, HOST, 0) is None


def test_rules_with_the_same_content_are_equal() -> None:
    assert EntryRules(max_depth=3) == EntryRules(max_depth=3) != EntryRules(max_depth=4)


def test_a_negative_limit_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="max_depth: must not be negative"):
        EntryRules(max_depth=-1)
    with pytest.raises(ConfigError, match="max_url_bytes: must not be negative"):
        EntryRules(max_url_bytes=-1)


def test_documents_are_not_among_the_excluded_extensions() -> None:
    assert not EXCLUDED_EXTENSIONS & {
        "pdf",
        "html",
        "htm",
        "php",
        "asp",
        "txt",
        "xml",
        "doc",
        "docx",
        "odt",
        "rtf",
        "js",
    }


@pytest.mark.parametrize("names", [["a b"], ["h.test", ""], ["http://h.test"]])
def test_excluded_domains_that_are_none_are_refused_by_name(names: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"excluded_domains: .*is not a domain name"):
        parse_domains(names, "excluded_domains")


def test_excluded_domains_may_be_written_as_people_do() -> None:
    assert parse_domains([" *.Bad.test", ".worse.test.", "bücher.de"], "x") == {
        "bad.test",
        "worse.test",
        "xn--bcher-kva.de",
    }


@given(
    pattern=st.text(alphabet="ab*/.", min_size=1, max_size=10),
    url=st.text(alphabet="ab/.", max_size=14),
)
@examples(200)
def test_a_pattern_matches_as_a_shell_pattern_would(pattern: str, url: str) -> None:
    assert UrlPattern(pattern).matches(url) == fnmatch.fnmatchcase(url, pattern)


def test_a_pattern_has_no_other_special_characters() -> None:
    assert UrlPattern("http://h.test/[a]?x=*").matches("http://h.test/[a]?x=1")
    assert not UrlPattern("http://h.test/?").matches("http://h.test/a")


@pytest.mark.parametrize("text", ["", "a" * 2_084])
def test_an_empty_or_endless_pattern_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="pattern"):
        UrlPattern(text)
