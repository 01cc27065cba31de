"""What the canonical form changed, in words."""

import pytest

from gossamer.filter.canonical import Canonicaliser, CanonicalRules
from gossamer.filter.identity import Identities, IdentityRules
from gossamer.model.units import HostKey, Url
from gossamer.reports.explain.verdicts import fingerprints_of, form_of
from tests.table import table

HOST = HostKey("www.h.test")
DROPPING = Canonicaliser(CanonicalRules(drop_tracking=True, sort_query=True))


@table(
    ("text", "changes"),
    [
        ("http://h.test/a?b=1", []),
        ("HTTP://h.test/", ["the scheme is in lower case"]),
        ("http://H.Test/", ["the host is in lower case"]),
        ("http://h.test./", ["the host's final dot is dropped"]),
        ("http://bücher.test/", ["the host is written xn--bcher-kva.test"]),
        ("http://h.test:80/", ["the default port is dropped"]),
        ("https://h.test:0443/", ["the port is rewritten"]),
        ("http://u:p@h.test/", ["user name and password are dropped"]),
        ("http://h.test", ["an empty path is /"]),
        ("http://h.test/a/../b", ["dots in the path are resolved"]),
        ("http://h.test/%7euser", ["escapes in the path are folded"]),
        ("http://h.test/a b", ["escapes in the path are folded"]),
        ("http://h.test/a\\b", ["the path is rewritten"]),
        ("http://h.test/?", ["an empty query is dropped"]),
        ("http://h.test/?x=%7e", ["escapes in the query are folded"]),
        ("http://h.test/#top", ["the fragment is dropped"]),
        ("http:\\\\h.test/", None),
    ],
)
def test_each_change_is_named(text: str, changes: list[str] | None) -> None:
    found = form_of(text, text, Canonicaliser())

    assert found.url is not None
    assert found.changes if changes is None else list(found.changes) == changes


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("http://h.test/?b=1&a=2", ["parameters are sorted"]),
        ("http://h.test/?a=1&utm_source=x&gclid=y", ["dropped from the query: utm_source, gclid"]),
        ("http://h.test/?utm_source=x", ["the query is dropped"]),
    ],
)
def test_what_the_configuration_drops_is_named(text: str, changes: list[str]) -> None:
    assert list(form_of(text, text, DROPPING).changes) == changes


def test_an_added_scheme_is_named() -> None:
    assert form_of("h.test/a", "https://h.test/a", Canonicaliser()).changes == ("https was added",)


@pytest.mark.parametrize("text", ["http://u:secret@h.test/", "ftp://u:secret@h.test/", "http://u:secret@h.test:22/"])
def test_a_password_is_not_repeated(text: str) -> None:
    assert "secret" not in form_of(text, text, Canonicaliser()).given


def test_both_identities_are_looked_for_the_configured_one_first() -> None:
    url = Url("http://www.h.test/a/")

    plain, least = Identities(IdentityRules()), Identities(IdentityRules(minimise=True))
    exact, short = fingerprints_of(url, HOST, 7, plain)

    assert fingerprints_of(url, HOST, 7, least) == (short, exact)
    assert fingerprints_of(Url("https://h.test/a"), HostKey("h.test"), 7, least)[0] == short
