"""What a crawl reports about its own process and about its parts."""

import random
from pathlib import Path

from gossamer.crawl.engine import EngineLimits
from gossamer.crawl.run.session import Watch
from gossamer.crawl.status import internals_of, max_rss_bytes, own_use, rss_bytes
from gossamer.observe.log import EventLog
from gossamer.observe.snapshot import PHASES, Internals
from gossamer.sketch import Durations
from tests.crawl.scripted_crawl import HOME, ScriptedCrawl, html, opened, run_in_step

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
    limits = EngineLimits()

    assert limits.max_pages is None
    assert 0.0 < limits.high_water < 1.0


def look(crawl: ScriptedCrawl, wakings: Durations) -> Internals:
    parts = crawl.crawl
    return internals_of(
        resolver=parts.resolver,
        fetcher=parts.fetcher,
        documents=parts.engine.documents,
        store=parts.store,
        seen=parts.admission.seen_statistics(),
        contents=parts.contents.statistics(),
        owners=parts.owners,
        sent_links=parts.sent_links,
        wakings=wakings,
        hosts_failing=3,
    )


def test_the_internals_of_a_crawl_are_reported_by_phase(tmp_path: Path) -> None:
    async def main() -> tuple[Internals, Internals]:
        wakings = Durations()
        wakings.note(1000)
        script = {HOME: html("/x", "/x?y"), HOME + "x": html("/", title="x"), HOME + "x?y": html(title="y")}
        async with opened(tmp_path, script) as crawl:
            before = look(crawl, wakings)
            await crawl.crawl.engine.run()
            return before, look(crawl, wakings)

    before, after = run_in_step(main())

    assert tuple(before.phases) == tuple(after.phases) == PHASES
    assert {phase: spread.number for phase, spread in before.phases.items()} == dict.fromkeys(PHASES, 0)
    numbers = {phase: spread.number for phase, spread in after.phases.items()}
    assert numbers["dns"] == 1
    assert numbers["extract"] == 3
    assert numbers["commit"] > 0
    assert numbers["connect"] == numbers["body"] == 0  # the scripted fetcher measures nothing
    assert after.links_recent + after.links_new + after.links_asked == 3
    assert after.links_recent >= 1  # the link back to the home page
    assert after.dns_hits > 0 and after.dns_cached == 1
    assert after.wakings.number == 1
    assert after.hosts_failing == 3
    assert after.rss_bytes > 0


def test_the_peak_of_a_crawl_includes_the_process_that_parses_large_pages(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        async with opened(tmp_path, {HOME: html()}) as crawl:
            log = EventLog(tmp_path / "other.log", crawl.crawl.clock)
            watch = Watch(crawl.crawl, log)
            before = watch.snapshot().max_rss_bytes
            crawl.crawl.large_pages.peak_bytes += 50 * MEGABYTE
            after = watch.snapshot().max_rss_bytes
            log.close()
            return before, after

    before, after = run_in_step(main())

    assert after >= before + 50 * MEGABYTE
