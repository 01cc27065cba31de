"""Pages that a worker asks for."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gossamer.crawl.member import page_limit
from gossamer.crawl.member.crawl_end import Idleness
from gossamer.crawl.member.page_limit import PageLimit
from gossamer.model.requeue import REFRESHING
from tests.integration.crawl_process import PATIENCE


class Grants:
    """Counts how often it is asked; grants a page each time."""

    def __init__(self) -> None:
        self.limited, self.has_given_back, self.granted, self.asked = True, False, 0, 0

    def ask(self) -> int:
        self.asked += 1
        self.granted += 1
        self.has_given_back = False
        return 1

    def give_back(self) -> None:
        self.granted, self.has_given_back = 0, True


async def call(work: Any) -> Any:
    return work(None)


def limit_of(grants: Grants, frontier: SimpleNamespace) -> PageLimit:
    counters = SimpleNamespace(run=Counter({"state:stored": 0, REFRESHING: 0}))
    engine = SimpleNamespace(unsettled=0, is_resting=True, pump_soon=lambda: None)
    crawl = SimpleNamespace(engine=engine, frontier=frontier, counters=counters)
    return PageLimit(cast(Any, crawl), cast(Any, SimpleNamespace(call=call)), cast(Any, grants), Idleness())


@pytest.mark.parametrize(
    ("is_quiet", "gives_back", "asks"), [(True, True, False), (False, True, True), (True, False, True)]
)
def test_a_worker_with_nothing_to_fetch_leaves_what_it_gave_back_to_others(
    monkeypatch: pytest.MonkeyPatch, is_quiet: bool, gives_back: bool, asks: bool
) -> None:
    """But it asks at once if it has not given anything back: what it has to fetch is only loaded when visits may
    start."""
    monkeypatch.setattr(page_limit, "_OTHERS_FIRST", 2 * PATIENCE)

    async def main() -> None:
        grants = Grants()
        limit = limit_of(grants, SimpleNamespace(is_quiet=is_quiet))
        running = asyncio.create_task(limit.run())
        await asyncio.sleep(0)
        assert grants.asked == 1
        grants.granted = 0
        if gives_back:
            grants.give_back()

        assert limit.room(0) == 0
        for _ in range(10):
            await asyncio.sleep(0)

        assert grants.asked == 1 + asks
        running.cancel()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
