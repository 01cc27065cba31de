"""Processing one document: decode, compare, extract links, build the settlement. Hot: benchmarks/bench_crawl.py."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.config.hosts import HostSettingsTable
from gossamer.crawl.document.admission import TOO_LONG, Admission
from gossamer.dedup import (
    SOFT_404,
    ContentSeen,
    Known,
    Near,
    NearDuplicates,
    NearMode,
    Soft404Detector,
    Unknown,
    payload_digest,
)
from gossamer.extract.content_types import UNWANTED_TYPE, is_html
from gossamer.extract.crawl_page import (
    PageContent,
    add_refresh_header,
    canonical_in_header,
    extract_page,
    is_large,
)
from gossamer.extract.large_pages import LargePages
from gossamer.extract.page_meta import OUR_NAME
from gossamer.fetch.http.body import Payload, payload, payload_in_slices
from gossamer.filter.canonical import Canonical
from gossamer.model.formats import LongLink
from gossamer.model.outcome import Failure, Response
from gossamer.model.settlement import (
    MAX_VALIDATOR_CHARS,
    Capture,
    Document,
    PageLinks,
    ProcessedDocument,
    Settlement,
    mask_of,
)
from gossamer.model.states import NEAR_DUPLICATE, UrlState
from gossamer.model.task import Candidate
from gossamer.model.units import Url
from gossamer.recrawl.planner import NEVER, RecrawlPlanner

TOO_LARGE_TO_READ = "parse_limit"
# Looking up a member costs as much as a call, and these are used for every page.
_STORED, _DUPLICATE, _EXCLUDED = UrlState.STORED, UrlState.DUPLICATE, UrlState.EXCLUDED


class DecodedDocument(NamedTuple):
    """A document without its content codings, and the digest of its body."""

    document: Document
    payload: Payload
    digest: bytes


class CaptureEncoder(Protocol):
    """Makes a capture of a response. The digest is that of the body as received; `outlinks` are archived, if given."""

    def __call__(
        self, response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None, /
    ) -> Capture: ...


def without_records(response: Response, payload_digest: bytes, outlinks: Sequence[Url] | None = None) -> Capture:
    """A capture whose WARC records are built when it is written."""
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
    """Decodes, compares and parses documents. All but large ones are quick enough for the event loop."""

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

    def decode(self, document: Document) -> DecodedDocument:
        found = payload(document.response, self._settings.max_body_bytes)
        return DecodedDocument(document, found, payload_digest(found.body))

    async def decode_in_slices(self, document: Document, clock: Clock) -> DecodedDocument:
        """The same for bodies that take long, in slices that yield to the event loop."""
        found = await payload_in_slices(document.response, clock, self._settings.max_body_bytes)
        return DecodedDocument(document, found, payload_digest(found.body))

    def find_owner(self, decoded: DecodedDocument) -> Known[int] | Unknown:
        """The URL that has the same document, as far as is known in memory."""
        return self._contents.check(decoded.digest)

    def is_large(self, decoded: DecodedDocument) -> bool:
        return is_large(decoded.payload.body)

    def extract(self, decoded: DecodedDocument) -> PageContent | None:
        """The content of an HTML page; None for other documents."""
        if not self._is_page(decoded) or not self._is_wanted(decoded):
            return None
        response = decoded.document.response
        headers = response.headers
        page = extract_page(
            decoded.payload.body,
            headers.get("content-type"),
            response.url,
            robots_tag=headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            agent=self._agent,
            sign=self.near is not None,
        )
        if "refresh" in headers:
            add_refresh_header(page, headers["refresh"], response.url)
        return page

    async def extract_in_process(self, decoded: DecodedDocument) -> tuple[DecodedDocument, PageContent | None]:
        """The same in another process, for documents that could block the event loop. One that takes too long or too
        much memory, so that at most its beginning was parsed, gets the remark `parse_limit`."""
        if not self._is_page(decoded) or not self._is_wanted(decoded):
            return decoded, None
        response = decoded.document.response
        headers = response.headers
        page, whole = await self._large_pages.extract(
            decoded.payload.body,
            headers.get("content-type"),
            response.url,
            headers.get("x-robots-tag"),
            content_language=headers.get("content-language"),
            agent=self._agent,
            sign=self.near is not None,
        )
        if not whole:
            document = decoded.document
            decoded = decoded._replace(document=document._replace(remark=document.remark or TOO_LARGE_TO_READ))
        if page is not None and "refresh" in headers:
            add_refresh_header(page, headers["refresh"], response.url)
        return decoded, page

    @staticmethod
    def _is_page(decoded: DecodedDocument) -> bool:
        """HTML with a wrong Content-Encoding is parsed as it was received; with an unknown coding it is not parsed. An
        empty body is a page if a `Refresh` header leads on from it."""
        body = decoded.payload.body
        if decoded.payload.unknown_coding:
            return False
        headers = decoded.document.response.headers
        return is_html(headers.get("content-type"), body[:1024]) if body else "refresh" in headers

    def _is_wanted(self, decoded: DecodedDocument) -> bool:
        """Whether the content type is wanted, by the first bytes. The header was checked when it arrived."""
        kinds = self._hosts.for_host(decoded.document.visit.host).kinds
        if kinds.everything or decoded.document.visit.task.sitemap:
            return True
        return kinds.wants_document(decoded.document.response.headers, decoded.payload.body)

    def is_unchanged(self, decoded: DecodedDocument) -> bool:
        """Whether the document is the same as at the previous visit; then it need not be parsed."""
        before = decoded.document.visit.task.previous
        return before is not None and before.digest == decoded.digest and before.has_document

    def as_unchanged(self, decoded: DecodedDocument) -> ProcessedDocument:
        """The document has not changed: it is neither archived nor parsed."""
        document = decoded.document
        before = document.visit.task.previous
        assert before is not None and self._planner is not None
        capture = Capture(document.response, _wire_digest(decoded)) if self._settings.revisits else None
        kept = self._planner.settle_unchanged(document.visit, before, document.response, document.finished, capture)
        return ProcessedDocument(kept, [], None, Counter(), before)

    def as_duplicate(self, decoded: DecodedDocument, owner: int) -> ProcessedDocument:
        """The document is stored under another URL: it is neither archived nor parsed. Only a `Refresh` header is
        followed."""
        self._contents.learn(decoded.digest, owner)
        capture = Capture(decoded.document.response, _wire_digest(decoded)) if self._settings.revisits else None
        reason = self._soft_404(decoded, None, owner)
        settlement = self._settlement_of(decoded, UrlState.DUPLICATE, capture, None, owner, reason)
        excluded: Counter[str] = Counter()
        candidates: list[Candidate] = []
        links: PageLinks | None = None
        visit, response = decoded.document.visit, decoded.document.response
        if "refresh" in response.headers:  # the body may be the same where the header is not
            page = extract_page(b"", None, response.url, robots_tag=response.headers.get("x-robots-tag"))
            add_refresh_header(page, response.headers["refresh"], response.url)
            if not page.nofollow:
                candidates, links = self._admission.admit_links(visit, page, excluded, None)
        return ProcessedDocument(settlement, candidates, links, excluded, visit.task.previous)

    def _soft_404(self, decoded: DecodedDocument, title: str | None, same_as: int | None) -> str | None:
        visit, size = decoded.document.visit, len(decoded.payload.body)
        if self._soft is None or not self._soft.is_soft(visit.host_id, visit.task.url_id, title, size, same_as):
            return None
        return SOFT_404

    def as_new(self, decoded: DecodedDocument, page: PageContent | None) -> ProcessedDocument:
        """The document is new: it is archived and its links are admitted, unless its content type is not wanted, or it
        is a near-duplicate and those are skipped."""
        document, found, digest = decoded
        visit = document.visit
        task = visit.task
        url_id, before = task.url_id, task.previous
        if page is None and not self._is_wanted(decoded):  # a page was parsed because it is wanted
            settlement = self._settlement_of(decoded, UrlState.EXCLUDED, reason=UNWANTED_TYPE)
            return ProcessedDocument(settlement, [], None, Counter({UNWANTED_TYPE: 1}), before)
        near: Near | None = None
        if page is not None and page.signature is not None and self.near is not None:
            near = self.near.judge(url_id, page.signature)
        soft = None if page is None else self._soft_404(decoded, page.title, near and near.owner)
        if near is not None and self.near is not None and self.near.mode is NearMode.SKIP:
            left_out = self._settlement_of(
                decoded, UrlState.DUPLICATE, page=page, reason=soft or NEAR_DUPLICATE, near=near
            )
            return ProcessedDocument(left_out, [], None, Counter(), before)
        self._contents.learn(digest, url_id)
        excluded: Counter[str] = Counter()
        candidates: list[Candidate] = []
        links: PageLinks | None = None
        outlinks: list[Url] | None = [] if self._settings.outlinks and page is not None else None
        if page is not None and not page.nofollow:
            candidates, links = self._admission.admit_links(visit, page, excluded, outlinks)
        elif page is not None and outlinks is not None:
            outlinks += self._admission.all_targets(visit, page)
        response, cut = document.response, found.truncated
        if cut is not response.truncated:  # all was received, but not all was decoded
            response = response._replace(truncated=cut)
        capture = self._capture(response, _wire_digest(decoded), outlinks)
        too_long = self._admission.find_long_links(visit, page) if page is not None and TOO_LONG in excluded else ()
        refused = mask_of(excluded)
        settlement = self._settlement_of(decoded, _STORED, capture, page, None, soft, near, too_long, refused)
        return ProcessedDocument(settlement, candidates, links, excluded, before)

    def _canonical(self, response: Response, page: PageContent | None) -> Url | None:
        """The canonical URL that a document declares, if it differs from its own. The page has precedence over the
        header."""
        if page is not None and page.canonical is not None:
            return self._admission.declared_canonical(response.url, page)
        said = canonical_in_header(response.headers["link"])
        found = None if said is None else self._admission.canonical(said, response.url)
        return found.url if isinstance(found, Canonical) and found.url != response.url else None

    def _settlement_of(
        self,
        decoded: DecodedDocument,
        state: UrlState,
        capture: Capture | None = None,
        page: PageContent | None = None,
        duplicate_of: int | None = None,
        reason: str | None = None,
        near: Near | None = None,
        long_links: tuple[LongLink, ...] = (),
        refused: int = 0,
    ) -> Settlement:
        document, found, digest = decoded
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
            refused=refused,
            planned_gap=planned.gap,
            rate_shape=planned.rate_shape,
            rate_span=planned.rate_span,
            noise=planned.noise,
        )


def _wire_digest(decoded: DecodedDocument) -> bytes:
    """The digest of the body as received; without a content coding that is the digest of the document."""
    wire_body = decoded.document.response.wire_body
    return decoded.digest if wire_body is decoded.payload.body else payload_digest(wire_body)


def _mime(content_type: str | None) -> str | None:
    return None if content_type is None else content_type.partition(";")[0].strip().lower()[:127]


def _validator(value: str | None) -> str | None:
    return value if value is not None and len(value) <= MAX_VALIDATOR_CHARS else None
