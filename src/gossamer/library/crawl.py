"""`Crawl`: a crawl on the caller's event loop, and its pages as an asynchronous iterator; `Summary`: its result or
progress; `crawl_pages` and `run`: crawls for code without an event loop, such as scripts and notebooks.
"""

import asyncio
import queue
import shutil
import sys
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import uvloop

from gossamer.config.load import Config, layered, make_config, read_toml, with_underscores
from gossamer.config.overrides import Overrides
from gossamer.config.policies import canonicaliser_for, check_config, seed_addresses_for
from gossamer.crawl.events import PageQueue
from gossamer.crawl.hooks import Hook
from gossamer.crawl.page import Page
from gossamer.crawl.run.location import CrawlLocation, resolve_urls, store_kind
from gossamer.crawl.run.opener import crawl_exists, remembered_options, remove_crawl
from gossamer.crawl.run.private_server import server_kept
from gossamer.crawl.run.private_store import reachable, shared_store
from gossamer.crawl.run.session import Display, Session, session
from gossamer.crawl.run.signals import GRACE_SECONDS, steer
from gossamer.crawl.steering.steering import Steering
from gossamer.errors import GossamerError, GossamerWarning, UsageError
from gossamer.extract.main_text import TextExtractor
from gossamer.observe.display import NoDisplay, choose_display
from gossamer.observe.formatter import number_of
from gossamer.observe.report import headline
from gossamer.observe.snapshot import Snapshot, StopReason, to_contract
from gossamer.seed.lists import blocked_seeds, read_arguments


class Summary:
    """Counts of a crawl so far, those of earlier runs included. Every field of `gossamer crawl --json` is an attribute;
    `to_dict` has them all."""

    def __init__(self, snapshot: Snapshot, max_pages: int | None) -> None:
        self._fields = to_contract(snapshot)
        self._max_pages = max_pages
        self.headline: str = headline(snapshot, max_pages)
        """How the crawl ended, in a sentence."""
        self.stopped: StopReason | None = snapshot.stopped
        """Why the crawl ended; None while it runs."""
        self.finished: bool = snapshot.finished
        """Whether nothing is left to crawl."""
        self.pages: int = snapshot.pages
        self.run_pages: int = snapshot.run_pages
        """Pages stored since the crawl was started the last time."""
        self.fetched: int = snapshot.fetched
        self.queued: int = snapshot.queued
        self.bytes: int = snapshot.bytes
        self.errors: dict[str, int] = dict(snapshot.errors)
        """By reason."""

    def __getattr__(self, name: str) -> object:
        fields = self.__dict__.get("_fields", {})
        if name not in fields:
            raise AttributeError(f"a Summary has no field {name!r}; there are {', '.join(fields)}")
        return fields[name]

    def __repr__(self) -> str:
        counts = (
            f"{number_of(self.pages, 'page')}, {self.queued} queued, {number_of(sum(self.errors.values()), 'error')}"
        )
        return f"<Summary {self._end()}, {counts}>"

    def _end(self) -> str:
        if self.stopped is None or self.finished:
            return "finished" if self.finished else "running"
        limit = f" ({self._max_pages})" if self.stopped == "page_limit" and self._max_pages is not None else ""
        return f"stopped: {self.stopped.replace('_', ' ')}{limit}"

    def to_dict(self) -> dict[str, object]:
        """The object of `gossamer crawl --json`."""
        return dict(self._fields)


MAX_PAGES_AHEAD = 256
MAX_BYTES_AHEAD = 64 * 1024 * 1024


class Crawl:
    """A crawl that runs inside its `async with` block, or by `gossamer.run`.

        async with Crawl("https://example.org/", max_pages=100) as crawl:
            async for page in crawl.pages():
                print(page.url, page.title)

    Options have the names of `gossamer crawl` and gossamer.toml; sections are mappings. The crawl is stored in `dir`
    and resumed from there, with the options that it remembers unless others are given; without one, it is in a
    temporary directory that is removed with this object. A page is delivered after it is committed; a slow consumer
    slows the crawl down. Leaving the block stops the crawl as Ctrl-C does: nothing is lost.
    """

    def __init__(
        self,
        *seeds: str,
        dir: str | Path | None = None,
        fresh: bool = False,
        config: str | Path | Mapping[str, object] | None = None,
        hooks: Sequence[Hook | str] = (),
        add_seeds: bool = False,
        **options: object,
    ) -> None:
        """`fresh` empties the directory at the start if it holds a crawl; `config` is the path of a file like
        gossamer.toml, or its content as a mapping; `hooks` are hook objects or names of installed hooks. Raises
        UsageError for invalid arguments."""
        names = [hook for hook in hooks if isinstance(hook, str)]
        file, given = _layers(config, {**options, "dir": dir, "hooks": names or None})
        self.config: Config = make_config(file, given)
        if not fresh and ("dir" in file or "dir" in given):
            with reachable(CrawlLocation.of(self.config)) as location:
                remembered = remembered_options(location)
            remembered.pop("workers", None)
            given = {key: layered(remembered, given)[key] for key in given}
            self.config = make_config(layered(remembered, file), given)
        check_config(self.config)
        if self.config.workers > 1:
            raise UsageError("workers: a crawl in Python has one; gossamer crawl runs several")
        self._seeds = read_arguments(seeds, canonicaliser_for(self.config).canonicalise)
        for warning in blocked_seeds(self._seeds, seed_addresses_for(self.config)):
            GossamerWarning.issue(warning)
        kind = store_kind(self.config.store)
        if "dir" not in file and "dir" not in given and (kind.in_directory or kind.one_process):
            temporary = tempfile.mkdtemp(prefix="gossamer-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            self.config = make_config(resolve_urls({**file, "dir": temporary}), given)
        self.display: Display = NoDisplay()
        """What shows the progress."""
        self._fresh = fresh
        self._hooks = [hook for hook in hooks if not isinstance(hook, str)]
        self._add_seeds = add_seeds
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._running: asyncio.Task[None] | None = None
        self._last: Summary | None = None  # of the run that has ended

    @property
    def dir(self) -> Path:
        """The crawl's directory."""
        return Path(self.config.dir)

    def __repr__(self) -> str:
        return f"<Crawl in {self.dir}: {number_of(len(self._seeds), 'seed')}>"

    async def __aenter__(self) -> Self:
        if self._session is not None:
            raise GossamerError("the crawl is open already; make another Crawl, with another directory")
        if self._fresh:
            remove_crawl(CrawlLocation.of(self.config))
            self._fresh = False
        async with AsyncExitStack() as stack:
            store = stack.enter_context(shared_store(self.config))
            self._session = await stack.enter_async_context(
                session(store.config, self._seeds, self._add_seeds, self.display, hooks=self._hooks)
            )
            await stack.enter_async_context(server_kept(store, self._session.log))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._running is not None:
                await self._end(self._running)
            self._last = self._last_summary(self._open_session())
        finally:
            self._session, self._running = None, None
            self.display.close()
            await self._stack.__aexit__(kind, error, trace)

    async def _end(self, running: asyncio.Task[None]) -> None:
        """Wait until the visits in flight have ended and are committed."""
        assert self._session is not None
        if not running.done():
            self._session.crawl.engine.stop()
        if not running.cancelled():
            await running
            await self._session.crawl.until_delivered()

    async def pages(self, *, stored: bool = False) -> AsyncIterator[Page]:
        """The pages in the order in which they are committed, until the crawl ends; with `stored`, first those of
        earlier runs, from the archive. If the crawl fails, its exception is raised. If there are no pages, a
        GossamerWarning says why. Only one iterator at a time."""
        running_session = self._open_session()
        extractor = TextExtractor(self.config.content.text)
        empty = True
        if stored:
            for page in self._stored_pages(extractor):
                empty = False
                yield page
                await asyncio.sleep(0)
        engine = running_session.crawl.engine
        queue = PageQueue(MAX_PAGES_AHEAD, MAX_BYTES_AHEAD, engine.pump_soon)
        engine.events.subscribe(queue)
        running = self._start(running_session)
        running.add_done_callback(lambda _: queue.end())
        try:
            async for outcome in queue:
                empty = False
                yield Page(outcome, extractor)
        finally:
            engine.events.unsubscribe(queue)
        await running
        if empty:
            self._warn_of_no_pages(self._last_summary(running_session))

    def _stored_pages(self, extractor: TextExtractor) -> Iterator[Page]:
        from gossamer.library.stored_crawl import StoredCrawl

        with reachable(CrawlLocation.of(self.config)) as location:
            if crawl_exists(location):
                with StoredCrawl(location, extractor) as found:
                    yield from found.pages_as_stored()

    def _warn_of_no_pages(self, last: Summary) -> None:
        if last.stopped not in ("finished", "page_limit"):
            return
        if not last.pages:
            GossamerWarning.issue(last.headline.partition(": ")[2])
            return
        limited = last.stopped == "page_limit"
        end = f"page limit ({self.config.max_pages}) reached" if limited else "nothing left to crawl"
        ways = "stored=True, fresh=True or a higher max_pages" if limited else "stored=True or fresh=True"
        held = f"{self.config.dir!r} holds this crawl: {number_of(last.pages, 'page')}"
        GossamerWarning.issue(f"{held}, {end}, nothing fetched; pass {ways}")

    async def run(self) -> Summary:
        """Run the crawl to its end without iterating over the pages."""
        opened = self._open_session()
        await self._start(opened)
        return self._last_summary(opened)

    def stop(self) -> None:
        """Start no more visits. Visits in flight are still completed and stored."""
        self._open_session().crawl.engine.stop()

    def status(self) -> Summary:
        """The progress of the running crawl; after the `async with` block, what came of it."""
        if self._session is None and self._last is not None:
            return self._last
        return Summary(self._open_session().watch.snapshot(), self.config.max_pages)

    def _last_summary(self, opened: Session) -> Summary:
        return Summary(opened.watch.last_snapshot(), self.config.max_pages)

    def _open_session(self) -> Session:
        if self._session is None:
            raise GossamerError("the crawl is not open: use `async with Crawl(...)`")
        return self._session

    def _start(self, opened: Session) -> asyncio.Task[None]:
        if self._running is None:
            self._running = asyncio.create_task(self._run(opened))
        return self._running

    async def _run(self, opened: Session) -> None:
        """Run the engine. If other workers share the crawl, follow the rules and orders that are given to all."""
        engine, jobs = opened.crawl.engine, []
        if opened.crawl.member is not None:
            overrides = Overrides(hosts=opened.crawl.hosts.overrides)
            steering = Steering(opened, self.config, overrides, -1, engine.stop, is_served=False)
            jobs.append(asyncio.create_task(steer(steering, opened.crawl)))
        try:
            await engine.run()
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)

    def interrupt(self) -> bool:
        """End as after a first Ctrl-C. False if there is nothing to be ended in this way."""
        if self._session is None:
            return False
        self._session.crawl.engine.stop("interrupted")
        return True


def _layers(
    config: str | Path | Mapping[str, object] | None, options: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """The keys of the configuration and of the options that were given."""
    if config is None:
        file: Mapping[str, object] = {}
    elif isinstance(config, Mapping):
        file = with_underscores(config)
    else:
        file = read_toml(Path(config))
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
    given = {key: value for key, value in with_underscores(plain).items() if value is not None}
    return resolve_urls(file), resolve_urls(given)


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
