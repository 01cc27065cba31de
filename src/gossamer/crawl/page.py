"""A page as the user of the library gets it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from gossamer.crawl.audience import Outcome
from gossamer.extract.kinds import is_html
from gossamer.extract.page import LinkKind, Wanted, read_page
from gossamer.extract.page import Page as Contents
from gossamer.fetch.http.body import payload
from gossamer.filter.canonical import Canonical, canonicalise
from gossamer.model.outcome import Response


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
