"""What several workers tell, as people read it of one crawl."""

from gossamer.observe.freshness import FreshnessMetrics, merge_freshness


def test_freshness_is_the_mean_over_all_pages_and_budgets_add_up() -> None:
    large = FreshnessMetrics(fresh=0.9, price=2.0, scheduled=30, budget=100.0, refreshes=4.0)
    small = FreshnessMetrics(fresh=0.5, price=4.0, scheduled=10, budget=100.0, refreshes=1.0)

    found = merge_freshness([(large, 30), (small, 10), (FreshnessMetrics(), 0)])

    assert found.fresh == 0.8
    assert (found.price, found.scheduled, found.budget, found.refreshes) == (2.5, 40, 200.0, 5.0)


def test_prices_before_the_first_page_are_a_plain_mean() -> None:
    found = merge_freshness([(FreshnessMetrics(price=2.0), 0), (FreshnessMetrics(price=4.0), 0)])

    assert (found.fresh, found.price) == (None, 3.0)
