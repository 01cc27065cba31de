"""X-Robots-Tag and the words of robots directives."""

import pytest

from gossamer.extract.robots import Wishes, wishes_in_header, wishes_in_meta


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("noindex;nofollow", Wishes(noindex=True, nofollow=True)),
        ("  NoIndex  nofollow ", Wishes(noindex=True, nofollow=True)),
        ("nonesuch, noarchive", Wishes(noindex=False, nofollow=False)),
        ("", Wishes(noindex=False, nofollow=False)),
    ],
)
def test_directives_are_words_apart(content: str, expected: Wishes) -> None:
    assert wishes_in_meta(content) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("noindex", Wishes(noindex=True, nofollow=False)),
        ("otherbot: noindex, nofollow", Wishes(noindex=False, nofollow=False)),
        ("noindex, otherbot: nofollow", Wishes(noindex=True, nofollow=False)),
        ("otherbot: noindex, Gossamer: nofollow", Wishes(noindex=False, nofollow=True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow", Wishes(noindex=False, nofollow=True)),
        ("max-snippet: 20, none", Wishes(noindex=True, nofollow=True)),
        ("", Wishes(noindex=False, nofollow=False)),
    ],
)
def test_a_header_speaks_to_all_robots_or_to_the_named_one(value: str, expected: Wishes) -> None:
    assert wishes_in_header(value) == expected
