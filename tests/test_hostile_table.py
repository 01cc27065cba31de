"""docs/HOSTILE.md is complete and up to date: every case of the hostile web has tests, and they are named there."""

import re
from collections import Counter

import pytest

from tests.hostile.hostile_cases import DIFFERENCES, GROUPS, NOT_YET
from tests.hostile.hostile_table import PAGE, evidence, ids_in, page

CASES = [case for group in GROUPS for case in group.cases]


def test_the_cases_are_numbered_without_gaps() -> None:
    counts = Counter(case[:2] for case in CASES)

    assert [f"{kind}-{n:02}" for kind, count in counts.items() for n in range(1, count + 1)] == CASES


def test_every_case_has_a_test() -> None:
    assert [case for case in CASES if (case in evidence()) is (case in NOT_YET)] == [], "no test is named after these"


def test_no_test_carries_an_id_that_is_no_case() -> None:
    known = {*CASES}

    assert {case for case in evidence() if case[:2] in {each[:2] for each in CASES}} <= known


def test_no_hostile_test_is_skipped_or_expected_to_fail() -> None:
    for path, _ in {each for tests in evidence().values() for each in tests}:
        text = (PAGE.parents[1] / path).read_text(encoding="utf-8")
        assert re.search(r"\b(?:xfail|skip|skipif|importorskip)\b", text) is None, path


def test_differences_are_of_cases_that_exist() -> None:
    assert {*DIFFERENCES, *NOT_YET} <= {*CASES}
    assert not DIFFERENCES.keys() & NOT_YET.keys()


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("test_hf_01_a_status_line", ["HF-01"]),
        ("test_bd_01_and_02_a_bomb", ["BD-01", "BD-02"]),
        ("test_ur_09_and_rd_07_an_address", ["UR-09", "RD-07"]),
        ("test_ur_03_04_and_05_what_is_sent", ["UR-03", "UR-04", "UR-05"]),
        ("test_urls_of_20_hosts", []),
        ("test_rt_is_no_case_01", []),
    ],
)
def test_ids_are_read_from_names(name: str, ids: list[str]) -> None:
    assert ids_in(name) == ids
