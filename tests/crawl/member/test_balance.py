"""What a worker does when its partitions change."""

from types import SimpleNamespace
from typing import Any, cast

from gossamer.cluster.handover import Released, RestPolicy
from gossamer.cluster.membership import Taken
from gossamer.cluster.partitions import Partitions
from gossamer.crawl.member.balance import Balance
from gossamer.crawl.member.ownership import PartitionOwnership
from gossamer.model.units import Epoch, Instant, Seconds


def test_a_recrawl_budget_is_shared_in_proportion_to_partitions() -> None:
    shares: list[float] = []
    ownership = PartitionOwnership(8, Partitions(Epoch(7), RestPolicy(Seconds(30.0), Seconds(10.0)), Seconds(60.0)))
    crawl = SimpleNamespace(
        clock=SimpleNamespace(now=lambda: Instant(100.0)),
        frontier=SimpleNamespace(keep_partitions=lambda parts: None),
        engine=SimpleNamespace(requeue=SimpleNamespace(change_share=lambda share, now: shares.append(share))),
    )
    unused = cast(Any, None)
    balance = Balance(cast(Any, crawl), unused, ownership, unused, Epoch(7), unused, unused)
    ownership.adopt([Taken(0, Released.NEW), Taken(3, Released.NEW)], Instant(100.0))

    balance.visit_owned()

    assert shares == [0.25]
