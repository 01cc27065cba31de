"""Reasons in words: one table, which the operator's page repeats."""

from gossamer.model.states import MEANINGS, meaning_of
from tests.test_docs import OPERATING, rows, unquoted


def test_the_operators_page_says_of_every_reason_what_we_say() -> None:
    page = {unquoted(row[0]): row[1].partition("; see [")[0] for row in rows(OPERATING["Reasons"])}

    assert page == dict(MEANINGS)


def test_a_reason_that_nobody_has_put_in_words_is_told_as_it_is() -> None:
    assert meaning_of("of_a_plugin") == "of_a_plugin"
