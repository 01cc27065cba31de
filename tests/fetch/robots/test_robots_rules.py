"""Which rule wins, against a slow and obvious matcher; and how much work that may take."""

import random
from typing import SupportsIndex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.robots import RobotsRules, parse_robots
from gossamer.fetch.robots.rules import _matches, normal_path
from tests.examples import examples
from tests.table import table

ALPHABET = "ab/*$"
patterns = st.text(ALPHABET, min_size=1, max_size=8)
long_pieces = st.text("ab", min_size=30, max_size=34)
paths = st.text("ab/$", max_size=12).map(lambda tail: "/" + tail)


def obviously_matches(pattern: str, path: str) -> bool:
    """Dynamic programming over all ways a pattern can begin a path: `reached` holds the places of the path that the
    pattern so far can end at."""
    anchored = pattern.endswith("$")
    reached = {0}
    for letter in pattern[:-1] if anchored else pattern:
        if letter == "*":
            reached = set(range(min(reached), len(path) + 1)) if reached else reached
        else:
            reached = {at + 1 for at in reached if path[at : at + 1] == letter}
    return len(path) in reached if anchored else bool(reached)


def obvious_verdict(lines: list[tuple[bool, str]], path: str) -> bool:
    matching = [(len(pattern), allow) for allow, pattern in lines if obviously_matches(pattern, path)]
    return max(matching)[1] if matching else True


def rules_of(lines: list[tuple[bool, str]]) -> RobotsRules:
    text = "".join(f"{'Allow' if allow else 'Disallow'}: {pattern}\n" for allow, pattern in lines)
    return parse_robots(b"User-agent: *\n" + text.encode(), "gossamer")


@examples(125)
@given(st.lists(st.tuples(st.booleans(), patterns), max_size=12), paths)
def test_the_verdict_is_that_of_the_obvious_matcher(lines: list[tuple[bool, str]], path: str) -> None:
    assert rules_of(lines).allows(path) == obvious_verdict(lines, path)


@examples(25)
@given(st.lists(st.tuples(st.booleans(), patterns), min_size=40, max_size=120), st.lists(paths, min_size=5))
def test_the_verdict_does_not_depend_on_how_many_rules_share_a_head(
    lines: list[tuple[bool, str]], some_paths: list[str]
) -> None:
    rules = rules_of(lines)

    for path in some_paths:
        assert rules.allows(path) == obvious_verdict(lines, path)


@given(
    st.text("ab", min_size=30, max_size=34), st.text("ab", min_size=30, max_size=34), st.integers(0, 400), st.booleans()
)
def test_long_pieces_are_found_in_long_paths(first: str, second: str, gap: int, turned: bool) -> None:
    path = "/" + "b" * gap + (second + first if turned else first + second) + "a" * gap

    assert rules_of([(False, f"/*{first}*{second}")]).allows(path) == (
        not obviously_matches(f"/*{first}*{second}", path)
    )


@given(st.lists(st.tuples(st.booleans(), patterns), min_size=1, max_size=12), paths)
def test_the_line_that_decided_is_named(lines: list[tuple[bool, str]], path: str) -> None:
    verdict = rules_of(lines).verdict(path)

    if verdict.line_number is None:
        assert verdict.allowed and verdict.line is None
        assert not any(obviously_matches(pattern, path) for _, pattern in lines)
    else:
        allow, pattern = lines[verdict.line_number - 2]
        assert verdict.line == f"{'Allow' if allow else 'Disallow'}: {pattern}"
        assert verdict.allowed == allow
        assert obviously_matches(pattern, path)


@given(st.text(st.characters(exclude_characters="%")))
def test_any_path_has_a_normal_form_and_it_is_its_own(path: str) -> None:
    normal = normal_path(path)

    assert normal_path(normal) == normal
    assert normal.isascii()


@table(
    ("rule", "path", "matches"),
    [
        ("/foo/bar/%62%61%7A", "/foo/bar/baz", True),
        ("/foo/bar/baz", "/foo/bar/%62%61%7a", True),
        ("/foo/bar/ツ", "/foo/bar/%E3%83%84", True),
        ("/foo/bar/%e3%83%84", "/foo/bar/ツ", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html", True),
        ("/path/file-with-a-%2A.html", "/path/file-with-a-b.html", False),
        ("/path/foo-%24", "/path/foo-$", True),
        ("/path/foo-%24", "/path/foo-$bar", True),
        ("/path/foo-$", "/path/foo-", True),
        ("/path/foo-$", "/path/foo-$", False),
        ("/a$b", "/a$bc", True),
        ("/a%2Fb", "/a/b", False),
        ("/a b", "/a%20b", True),
        ("/a|b", "/a%7Cb", True),
        ("/100%", "/100%/x", True),
        ("/A", "/a", False),
    ],
)
def test_octets_are_compared_in_one_form(rule: str, path: str, matches: bool) -> None:
    assert rules_of([(False, rule)]).allows(path) == (not matches)


def test_its_own_file_is_always_allowed() -> None:
    rules = rules_of([(False, "/")])

    assert rules.verdict("/robots.txt") == (True, None, None)
    assert not rules.allows("/robots.txt.bak")


class CountingPath(str):
    """A path that counts the searches made in it."""

    searches = 0

    def find(self, piece: str, start: SupportsIndex | None = None, end: SupportsIndex | None = None) -> int:
        self.searches += 1
        return str.find(self, piece, start, end)


def test_rb_14_a_piece_is_searched_once_however_many_stars_there_are() -> None:
    rules = rules_of([(False, "/*a*a*a*a*a*a*a*b")])
    path = CountingPath("/" + "a" * 200)

    assert rules.allows("/" + "a" * 200)
    assert not rules.allows("/" + "a" * 200 + "b")
    assert not _matches(path, 1, ("a",) * 7 + ("b",), None)
    assert path.searches == 8


@pytest.mark.parametrize("stars", [10, 100, 1000])
def test_the_number_of_searches_is_at_most_the_number_of_pieces(stars: int) -> None:
    path = CountingPath("/" + "ab" * 1000)

    _matches(path, 1, ("a",) * stars, "b")

    assert path.searches <= stars


def test_a_check_tries_few_of_many_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    def counted(path: str, at: int, middle: tuple[str, ...], tail: str | None) -> bool:
        nonlocal tried
        tried += 1
        return _matches(path, at, middle, tail)

    monkeypatch.setattr("gossamer.fetch.robots.rules._matches", counted)
    rng = random.Random(9309)
    rules = rules_of([(False, f"/*/item{number:05d}.html") for number in range(10_000)])
    some = [f"/shop/item{rng.randrange(20_000):05d}.html" for _ in range(100)]

    answers = [rules.allows(path) for path in some]

    assert answers == [int(path[10:15]) >= 10_000 for path in some]
    assert tried <= 20 * len(some)
