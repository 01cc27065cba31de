"""The result of one visit, as it is committed."""

from typing import Final, NamedTuple

from gossamer.model.formats import LongLink
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

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
    refused: int = 0  # why links were refused (`model.refusals`)
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
