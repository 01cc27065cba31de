"""X-Robots-Tag and the words of robots directives."""

import pytest

from gossamer.extract.page_meta import Wishes, WishesFor, wishes_in_meta


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
        ("unavailable_after: Tuesday, 25 Jun 2030 15:00:00 PST, nofollow", Wishes(noindex=False, nofollow=True)),
        ("max-snippet: 20, none", Wishes(noindex=True, nofollow=True)),
        ("noindex, gossamer: nofollow", Wishes(noindex=False, nofollow=True)),
        ("none, GOSSAMER: all", Wishes(noindex=False, nofollow=False)),
        ("gossamer: noindex, max-snippet: 3, nofollow", Wishes(noindex=True, nofollow=True)),
        ("", Wishes(noindex=False, nofollow=False)),
    ],
)
def test_a_header_speaks_to_all_robots_or_to_the_named_one(value: str, expected: Wishes) -> None:
    assert WishesFor("gossamer", value).wishes() == expected


def test_what_is_said_to_us_by_name_replaces_what_is_said_to_all_wherever_it_stands() -> None:
    asked = WishesFor("MyBot", "nofollow")
    asked.heed_meta("robots", "noindex")
    asked.heed_meta("otherbot", "none")

    assert asked.wishes() == Wishes(noindex=True, nofollow=True)

    asked.heed_meta("mybot", "noindex, follow")

    assert asked.wishes() == Wishes(noindex=True, nofollow=False)


def test_several_statements_to_us_add_up() -> None:
    asked = WishesFor("gossamer", "gossamer: noindex")
    asked.heed_meta("gossamer", "nofollow")

    assert asked.wishes() == Wishes(noindex=True, nofollow=True)
