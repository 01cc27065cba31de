"""Reading one document: what is in it, do we have it, what does it link to? Hot: benchmarks/bench_crawl.py."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.config.hosts import HostSettingsTable
from gossamer.crawl.document.admission import TOO_LONG, Admission
from gossamer.dedup.exact import ContentSeen, Known, Unknown, payload_digest
from gossamer.dedup.near import Near, NearDuplicates, NearMode
from gossamer.dedup.soft404 import SOFT_404, Soft404Detector
from gossamer.extract.content_types import UNWANTED_TYPE, is_html
from gossamer.extract.crawl_page import PageContent, canonical_in_header, extract_page, is_large
from gossamer.extract.large_pages import LargePages
from gossamer.extract.mime import RESOURCE_HEADER
from gossamer.extract.page_meta import OUR_NAME
from gossamer.fetch.http.body import Payload, payload, payload_in_slices
from gossamer.filter.canonical import Canonical
from gossamer.model.document import Document, ProcessedDocument
from gossamer.model.formats import LongLink
from gossamer.model.outcome import Failure, Response
from gossamer.model.settlement import MAX_VALIDATOR_CHARS, Capture, PageLinks, Settlement
from gossamer.model.states import NEAR_DUPLICATE, UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Url
from gossamer.recrawl.planner import NEVER, RecrawlPlanner

TOO_LONG_TO_READ = "parse_limit"
# Looking a member up costs as much as a call, and these are asked for with every page.
_STORED, _DUPLICATE, _EXCLUDED = UrlState.STORED, UrlState.DUPLICATE, UrlState.EXCLUDED


class DecodedDocument(NamedTuple):
    """A document without its codings, and the digest of what is in it."""

    document: Document
    payload: Payload
    digest: bytes


class CaptureEncoder(Protocol):
    """Makes a capture of a response and the digest of its body as received; with what it links to, if that is kept."""

    def __call__(
        self, response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None, /
    ) -> Capture: ...


def without_records(response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None) -> Capture:
    """A capture whose records are built when it is written."""
    return Capture(response, payload_digest)


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """What is read of documents, and what is archived."""

    max_body_bytes: int
    revisits: bool = False  # write a record for a document that has not changed
    outlinks: bool = False  # write a record of the links of each page
    agent: str = OUR_NAME  # the name by which robots meta elements address us


@dataclass(frozen=True, slots=True)
class DuplicateTests:
    """What a document is compared with."""

    contents: ContentSeen[int]
    near: NearDuplicates | None = None
    soft_404: Soft404Detector | None = None


class DocumentProcessor:
    """Opens, compares and reads documents. Everything but `large` ones fits on the event loop."""

    def __init__(
        self,
        admission: Admission,
        duplicates: DuplicateTests,
        large_pages: LargePages,
        settings: DocumentSettings,
        *,
        capture: CaptureEncoder = without_records,
        hosts: HostSettingsTable | None = None,
        planner: RecrawlPlanner | None = None,
    ) -> None:
        """`hosts` has the content types that are kept of each host; `planner` the date of the next visit."""
        self._admission = admission
        self._contents = duplicates.contents
        self.near = duplicates.near
        self._soft = duplicates.soft_404
        self._large_pages = large_pages
        self._settings = settings
        self._agent = settings.agent
        self._capture = capture
        self._hosts = hosts or HostSettingsTable()
        self._planner = planner

    def open(self, document: Document) -> DecodedDocument:
        found = payload(document.response, self._settings.max_body_bytes)
        return DecodedDocument(document, found, payload_digest(found.body))

    async def open_in_slices(self, document: Document, clock: Clock) -> DecodedDocument:
        """The same, letting the event loop work in between, for bodies that take long."""
        found = await payload_in_slices(document.response, clock, self._settings.max_body_bytes)
        return DecodedDocument(document, found, payload_digest(found.body))

    def owner_of(self, opened: DecodedDocument) -> Known[int] | Unknown:
        """The URL whose document this is already, as far as memory knows."""
        return self._contents.check(opened.digest)

    def is_large(self, opened: DecodedDocument) -> bool:
        return is_large(opened.payload.body)

    def extract(self, opened: DecodedDocument) -> PageContent | None:
        """The page, if it is one."""
        if not self._is_page(opened) or not self._is_wanted(opened):
            return None
        response = opened.document.response
        headers = response.headers
        return extract_page(
            opened.payload.body,
            headers.get("content-type"),
            response.url,
            robots_tag=headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            agent=self._agent,
            sign=self.near is not None,
        )

    async def extract_elsewhere(self, opened: DecodedDocument) -> tuple[DecodedDocument, PageContent | None]:
        """The same in another process, for documents that could hold up the event loop. One that takes too long is
        remarked upon."""
        if not self._is_page(opened) or not self._is_wanted(opened):
            return opened, None
        response = opened.document.response
        headers = response.headers
        page = await self._large_pages.extract(
            opened.payload.body,
            headers.get("content-type"),
            response.url,
            headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            agent=self._agent,
            sign=self.near is not None,
        )
        if page is None:
            document = opened.document
            opened = opened._replace(document=document._replace(remark=document.remark or TOO_LONG_TO_READ))
        return opened, page

    @staticmethod
    def _is_page(opened: DecodedDocument) -> bool:
        """Plain HTML behind a wrong Content-Encoding is read all the same: `body` is then what was received. Behind a
        coding that we do not know it is not."""
        body = opened.payload.body
        if opened.payload.unknown_coding:
            return False
        return bool(body) and is_html(opened.document.response.headers.get("content-type"), body[:1024])

    def _is_wanted(self, opened: DecodedDocument) -> bool:
        """By its first bytes: what the head declares was judged when it arrived."""
        kinds = self._hosts.for_host(opened.document.visit.host).kinds
        if kinds.everything or opened.document.visit.task.sitemap:
            return True
        return kinds.wants_document(opened.document.response.headers, opened.payload.body[:RESOURCE_HEADER])

    def is_unchanged(self, opened: DecodedDocument) -> bool:
        """Whether it is what its URL had at the visit before: then it need not be read."""
        before = opened.document.visit.task.previous
        return before is not None and before.digest == opened.digest and before.has_document

    def unchanged(self, opened: DecodedDocument) -> ProcessedDocument:
        """Fetched, and what it was: neither stored nor read again."""
        document = opened.document
        before = document.visit.task.previous
        assert before is not None and self._planner is not None
        capture = Capture(document.response, _wire_digest(opened)) if self._settings.revisits else None
        kept = self._planner.settle_unchanged(document.visit, before, document.response, document.finished, capture)
        return ProcessedDocument(kept, [], None, Counter(), before)

    def duplicate(self, opened: DecodedDocument, owner: int) -> ProcessedDocument:
        """Fetched, but stored already under another URL: neither stored nor read again."""
        self._contents.learn(opened.digest, owner)
        capture = Capture(opened.document.response, _wire_digest(opened)) if self._settings.revisits else None
        reason = self._soft_404(opened, None, owner)
        settlement = self._settlement_of(opened, UrlState.DUPLICATE, capture, None, owner, reason)
        return ProcessedDocument(settlement, [], None, Counter(), opened.document.visit.task.previous)

    def _soft_404(self, opened: DecodedDocument, title: str | None, same_as: int | None) -> str | None:
        visit, size = opened.document.visit, len(opened.payload.body)
        if self._soft is None or not self._soft.is_soft(visit.host_id, visit.task.url_id, title, size, same_as):
            return None
        return SOFT_404

    def stored(self, opened: DecodedDocument, page: PageContent | None) -> ProcessedDocument:
        """New content: to be archived, and its links let in; unless it turns out to be of a kind that nobody wants, or
        a near-duplicate where these are left out."""
        document, found, digest = opened
        visit = document.visit
        task = visit.task
        url_id, before = task.url_id, task.previous
        if not self._is_wanted(opened):
            settlement = self._settlement_of(opened, UrlState.EXCLUDED, reason=UNWANTED_TYPE)
            return ProcessedDocument(settlement, [], None, Counter({UNWANTED_TYPE: 1}), before)
        near: Near | None = None
        if page is not None and page.signature is not None and self.near is not None:
            near = self.near.judge(url_id, page.signature)
        soft = None if page is None else self._soft_404(opened, page.title, near and near.owner)
        if near is not None and self.near is not None and self.near.mode is NearMode.SKIP:
            left_out = self._settlement_of(
                opened, UrlState.DUPLICATE, page=page, reason=soft or NEAR_DUPLICATE, near=near
            )
            return ProcessedDocument(left_out, [], None, Counter(), before)
        self._contents.learn(digest, url_id)
        excluded: Counter[str] = Counter()
        candidates: list[Candidate] = []
        links: PageLinks | None = None
        outlinks: list[Url] | None = [] if self._settings.outlinks and page is not None else None
        if page is not None and not page.nofollow:
            candidates, links = self._admission.links(visit, page, excluded, outlinks)
        elif page is not None and outlinks is not None:
            outlinks += self._admission.targets(visit, page)
        response, cut = document.response, found.truncated
        if cut is not response.truncated:  # all was received, but not all of it was unpacked
            response = response._replace(truncated=cut)
        capture = self._capture(response, _wire_digest(opened), outlinks)
        too_long = self._admission.too_long(visit, page) if page is not None and TOO_LONG in excluded else ()
        settlement = self._settlement_of(opened, _STORED, capture, page, None, soft, near, too_long)
        return ProcessedDocument(settlement, candidates, links, excluded, before)

    def _canonical(self, response: Response, page: PageContent | None) -> Url | None:
        """The other address that a document wants to go by: what the page says counts before what its head does."""
        if page is not None and page.canonical is not None:
            return self._admission.canonical_elsewhere(response.url, page)
        said = canonical_in_header(response.headers["link"])
        found = None if said is None else self._admission.canonical(said, response.url)
        return found.url if isinstance(found, Canonical) and found.url != response.url else None

    def _settlement_of(
        self,
        opened: DecodedDocument,
        state: UrlState,
        capture: Capture | None = None,
        page: PageContent | None = None,
        duplicate_of: int | None = None,
        reason: str | None = None,
        near: Near | None = None,
        long_links: tuple[LongLink, ...] = (),
    ) -> Settlement:
        document, found, digest = opened
        visit, response, finished, remark = document
        task, headers = visit.task, response.headers
        mime = _mime(headers.get("content-type"))
        signature = page.signature if page else None
        planner, planned = self._planner, NEVER
        if planner is not None and state is _EXCLUDED:
            planner.plan_no_visit(visit)
        elif planner is not None:
            planned = planner.plan_document(visit, response, finished, mime, digest, signature, near is not None)
            signature = planned.signature or signature
        return Settlement(
            visit.host_id,
            task.url_id,
            task.front,
            state,
            finished,
            available_at=planned.at,
            reason=reason or remark or (Failure.BAD_ENCODING.value if found.bad_encoding else None),
            status=response.status,
            size=len(found.body),
            took=response.took,
            mime=mime,
            digest=digest,
            title=page.title if page else None,
            etag=_validator(headers.get("etag")),
            last_modified=_validator(headers.get("last-modified")),
            duplicate_of=duplicate_of,
            capture=capture,
            truncated=None if found.truncated is None else found.truncated.value,
            unverified=response.unverified,
            replaced=page.replaced if page else 0,
            deep_links=page.deep_links if page else 0,
            long_links=long_links,
            signature=signature,
            near_duplicate_of=near.owner if near else None,
            distance=near.distance if near else None,
            language=page.language if page else None,
            canonical=self._canonical(response, page) if (page and page.canonical) or "link" in headers else None,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
            noise=planned.noise,
        )


def _wire_digest(opened: DecodedDocument) -> bytes:
    """Of the body as it was received; where it had no coding that is the document's."""
    wire_body = opened.document.response.wire_body
    return opened.digest if wire_body is opened.payload.body else payload_digest(wire_body)


def _mime(content_type: str | None) -> str | None:
    return None if content_type is None else content_type.partition(";")[0].strip().lower()[:127]


def _validator(value: str | None) -> str | None:
    return value if value is not None and len(value) <= MAX_VALIDATOR_CHARS else None
