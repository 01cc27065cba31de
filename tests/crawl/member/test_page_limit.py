"""Pages that a worker asks for."""

import asyncio
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

from gossamer.crawl.member.crawl_end import Idleness
from gossamer.crawl.member.page_limit import PageLimit
from gossamer.model.requeue import REFRESHING
from tests.integration.crawl_process import PATIENCE


class Grants:
    """Counts how often it is asked; grants a page each time."""

    def __init__(self) -> None:
        self.limited, self.granted, self.asked = True, 0, 0

    def ask(self) -> int:
        self.asked += 1
        self.granted += 1
        return 1


async def call(work: Callable[[object], Any]) -> Any:
    return work(None)


def page_limit(grants: Grants, idleness: Idleness, frontier: SimpleNamespace) -> PageLimit:
    counters = SimpleNamespace(run=Counter({"state:stored": 0, REFRESHING: 0}))
    engine = SimpleNamespace(unsettled=0, is_resting=True, pump_soon=lambda: None)
    crawl = SimpleNamespace(engine=engine, frontier=frontier, counters=counters)
    return PageLimit(cast(Any, crawl), cast(Any, SimpleNamespace(call=call)), cast(Any, grants), idleness)


def test_a_worker_with_nothing_to_fetch_leaves_the_pages_to_others() -> None:
    """It would take back at once what it has just given back."""

    async def main() -> None:
        grants, idleness, frontier = Grants(), Idleness(), SimpleNamespace(is_quiet=True)
        limit = page_limit(grants, idleness, frontier)
        running = asyncio.create_task(limit.run())
        await asyncio.sleep(0)
        grants.granted = 0  # what it was granted at its start is given back

        assert limit.room(0) == 0
        while not idleness.is_idle:  # noqa: ASYNC110 - as the engine looks
            await asyncio.sleep(0)
        assert grants.asked == 1

        frontier.is_quiet = False
        while grants.asked == 1:
            assert limit.room(0) == 0
            await asyncio.sleep(0.01)
        assert limit.room(0) == 1
        running.cancel()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))
