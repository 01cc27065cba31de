"""Hooks: code of the user that is called for pages, outcomes and links."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import entry_points

from gossamer.config.plugins import entry_label, load_plugin
from gossamer.crawl.events import Outcome
from gossamer.crawl.page import Page
from gossamer.errors import UsageError
from gossamer.extract.main_text import TextExtractor
from gossamer.model.queue_depth import QueueDepth

MAX_WAITING = 256
MAX_BYTES = 64 * 1024 * 1024
MAX_LOGGED_FAILURES = 100
"""After this many failures of hooks, further ones are counted but not logged."""

Failed = Callable[[str, str, BaseException], None]
"""Called with the name of the hook that failed, the method, and the error."""


class Hook:
    """Override the methods you need. Those for pages and outcomes run one at a time in a thread of their own, in the
    order of the commits, and slow ones slow the crawl down; `on_link` runs on the event loop and must be quick. An
    error in a hook is logged, and the crawl continues."""

    def on_page(self, page: Page) -> None:
        """Called for every stored page."""

    def on_outcome(self, outcome: Outcome) -> None:
        """Called for every outcome; for pages before `on_page`."""

    def on_link(self, page_url: str, url: str) -> bool | None:
        """Called for every link that is new and in scope. Return False to exclude it, with the reason `hook`."""

    def close(self) -> None:
        """Called at the end of the crawl, after all pages and outcomes."""


class HookRunner:
    """A subscriber that calls hooks. Bounded."""

    def __init__(
        self,
        hooks: Sequence[tuple[str, Hook]],
        on_room: Callable[[], None],
        on_failure: Failed,
        extractor: TextExtractor,
    ) -> None:
        """`hooks` with their names; `extractor` is that of the main text of pages. Owned by the event loop in which it
        is made."""
        self._hooks = tuple(hooks)
        self._on_room = on_room
        self._on_failure = on_failure
        self._extractor = extractor
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-hooks")
        self._outcome_hooks = [(name, hook) for name, hook in self._hooks if _overrides(hook, "on_page", "on_outcome")]
        self._link_hooks = [(name, hook) for name, hook in self._hooks if _overrides(hook, "on_link")]
        self._waiting = 0
        self._bytes = 0
        self.failures = 0

    @property
    def saturation(self) -> float:
        return max(self._waiting / MAX_WAITING, self._bytes / MAX_BYTES)

    @property
    def fill(self) -> QueueDepth:
        return QueueDepth(self._waiting, MAX_WAITING, self._bytes, MAX_BYTES)

    @property
    def has_link_hooks(self) -> bool:
        return bool(self._link_hooks)

    def may_enter(self, page_url: str, url: str) -> bool:
        """Whether no hook excludes the link. A hook that raises does not."""
        for name, hook in self._link_hooks:
            try:
                if hook.on_link(page_url, url) is False:
                    return False
            except Exception as error:
                self._failed(name, "on_link", error)
        return True

    def publish(self, outcome: Outcome) -> None:
        if not self._outcome_hooks:
            return
        size = len(outcome.response.wire_body) if outcome.response is not None else 0
        self._waiting += 1
        self._bytes += size
        self._thread.submit(self._call_hooks, outcome).add_done_callback(
            lambda _: self._loop.call_soon_threadsafe(self._on_called, size)
        )

    def _on_called(self, size: int) -> None:
        self._waiting -= 1
        self._bytes -= size
        self._on_room()

    def _call_hooks(self, outcome: Outcome) -> None:
        page = Page(outcome, self._extractor) if outcome.response is not None else None
        for name, hook in self._outcome_hooks:
            method = "on_outcome"
            try:
                hook.on_outcome(outcome)
                if page is not None:
                    method = "on_page"
                    hook.on_page(page)
            except Exception as error:  # of the user; it must not stop the crawl
                self._loop.call_soon_threadsafe(self._failed, name, method, error)

    def _failed(self, name: str, method: str, error: BaseException) -> None:
        self.failures += 1
        if self.failures <= MAX_LOGGED_FAILURES:
            self._on_failure(name, method, error)

    async def close(self) -> None:
        """Wait until all hooks were called, then close them."""
        await asyncio.wrap_future(self._thread.submit(self._close_hooks))
        self._thread.shutdown()

    def _close_hooks(self) -> None:
        for name, hook in self._hooks:
            try:
                hook.close()
            except Exception as error:
                self._loop.call_soon_threadsafe(self._failed, name, "close", error)


def _overrides(hook: Hook, *methods: str) -> bool:
    return any(getattr(type(hook), method, None) is not getattr(Hook, method) for method in methods)


HOOKS_GROUP = "gossamer.hooks"
"""The entry-point group of hook classes; a crawl uses those that its configuration names."""


def hook_named(name: str) -> Hook:
    """The hook that is installed under this name. Raises UsageError, which lists the installed ones."""
    found = {entry.name: entry for entry in entry_points(group=HOOKS_GROUP)}
    if name not in found:
        raise UsageError(f"no hook {name!r} is installed; there are: {', '.join(sorted(found)) or 'none'}")
    return load_plugin(found[name], Hook, f"the hook {entry_label(found[name])}", "gossamer.Hook")
