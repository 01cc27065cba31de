"""The result of one visit, as it is committed."""

from typing import Final, NamedTuple

from gossamer.model.formats import LongLink
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Url

MAX_VALIDATOR_CHARS: Final = 512
"""Longer ETag and Last-Modified values are not stored."""


class Original(NamedTuple):
    """The capture that holds the document which another one came to again."""

    url: Url
    captured_at: Instant  # when it was asked for: the date of its record
    payload_digest: bytes


class Capture(NamedTuple):
    """A document to be archived; with an `original`, that it was found to be the same."""

    response: Response
    payload_digest: bytes  # SHA-1 of the body as it was received, transfer coding and all
    records: tuple[bytes, ...] | None = None  # the answer first, as they go into the file, if built already
    original: Original | None = None  # of a duplicate it is found when it is committed


class Settlement(NamedTuple):
    """What became of one visit to a URL."""

    host_id: HostId
    url_id: int
    front: int
    state: UrlState
    at: Instant
    tries: int = 0
    available_at: Instant | None = None  # QUEUED: the next try; otherwise the next visit, if any
    reason: str | None = None
    detail: str | None = None  # for people
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
    truncated: str | None = None  # why the document is a beginning only, in the words of WARC-Truncated
    unverified: bool = False  # nobody checked the certificate
    replaced: int = 0  # characters that are none in the page's encoding
    deep_links: int = 0  # nested deeper than a page is read
    long_links: tuple[LongLink, ...] = ()  # the first of those that were too long
    signature: bytes | None = None  # of the page's text: what near-duplicates are found by
    near_duplicate_of: int | None = None  # the original, if it is none itself, and ...
    distance: int | None = None  # ... the bytes in which the two signatures differ
    language: str | None = None  # as the page declares it
    canonical: str | None = None  # the address that the page says it should have, where that is another
    planned_gap: float | None = None  # seconds until the next visit
    rate_shape: float | None = None  # what the recrawl policy writes down (`recrawl.policy.Memory`)
    rate_span: float | None = None
    kept: bool = False  # nothing has changed: what is on record of the last visit stays, but for its date
    noise: bool = False  # another document than before, but not to a reader: it does not count as changed


class PageLinks(NamedTuple):
    """The links of a fetched page, or the target of a redirect: each target once, the page itself not among them."""

    url_id: int
    domain_id: int
    fingerprints: list[Fingerprint]
    hosts: list[HostKey]  # of the targets, in the same order
