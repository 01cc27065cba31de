"""Which hosts' dates are trusted, and what counts as a change of content."""

import random

import pytest

from gossamer.model.units import Instant
from gossamer.recrawl.change_hints import ENOUGH, HostTrust, reported_change, usable_modified
from gossamer.recrawl.estimate import Content, Verdict, verdict_on
from gossamer.sketch import signature
from tests.table import table

DAY = 86_400.0


def after_visits(visits: int, *, moves: bool, changes: bool, age: float = DAY) -> HostTrust:
    trust = HostTrust()
    for visit in range(visits):
        served = Instant((visit + 10) * 10 * DAY)
        after = Instant(served - age)
        before = Instant(after - 5 * DAY) if moves else after
        trust = trust.with_last_modified(before=before, after=after, served=served, changed=changes)
    return trust


@pytest.mark.parametrize(("moves", "changes"), [(True, True), (False, False)])
def test_a_date_that_moves_with_the_content_is_believed_after_enough_visits(moves: bool, changes: bool) -> None:
    assert not after_visits(ENOUGH - 1, moves=moves, changes=changes).trusts_last_modified
    assert after_visits(ENOUGH, moves=moves, changes=changes).trusts_last_modified


@pytest.mark.parametrize(("moves", "changes"), [(True, False), (False, True)])
def test_a_date_that_moves_while_the_content_stays_or_stays_while_it_changes_is_not(moves: bool, changes: bool) -> None:
    assert not after_visits(100, moves=moves, changes=changes).trusts_last_modified


def test_a_date_that_is_the_time_of_the_answer_is_not_believed_although_the_page_changes() -> None:
    assert not after_visits(100, moves=True, changes=True, age=1.0).trusts_last_modified


def test_a_page_without_dates_says_nothing_about_its_host() -> None:
    trust = HostTrust().with_last_modified(before=None, after=Instant(5.0), served=Instant(1e6), changed=True)

    assert trust == HostTrust()


def test_a_modification_a_minute_before_the_answer_is_no_date() -> None:
    assert usable_modified(Instant(1000.0), Instant(1059.0)) is None
    assert usable_modified(Instant(1000.0), Instant(1061.0)) == 1000.0
    assert usable_modified(Instant(2000.0), Instant(1000.0)) is None
    assert usable_modified(None, Instant(1000.0)) is None


def reports(*, true: int = 0, false: int = 0, missed: int = 0) -> HostTrust:
    trust = HostTrust()
    for _ in range(true):
        trust = trust.with_report(reported=True, listed=True, changed=True)
    for _ in range(false):
        trust = trust.with_report(reported=True, listed=True, changed=False)
    for _ in range(missed):
        trust = trust.with_report(reported=False, listed=True, changed=True)
    return trust


def test_recall_is_the_share_of_changes_that_were_reported() -> None:
    assert reports(true=30, missed=10).recall == pytest.approx(0.75)


@pytest.mark.parametrize("trust", [HostTrust(), reports(true=5), reports(true=9, false=20), reports(missed=50)])
def test_a_host_whose_reports_are_few_or_mostly_wrong_is_not_relied_on(trust: HostTrust) -> None:
    assert trust.recall == 0.0


def test_recall_is_always_below_one() -> None:
    assert reports(true=10_000).recall == 0.95


def test_pages_that_no_sitemap_lists_do_not_count() -> None:
    assert HostTrust().with_report(reported=False, listed=False, changed=True) == HostTrust()


def test_a_host_that_begins_to_lie_is_found_out_however_long_it_was_honest() -> None:
    trust = reports(true=10_000)
    for _ in range(600):
        trust = trust.with_report(reported=True, listed=True, changed=False)
    dated = after_visits(10_000, moves=False, changes=False)
    for _ in range(200):
        dated = dated.with_false_last_modified()

    assert (trust.recall, dated.trusts_last_modified) == (0.0, False)


def test_a_date_after_our_visit_reports_a_change() -> None:
    assert reported_change(Instant(11.0), Instant(10.0))
    assert not reported_change(Instant(10.0), Instant(10.0))
    assert not reported_change(None, Instant(10.0))


# --- content -----------------------------------------------------------------------------------------------

WORDS = [f"word{n}" for n in range(3_000)]


def article(seed: int, words: int = 600) -> list[str]:
    return random.Random(seed).choices(WORDS, k=words)


def content(words: list[str]) -> Content:
    text = " ".join(words)
    return text.encode(), signature(text)


def test_a_body_that_is_the_same_to_the_byte_is_the_same() -> None:
    assert verdict_on(content(article(1)), content(article(1))) is Verdict.SAME


@table("seed", range(20))
def test_a_clock_and_a_token_are_no_change(seed: int) -> None:
    words = article(seed)
    later = [*words[:300], "12:34:56", *words[300:], "token=a8f3c9d1"]

    assert verdict_on(content(words), content(later)) is Verdict.NOISE


@table("seed", range(20))
def test_a_rewritten_fifth_of_the_text_is_a_change(seed: int) -> None:
    words = article(seed)
    later = [*words[:480], *article(seed + 1_000, 120)]

    assert verdict_on(content(words), content(later)) is Verdict.CHANGED


def test_a_page_with_too_little_text_is_judged_by_its_digest() -> None:
    assert verdict_on((b"1", None), (b"2", None)) is Verdict.CHANGED
    assert verdict_on((b"1", b"x" * 64), (b"2", None)) is Verdict.CHANGED
