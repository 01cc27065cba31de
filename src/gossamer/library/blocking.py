"""`crawl_pages` and `run`: crawls for code without an event loop, such as scripts and notebooks."""

import asyncio
import queue
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import uvloop

from gossamer.crawl.hooks import Hook
from gossamer.crawl.page import Page
from gossamer.crawl.run.signals import GRACE_SECONDS
from gossamer.library.crawl import Crawl, Summary
from gossamer.observe.display import NoDisplay, choose_display

_AHEAD = 64  # pages buffered for the consumer, in addition to the bounds of the crawl


def crawl_pages(
    *seeds: str,
    stored: bool = False,
    dir: str | Path | None = None,
    fresh: bool = False,
    config: str | Path | Mapping[str, object] | None = None,
    hooks: Sequence[Hook | str] = (),
    add_seeds: bool = False,
    **options: object,
) -> Iterator[Page]:
    """Iterate over the pages of a crawl; with `stored`, first those of earlier runs in the same directory. The other
    arguments are those of `Crawl`.

    The crawl runs in a thread with its own event loop, so this also works while another loop is running. It stops, and
    can be resumed, when the iterator is closed or garbage-collected. If the crawl fails, its exception is raised.
    """
    crawl = Crawl(*seeds, dir=dir, fresh=fresh, config=config, hooks=hooks, add_seeds=add_seeds, **options)
    return _pages(crawl, stored)


def _pages(crawl: Crawl, stored: bool) -> Iterator[Page]:
    pages: queue.Queue[Page | None] = queue.Queue(_AHEAD)
    over = threading.Event()  # the iterator was closed
    failure: list[BaseException] = []

    async def run() -> None:
        async with crawl:
            async for page in crawl.pages(stored=stored):
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


def run(crawl: Crawl) -> Summary:
    """Run a crawl to its end. Shows its progress if standard error is a terminal.

    The crawl runs in a thread with its own event loop, so this also works while another loop is running. The first
    Ctrl-C finishes the visits in flight, the second stops at once; nothing is lost, and the summary says that the crawl
    was interrupted. If the crawl fails, its exception is raised.
    """
    runner = _Runner(crawl)
    thread = threading.Thread(target=runner.run, name="gossamer-crawl", daemon=True)
    thread.start()
    while not runner.ended.is_set():
        try:
            runner.ended.wait()  # not `join`: after an exception in it, Python 3.11 takes the thread for ended
        except KeyboardInterrupt:
            runner.interrupt()
    thread.join()
    return runner.result()


class _Runner:
    """Runs a crawl in a thread."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self.ended = threading.Event()
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._interrupts = 0
        self._failure: BaseException | None = None

    def run(self) -> None:
        try:
            uvloop.run(self._run())
        except BaseException as error:
            self._failure = error
        finally:
            self._started.set()
            self.ended.set()

    async def _run(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        self._started.set()
        crawl = self._crawl
        display = choose_display(crawl.config, sys.stderr) if sys.stderr.isatty() else NoDisplay()
        crawl.display = display
        async with crawl:
            try:
                await crawl.run()
            except asyncio.CancelledError:
                if not self._interrupts:
                    raise

    def interrupt(self) -> None:
        self._started.wait()
        self._interrupts += 1
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        assert self._loop is not None and self._task is not None
        if self._interrupts == 1 and self._crawl.interrupt():
            self._loop.call_later(GRACE_SECONDS, self._task.cancel)
        else:
            self._task.cancel()

    def result(self) -> Summary:
        if self._failure is not None:
            raise self._failure
        return self._crawl.status()
