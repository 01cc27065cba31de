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
    "dns_no_address": "the name exists and has no address",
    "dns_cname_loop": "its aliases lead in a circle, or through more than 16 names",
    "blocked_address": "the address is private, loopback or otherwise out of bounds (`--allow-private`)",
    "blocked_port": "a port of another service than the web",
    "proxy_failed": "a proxy could not be used; only counted while its hosts wait for it, see `proxy_failing`",
    "conn_refused": "the connection was refused",
    "connect_timeout": "no connection within `fetch.connect_timeout`",
    "connection_lost": "the connection broke before an answer",
    "tls_expired": "the certificate has expired",
    "tls_untrusted": "the certificate is not from a trusted authority",
    "tls_name_mismatch": "the certificate is for another name",
    "tls_handshake_timeout": "no handshake within 10 seconds",
    "tls_protocol": "TLS failed otherwise",
    "bad_status_line": "the answer does not begin like HTTP",
    "bad_header": "a header that cannot be read",
    "header_too_large": "headers without end",
    "conflicting_length": "two different lengths for one body",
    "bad_chunk": "broken transfer coding",
    "incomplete_body": "fewer bytes than announced",
    "read_timeout": "silence for `fetch.head_timeout` or `fetch.idle_timeout`",
    "total_timeout": "not done within `fetch.total_timeout`",
    "too_slow": "a trickle of less than 256 bytes a second",
    "bad_encoding": "broken content coding",
    "protocol_error": "HTTP failed otherwise",
    "bad_xml": "a sitemap or feed that is damaged, cut off, or declares entities that would blow up; it is stored, and "
    "read as far as it goes",
    "not_a_sitemap": "named as a sitemap, and something else; it is stored",
    "parse_limit": "a sitemap or feed beyond a limit, of which what is within the limit is used, or a "
    "page that takes too long to read, whose links are not known; it is stored",
    "server_error": "5xx, 408 or 425; tried again",
    "rate_limited": "429; tried again when the host says so, dead after ten in a row",
    "near_duplicate": 'almost the same as another page, and left out as `content.near_duplicates = "skip"` asks',
    "soft_404": "answered, or redirected to the home page, though the host has no such page",
    "robots_denied": "robots.txt forbids it",
    "robots_unreachable": "robots.txt could not be had, so the rules are unknown",
    "crawl_delay_too_long": "robots.txt asks for more than `politeness.max_crawl_delay`",
    "domain_limit": "`politeness.max_per_domain` is used up",
    "redirect_loop": "it redirects to itself",
    "redirect_no_location": "a redirect to nowhere",
    "redirect_bad_scheme": "a redirect to something else than http(s)",
    "too_many_redirects": "a chain longer than `fetch.max_redirects`",
    "out_of_scope": "not within `--scope`",
    "excluded_domain": "within `filter.exclude_domains`",
    "depth_limit": "more links from a seed than `--max-depth`",
    "url_too_long": "longer than `filter.max_url_bytes`",
    "extension": "an ending in `filter.exclude_extensions`",
    "pattern": "a pattern of `filter.exclude`, or none of `filter.include`",
    "sitemap_limit": "beyond a limit of sitemaps, or an entry of a sitemap without a URL",
    "unwanted_type": "a kind of document that is not among `fetch.kinds`",
    "trap_limit": "more path segments or parameters than any honest URL has",
    "trap:repeats": "a URL that repeats itself",
    "trap:same": "pages of its shape are the same as others",
    "trap:alike": "pages of its shape resemble others",
    "trap:facets": "a list of the same things under ever new sets of parameters",
    "trap:endless": "pages of its shape link to new ones of that shape only",
    "trap:hosts": "its domain has too many hosts that bring nothing",
    "hook": "a user's hook kept the link out",
    "too_many_links": "beyond the first 5,000 links of a page",
    "bad_scheme": "not http or https: mail, telephone, script …; `ftp:` unless `fetch.ftp` is set",
    "bad_url": "no URL: it names no host, or one that cannot be",
    "dropped": "given up by a person (`gossamer dead drop`)",
    "host_dropped": "its host was dropped through the service; it comes back when the host is resumed",
}
"""Reason -> what it means."""


def meaning_of(reason: str) -> str:
    """The meaning of a reason; the reason itself if it is not in the table."""
    return MEANINGS.get(reason, reason)


NEAR_DUPLICATE: Final = "near_duplicate"
"""The reason recorded when a near-duplicate is skipped."""
