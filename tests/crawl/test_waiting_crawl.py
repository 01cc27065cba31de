"""What a running crawl waits for, by what its frontier knows."""

import math

import pytest

from gossamer.crawl.run.session import waits_of
from gossamer.frontier.decisions import FrontierStatistics
from gossamer.frontier.selector import Load
from gossamer.model.units import Instant
from gossamer.observe.wait_reasons import waiting_for

NOW = Instant(1_700_000_000.0)


def frontier(ready: int = 0, waiting: int = 0, contact: float = math.inf, due: float = math.inf) -> FrontierStatistics:
    return FrontierStatistics(
        hosts=ready + waiting,
        ready=ready,
        waiting=waiting,
        parked=0,
        out=0,
        urls=0,
        urls_by_front=(0, 0, 0),
        drawn=(0, 0, 0),
        load=Load.NORMAL,
        next_contact=None if contact == math.inf else Instant(NOW + contact),
        next_due=None if due == math.inf else Instant(NOW + due),
    )


@pytest.mark.parametrize(
    ("statistics", "in_flight", "unread", "said"),
    [
        (frontier(), 0, 0, ""),
        (frontier(ready=1, waiting=4, contact=2.0), 9, 1, ""),
        (frontier(), 3, 1, "3 visits in flight"),
        (frontier(), 0, 1, "1 document to be processed"),
        (frontier(waiting=4, contact=2.0), 0, 0, "the delay of 4 hosts (first ready in 2.0 s)"),
        (frontier(due=30.0), 0, 0, "retries (next due in 30.0 s)"),
        (frontier(waiting=1, contact=2.0), 1, 0, "1 visit in flight, the delay of 1 host (ready in 2.0 s)"),
    ],
)
def test_visits_rests_and_retries_are_told_apart(
    statistics: FrontierStatistics, in_flight: int, unread: int, said: str
) -> None:
    assert waiting_for(waits_of(statistics, in_flight, unread), NOW) == said
