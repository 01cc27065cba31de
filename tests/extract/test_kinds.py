"""Which answers are read for links."""

import pytest

from gossamer.extract.kinds import is_html

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
