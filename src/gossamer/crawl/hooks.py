"""What users add to a crawl: code that hears of pages, links and outcomes."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from gossamer.crawl.audience import Outcome
from gossamer.crawl.page import Page
from gossamer.model.fill import Fill

MAX_WAITING = 256
MAX_BYTES = 64 * 1024 * 1024
FAILURES_TOLD = 100
"""After so many no more failures of a hook are logged, only counted."""

Failed = Callable[[str, str, BaseException], None]
"""Is told which hook failed, in which method, and how."""


class Hook:
    """Override what you want to hear. The methods for pages and outcomes run one at a time in a thread of their own,
    in the order of the commits, and a slow one slows the crawl down; `on_link` runs on the event loop and must be
    quick. A hook that raises is logged, and the crawl goes on."""

    def on_page(self, page: Page) -> None:
        """A page is stored."""

    def on_outcome(self, outcome: Outcome) -> None:
        """A visit has ended, whichever way; also told of pages, before `on_page`."""

    def on_link(self, page_url: str, url: str) -> bool | None:
        """A link that is new to the crawl and may enter it. False keeps it out, with the reason `hook`."""

    def close(self) -> None:
        """The crawl is over, and everything was told."""


class HookRunner:
    """A listener that passes everything on to hooks. Bounded."""

    def __init__(self, hooks: Sequence[tuple[str, Hook]], on_room: Callable[[], None], on_failure: Failed) -> None:
        """`hooks` with their names. Belongs to the event loop it is made in."""
        self._hooks = tuple(hooks)
        self._on_room = on_room
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-hooks")
        self._telling = [(name, hook) for name, hook in self._hooks if _hears(hook, "on_page", "on_outcome")]
        self._asking = [(name, hook) for name, hook in self._hooks if _hears(hook, "on_link")]
        self._waiting = 0
        self._bytes = 0
        self.failures = 0

    @property
    def saturation(self) -> float:
        return max(self._waiting / MAX_WAITING, self._bytes / MAX_BYTES)

    @property
    def fill(self) -> Fill:
        return Fill(self._waiting, MAX_WAITING, self._bytes, MAX_BYTES)

    @property
    def asks_about_links(self) -> bool:
        return bool(self._asking)

    def may_enter(self, page_url: str, url: str) -> bool:
        """Whether no hook keeps the link out. One that fails does not."""
        for name, hook in self._asking:
            try:
                if hook.on_link(page_url, url) is False:
                    return False
            except Exception as error:
                self._failed(name, "on_link", error)
        return True

    def tell(self, outcome: Outcome) -> None:
        if not self._telling:
            return
        size = len(outcome.response.wire_body) if outcome.response is not None else 0
        self._waiting += 1
        self._bytes += size
        self._thread.submit(self._pass_on, outcome).add_done_callback(
            lambda _: self._loop.call_soon_threadsafe(self._told, size)
        )

    def _told(self, size: int) -> None:
        self._waiting -= 1
        self._bytes -= size
        self._on_room()

    def _pass_on(self, outcome: Outcome) -> None:
        page = Page(outcome) if outcome.response is not None else None
        for name, hook in self._telling:
            method = "on_outcome"
            try:
                hook.on_outcome(outcome)
                if page is not None:
                    method = "on_page"
                    hook.on_page(page)
            except Exception as error:  # theirs: it must not stop ours
                self._loop.call_soon_threadsafe(self._failed, name, method, error)

    def _failed(self, name: str, method: str, error: BaseException) -> None:
        self.failures += 1
        if self.failures <= FAILURES_TOLD:
            self._on_failure(name, method, error)

    async def close(self) -> None:
        """Wait until everything is told, then let the hooks close."""
        await asyncio.wrap_future(self._thread.submit(self._close_hooks))
        self._thread.shutdown()

    def _close_hooks(self) -> None:
        for name, hook in self._hooks:
            try:
                hook.close()
            except Exception as error:
                self._loop.call_soon_threadsafe(self._failed, name, "close", error)


def _hears(hook: Hook, *methods: str) -> bool:
    return any(getattr(type(hook), method, None) is not getattr(Hook, method) for method in methods)
