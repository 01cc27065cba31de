"""Which answers are read for links."""

import pytest

from gossamer.errors import ConfigError
from gossamer.extract.content_types import NAMED_KINDS, Kinds, is_html
from tests.table import table

PNG = b"\x89PNG\r\n\x1a\n"
HTML = b"<!DOCTYPE html><title>x</title>"


@pytest.mark.parametrize("declared", ["text/html", "Text/HTML; charset=x", " application/xhtml+xml "])
def test_what_is_declared_as_html_is_html_whatever_it_holds(declared: str) -> None:
    assert is_html(declared, PNG)


@pytest.mark.parametrize("declared", ["text/plain", "application/octet-stream", "image/png", "application/xml"])
def test_html_declared_as_something_else_is_not_read(declared: str) -> None:
    assert not is_html(declared, HTML)


@pytest.mark.parametrize("declared", [None, "", "unknown/unknown", "*/*"])
@pytest.mark.parametrize("start", [HTML, b"\n\n  <HTML>", b"\xef\xbb\xbf<!-- x -->", b"<a href=x>", b"<p>"])
def test_an_undeclared_body_that_looks_like_html_is_html(declared: str | None, start: bytes) -> None:
    assert is_html(declared, start)


@pytest.mark.parametrize("start", [b"", PNG, b"plain text", b"<article>", b"{}", b"<?xml version='1.0'?>", b"<abc "])
def test_an_undeclared_body_that_does_not_look_like_html_is_not(start: bytes) -> None:
    assert not is_html(None, start)


@pytest.mark.parametrize(
    ("declared", "start", "read"),
    [
        ("text/plain", HTML, False),
        ("application/octet-stream", HTML, False),
        (None, HTML, True),
        (None, PNG, False),
    ],
)
def test_bd_19_only_declared_html_or_undeclared_html_is_read_and_all_is_stored(
    declared: str | None, start: bytes, read: bool
) -> None:
    headers = {} if declared is None else {"content-type": declared}

    assert is_html(declared, start) is read
    assert Kinds().judge_head(200, headers) and Kinds().wants_document(headers, start)


def test_a_page_sent_with_two_types_is_what_the_last_one_says() -> None:
    assert is_html("text/plain, text/html", PNG)
    assert not is_html("text/html, text/plain", HTML)


def wanted(kinds: Kinds, declared: str | None, start: bytes = b"") -> tuple[bool | None, bool]:
    """What is decided on the head, and then on the first bytes."""
    headers = {} if declared is None else {"content-type": declared}
    return kinds.judge_head(200, headers), kinds.wants_document(headers, start)


@table(
    ("kinds", "declared", "start", "expected"),
    [
        (["html"], "text/html; charset=x", b"", (True, True)),
        (["html"], "application/xhtml+xml", b"", (False, False)),
        (["html", "xhtml"], "application/xhtml+xml", b"", (True, True)),
        (["html"], "image/png", PNG, (False, False)),
        (["html"], None, HTML, (None, True)),
        (["html"], None, PNG, (None, False)),
        (["HTML "], "*/*", HTML, (None, True)),
        (["text/*"], "text/csv", b"", (True, True)),
        (["text/*"], "text/plain", PNG, (None, False)),
        (["archives"], "text/plain", b"PK\x03\x04", (False, False)),
        (["application/octet-stream"], "text/plain", PNG, (None, True)),
        (["application/octet-stream"], "text/plain;charset=x", PNG, (False, False)),
        (["image/png"], "image/gif", PNG, (None, True)),
        (["image/png"], "image/gif", b"GIF89a", (None, False)),
        (["image/avif"], "image/gif", PNG, (False, False)),
        (["video"], "audio/mpeg", b"\0\0\0\x0cftypmp42", (None, True)),
        (["feeds"], "application/rss+xml", b"", (True, True)),
        (["feeds"], "text/xml", b"<?xml version='1.0'?><rss>", (None, True)),
        (["feeds"], "text/xml", b"<?xml version='1.0'?><svg>", (None, False)),
        (["feeds"], "text/html", b"<rss>", (None, True)),
        (["feeds"], "text/html", HTML, (None, False)),
        (["feeds"], None, b"<?xml version='1.0'?><feed>", (None, True)),
        (["sitemaps"], "application/xml", b"<urlset>", (None, True)),
        (["sitemaps"], "application/pdf", b"<urlset>", (False, False)),
        (["xml"], "image/svg+xml", b"", (True, True)),
        (["documents"], "application/vnd.oasis.opendocument.text", b"", (True, True)),
        (["any"], "x/y", b"", (True, True)),
        ([], "x/y", b"", (True, True)),
    ],
)
def test_a_wanted_kind_is_decided_on_the_head_and_then_on_the_first_bytes(
    kinds: list[str], declared: str | None, start: bytes, expected: tuple[bool | None, bool]
) -> None:
    assert wanted(Kinds(kinds), declared, start) == expected


def test_nosniff_is_heeded_when_kinds_are_decided() -> None:
    headers = {"content-type": "image/gif", "x-content-type-options": "nosniff"}

    assert Kinds(["image/png"]).judge_head(200, headers) is False
    assert not Kinds(["image/png"]).wants_document(headers, PNG)


@pytest.mark.parametrize("status", [301, 304, 404, 500])
def test_error_pages_and_redirects_are_not_judged_by_their_type(status: int) -> None:
    assert Kinds(["html"]).judge_head(status, {"content-type": "image/png"})


@pytest.mark.parametrize("name", ["movies", "text/", "/html", "te xt/html"])
def test_an_unknown_kind_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=f"fetch.kinds: '{name}' is neither"):
        Kinds([name])


def test_every_named_kind_wants_what_its_patterns_name() -> None:
    for name, patterns in NAMED_KINDS.items():
        for pattern in patterns:
            head = {"content-type": pattern.replace("*", "x")}
            assert Kinds([name]).judge_head(200, head) is not False, (name, pattern)
