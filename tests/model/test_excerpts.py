"""Excerpts of long text: its beginning, without credentials."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.model.formats import SHOWN_BYTES, abbreviated, long_link


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h.test/a", "http://h.test/a"),
        ("http://joe:pw@h.test/a", "http://h.test/a"),
        ("//joe:pw@h.test/a@b", "//h.test/a@b"),
        ("http://h.test/" + "a" * 300, "http://h.test/" + "a" * 242),
        ("http://h.test/" + "é" * 300, "http://h.test/" + "é" * 121),
        ("", ""),
    ],
)
def test_the_beginning_is_shown_without_userinfo(text: str, expected: str) -> None:
    assert abbreviated(text) == expected


def test_a_password_that_is_longer_than_what_is_shown_is_not_shown_in_part() -> None:
    assert abbreviated("http://joe:" + "pw" * 500 + "@h.test/") == "http://"


@given(st.text(max_size=600))
def test_whatever_is_shown_is_short(text: str) -> None:
    assert len(abbreviated(text).encode()) <= SHOWN_BYTES


def test_of_a_long_link_size_and_digest_are_those_of_all_of_it() -> None:
    href = "http://h.test/é" + "a" * 10_000

    found = long_link(href)

    assert found.shown == abbreviated(href)
    assert (found.size, found.digest) == (len(href.encode()), hashlib.sha256(href.encode()).digest())
