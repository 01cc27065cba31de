"""Tests over tables (tests/table.py)."""

from pathlib import Path

import pytest

from tests.table import table


@table(("number", "square"), [(2, 4), (3, 9)])
def test_rows_are_given_by_name_next_to_fixtures(number: int, square: int, tmp_path: Path) -> None:
    assert number**2 == square and tmp_path.is_dir()


def test_every_row_is_checked_and_all_that_fail_are_reported() -> None:
    @table("number", [1, 2, 3, 4])
    def is_odd(number: int) -> None:
        assert number % 2 == 1

    @table("text", ["1", "x"])
    def is_refused(text: str) -> None:
        with pytest.raises(ValueError):
            int(text)

    with pytest.raises(BaseExceptionGroup, match="2 of 4 rows fail") as raised:
        is_odd()
    assert [failure.__notes__ for failure in raised.value.exceptions] == [["row: 2"], ["row: 4"]]
    with pytest.raises(BaseExceptionGroup, match="1 of 2 rows fail"):
        is_refused()


def test_an_empty_table_fails() -> None:
    @table("number", [])
    def is_never_called(number: int) -> None: ...

    with pytest.raises(AssertionError, match="no rows"):
        is_never_called()
