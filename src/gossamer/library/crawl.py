"""`Crawl`: a crawl on the caller's event loop, and its pages as an asynchronous iterator."""

import asyncio
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from gossamer.config.load import Config, make_config, read_toml, with_underscores
from gossamer.config.policies import canonicaliser_for, check_config, seed_addresses_for
from gossamer.crawl.events import PageQueue
from gossamer.crawl.hooks import Hook
from gossamer.crawl.page import Page
from gossamer.crawl.run.opener import resolve_urls
from gossamer.crawl.run.session import Session, session
from gossamer.errors import GossamerError
from gossamer.observe.display import NoDisplay
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import blocked_seeds, read_arguments

MAX_PAGES_AHEAD = 256
MAX_BYTES_AHEAD = 64 * 1024 * 1024


class Crawl:
    """A crawl that runs inside its `async with` block.

        async with Crawl("https://example.org/", max_pages=100) as crawl:
            async for page in crawl.pages():
                print(page.url, page.title)

    Options have the names of `gossamer crawl` and gossamer.toml; sections are mappings. The crawl is stored in `dir`
    and resumed from there. A page is delivered after it is committed; a slow consumer slows the crawl down. Leaving
    the block stops the crawl as Ctrl-C does: nothing is lost.
    """

    def __init__(
        self,
        *seeds: str,
        config: str | Path | Mapping[str, object] | None = None,
        hooks: Sequence[Hook | str] = (),
        add_seeds: bool = False,
        **options: object,
    ) -> None:
        """`config` is the path of a file like gossamer.toml, or its content as a mapping; `hooks` are hook objects or
        names of installed hooks. Raises UsageError for invalid arguments."""
        names = [hook for hook in hooks if isinstance(hook, str)]
        self.config: Config = _make_config(config, {**options, "hooks": names or None})
        check_config(self.config)
        self._seeds = read_arguments(seeds, canonicaliser_for(self.config).canonicalise)
        for warning in blocked_seeds(self._seeds, seed_addresses_for(self.config)):
            warnings.warn(warning, stacklevel=2)
        self._hooks = [hook for hook in hooks if not isinstance(hook, str)]
        self._add_seeds = add_seeds
        self._stack = AsyncExitStack()
        self._session: Session | None = None
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._session = await self._stack.enter_async_context(
            session(self.config, self._seeds, self._add_seeds, NoDisplay(), hooks=self._hooks)
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._running is not None:
                await self._end(self._running)
        finally:
            await self._stack.__aexit__(kind, error, trace)

    async def _end(self, running: asyncio.Task[None]) -> None:
        """Wait until the visits in flight have ended and are committed."""
        assert self._session is not None
        if not running.done():
            self._session.crawl.engine.stop()
        await running

    async def pages(self) -> AsyncIterator[Page]:
        """The pages in the order in which they are committed, until the crawl ends. If the crawl fails, its exception
        is raised. Only one iterator at a time."""
        running_session = self._open_session()
        engine = running_session.crawl.engine
        queue = PageQueue(MAX_PAGES_AHEAD, MAX_BYTES_AHEAD, engine.pump_soon)
        engine.events.subscribe(queue)
        running = self._start(running_session)
        running.add_done_callback(lambda _: queue.end())
        try:
            async for outcome in queue:
                yield Page(outcome)
        finally:
            engine.events.unsubscribe(queue)
        await running

    async def run(self) -> Snapshot:
        """Run the crawl to its end without iterating over the pages. Returns the last snapshot."""
        await self._start(self._open_session())
        return self.status()

    def stop(self) -> None:
        """Start no more visits. Visits in flight are still completed and stored."""
        self._open_session().crawl.engine.stop()

    def status(self) -> Snapshot:
        """A snapshot of the running crawl."""
        return self._open_session().watch.snapshot()

    def _open_session(self) -> Session:
        if self._session is None:
            raise GossamerError("the crawl is not open: use `async with Crawl(...)`")
        return self._session

    def _start(self, opened: Session) -> asyncio.Task[None]:
        if self._running is None:
            self._running = asyncio.create_task(opened.crawl.engine.run())
        return self._running


def _make_config(config: str | Path | Mapping[str, object] | None, options: Mapping[str, object]) -> Config:
    if config is None:
        file: Mapping[str, object] = {}
    elif isinstance(config, Mapping):
        file = with_underscores(config)
    else:
        file = read_toml(Path(config))
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
    return make_config(resolve_urls(file), resolve_urls(with_underscores(plain)))
