"""A fetched document on its way to its settlement, and the settlement: the result of one visit, as it is committed."""

from collections import Counter
from collections.abc import Iterable
from typing import Final, NamedTuple

from gossamer.model.formats import LongLink
from gossamer.model.outcome import Response
from gossamer.model.states import NEAR_DUPLICATE, UrlState
from gossamer.model.task import Candidate, PreviousVisit, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

REFUSAL_BITS: Final = {
    "out_of_scope": 1,
    "excluded_domain": 2,
    "depth_limit": 4,
    "url_too_long": 8,
    "extension": 16,
    "pattern": 32,
    "bad_scheme": 64,
    "trap_limit": 128,
    "trap:repeats": 256,
}
"""The reasons that other rules may lift. The bits are stored; never reuse one."""


def mask_of(reasons: Iterable[str]) -> int:
    """The bits of these reasons. Reasons that no rule lifts have none."""
    mask = 0
    for reason in reasons:
        mask |= REFUSAL_BITS.get(reason, 0)
    return mask


MAX_VALIDATOR_CHARS: Final = 512
"""Longer ETag and Last-Modified values are not stored."""


class Original(NamedTuple):
    """The capture that holds the document which a duplicate repeats."""

    url: Url
    captured_at: Instant  # time of the request: the date of its record
    payload_digest: bytes


class Capture(NamedTuple):
    """A document to be archived; with an `original`, a revisit record for a duplicate of it."""

    response: Response
    payload_digest: bytes  # SHA-1 of the body as received, including transfer coding
    records: tuple[bytes, ...] | None = None  # serialised, the response first, if already built
    original: Original | None = None  # for a duplicate, looked up at the commit


class Settlement(NamedTuple):
    """The outcome of one visit to a URL."""

    host_id: HostId
    url_id: int
    front: int
    state: UrlState
    at: Instant
    tries: int = 0
    available_at: Instant | None = None  # QUEUED: the next try; otherwise the next visit, if any
    reason: str | None = None
    detail: str | None = None  # shown to users
    status: int | None = None
    size: int | None = None
    took: float | None = None
    mime: str | None = None
    digest: bytes | None = None  # SHA-1 of the decoded document: what the content-seen test compares
    title: str | None = None
    etag: str | None = None
    last_modified: str | None = None
    duplicate_of: int | None = None
    redirect_to: str | None = None
    capture: Capture | None = None
    previous_state: UrlState = UrlState.QUEUED
    truncated: str | None = None  # why the document is incomplete, as in WARC-Truncated
    unverified: bool = False  # https without certificate verification
    replaced: int = 0  # characters that were invalid in the page's encoding
    deep_links: int = 0  # links nested deeper than the parser goes
    long_links: tuple[LongLink, ...] = ()  # the first of the overlong links
    signature: bytes | None = None  # of the page's text, for near-duplicate detection
    near_duplicate_of: int | None = None  # the original, if it is a near-duplicate ...
    distance: int | None = None  # ... and the number of bytes in which the signatures differ
    language: str | None = None  # as the page declares it
    canonical: str | None = None  # rel=canonical, if it is another URL
    refused: int = 0  # why links were refused (`model.settlement`)
    planned_gap: float | None = None  # seconds until the next visit
    rate_shape: float | None = None  # the two numbers of the recrawl policy (`recrawl.policy.Memory`)
    rate_span: float | None = None
    kept: bool = False  # unchanged: the stored result of the previous visit stays, except its date
    noise: bool = False  # only clocks, tokens or advertisements differ: not counted as a change


class PageLinks(NamedTuple):
    """The links of a fetched page, or the target of a redirect: each target once, without the page itself."""

    url_id: int
    domain_id: int
    fingerprints: list[Fingerprint]
    hosts: list[HostKey]  # of the targets, in the same order


_DUPLICATE = UrlState.DUPLICATE  # looking up an enum member costs as much as a call


class Document(NamedTuple):
    """A response that contains a document, waiting to be processed."""

    visit: Visit
    response: Response
    finished: Instant
    remark: str | None = None  # the reason, if the document is incomplete


class ProcessedDocument(NamedTuple):
    """The result of processing a document."""

    settlement: Settlement
    candidates: list[Candidate]
    links: PageLinks | None
    excluded: Counter[str]
    previous: PreviousVisit | None = None  # None: first visit

    def counters(self) -> list[tuple[str, int]]:
        """Counter increments for this document."""
        counters = [("excluded:" + reason, n) for reason, n in self.excluded.items()]
        settlement = self.settlement
        if settlement.kept:
            return [("unchanged", 1)]
        if settlement.noise:
            counters.append(("unchanged", 1))
        elif self.previous is not None and self.previous.has_document:
            counters.append(("changed", 1))
        if settlement.near_duplicate_of is not None:
            counters.append(("near_duplicates", 1))
        elif settlement.state is _DUPLICATE:
            counters.append(("duplicates", 1))
        reason = settlement.reason
        if reason is not None and reason != NEAR_DUPLICATE and settlement.state is not UrlState.EXCLUDED:
            counters.append(("error:" + reason, 1))
        return counters
