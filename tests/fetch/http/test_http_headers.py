"""The header fields that we act on."""

import random
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.fetch.http.headers import location_of, parse_fields
from gossamer.model.http_dates import http_date, retry_after
from gossamer.model.units import Instant
from tests.table import table

NOW = Instant(784_111_777.0)  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    "text", ["Sun, 06 Nov 1994 08:51:07 GMT", "Sunday, 06-Nov-94 08:51:07 GMT", "Sun Nov  6 08:51:07 1994"]
)
def test_a_date_in_any_of_the_three_forms_is_understood(text: str) -> None:
    assert http_date(text, NOW) == NOW + 90
    assert retry_after(text, NOW) == 90.0


@pytest.mark.parametrize(("text", "seconds"), [("120", 120.0), (" 7 ", 7.0), ("0120", 120.0), ("86400", 86400.0)])
def test_a_delay_in_seconds_is_taken_as_it_is(text: str, seconds: float) -> None:
    assert retry_after(text, NOW) == seconds


@pytest.mark.parametrize("text", ["999999999999", "9" * 5000, "86401", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_delay_is_cut_to_a_day(text: str) -> None:
    assert retry_after(text, NOW) == 86400.0


@table(
    "text",
    [
        "", "-5", "soon", "1.5", "+3", "0", "1e3", "٣", "NaN", "inf",
        "Sun, 06 Nov 1994 08:49:37 GMT",  # now
        "Sun, 06 Nov 1993 08:49:37 GMT",  # past
        "Sun, 32 Nov 1994 08:51:07 GMT", "Sun, 06 Foo 1994 08:51:07 GMT", "Sun, 06 Nov 1994 25:51:07 GMT",
        "Sun, 06 Nov 1994 08:51:07 PST", "1994-11-06", "Sun, 06 Nov 0000 08:51:07 GMT",
    ],
)  # fmt: skip
def test_nonsense_and_the_past_ask_for_nothing(text: str) -> None:
    assert retry_after(text, NOW) is None


@pytest.mark.parametrize(("year", "ahead"), [("95", True), ("00", True), ("44", True), ("45", False), ("93", False)])
def test_a_two_digit_year_is_at_most_fifty_years_ahead(year: str, ahead: bool) -> None:
    moment = http_date(f"Sunday, 06-Nov-{year} 08:49:37 GMT", NOW)

    assert moment is not None
    assert (moment > NOW) is ahead


def test_a_usual_date_is_what_the_patterns_make_of_it_however_it_is_damaged() -> None:
    chance = random.Random(4)
    understood = 0
    for _ in range(5_000):
        text = formatdate(chance.uniform(-1e9, 1e10), usegmt=True)
        for _ in range(chance.randrange(3)):
            place = chance.randrange(len(text))
            text = text[:place] + chance.choice("0123456789: ,GMTa٣-") + text[place + 1 :]

        found = http_date(text, NOW)

        assert found == http_date(f" {text}", NOW)  # the short cut takes nothing with a space before it
        understood += found is not None
    assert 2_000 < understood < 4_500


@given(st.text(max_size=100), st.floats(min_value=0, max_value=4e9))
def test_no_text_breaks_the_parser_and_no_wait_leaves_its_bounds(text: str, now: float) -> None:
    wait = retry_after(text, Instant(now))

    assert wait is None or 0 < wait <= 86400


def test_repeated_fields_are_joined_and_lines_that_are_no_fields_left_out_and_counted() -> None:
    head = b"HTTP/1.1 200 x: y\r\nA: 1\r\nno colon\r\n: empty\r\na:2\nB : \xe9 \r\nA:\t3 \r\nnot a name: 4\r\n\r\n"

    assert parse_fields(head) == ({"a": "1, 2, 3", "b": "é"}, 3)


def test_names_are_read_the_same_when_too_many_to_remember_came_before() -> None:
    many = b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: %d\r\n" % (n, n) for n in range(3000)) + b"\r\n"

    assert parse_fields(many) == ({f"x-{n}": str(n) for n in range(3000)}, 0)
    assert parse_fields(many) == ({f"x-{n}": str(n) for n in range(3000)}, 0)


@given(st.binary(max_size=500))
def test_no_head_breaks_the_field_parser(head: bytes) -> None:
    fields, _ = parse_fields(head)

    assert all(name == name.strip().lower() for name in fields)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"/a", "/a"),
        ("/é".encode(), "/é"),
        (b"/\xe9", "/%E9"),
        (b"///h.test/p", "//h.test/p"),
        (b"http:///p", "http:///p"),
        (b"", ""),
    ],
)
def test_the_target_of_a_redirect_is_text_whatever_its_bytes(raw: bytes, text: str) -> None:
    assert location_of({"location": raw.decode("latin-1")}) == text


def test_a_redirect_without_target_has_none() -> None:
    assert location_of({}) is None
