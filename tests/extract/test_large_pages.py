"""Large pages are read in another process, with a deadline."""

import asyncio
import os
import resource
from collections.abc import Awaitable, Callable
from pathlib import Path

from gossamer.extract.crawl_page import MAX_LINK_CHARS, PageContent, extract_page
from gossamer.extract.large_pages import LargePages
from gossamer.extract.page_worker import MEMORY_BYTES

PAGE = b"<title>Large</title>" + b"<p>text <a href=/x>x</a>" * 15_000


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

        expected = extract_page(PAGE, "text/html; charset=utf-8", "http://h.test/", robots_tag="nofollow")
        assert isinstance(found.content, PageContent)
        assert (found.content, found.whole) == (expected, True)

    with_pages(job)


def test_everything_that_can_be_asked_is_asked_elsewhere_too() -> None:
    body = b"<link rel=canonical href=/c><meta name=MyBot content=noindex>" + PAGE

    async def job(pages: LargePages) -> None:
        found, whole = await pages.extract(
            body, None, "http://h.test/", "none", content_language="de", agent="mybot", sign=True
        )

        assert found == extract_page(
            body, None, "http://h.test/", robots_tag="none", content_language="de", agent="mybot", sign=True
        )
        assert found is not None and whole
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
        assert reading.result().content is not None

    with_pages(job)


def test_a_page_that_takes_too_long_is_given_up_and_the_next_one_is_read() -> None:
    async def job(pages: LargePages) -> None:
        await pages.extract(b"<p>", None, "http://h.test/", None)
        pages._limit = 0.01  # of CPU time: the page takes ten times as much

        assert await pages.extract(PAGE * 10, None, "http://h.test/", None) == (None, False)

        pages._limit = 20.0
        assert (await pages.extract(b"<a href=/y>", None, "http://h.test/", None)).content is not None
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


MIB = 1 << 20
HEAVY = {
    "NULs": bytes(10 * MIB),
    "paragraphs": b"<p>" * (10 * MIB // 3),
    "zstd frames that are skipped": (b"\x50\x2a\x4d\x18\x08\0\0\0" + bytes(8)) * (10 * MIB // 16),
    "links": b"".join(b"<a href=/%d>x</a>\n" % n for n in range(500_000)),
    "attributes": b"<p " + b" ".join(b"x%d=1" % n for n in range(900_000)),
    "formatting": b"<a href=1><b>" * (10 * MIB // 13),
    "UTF-16": b"\xff\xfe" + ("<p>\u0142" * (10 * MIB // 8)).encode("utf-16-le"),
    "words": b"word " * (2 * MIB),
}


def test_of_a_page_whose_tree_does_not_fit_into_memory_the_beginning_is_parsed() -> None:
    async def job(pages: LargePages) -> None:
        await pages.extract(b"<p>", None, "http://h.test/", None)
        at_rest = pages.peak_bytes
        for name, body in HEAVY.items():
            mark = 2 if body[:2] == b"\xff\xfe" else 0
            start = "<a href=/first>x</a>".encode("utf-16-le" if mark else "ascii")
            found = await pages.extract(body[:mark] + start + body[mark:], None, "http://h.test/", None, sign=True)

            assert found.content is not None and not found.whole, name
            assert "/first" in found.content.hrefs, name
            assert at_rest < pages.peak_bytes <= at_rest + MEMORY_BYTES + MIB, name
            assert resident_bytes(pages) <= at_rest + 3 * MIB, name  # the rest was returned

        assert pages.given_up == 0

    with_pages(job)


def resident_bytes(pages: LargePages) -> int:
    assert pages._child is not None
    statm = Path(f"/proc/{pages._child.pid}/statm").read_text(encoding="ascii")
    return int(statm.split()[1]) * resource.getpagesize()


def test_images_in_a_page_do_not_use_up_what_may_be_parsed() -> None:
    image = b"<img src='data:image/png;base64," + b"A" * (3 * MIB) + b"'>"

    async def job(pages: LargePages) -> None:
        found = await pages.extract(image * 3 + b"<a href=/after>x</a>", None, "http://h.test/", None)

        assert found.content is not None and found.whole
        assert found.content.hrefs == ["/after"]

    with_pages(job)


def test_the_links_of_a_page_are_limited_by_their_length_in_total() -> None:
    page = extract_page(b"".join(b"<a href='/%d%s'>" % (n, b"x" * 16_000) for n in range(300)), None, "http://h.test/")

    assert sum(map(len, page.hrefs)) <= MAX_LINK_CHARS
    assert (len(page.hrefs), page.dropped_links) == (131, 169)


def test_a_child_that_was_given_up_counts_with_all_that_it_may_have_used() -> None:
    async def job(pages: LargePages) -> None:
        await pages.extract(b"<p>", None, "http://h.test/", None)
        pages._limit = 0.01
        await pages.extract(PAGE * 10, None, "http://h.test/", None)

        assert pages.peak_bytes >= pages._least_bytes + MEMORY_BYTES

    with_pages(job)
