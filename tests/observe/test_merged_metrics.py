"""What several workers tell, as people read it of one crawl."""

from gossamer.model.units import Instant
from gossamer.observe.formatter import or_more
from gossamer.observe.freshness import FreshnessMetrics, merge_freshness
from gossamer.observe.wait_reasons import Waits, merge_waits
from gossamer.reports.verify import Findings, Kind, Problem, joined_findings


def test_waits_add_up_and_the_nearest_date_counts() -> None:
    near, far = Waits(due=3, retries=1, next_retry=Instant(5.0)), Waits(due=4, retries=2, next_retry=Instant(9.0))

    found = merge_waits([far, near, Waits()])

    assert (found.due, found.retries, found.next_retry, found.next_contact) == (7, 3, 5.0, None)


def test_what_is_not_known_of_one_worker_is_not_known_of_the_crawl() -> None:
    found = merge_waits([Waits(in_flight=2), Waits(in_flight=None)])

    assert found.in_flight is None


def test_a_merged_count_is_limited_if_one_of_its_parts_is() -> None:
    found = merge_waits([Waits(recrawls=100, urls_counted_to=100), Waits(recrawls=5, urls_counted_to=100)])

    assert or_more(found.recrawls, found.urls_counted_to) == "105 or more"


def test_a_failure_of_one_worker_is_kept() -> None:
    found = merge_waits([Waits(), Waits(dns_failing=True)])

    assert (found.dns_failing, found.store_failing) == (True, False)


def test_the_waits_of_one_worker_are_left_as_they_are() -> None:
    waits = Waits(in_flight=None, due=2, next_contact=Instant(3.0), hosts_counted_to=7, paused=True)

    assert merge_waits([waits]) == waits


def test_freshness_is_the_mean_over_all_pages_and_budgets_add_up() -> None:
    large = FreshnessMetrics(fresh=0.9, price=2.0, scheduled=30, budget=100.0, refreshes=4.0)
    small = FreshnessMetrics(fresh=0.5, price=4.0, scheduled=10, budget=100.0, refreshes=1.0)

    found = merge_freshness([(large, 30), (small, 10), (FreshnessMetrics(), 0)])

    assert found.fresh == 0.8
    assert (found.price, found.scheduled, found.budget, found.refreshes) == (2.5, 40, 200.0, 5.0)


def test_prices_before_the_first_page_are_a_plain_mean() -> None:
    found = merge_freshness([(FreshnessMetrics(price=2.0), 0), (FreshnessMetrics(price=4.0), 0)])

    assert (found.fresh, found.price) == (None, 3.0)


def test_problems_name_their_worker() -> None:
    sound, broken = Findings(urls=3, files=1), Findings(urls=4, files=2)
    broken.add(Problem(Kind.FILE_MISSING, "a.warc.gz", "a.warc.gz"))

    found = joined_findings({"worker-1": sound, "worker-2": broken})

    assert (found.urls, found.files, found.sound) == (7, 3, False)
    assert found.examples(Kind.FILE_MISSING) == ["worker-2: a.warc.gz"]
    assert joined_findings({"worker-1": sound}).sound
