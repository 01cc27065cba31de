"""When may a host be contacted again?"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.frontier.politeness import (
    Contact,
    GapReason,
    PolitenessPolicy,
    after_unknown_outcome,
    gap_after,
    next_contact,
    next_contact_of_address,
)
from gossamer.model.units import Instant, Seconds
from tests.table import table

POLICY = PolitenessPolicy(
    min_delay=Seconds(1.0), load_factor=10.0, max_adaptive_delay=Seconds(30.0), max_retry_after=Seconds(86_400.0)
)
SECONDS = st.floats(0.0, 1e6).map(Seconds)
MAYBE = st.none() | SECONDS
AT = Instant(5000.0)


@table(
    ("took", "crawl_delay", "retry_after", "gap", "reason"),
    [
        (0.01, None, None, 1.0, GapReason.MIN_DELAY),
        (0.5, None, None, 5.0, GapReason.ADAPTIVE),
        (60.0, None, None, 30.0, GapReason.ADAPTIVE),
        (0.5, 7.0, None, 7.0, GapReason.CRAWL_DELAY),
        (0.5, 3.0, None, 5.0, GapReason.ADAPTIVE),
        (0.5, 7.0, 120.0, 120.0, GapReason.RETRY_AFTER),
        (0.5, 7.0, 2.0, 7.0, GapReason.CRAWL_DELAY),
        (0.5, None, 1e9, 86_400.0, GapReason.RETRY_AFTER),
        (0.1, 1.0, 1.0, 1.0, GapReason.MIN_DELAY),
    ],
)
def test_the_largest_of_the_four_terms_decides_and_says_its_name(
    took: float, crawl_delay: float | None, retry_after: float | None, gap: float, reason: GapReason
) -> None:
    contact = Contact(
        AT,
        Seconds(took),
        None if crawl_delay is None else Seconds(crawl_delay),
        None if retry_after is None else Seconds(retry_after),
    )

    assert gap_after(POLICY, contact) == (gap, reason)


@given(took=SECONDS, crawl_delay=MAYBE, retry_after=MAYBE)
def test_the_gap_is_never_below_any_of_its_terms(
    took: Seconds, crawl_delay: Seconds | None, retry_after: Seconds | None
) -> None:
    gap, _ = gap_after(POLICY, Contact(AT, took, crawl_delay, retry_after))

    assert gap >= POLICY.min_delay
    assert gap >= min(10.0 * took, 30.0)
    assert gap >= (crawl_delay or 0.0)
    assert gap >= min(retry_after or 0.0, POLICY.max_retry_after)


def test_the_gap_counts_from_the_end_of_the_last_answer() -> None:
    contact = Contact(finished=AT, took=Seconds(2.0))

    assert next_contact(POLICY, contact) == AT + 20.0


def test_an_address_rests_for_its_load_but_not_for_the_crawl_delay_of_one_site() -> None:
    contact = Contact(AT, Seconds(0.5), crawl_delay=Seconds(60.0), retry_after=Seconds(600.0))

    assert next_contact(POLICY, contact) == AT + 600.0
    assert next_contact_of_address(POLICY, contact) == AT + 5.0


@given(took=SECONDS, crawl_delay=MAYBE, retry_after=MAYBE)
def test_an_address_never_rests_longer_than_its_host(
    took: Seconds, crawl_delay: Seconds | None, retry_after: Seconds | None
) -> None:
    contact = Contact(AT, took, crawl_delay, retry_after)

    assert next_contact_of_address(POLICY, contact) <= next_contact(POLICY, contact)


def test_an_unknown_outcome_counts_as_an_answer_that_ended_just_now() -> None:
    until = after_unknown_outcome(POLICY, started=Instant(AT - 2.0), now=AT, last_took=Seconds(0.1), crawl_delay=None)

    assert until == AT + 20.0


@given(ago=st.integers(-10_000, 4_000), last_took=SECONDS, crawl_delay=MAYBE)
def test_an_unknown_outcome_is_never_judged_better_than_any_known_one(
    ago: int, last_took: Seconds, crawl_delay: Seconds | None
) -> None:
    started = Instant(AT - ago)  # in the future if the clock was set back meanwhile

    until = after_unknown_outcome(POLICY, started=started, now=AT, last_took=last_took, crawl_delay=crawl_delay)

    ended_now = Contact(AT, Seconds(max(ago, 0.0)), crawl_delay)
    as_slow_as_before = Contact(AT, last_took, crawl_delay)
    assert until >= next_contact(POLICY, ended_now)
    assert until >= next_contact(POLICY, as_slow_as_before)


# --- a delay of the host's own -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "took", "crawl_delay", "gap", "reason"),
    [
        (0.0, 0.01, None, 0.1, GapReason.ADAPTIVE),
        (0.0, 0.0, None, 0.0, GapReason.MIN_DELAY),
        (0.0, 0.0, 7.0, 7.0, GapReason.CRAWL_DELAY),
        (20.0, 0.5, 7.0, 20.0, GapReason.MIN_DELAY),
        (20.0, 60.0, None, 30.0, GapReason.ADAPTIVE),
    ],
)
def test_the_operators_delay_for_a_host_takes_the_place_of_the_crawls(
    own: float, took: float, crawl_delay: float | None, gap: float, reason: GapReason
) -> None:
    asked = None if crawl_delay is None else Seconds(crawl_delay)
    contact = Contact(AT, Seconds(took), asked, min_delay=Seconds(own))

    found, term = gap_after(POLICY, contact)

    assert (round(found, 9), term) == (gap, reason)


def test_a_host_with_a_longer_delay_does_not_hold_up_its_address_and_one_with_a_shorter_lets_it_go_sooner() -> None:
    longer = Contact(AT, Seconds(0.0), min_delay=Seconds(20.0))
    shorter = Contact(AT, Seconds(0.0), min_delay=Seconds(0.2))

    assert next_contact_of_address(POLICY, longer) == AT + 1.0
    assert next_contact_of_address(POLICY, shorter) == AT + 0.2
