"""Hooks: code of the user that is called for pages, outcomes and links; and the page as the library returns it."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import entry_points
from typing import NamedTuple

from gossamer.config.plugins import entry_label, load_plugin
from gossamer.crawl.events import Outcome
from gossamer.errors import UsageError
from gossamer.extract.content_types import is_html
from gossamer.extract.full_page import LanguageSource, LinkKind, Wanted, read_page
from gossamer.extract.full_page import Page as Contents
from gossamer.extract.main_text import TextSource
from gossamer.extract.pdf import is_pdf, is_pdf_supported, pdf_text
from gossamer.fetch.http.body import payload
from gossamer.filter.canonical import Canonical, canonicalise
from gossamer.model.outcome import Response
from gossamer.model.queue_depth import QueueDepth


class PageLink(NamedTuple):
    """A link of a page, with its absolute URL."""

    url: str
    text: str  # the anchor text
    kind: LinkKind
    nofollow: bool


class Page:
    """A document that was fetched, archived and committed. Expensive properties are computed on first use."""

    def __init__(self, outcome: Outcome) -> None:
        assert outcome.response is not None
        self._outcome = outcome
        self.response: Response = outcome.response
        """The response as received."""

    def __repr__(self) -> str:
        return f"<Page {self.status} {self.url}>"

    @property
    def url(self) -> str:
        return self._outcome.url

    @property
    def status(self) -> int:
        return self.response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case."""
        return self.response.headers

    @property
    def content_type(self) -> str | None:
        return self.response.headers.get("content-type")

    @property
    def depth(self) -> int:
        """Links followed from a seed."""
        return self._outcome.depth

    @property
    def title(self) -> str | None:
        return self._outcome.title

    @property
    def fetched_at(self) -> datetime:
        return datetime.fromtimestamp(self.response.started, UTC)

    @cached_property
    def body(self) -> bytes:
        """The body without its content codings."""
        return payload(self.response).body

    @property
    def is_html(self) -> bool:
        return is_html(self.content_type, self.body[:1024])

    def read(self, want: Wanted | None = None) -> Contents | None:
        """Parse the page, as much as `want` asks for; None if it is not HTML."""
        if not self.is_html:
            return None
        headers = self.response.headers
        return read_page(
            self.body,
            self.content_type,
            self.url,
            robots_tag=headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            link=headers.get("link"),
            refresh=headers.get("refresh"),
            want=want,
        )

    @cached_property
    def _contents(self) -> Contents | None:
        return self.read()

    @property
    def text(self) -> str:
        """The main text of an HTML page; the text of a PDF document if the extra `pdf` is installed; else empty."""
        if self._contents is not None:
            return self._contents.text or ""
        return self._pdf_text or ""

    @property
    def text_source(self) -> TextSource | None:
        """Where the text comes from; None if there is none."""
        if self._contents is not None:
            return self._contents.text_source
        return TextSource.PDF if self._pdf_text is not None else None

    @cached_property
    def _pdf_text(self) -> str | None:
        if not is_pdf(self.content_type, self.body) or not is_pdf_supported():
            return None
        return pdf_text(self.body)

    @property
    def language(self) -> str | None:
        return self._contents.language if self._contents is not None else None

    @property
    def language_source(self) -> LanguageSource | None:
        return self._contents.language_source if self._contents is not None else None

    @cached_property
    def links(self) -> list[PageLink]:
        """The links of an HTML page in document order, as absolute URLs; invalid ones are left out."""
        contents = self._contents
        if contents is None:
            return []
        base = self.url
        if contents.base is not None:
            found = canonicalise(contents.base, self.url)
            base = found.url if isinstance(found, Canonical) else base
        links = []
        for link in contents.links:
            target = canonicalise(link.href, base)
            if isinstance(target, Canonical):
                links.append(PageLink(target.url, link.text, link.kind, link.nofollow))
        return links


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

    def __init__(self, hooks: Sequence[tuple[str, Hook]], on_room: Callable[[], None], on_failure: Failed) -> None:
        """`hooks` with their names. Owned by the event loop in which it is made."""
        self._hooks = tuple(hooks)
        self._on_room = on_room
        self._on_failure = on_failure
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
        page = Page(outcome) if outcome.response is not None else None
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
