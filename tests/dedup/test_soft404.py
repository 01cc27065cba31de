"""Soft 404s: detected by wording and repetition, by many URLs with one short page, by redirects to the home page."""

import pytest

from gossamer.dedup import LONG_BYTES, MANY_PAGES, MANY_REDIRECTS, SHORT_BYTES, Soft404Detector

BASE = "http://x.test"


@pytest.mark.parametrize(
    "title",
    [
        "404 Not Found",
        "Page not found | Site",
        "Seite nicht gefunden",
        "Página no encontrada",
        "ページが見つかりません",
    ],
)
def test_the_second_page_of_a_host_that_says_it_was_not_found_is_a_soft_404(title: str) -> None:
    soft = Soft404Detector()

    assert not soft.is_soft(1, 10, title, 900, None)
    assert soft.is_soft(1, 11, title, 950, None)


def test_another_host_with_the_same_words_is_taken_at_its_word() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "Not found", 900, None)

    assert not soft.is_soft(2, 20, "Not found", 900, None)


def test_numbers_in_the_title_make_no_other_title() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "Article 17 not found", 900, None)

    assert soft.is_soft(1, 11, "Article 18 not found", 900, None)


def test_a_repetition_of_a_page_that_says_it_was_not_found_is_a_soft_404_without_a_title() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "404", 900, None)

    assert soft.is_soft(1, 11, None, 900, 10)
    assert not soft.is_soft(1, 12, None, 900, 99)


def test_a_short_page_under_many_urls_is_a_soft_404_and_a_longer_one_is_not() -> None:
    soft = Soft404Detector()
    short = [soft.is_soft(1, 100 + n, "Welcome", 2_000, 10) for n in range(MANY_PAGES + 2)]
    longer = [soft.is_soft(1, 200 + n, "Welcome", SHORT_BYTES + 1, 20) for n in range(MANY_PAGES + 2)]

    assert short == [False] * MANY_PAGES + [True] * 2
    assert not any(longer)


def test_an_article_about_things_that_were_not_found_is_none_however_often() -> None:
    soft = Soft404Detector()
    found = [soft.is_soft(1, n, "Why the ship was not found", LONG_BYTES + 1, None) for n in range(5)]

    assert not any(found)


@pytest.mark.parametrize("title", ["Welcome", "Chapter 4040", "Founders and notes", None])
def test_pages_that_repeat_nothing_and_say_nothing_are_none(title: str | None) -> None:
    soft = Soft404Detector()

    assert not any(soft.is_soft(1, n, title, 500, None) for n in range(50))


def test_redirects_to_the_home_page_are_soft_404s_when_there_are_many() -> None:
    soft = Soft404Detector()
    led = [soft.leads_home(1, f"{BASE}/old/{n}", f"{BASE}/") for n in range(MANY_REDIRECTS + 2)]

    assert led == [False] * MANY_REDIRECTS + [True] * 2


@pytest.mark.parametrize(
    ("url", "target"),
    [
        (f"{BASE}/a", f"{BASE}/b"),
        (f"{BASE}/", "http://www.x.test/"),
        (f"{BASE}/a", "http://other.test/"),
        (f"{BASE}/a", f"{BASE}/?lang=en"),
    ],
)
def test_other_redirects_never_are(url: str, target: str) -> None:
    soft = Soft404Detector()

    assert not any(soft.leads_home(1, url, target) for _ in range(50))


def test_no_more_hosts_are_remembered_than_there_is_room_for() -> None:
    soft = Soft404Detector(hosts=2)
    soft.is_soft(1, 10, "Not found", 900, None)
    soft.is_soft(2, 20, "Not found", 900, None)
    soft.is_soft(3, 30, "Not found", 900, None)

    assert not soft.is_soft(1, 11, "Not found", 900, None)  # forgotten: it begins anew
    assert soft.is_soft(3, 31, "Not found", 900, None)


def restarted(soft: Soft404Detector) -> Soft404Detector:
    """Another process, that has what was stored of the hosts."""
    after = Soft404Detector()
    for host_id, text in soft.take_changes().items():
        after.recall(host_id, text)
    return after


def test_evidence_against_a_host_survives_a_restart() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "Not found", 900, None)
    for url in range(MANY_PAGES):
        soft.is_soft(2, 100 + url, None, 900, 20)
    for url in range(MANY_REDIRECTS):
        soft.leads_home(3, f"{BASE}/{url}", f"{BASE}/")
    assert not restarted(Soft404Detector()).is_soft(1, 11, "Not found", 900, None)

    after = restarted(soft)

    assert after.is_soft(1, 11, "Not found", 900, None)
    assert after.is_soft(1, 12, None, 900, 10)
    assert after.is_soft(2, 500, None, 900, 20)
    assert after.leads_home(3, f"{BASE}/x", f"{BASE}/")


def test_only_what_is_new_is_handed_over() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "A page like any other", 900, None)
    assert soft.take_changes() == {}
    for url in range(MANY_PAGES):
        soft.is_soft(1, 100 + url, None, 900, 20)

    assert soft.take_changes().keys() == {1}
    soft.is_soft(1, 500, None, 900, 20)  # no more than was known
    assert soft.take_changes() == {}


def test_what_is_in_memory_is_newer_than_what_is_stored() -> None:
    soft = Soft404Detector()
    soft.is_soft(1, 10, "Not found", 900, None)
    before = soft.take_changes()[1]
    soft.is_soft(1, 11, "Gone: no longer available", 900, None)

    soft.recall(1, before)

    assert soft.is_soft(1, 12, "Gone: no longer available", 900, None)


def test_what_is_stored_of_a_host_is_bounded() -> None:
    soft = Soft404Detector()
    for url in range(5_000):
        soft.is_soft(1, url, f"{'x' * 150}{chr(0x4E00 + url)} not found", 900, 1_000_000 + url)

    (text,) = soft.take_changes().values()

    assert len(text) < 10_000
