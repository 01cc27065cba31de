"""`crawl_pages`: the pages of a crawl as a plain iterator, for code without an event loop such as scripts and
notebooks."""

import asyncio
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from gossamer.crawl.hooks import Hook
from gossamer.crawl.page import Page
from gossamer.library.crawl import Crawl

_AHEAD = 64  # pages buffered for the consumer, in addition to the bounds of the crawl


def crawl_pages(
    *seeds: str,
    config: str | Path | Mapping[str, object] | None = None,
    hooks: Sequence[Hook | str] = (),
    add_seeds: bool = False,
    **options: object,
) -> Iterator[Page]:
    """Iterate over the pages of a crawl. The arguments are those of `Crawl`.

    The crawl runs in a thread with its own event loop, so this also works while another loop is running. It stops, and
    can be resumed, when the iterator is closed or garbage-collected. If the crawl fails, its exception is raised.
    """
    crawl = Crawl(*seeds, config=config, hooks=hooks, add_seeds=add_seeds, **options)
    return _pages(crawl)


def _pages(crawl: Crawl) -> Iterator[Page]:
    pages: queue.Queue[Page | None] = queue.Queue(_AHEAD)
    over = threading.Event()  # the iterator was closed
    failure: list[BaseException] = []

    async def run() -> None:
        async with crawl:
            async for page in crawl.pages():
                while not over.is_set():
                    try:
                        pages.put_nowait(page)
                        break
                    except queue.Full:
                        await asyncio.sleep(0.01)
                if over.is_set():
                    break

    def work() -> None:
        try:
            uvloop.run(run())
        except BaseException as error:
            failure.append(error)
        finally:
            while not over.is_set():
                try:
                    pages.put(None, timeout=0.1)
                    break
                except queue.Full:
                    continue

    thread = threading.Thread(target=work, name="gossamer-crawl", daemon=True)
    thread.start()
    try:
        while (page := pages.get()) is not None:
            yield page
    finally:
        over.set()
        thread.join()
    if failure:
        raise failure[0]
