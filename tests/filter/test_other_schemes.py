"""Schemes beside http and https: only those that the rules name."""

import pytest

from gossamer.filter.canonical import Canonical, Canonicaliser, CanonicalRules, Refusal, minimise_url, parse_canonical
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.model.units import HostKey, Url

WITH_FTP = Canonicaliser(CanonicalRules(schemes=("http", "https", "ftp")))


@pytest.mark.parametrize(
    ("text", "url", "host"),
    [
        ("ftp://h.test/pub/a.txt", "ftp://h.test/pub/a.txt", "h.test"),
        ("FTP://H.test:21", "ftp://h.test/", "h.test"),
        ("ftp://a/x", "ftp://a/x", "a"),
        ("ftp://joe:pass@h.test.:2121/../x#y", "ftp://h.test:2121/x", "h.test"),
        ("http://h.test/a", "http://h.test/a", "h.test"),
    ],
)
def test_an_ftp_url_has_a_canonical_form_where_it_may_be_fetched(text: str, url: str, host: str) -> None:
    found = WITH_FTP.canonicalise(text)

    assert isinstance(found, Canonical)
    assert (found.url, found.host, found.url[: found.path_start]) == (url, host, found.origin)
    assert parse_canonical(found.url, found.host) == found


@pytest.mark.parametrize("text", ["ftp://h.test/", "FTP:x", "ftp://", "gopher://h.test/", "javascript:1"])
def test_without_it_an_ftp_url_is_none_of_ours(text: str) -> None:
    found = Canonicaliser().canonicalise(text, "http://h.test/")

    assert isinstance(found, Refusal) and found.reason == "bad_scheme"


@pytest.mark.parametrize("text", ["gopher://h.test/", "mailto:a@h.test", "ftps://h.test/", "data:x"])
def test_other_schemes_stay_out(text: str) -> None:
    found = WITH_FTP.canonicalise(text, "ftp://h.test/")

    assert isinstance(found, Refusal) and found.reason == "bad_scheme"


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("http://h.test/", 80),
        ("https://h.test/", 443),
        ("ftp://h.test/", 21),
        ("http://h.test:8080/", 8080),
        ("http://[::1]/", 80),
        ("https://[::1]:8443/x:1", 8443),
    ],
)
def test_a_url_knows_its_port(text: str, port: int) -> None:
    found = WITH_FTP.canonicalise(text)

    assert isinstance(found, Canonical) and found.port == port


def test_a_scheme_whose_form_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="gopher"):
        CanonicalRules(schemes=("http", "gopher"))


def test_the_links_of_a_directory_are_read_against_it() -> None:
    base = WITH_FTP.canonicalise("ftp://h.test:2121/pub/")
    assert isinstance(base, Canonical)
    hrefs = ["a.txt", "deep/", "../b", "/c", "ftp://other.test/d", "http://h.test/e", "mailto:x"]

    found = LinkResolver(WITH_FTP).resolve_page(base.url, base, hrefs)

    assert dict(found.links) == {
        "ftp://h.test:2121/pub/a.txt": "h.test",
        "ftp://h.test:2121/pub/deep/": "h.test",
        "ftp://h.test:2121/b": "h.test",
        "ftp://h.test:2121/c": "h.test",
        "ftp://other.test/d": "other.test",
        "http://h.test/e": "h.test",
    }
    assert found.refused == {"bad_scheme": 1}


def test_what_lies_on_an_ftp_server_is_not_what_the_web_server_has() -> None:
    assert minimise_url(Url("ftp://www.h.test/a/")) == "ftp://www.h.test/a/"
    assert minimise_url(Url("http://www.h.test/a/")) == minimise_url(Url("https://h.test/a")) == "h.test/a"


def test_a_scheme_that_was_switched_off_keeps_queued_urls_out() -> None:
    host = HostKey("h.test")

    assert EntryRules().may_enter(Url("ftp://h.test/"), host, 0) == "bad_scheme"
    assert EntryRules(schemes=("http", "https", "ftp")).may_enter(Url("ftp://h.test/"), host, 0) is None
