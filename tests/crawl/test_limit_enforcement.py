"""Changed limits and the URLs in memory."""

import asyncio
from pathlib import Path

from gossamer.config.load import make_config
from gossamer.model.units import Seconds
from tests.crawl.scripted_crawl import HOME, opened, run_in_step

LONG = HOME + "long" * 20


def test_a_url_whose_exclusion_is_not_committed_yet_stays_out_though_the_limits_allow_it_again(tmp_path: Path) -> None:
    """It would be fetched and excluded at the same time, and counted twice."""

    async def main() -> None:
        async with opened(tmp_path, {}, seeds=[HOME, LONG], order="bfs") as scripted:
            crawl, frontier, clock = scripted.crawl, scripted.crawl.frontier, scripted.clock
            enforcement, add = crawl.engine.limit_enforcement, crawl.engine._add_to_frontier

            def change_limit(url_bytes: int) -> None:
                settings = {"dir": str(tmp_path), "scope": "any", "filter": {"max_url_bytes": url_bytes}}
                crawl.change_rules(make_config({}, settings))
                enforcement.start()

            clock.advance(Seconds(1.0))
            add(crawl.loader.load(frontier.request_load(clock.now())))  # which hosts there are
            loaded = crawl.loader.load(frontier.request_load(clock.now()))
            change_limit(40)
            add(loaded)
            assert frontier.statistics().urls == 1

            change_limit(2000)
            [host] = loaded.hosts
            late = [(front, [task for task in tasks if task.url == LONG], due) for front, tasks, due in host.classes]
            add(loaded._replace(hosts=[host._replace(record=None, classes=late)]))  # from before the commit too
            assert frontier.statistics().urls == 1

            crawl.engine.pause(True)  # the commit would start visits
            storing = asyncio.create_task(crawl.store.run())
            await crawl.store.until_committed()
            assert scripted.states() == {HOME: "queued", LONG: "excluded"}
            crawl.store.finish()
            await storing

    run_in_step(main())
