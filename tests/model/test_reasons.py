"""Meanings of reasons: one table, which the operating manual repeats."""

from gossamer.model.states import MEANINGS, meaning_of
from tests.test_docs import OPERATING, rows, unquoted


def test_the_operators_page_says_of_every_reason_what_we_say() -> None:
    page = {unquoted(row[0]): row[1].partition("; see [")[0] for row in rows(OPERATING["Reasons"])}

    assert page == dict(MEANINGS)


def test_a_reason_without_a_meaning_is_returned_unchanged() -> None:
    assert meaning_of("of_a_plugin") == "of_a_plugin"
