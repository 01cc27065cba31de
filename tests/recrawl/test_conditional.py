"""Conditional requests: which validators are sent, and when a server says that a document is the same."""

import pytest

from gossamer.model.states import UrlState
from gossamer.model.task import PreviousVisit
from gossamer.model.units import Instant
from gossamer.recrawl.planner import PROBE, conditions_for, has_same_validators
from tests.table import table

NOW = Instant(1_800_000_000.0)
ETAG = '"v1"'
DATE = "Mon, 01 Jan 2024 10:00:00 GMT"
OTHER_DATE = "Tue, 02 Jan 2024 10:00:00 GMT"
AHEAD = "Mon, 01 Jan 2060 10:00:00 GMT"


def before(etag: str | None = ETAG, last_modified: str | None = DATE, **more: object) -> PreviousVisit:
    usual = PreviousVisit(1, 0, UrlState.STORED, None, NOW, b"d" * 20, "text/html", etag, last_modified)
    return usual._replace(**more)  # type: ignore[arg-type]


def test_both_validators_are_sent() -> None:
    assert conditions_for(before(), unreliable_validators=False) == (
        ("If-None-Match", ETAG),
        ("If-Modified-Since", DATE),
    )


def test_each_validator_is_sent_without_the_other() -> None:
    assert conditions_for(before(last_modified=None), unreliable_validators=False) == (("If-None-Match", ETAG),)
    assert conditions_for(before(etag=None), unreliable_validators=False) == (("If-Modified-Since", DATE),)


def test_duplicates_are_asked_for_with_conditions_too() -> None:
    assert conditions_for(before(state=UrlState.DUPLICATE), unreliable_validators=False) != ()


@pytest.mark.parametrize(
    "page",
    [
        None,
        before(digest=None),
        before(state=UrlState.MISSING),
        before(state=UrlState.REDIRECT),
        before(whole=False),
        before(etag=None, last_modified=None),
    ],
)
def test_without_a_whole_document_and_its_validators_there_are_no_conditions(page: PreviousVisit | None) -> None:
    assert conditions_for(page, unreliable_validators=False) == ()


def test_a_host_whose_validators_are_wrong_is_asked_without_conditions() -> None:
    assert conditions_for(before(), unreliable_validators=True) == ()


def test_one_visit_in_ten_is_unconditional() -> None:
    unconditional = [
        visits for visits in range(1, 31) if not conditions_for(before(visits=visits), unreliable_validators=False)
    ]

    assert unconditional == [PROBE - 1, 2 * PROBE - 1, 3 * PROBE - 1]


@pytest.mark.parametrize("etag", ["", "\x01", '"\xe9"', "x" * 513, "a\r\nX: y"])
def test_an_etag_that_does_not_fit_into_a_header_field_is_left_out(etag: str) -> None:
    assert conditions_for(before(etag=etag), unreliable_validators=False) == (("If-Modified-Since", DATE),)


@pytest.mark.parametrize("date", ["", "yesterday", "0", AHEAD, DATE + "\r\nX: y"])
def test_a_date_that_is_none_or_lies_ahead_of_the_visit_is_left_out(date: str) -> None:
    assert conditions_for(before(last_modified=date), unreliable_validators=False) == (("If-None-Match", ETAG),)


def test_a_document_that_was_made_for_the_visit_has_a_date_that_may_be_sent() -> None:
    page = before(at=Instant(1_704_103_200.0))  # that is DATE

    assert ("If-Modified-Since", DATE) in conditions_for(page, unreliable_validators=False)


@table(
    ("known", "etag", "modified", "same"),
    [
        (before(), ETAG, DATE, True),
        (before(), ETAG, OTHER_DATE, True),  # the stronger validator decides
        (before(), '"v2"', DATE, False),
        (before(), ETAG, None, True),
        (before(), None, DATE, False),  # the ETag has gone: nothing can be said
        (before(etag=None), ETAG, DATE, False),
        (before(etag=None), None, DATE, True),
        (before(etag=None), None, OTHER_DATE, False),
        (before(etag=None), None, None, False),
        (before(etag=None, last_modified=None), None, None, False),
        (before(etag=None, last_modified=None), None, DATE, False),
    ],
)
def test_whether_a_server_says_that_a_document_is_the_same(
    known: PreviousVisit, etag: str | None, modified: str | None, same: bool
) -> None:
    assert has_same_validators(known, etag, modified) is same
