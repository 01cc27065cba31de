"""What users add to a crawl: code that hears of pages, links and outcomes.

A page as the user of the library gets it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, NamedTuple

from gossamer.crawl.events import Outcome
from gossamer.errors import UsageError
from gossamer.extract.content_types import is_html
from gossamer.extract.full_page import LinkKind, Wanted, read_page
from gossamer.extract.full_page import Page as Contents
from gossamer.fetch.http.body import payload
from gossamer.filter.canonical import Canonical, canonicalise
from gossamer.model.outcome import Response
from gossamer.model.queue_depth import QueueDepth

if TYPE_CHECKING:
    pass
from gossamer.config.plugins import entry_label, load_plugin


class PageLink(NamedTuple):
    """A link of a page, with its address made whole."""

    url: str
    text: str  # what the reader clicks on
    kind: LinkKind
    nofollow: bool


class Page:
    """A document that was fetched, archived and committed. What costs work is worked out when it is asked for."""

    def __init__(self, outcome: Outcome) -> None:
        assert outcome.response is not None
        self._outcome = outcome
        self.response: Response = outcome.response
        """The answer as it was on the wire."""

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
        """The document, without its codings."""
        return payload(self.response).body

    @property
    def is_html(self) -> bool:
        return is_html(self.content_type, self.body[:1024])

    def read(self, want: Wanted | None = None) -> Contents | None:
        """What is in the page, as much of it as is asked for; None if it is no HTML."""
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
            want=want,
        )

    @cached_property
    def _contents(self) -> Contents | None:
        return self.read()

    @property
    def text(self) -> str:
        """The main text of an HTML page; empty for other documents."""
        return (self._contents.text or "") if self._contents is not None else ""

    @property
    def language(self) -> str | None:
        return self._contents.language if self._contents is not None else None

    @cached_property
    def links(self) -> list[PageLink]:
        """The links of an HTML page in document order, as whole addresses; what is no address is left out."""
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
    def fill(self) -> QueueDepth:
        return QueueDepth(self._waiting, MAX_WAITING, self._bytes, MAX_BYTES)

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

    def publish(self, outcome: Outcome) -> None:
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


HOOKS_GROUP = "gossamer.hooks"
"""The group whose names are hooks and whose values are classes of them; a crawl has those that it names."""


def hook_named(name: str) -> "Hook":
    """The hook that is installed under this name. Raises UsageError, which names it and what there is."""
    from gossamer.crawl.hooks import Hook

    found = {entry.name: entry for entry in entry_points(group=HOOKS_GROUP)}
    if name not in found:
        raise UsageError(f"no hook {name!r} is installed; there are: {', '.join(sorted(found)) or 'none'}")
    return load_plugin(found[name], Hook, f"the hook {entry_label(found[name])}", "gossamer.Hook")
