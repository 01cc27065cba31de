"""Signatures of texts: equal for equal texts, close for similar ones, none for short ones."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.dedup import MAX_DISTANCE
from gossamer.sketch import BINS, SHINGLE, distance, signature

LATIN = "abcdefghijklmnopqrstuvwxyz"


def prose(seed: int, words: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(LATIN, k=rng.randint(2, 9))) for _ in range(words)]


def signed(text: str) -> bytes:
    found = signature(text)
    assert found is not None
    return found


def slow_shingles(text: str) -> set[str]:
    """What the fast way hashes, plainly: the characters that begin at each word, to the end of its line."""
    found = set()
    for line in text.split("\n"):
        padded = " " + line + " " * SHINGLE
        found |= {padded[i : i + SHINGLE] for i in range(1, len(line) + 1) if padded[i - 1] <= " " < padded[i]}
    return found


def overlap(one: str, other: str) -> float:
    a, b = slow_shingles(one), slow_shingles(other)
    return len(a & b) / len(a | b)


def test_the_signature_of_a_text_never_changes() -> None:
    # Stored signatures are compared with those of later versions: another value here needs a migration.
    assert signed(" ".join(f"word{i} of{i}" for i in range(100))).hex()[:32] == "6aae15c57711d24dd1afa06f397b7b64"


@given(st.text(max_size=3000))
def test_any_text_has_a_signature_of_its_own_or_none(text: str) -> None:
    found = signature(text)

    assert found is None or (len(found) == BINS and found == signature(text))


@given(st.binary(min_size=BINS, max_size=BINS), st.binary(min_size=BINS, max_size=BINS))
def test_the_distance_is_the_number_of_bytes_that_differ(one: bytes, other: bytes) -> None:
    assert distance(one, other) == sum(a != b for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.8, 0.95])
def test_the_distance_follows_the_overlap_of_the_texts(share: float) -> None:
    expected, found = 0.0, 0
    for seed in range(40):
        words = prose(seed, 600)
        other = prose(seed + 1000, 600)
        kept = round(600 * share)
        one, two = " ".join(words), " ".join(words[:kept] + other[kept:])
        expected += (1 - overlap(one, two)) * BINS * 255 / 256
        found += distance(signed(one), signed(two))

    # Forty pairs: the standard error of the mean is below one byte.
    assert abs(found - expected) / 40 < 2.5


@pytest.mark.parametrize("written", [lambda words: " ".join(words), lambda words: "漢字" + " ".join(words)])
def test_lines_in_another_order_are_the_same_text(written: Callable[[list[str]], str]) -> None:
    words = prose(5, 300)
    lines = [written(words[i : i + 1 + i % 4]) for i in range(0, 300, 4)]

    apart = distance(signed("\n".join(lines)), signed("\n".join(reversed(lines))))
    in_one_line = distance(signed(" ".join(lines)), signed(" ".join(reversed(lines))))

    assert apart == 0
    assert in_one_line > MAX_DISTANCE


def test_the_distance_of_texts_in_lines_follows_their_overlap_too() -> None:
    expected, found = 0.0, 0
    for seed in range(40):
        words, other = prose(seed, 600), prose(seed + 1000, 600)
        lines = [" ".join(words[i : i + 3]) for i in range(0, 600, 3)]
        others = lines[:140] + [" ".join(other[i : i + 3]) for i in range(420, 600, 3)]
        one, two = "\n".join(lines), "\n".join(others)
        expected += (1 - overlap(one, two)) * BINS * 255 / 256
        found += distance(signed(one), signed(two))

    assert abs(found - expected) / 40 < 2.5


def test_what_is_inserted_early_does_not_shift_the_rest() -> None:
    words = prose(7, 500)

    apart = distance(signed(" ".join(words)), signed(" ".join(["", "x", *words])))

    assert apart <= 2


def test_the_order_of_blocks_matters_only_where_they_meet() -> None:
    blocks = [" ".join(prose(seed, 60)) for seed in range(10)]

    apart = distance(signed("\n".join(blocks)), signed("\n".join(reversed(blocks))))

    assert apart <= BINS * 0.15


def test_a_character_beyond_latin_1_changes_only_its_surroundings() -> None:
    text = " ".join(prose(3, 400))

    assert distance(signed(text), signed(text.replace(text[100:101], "\u2019", 1))) <= 4


def test_scripts_without_blanks_are_cut_into_shingles_too() -> None:
    rng = random.Random(5)
    one = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(800))
    other = "".join(chr(rng.randrange(0x4E00, 0x9FFF)) for _ in range(800))

    assert distance(signed(one), signed(one[:400] + "\u4e00" + one[401:])) <= 7
    assert distance(signed(one), signed(other)) > 55


@pytest.mark.parametrize("text", ["", " ", "Not found", " ".join(prose(1, 20)), "again and " * 500, "\ud800" * 90])
def test_what_says_too_little_has_no_signature(text: str) -> None:
    assert signature(text) is None


def test_short_texts_that_have_nothing_in_common_are_far_apart() -> None:
    for seed in range(50):
        one, other = " ".join(prose(seed, 45)), " ".join(prose(seed + 500, 45))

        assert distance(signed(one), signed(other)) > 40
