"""The states of a URL and their transitions; reasons why a URL was not stored. docs/OPERATING.md lists the same
reasons."""

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import Final


class UrlState(IntEnum):
    """The state of a URL. The numbers are stored; never reuse one.

    QUEUED is the only state in which the crawl still owes the URL a visit. The others may have a date for the next
    visit, which is a matter of recrawling, not of finishing the crawl.
    """

    QUEUED = 0
    STORED = 1  # a document is in a WARC file
    DUPLICATE = 2  # fetched; the same content is stored under another URL
    REDIRECT = 3  # redirects to another URL, which was offered to the frontier
    MISSING = 4  # a 4xx; tried again after a long delay
    GONE = 5  # missing repeatedly, or 410: not tried again
    EXCLUDED = 6  # a rule forbids it (robots.txt, a cap, a scope that was changed)
    DEAD = 7  # tries used up: a dead letter, for the operator to handle

    @cached_property
    def word(self) -> str:
        return self.name.lower()

    @cached_property
    def counter(self) -> str:
        """Name of the counter of URLs in this state."""
        return f"state:{self.word}"


TRANSITIONS: dict[UrlState, frozenset[UrlState]] = {
    # A visit can end in any state; a retry leaves the URL queued with a later date.
    UrlState.QUEUED: frozenset(UrlState),
    # A recrawl is a visit too and can end differently.
    UrlState.STORED: frozenset(UrlState),
    UrlState.DUPLICATE: frozenset(UrlState),
    UrlState.REDIRECT: frozenset(UrlState),
    UrlState.MISSING: frozenset(UrlState),
    UrlState.GONE: frozenset({UrlState.QUEUED}),
    # Requeued by the operator, or when a rule is lifted.
    UrlState.EXCLUDED: frozenset({UrlState.QUEUED}),
    UrlState.DEAD: frozenset({UrlState.QUEUED, UrlState.EXCLUDED}),
}


def may_follow(old: UrlState, new: UrlState) -> bool:
    """Whether a URL in state `old` may be moved to `new`."""
    return new in TRANSITIONS[old]


MEANINGS: Final[Mapping[str, str]] = {
    "dns_nxdomain": "the name does not exist",
    "dns_servfail": "the name server failed",
    "dns_timeout": "the name server did not answer",
    "dns_no_address": "the name exists but has no address",
    "dns_cname_loop": "its aliases form a loop or a chain of more than 16 names",
    "blocked_address": "the address is private, loopback or otherwise not permitted (`--allow-private`)",
    "blocked_port": "blocked port: used by a service other than the web",
    "proxy_failed": "a proxy could not be used; only counted while its hosts wait for it, see `proxy_failing`",
    "conn_refused": "the connection was refused",
    "connect_timeout": "no connection within `fetch.connect_timeout`",
    "connection_lost": "the connection was lost before a response",
    "tls_expired": "the certificate has expired",
    "tls_untrusted": "the certificate is not signed by a trusted CA",
    "tls_name_mismatch": "the certificate is for a different name",
    "tls_handshake_timeout": "no TLS handshake within 10 seconds",
    "tls_protocol": "other TLS failure",
    "bad_status_line": "the response does not begin with a status line of HTTP/1.0, HTTP/1.1 or HTTP/2",
    "bad_header": "a malformed or ambiguous header",
    "header_too_large": "the headers are too large",
    "conflicting_length": "conflicting lengths for one body",
    "bad_chunk": "malformed chunked transfer coding",
    "incomplete_body": "fewer bytes than announced, or a part of the document (206) that was not requested",
    "read_timeout": "no data for `fetch.head_timeout` or `fetch.idle_timeout`",
    "total_timeout": "not finished within `fetch.total_timeout`",
    "too_slow": "less than 256 bytes per second",
    "bad_encoding": "malformed content coding",
    "unexpected_1xx": "more than 20 informational responses before the final one, or a switch of protocols",
    "protocol_error": "other HTTP failure",
    "bad_xml": "a sitemap or feed that is malformed, truncated, or declares entities that expand excessively; it is "
    "stored, and used as far as it could be read",
    "not_a_sitemap": "named as a sitemap, but is something else; it is stored",
    "parse_limit": "a sitemap or feed that exceeds a limit (the part within the limit is used), or a page that takes "
    "too long to parse (its links are not known) or too much memory (the links in its beginning are used); it is "
    "stored",
    "server_error": "5xx, 408 or 425; retried",
    "rate_limited": "429; retried when the host permits, dead after ten in a row",
    "near_duplicate": 'almost the same as another page, and skipped because of `content.near_duplicates = "skip"`',
    "soft_404": "an error page with a success status, or a redirect to the home page",
    "robots_denied": "disallowed by robots.txt",
    "robots_unreachable": "robots.txt could not be fetched, so the rules are unknown",
    "crawl_delay_too_long": "the Crawl-delay in robots.txt exceeds `politeness.max_crawl_delay`",
    "domain_limit": "`politeness.max_per_domain` was reached",
    "redirect_loop": "it redirects to itself",
    "redirect_no_location": "a redirect without a target",
    "redirect_bad_scheme": "a redirect to a scheme other than http(s)",
    "too_many_redirects": "a chain longer than `fetch.max_redirects`",
    "out_of_scope": "outside `--scope`",
    "excluded_domain": "in `filter.exclude_domains`",
    "depth_limit": "further from a seed than `--max-depth`",
    "url_too_long": "longer than `filter.max_url_bytes`",
    "extension": "an extension in `filter.exclude_extensions`",
    "pattern": "matches `filter.exclude`, or does not match `filter.include`",
    "sitemap_limit": "exceeds a limit for sitemaps, or an entry of a sitemap without a URL",
    "unwanted_type": "a document type that is not in `fetch.kinds`",
    "trap_limit": "too many path segments or parameters",
    "trap:repeats": "the URL repeats itself",
    "trap:same": "pages of its shape are identical to others",
    "trap:alike": "pages of its shape resemble others",
    "trap:facets": "a list of the same items under new combinations of parameters",
    "trap:endless": "pages of its shape link only to new pages of that shape",
    "trap:hosts": "its domain has too many hosts without new content",
    "hook": "a user's hook excluded the link",
    "too_many_links": "after the first 5,000 links of a page",
    "bad_scheme": "not http or https (`mailto:`, `tel:`, `javascript:` …); `ftp:` unless `fetch.ftp` is set",
    "bad_url": "not a valid URL: no host, or an invalid one",
    "dropped": "dropped by an operator (`gossamer dead drop`)",
    "host_dropped": "its host was dropped through the service; requeued when the host is resumed",
}
"""Meanings of the reasons."""


def meaning_of(reason: str) -> str:
    """The meaning of a reason; the reason itself if it is not in the table."""
    return MEANINGS.get(reason, reason)


NEAR_DUPLICATE: Final = "near_duplicate"
"""The reason recorded when a near-duplicate is skipped."""
