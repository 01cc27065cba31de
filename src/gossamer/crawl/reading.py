"""Reading one document: what is in it, do we have it, what does it link to? Hot: benchmarks/bench_crawl.py."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.crawl.hosts import HostWishes
from gossamer.crawl.intake import Intake
from gossamer.dedup.digest import payload_digest
from gossamer.dedup.exact import ContentSeen, Known, Unknown
from gossamer.extract.elsewhere import LargePages
from gossamer.extract.kinds import UNWANTED_TYPE, is_html
from gossamer.extract.links import PageContent, extract_page, is_large
from gossamer.extract.mime import RESOURCE_HEADER
from gossamer.fetch.http.body import Payload, payload, payload_in_slices
from gossamer.frontier.turns import Visit
from gossamer.model.outcome import Failure, Response
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Instant, Url
from gossamer.store.changes import Capture, PageLinks, Settlement

_MAX_VALIDATOR = 512  # characters of an ETag or Last-Modified worth keeping


class Document(NamedTuple):
    """A response with a document in it, on its way from the fetch to the reader."""

    visit: Visit
    response: Response
    finished: Instant
    remark: str | None = None  # the reason why it is all there is, where it should have been more


class Opened(NamedTuple):
    """A document without its codings, and the digest of what is in it."""

    document: Document
    payload: Payload
    digest: bytes


class Archiving(Protocol):
    """Makes a capture of a response and the digest of its body as received; with what it links to, if that is kept."""

    def __call__(
        self, response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None, /
    ) -> Capture: ...


def without_records(response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None) -> Capture:
    """A capture whose records are built when it is written."""
    return Capture(response, payload_digest)


class Read(NamedTuple):
    """What a document came to."""

    settlement: Settlement
    candidates: list[Candidate]
    links: PageLinks | None
    excluded: Counter[str]


class DocumentReader:
    """Opens, compares and reads documents. Everything but `large` ones fits on the event loop."""

    def __init__(
        self,
        intake: Intake,
        contents: ContentSeen[int],
        large_pages: LargePages,
        max_body_bytes: int,
        archived: Archiving = without_records,
        hosts: HostWishes | None = None,
        *,
        revisits: bool = False,
        outlinks: bool = False,
    ) -> None:
        """`hosts` say what is kept of each; `revisits` and `outlinks`, whether there are records of these."""
        self._intake = intake
        self._contents = contents
        self._large_pages = large_pages
        self._max_body_bytes = max_body_bytes
        self._archived = archived
        self._hosts = hosts or HostWishes()
        self._revisits = revisits
        self._outlinks = outlinks

    def open(self, document: Document) -> Opened:
        found = payload(document.response, self._max_body_bytes)
        return Opened(document, found, payload_digest(found.body))

    async def open_in_slices(self, document: Document, clock: Clock) -> Opened:
        """The same, letting the event loop work in between, for bodies that take long."""
        found = await payload_in_slices(document.response, clock, self._max_body_bytes)
        return Opened(document, found, payload_digest(found.body))

    def owner_of(self, opened: Opened) -> Known[int] | Unknown:
        """The URL whose document this is already, as far as memory knows."""
        return self._contents.look(opened.digest)

    def is_large(self, opened: Opened) -> bool:
        return is_large(opened.payload.body)

    def extract(self, opened: Opened) -> PageContent | None:
        """The page, if it is one."""
        if not self._is_page(opened) or not self._is_wanted(opened):
            return None
        response = opened.document.response
        content_type, robots_tag = response.headers.get("content-type"), response.headers.get("x-robots-tag")
        return extract_page(opened.payload.body, content_type, response.url, robots_tag=robots_tag)

    async def extract_elsewhere(self, opened: Opened) -> PageContent | None:
        """The same in another process, for documents that could hold up the event loop."""
        if not self._is_page(opened) or not self._is_wanted(opened):
            return None
        response = opened.document.response
        content_type, robots_tag = response.headers.get("content-type"), response.headers.get("x-robots-tag")
        return await self._large_pages.extract(opened.payload.body, content_type, response.url, robots_tag)

    @staticmethod
    def _is_page(opened: Opened) -> bool:
        """Plain HTML behind a wrong Content-Encoding is read all the same: `body` is then what was received. Behind a
        coding that we do not know it is not."""
        body = opened.payload.body
        if opened.payload.unknown_coding:
            return False
        return bool(body) and is_html(opened.document.response.headers.get("content-type"), body[:1024])

    def _is_wanted(self, opened: Opened) -> bool:
        """By its first bytes: what the head declares was judged when it arrived."""
        kinds = self._hosts.of(opened.document.visit.host).kinds
        if kinds.everything:
            return True
        return kinds.wants_document(opened.document.response.headers, opened.payload.body[:RESOURCE_HEADER])

    def duplicate(self, opened: Opened, owner: int) -> Read:
        """Fetched, but stored already under another URL: neither stored nor read again."""
        self._contents.learn(opened.digest, owner)
        capture = Capture(opened.document.response, _wire_digest(opened)) if self._revisits else None
        return Read(self._settle(opened, UrlState.DUPLICATE, capture, duplicate_of=owner), [], None, Counter())

    def stored(self, opened: Opened, page: PageContent | None) -> Read:
        """New content: to be archived, and its links let in; unless it turns out to be of a kind that nobody wants."""
        visit = opened.document.visit
        if not self._is_wanted(opened):
            settlement = self._settle(opened, UrlState.EXCLUDED, reason=UNWANTED_TYPE)
            return Read(settlement, [], None, Counter({UNWANTED_TYPE: 1}))
        self._contents.learn(opened.digest, visit.task.url_id)
        excluded: Counter[str] = Counter()
        candidates: list[Candidate] = []
        links: PageLinks | None = None
        if page is not None and not page.nofollow:
            candidates, links = self._intake.links(visit, page, excluded)
        outlinks = self._intake.targets(visit, page) if self._outlinks and page is not None else None
        response, cut = opened.document.response, opened.payload.truncated
        if cut is not response.truncated:  # all was received, but not all of it was unpacked
            response = replace(response, truncated=cut)
        capture = self._archived(response, _wire_digest(opened), outlinks)
        settlement = self._settle(opened, UrlState.STORED, capture, page.title if page else None)
        if page is not None and (page.replaced or page.deep_links or "url_too_long" in excluded):
            too_long = self._intake.too_long(visit, page) if "url_too_long" in excluded else ()
            settlement = settlement._replace(replaced=page.replaced, deep_links=page.deep_links, long_links=too_long)
        return Read(settlement, candidates, links, excluded)

    def _settle(
        self,
        opened: Opened,
        state: UrlState,
        capture: Capture | None = None,
        title: str | None = None,
        duplicate_of: int | None = None,
        reason: str | None = None,
    ) -> Settlement:
        visit, response, finished, remark = opened.document
        headers = response.headers
        return Settlement(
            visit.host_id,
            visit.task.url_id,
            visit.task.front,
            state,
            finished,
            reason=reason or remark or (Failure.BAD_ENCODING.value if opened.payload.bad_encoding else None),
            status=response.status,
            size=len(opened.payload.body),
            took=response.took,
            mime=_mime(headers.get("content-type")),
            digest=opened.digest,
            title=title,
            etag=_validator(headers.get("etag")),
            last_modified=_validator(headers.get("last-modified")),
            duplicate_of=duplicate_of,
            capture=capture,
            truncated=None if opened.payload.truncated is None else opened.payload.truncated.value,
            unverified=response.unverified,
        )


def _wire_digest(opened: Opened) -> bytes:
    """Of the body as it was received; where it had no coding that is the document's."""
    wire_body = opened.document.response.wire_body
    return opened.digest if wire_body is opened.payload.body else payload_digest(wire_body)


def _mime(content_type: str | None) -> str | None:
    return None if content_type is None else content_type.partition(";")[0].strip().lower()[:127]


def _validator(value: str | None) -> str | None:
    return value if value is not None and len(value) <= _MAX_VALIDATOR else None
