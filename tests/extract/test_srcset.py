"""The srcset attribute, against the cases of WPT."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.extract.full_page import Candidate, srcset_candidates
from tests.conformance import shared_data

_CASES = json.loads(shared_data("conformance/html/srcset.json").read_text())["cases"]

# The note names a character that the shared copy of the case has lost, so that what is left is a good descriptor.
_LOST = [case for case in _CASES if "U+0001" in case["note"] and "\x01" not in case["srcset"]]
_WHOLE = [case for case in _CASES if case not in _LOST]


def test_the_first_image_of_a_set_is_the_one_a_browser_shows() -> None:
    found = [(case, srcset_candidates(case["srcset"])) for case in _WHOLE]

    assert [case for case, urls in found if (urls[0].url if urls else "") != case["chosen_at_1x"]] == []
    assert len(_WHOLE) > 200


def test_only_six_cases_are_left_out() -> None:
    assert len(_LOST) == 6


@pytest.mark.parametrize("unit", ["1x", "1w", "1w 1h"])
@pytest.mark.parametrize("place", ["\x01{}", "{}\x01"])
def test_what_the_cases_left_out_are_about_holds(unit: str, place: str) -> None:
    assert srcset_candidates("data:,a " + place.format(unit)) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a.png, b.png 2x", [Candidate("a.png"), Candidate("b.png", density=2.0)]),
        ("a.png 320w, b.png 640w,", [Candidate("a.png", width=320), Candidate("b.png", width=640)]),
        ("a,b 1.5x, c", [Candidate("a,b", density=1.5), Candidate("c")]),
        ("a (1x, 2x) 1x, b", [Candidate("b")]),
        ("a,, b", [Candidate("a"), Candidate("b")]),
        ("a " + "9" * 5000 + "w, b", [Candidate("b")]),
    ],
)
def test_every_image_of_a_set_is_found(value: str, expected: list[Candidate]) -> None:
    assert srcset_candidates(value) == expected


def test_a_set_without_end_is_cut() -> None:
    assert len(srcset_candidates("a 1x, " * 100_000)) == 200


@given(st.text(alphabet="a,1xwh(). \t-e\u2003", max_size=60))
def test_no_attribute_makes_it_raise_and_no_url_holds_white_space_or_ends_in_a_comma(value: str) -> None:
    for candidate in srcset_candidates(value):
        assert candidate.url
        assert not candidate.url.endswith(",")
        assert not set(candidate.url) & set("\t ")
