"""The canonical form of single URLs: the hostile cases of docs/HOSTILE.md (UR), one test per id, and invariants."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.filter.canonical import (
    BLOCKED_PORTS,
    Canonical,
    Canonicaliser,
    CanonicalRules,
    Refusal,
    canonicalise,
    fold_escapes,
)
from tests.effort import lines_run
from tests.examples import examples
from tests.table import table


def url_of(text: str, base: str | None = None) -> str:
    found = canonicalise(text, base)
    assert isinstance(found, Canonical), found
    return found.url


def reason_of(text: str, base: str | None = None) -> str:
    found = canonicalise(text, base)
    assert isinstance(found, Refusal), found
    return found.reason


@table(
    "href",
    [
        "mailto:a@b.test",
        "tel:+123",
        "javascript:void(0)",
        "JavaScript:x",
        "data:text/html,<a>",
        "data:" + "x" * 100_000,
        "blob:https://h.test/1",
        "about:blank",
        "file:///etc/passwd",
        "ftp://h.test/",
        "view-source:http://h.test/",
        "intent://h.test/#Intent;end",
        "java\nscript:x",
        " \x01mailto:x",
    ],
)
def test_ur_01_only_http_and_https_are_ours(href: str) -> None:
    assert reason_of(href, "http://h.test/") == "bad_scheme"


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (":0", "bad_url"),
        (":65536", "bad_url"),
        (":99999", "bad_url"),
        (":-1", "bad_url"),
        (":22", "blocked_port"),
        (":25", "blocked_port"),
        (":6379", "blocked_port"),
        (":00025", "blocked_port"),
    ],
)
def test_ur_02_impossible_and_service_ports_are_refused(port: str, expected: str) -> None:
    assert reason_of(f"http://h.test{port}/") == expected


def test_ur_02_empty_and_default_ports_are_removed_others_kept() -> None:
    assert url_of("http://h.test:/") == url_of("http://h.test:80/") == "http://h.test/"
    assert url_of("https://h.test:443/") == "https://h.test/"
    assert url_of("http://h.test:443/") == "http://h.test:443/"
    assert url_of("http://h.test:08080/") == "http://h.test:8080/"


def test_the_port_list_is_configuration() -> None:
    lenient = Canonicaliser(CanonicalRules(blocked_ports=frozenset({8080})))

    assert isinstance(lenient.canonicalise("http://h.test:25/"), Canonical)
    assert isinstance(lenient.canonicalise("http://h.test:8080/"), Refusal)
    assert {22, 25, 6379} <= BLOCKED_PORTS
    assert not {80, 443, 8000, 8080, 8443} & BLOCKED_PORTS


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("http://a:b@h.test/", "h.test"),
        ("http://h.test@evil.test/", "evil.test"),
        ("http://a@b@c.test/", "c.test"),
        ("http://h.test%40evil.test@x.test:81/", "x.test"),
    ],
)
def test_ur_03_userinfo_is_dropped_and_the_true_host_found(text: str, host: str) -> None:
    found = canonicalise(text)

    assert isinstance(found, Canonical)
    assert found.host == host
    assert "@" not in found.url


@pytest.mark.parametrize(
    ("text", "url"),
    [("http:\\\\h.test\\x", "http://h.test/x"), ("http://h.test\\@evil.test/", "http://h.test/@evil.test/")],
)
def test_ur_04_a_backslash_is_a_slash(text: str, url: str) -> None:
    assert url_of(text) == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("ht\ntp://h.test/a\tb", "http://h.test/ab"),
        ("  \x00\x1f http://h.test/\r\n", "http://h.test/"),
        ("http://h.te\nst/\r", "http://h.test/"),
        ("http://h.test/a\x01b\x7f", "http://h.test/a%01b%7F"),
    ],
)
def test_ur_05_control_characters_never_stay(text: str, url: str) -> None:
    assert url_of(text) == url


@table(
    ("path", "expected"),
    [
        ("a/%2e%2e/b", "b"),
        ("a/.%2E/b", "b"),
        ("%2e/b", "b"),
        ("%00", "%00"),
        ("%zz", "%zz"),
        ("%252e", "%252e"),
        ("%252e%252e/b", "%252e%252e/b"),
        ("a%2Fb", "a%2Fb"),
        ("a%2fb", "a%2Fb"),
        ("%c3%a9", "%C3%A9"),
        ("é", "%C3%A9"),
        ("%7Euser", "~user"),
        ("%%32e", "%%32e"),
        ("%4%31", "%4%31"),
        ("%", "%"),
        ("x?a=%61&b=%2b", "x?a=a&b=%2B"),
    ],
)
def test_ur_06_escapes_are_folded_once(path: str, expected: str) -> None:
    assert url_of("http://h.test/" + path) == "http://h.test/" + expected


def test_ur_06_an_escaped_slash_is_no_slash() -> None:
    assert url_of("http://h.test/a%2Fb") != url_of("http://h.test/a/b")


@pytest.mark.parametrize("text", ["http://h.test/" + "a" * 1_000_000, "/" + "é" * 1_000_000, "a" * 1_000_000])
def test_ur_07_a_monstrous_link_is_refused_unread(text: str) -> None:
    found = canonicalise(text, "http://h.test/")

    assert isinstance(found, Refusal)
    assert found.reason == "url_too_long"
    assert len(found.shown.encode()) <= 256
    assert lines_run(lambda: canonicalise(text, "http://h.test/")) <= 20


def test_a_refusal_shows_no_userinfo() -> None:
    found = canonicalise("http://user:secret@h.test:22/x")

    assert found == Refusal("blocked_port", "http://h.test:22/x")


@pytest.mark.parametrize("text", ["http://[fe80::1%25eth0]/", "http://[::1", "http://[h].test/", "http://[]/"])
def test_ur_08_broken_address_literals_are_refused(text: str) -> None:
    assert reason_of(text) == "bad_url"


def test_ur_08_an_ipv6_literal_is_a_host() -> None:
    found = canonicalise("http://[2001:DB8:0:0::1]:8080/")

    assert isinstance(found, Canonical)
    assert found == ("http://[2001:db8::1]:8080/", "[2001:db8::1]", "http://[2001:db8::1]:8080", 25)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("2130706433", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("１２７.0.0.1", "127.0.0.1"),
        ("0", "0.0.0.0"),
    ],
)
def test_ur_09_disguised_addresses_are_read_as_what_they_mean(host: str, address: str) -> None:
    found = canonicalise(f"http://{host}/")

    assert isinstance(found, Canonical)
    assert found.host == address


def test_ur_10_look_alike_hosts_stay_apart_as_a_labels() -> None:
    assert url_of("http://Bücher.test/") == "http://xn--bcher-kva.test/"
    assert url_of("http://xn--bcher-kva.test/") == "http://xn--bcher-kva.test/"
    assert url_of("http://раура.test/") != url_of("http://paypa.test/")
    assert url_of("http://раура.test/").isascii()


def test_ur_11_the_final_dot_of_a_host_is_dropped() -> None:
    assert canonicalise("http://h.test./a") == canonicalise("http://h.test/a")
    assert canonicalise("http://h.test.:8080/") == canonicalise("http://h.test:8080/")


def test_ur_12_spellings_of_one_url_are_one_url() -> None:
    spellings = ["HTTP://H.TEST:80", "http://h.test/", "http://h.test/?", "http://h.test/#a", "http://h.test?#"]

    assert {url_of(text) for text in spellings} == {"http://h.test/"}


def test_ur_12_only_an_empty_query_is_dropped() -> None:
    assert url_of("http://h.test/??") == "http://h.test/??"
    assert url_of("http://h.test/?a?") == "http://h.test/?a?"


@pytest.mark.parametrize("host", ["a_b.test", "-x.test", "x-.test", "_dmarc.test"])
def test_ur_13_odd_but_living_host_names_are_taken(host: str) -> None:
    assert url_of(f"http://{host}/") == f"http://{host}/"


NO_HOST = ("http:///x", "http:\\\\\\x", "///x", "http://./", "http://%00/", "http://a b/", "http://..", "http://a..b/")
NO_HOST_EITHER = ("http://?x", "http://", "//", "", "x", "#x", "http://\ud800/")


@table("text", [*NO_HOST, *NO_HOST_EITHER])
def test_ur_14_what_names_no_host_is_refused(text: str) -> None:
    assert reason_of(text) == "bad_url"


@pytest.mark.parametrize("text", ["///x", "http:///x", "//", "/\\/x"])
def test_ur_14_an_empty_host_is_refused_in_links_too(text: str) -> None:
    assert reason_of(text, "http://h.test/") == "bad_url"


@pytest.mark.parametrize(
    "host",
    [
        "a" * 64 + ".test",
        "é" * 64 + ".test",
        "ü" * 60 + ".test",
        "%61" * 64 + ".test",
        ("a" * 49 + ".") * 5 + "test",
        "é" * 2_000,
    ],
)
def test_ur_15_names_that_dns_cannot_hold_are_refused(host: str) -> None:
    assert reason_of(f"http://{host}/") == "bad_url"
    assert reason_of(f"//u:p@{host}:81/", "http://h.test/") == "bad_url"


@pytest.mark.parametrize("host", ["a" * 63 + ".test", ".".join(["a" * 62] * 4) + ".a", "%61" * 63 + ".test"])
def test_ur_15_the_longest_names_that_dns_can_hold_are_taken(host: str) -> None:
    assert isinstance(canonicalise(f"http://{host}/"), Canonical)
    assert isinstance(canonicalise(f"http://{host}./"), Canonical)
    assert isinstance(canonicalise(f"http://{'u' * 300}@{host}:81/"), Canonical)


def test_tr_12_spellings_of_a_page_fold_and_different_pages_do_not() -> None:
    same = ["/page", "/p%61ge", "/./page", "/page?", "/page#x"]
    others = ["/Page", "//page", "/page/"]

    assert {url_of("http://h.test" + path) for path in same} == {"http://h.test/page"}
    assert len({url_of("http://h.test" + path) for path in [*same, *others]}) == 4


TEXTS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="/.%2eE6f1aA?#&=;:@[]\\ é\t'\"|^~-_", max_size=25).map("http://h.test/".__add__),
    st.text(alphabet="a.-:@%0[]xX中\u00ad。", max_size=20).map("http://".__add__),
)
ALL_RULES = CanonicalRules(drop_tracking=True, drop_sessions=True, sort_query=True)


@given(text=TEXTS)
@example(text="http://h.test/%%32e")
@example(text="http://h.test/%%34%31")
@examples(200)
def test_a_canonical_url_is_its_own_canonical_form(text: str) -> None:
    found = canonicalise(text)
    if isinstance(found, Canonical):
        assert canonicalise(found.url) == found
        assert canonicalise("", found.url) == found


NOISE = "/ .. . ;jsessionid= %3b a (S(abcdefghijklmnopqrstuvwx)) ? & sid=1 b=2 = SID ;sid=x utm_x %75tm_a=1"


@given(
    text=st.lists(st.sampled_from(NOISE.split()), max_size=10).map(lambda pieces: "http://h.test/" + "".join(pieces))
)
@example(text="http://h.test/a/..;jsessionid=1/b")
@examples(125)
def test_a_canonical_url_is_its_own_canonical_form_when_noise_is_dropped(text: str) -> None:
    canonicaliser = Canonicaliser(ALL_RULES)
    found = canonicaliser.canonicalise(text)
    if isinstance(found, Canonical):
        assert canonicaliser.canonicalise(found.url) == found


@given(text=TEXTS)
@examples(100)
def test_the_parts_of_a_canonical_url_fit_together(text: str) -> None:
    found = canonicalise(text)
    if isinstance(found, Refusal):
        assert found.reason in {"bad_url", "bad_scheme", "blocked_port", "url_too_long"}
        return
    assert found.url.startswith(found.origin)
    assert found.url[found.path_start] == "/"
    assert found.origin.partition("://")[2].removesuffix("/").startswith(found.host)
    assert found.url.isascii()
    assert found.url.isprintable()
    assert " " not in found.url
    assert "#" not in found.url


@given(text=st.text(alphabet="%0123456789abcdefABCDEF.~/", max_size=20))
@examples(125)
def test_folding_escapes_twice_is_folding_them_once(text: str) -> None:
    assert fold_escapes(fold_escapes(text)) == fold_escapes(text)
