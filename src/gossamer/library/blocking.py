"""Pages for code without an event loop: scripts and notebooks."""

import asyncio
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from gossamer.crawl.hooks import Hook, Page
from gossamer.library.crawl import Crawl

_AHEAD = 64  # pages between the crawl and who takes them; the crawl has bounds of its own behind these


def crawl_pages(
    *seeds: str,
    config: str | Path | Mapping[str, object] | None = None,
    hooks: Sequence[Hook | str] = (),
    add_seeds: bool = False,
    **options: object,
) -> Iterator[Page]:
    """The pages of a crawl, one by one. Arguments as for `Crawl`.

    The crawl runs in a thread with an event loop of its own, so this works where another loop is running, too. It is
    stopped, losing nothing, when the iterator is closed or thrown away. Raises what ended the crawl, if it failed.
    """
    crawl = Crawl(*seeds, config=config, hooks=hooks, add_seeds=add_seeds, **options)
    return _pages(crawl)


def _pages(crawl: Crawl) -> Iterator[Page]:
    pages: queue.Queue[Page | None] = queue.Queue(_AHEAD)
    over = threading.Event()  # nobody takes pages any more
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
