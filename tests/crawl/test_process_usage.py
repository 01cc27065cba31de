"""What a crawl reports about its own process and about its parts."""

import random

from gossamer.crawl.desk import DeskLimits
from gossamer.crawl.limits import PipelineLimits
from gossamer.crawl.memory import max_rss_bytes, own_use, rss_bytes

MEGABYTE = 1024 * 1024


def test_memory_in_use_is_positive_and_below_the_peak() -> None:
    ballast = random.Random(1).randbytes(8 * MEGABYTE)
    now, peak = rss_bytes(), max_rss_bytes()

    assert len(ballast) <= now <= peak


def test_the_peak_never_falls() -> None:
    before = max_rss_bytes()
    ballast = random.Random(1).randbytes(8 * MEGABYTE)
    size = len(ballast)
    del ballast

    assert size > 0
    assert max_rss_bytes() >= before


def test_the_usage_of_a_process_has_its_cpu_time_and_its_memory() -> None:
    use = own_use()

    assert use.cpu_seconds > 0.0
    assert 0 < use.rss_bytes <= use.max_rss_bytes


def test_by_default_a_crawl_has_no_page_limit_and_stops_fetching_before_a_queue_is_full() -> None:
    limits = PipelineLimits()

    assert limits.max_pages is None
    assert 0.0 < limits.high_water < 1.0
    assert limits.desk == DeskLimits()
