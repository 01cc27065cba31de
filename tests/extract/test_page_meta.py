"""X-Robots-Tag and the words of robots directives."""

import pytest

from gossamer.extract.page_meta import DirectivesFor, RobotsDirectives, directives_in_meta
from tests.table import table


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("noindex;nofollow", RobotsDirectives(noindex=True, nofollow=True)),
        ("  NoIndex  nofollow ", RobotsDirectives(noindex=True, nofollow=True)),
        ("nonesuch, noarchive", RobotsDirectives(noindex=False, nofollow=False)),
        ("", RobotsDirectives(noindex=False, nofollow=False)),
    ],
)
def test_directives_are_words_apart(content: str, expected: RobotsDirectives) -> None:
    assert directives_in_meta(content) == expected


@table(
    ("value", "expected"),
    [
        ("noindex", RobotsDirectives(noindex=True, nofollow=False)),
        ("otherbot: noindex, nofollow", RobotsDirectives(noindex=False, nofollow=False)),
        ("noindex, otherbot: nofollow", RobotsDirectives(noindex=True, nofollow=False)),
        ("otherbot: noindex, Gossamer: nofollow", RobotsDirectives(noindex=False, nofollow=True)),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, nofollow", RobotsDirectives(noindex=False, nofollow=True)),
        (
            "unavailable_after: Tuesday, 25 Jun 2030 15:00:00 PST, nofollow",
            RobotsDirectives(noindex=False, nofollow=True),
        ),
        ("max-snippet: 20, none", RobotsDirectives(noindex=True, nofollow=True)),
        ("noindex, gossamer: nofollow", RobotsDirectives(noindex=False, nofollow=True)),
        ("none, GOSSAMER: all", RobotsDirectives(noindex=False, nofollow=False)),
        ("gossamer: noindex, max-snippet: 3, nofollow", RobotsDirectives(noindex=True, nofollow=True)),
        ("", RobotsDirectives(noindex=False, nofollow=False)),
    ],
)
def test_a_header_speaks_to_all_robots_or_to_the_named_one(value: str, expected: RobotsDirectives) -> None:
    assert DirectivesFor("gossamer", value).directives() == expected


def test_what_is_said_to_us_by_name_replaces_what_is_said_to_all_wherever_it_stands() -> None:
    asked = DirectivesFor("MyBot", "nofollow")
    asked.on_meta("robots", "noindex")
    asked.on_meta("otherbot", "none")

    assert asked.directives() == RobotsDirectives(noindex=True, nofollow=True)

    asked.on_meta("mybot", "noindex, follow")

    assert asked.directives() == RobotsDirectives(noindex=True, nofollow=False)


def test_several_statements_to_us_add_up() -> None:
    asked = DirectivesFor("gossamer", "gossamer: noindex")
    asked.on_meta("gossamer", "nofollow")

    assert asked.directives() == RobotsDirectives(noindex=True, nofollow=True)
