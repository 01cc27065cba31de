"""Large pages are read in another process, with a deadline."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from gossamer.extract.crawl_page import PageContent, extract_page
from gossamer.extract.large_pages import LargePages

PAGE = b"<title>Large</title>" + b"<p>text <a href=/x>x</a>" * 50_000


def with_pages(job: Callable[[LargePages], Awaitable[None]], limit: float = 20.0) -> None:
    async def run() -> None:
        pages = LargePages(limit)
        try:
            await job(pages)
        finally:
            await pages.close()

    asyncio.run(run())


def test_a_page_read_elsewhere_is_the_page_read_here() -> None:
    async def job(pages: LargePages) -> None:
        found = await pages.extract(PAGE, "text/html; charset=utf-8", "http://h.test/", "nofollow")

        assert found == extract_page(PAGE, "text/html; charset=utf-8", "http://h.test/", robots_tag="nofollow")
        assert isinstance(found, PageContent)

    with_pages(job)


def test_everything_that_can_be_asked_is_asked_elsewhere_too() -> None:
    body = b"<link rel=canonical href=/c><meta name=MyBot content=noindex>" + PAGE

    async def job(pages: LargePages) -> None:
        found = await pages.extract(
            body, None, "http://h.test/", "none", content_language="de", agent="mybot", sign=True
        )

        assert found == extract_page(
            body, None, "http://h.test/", robots_tag="none", content_language="de", agent="mybot", sign=True
        )
        assert found is not None
        assert (found.canonical, found.language, found.noindex, found.nofollow) == ("/c", "de", True, False)

    with_pages(job)


def test_the_event_loop_goes_on_while_a_page_is_read() -> None:
    async def job(pages: LargePages) -> None:
        await pages.extract(b"<p>", None, "http://h.test/", None)  # the child is up
        reading = asyncio.create_task(pages.extract(PAGE * 5, None, "http://h.test/", None))
        turns = 0
        while not reading.done():
            await asyncio.sleep(0)
            turns += 1

        assert turns > 10
        assert reading.result() is not None

    with_pages(job)


def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    async def job(pages: LargePages) -> None:
        await pages.extract(b"<p>", None, "http://h.test/", None)
        pages._limit = 0.01  # of CPU time: the page takes ten times as much

        assert await pages.extract(PAGE, None, "http://h.test/", None) is None

        pages._limit = 20.0
        assert await pages.extract(b"<a href=/y>", None, "http://h.test/", None) is not None
        assert pages.given_up == 1

    with_pages(job)


def test_nothing_is_left_behind() -> None:
    child = 0

    async def job(pages: LargePages) -> None:
        nonlocal child
        await pages.extract(b"<p>", None, "http://h.test/", None)
        assert pages._child is not None
        child = pages._child.pid

    with_pages(job)

    assert not os.path.exists(f"/proc/{child}")
