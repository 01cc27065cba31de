"""The sections of gossamer.toml, with their defaults, limits and descriptions. `load` joins them into a `Config`."""

import math
import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Annotated, Literal

import msgspec

from gossamer.frontier.orderings.mercator import DEFAULT_BOUNDS
from gossamer.model.partition import MOST_PARTITIONS


@cache
def trusted_by_default() -> tuple[str, ...]:
    lines = files("gossamer.config").joinpath("trusted_domains.txt").read_text(encoding="ascii").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all sections: immutable; unknown keys are rejected. docs/REFERENCE.md is generated from them."""


def about(description: str) -> msgspec.Meta:
    """The description of a key, for the reference."""
    return msgspec.Meta(description=description)


def at_least(section: object, least: float, *names: str) -> None:
    """Raise ValueError for the first of these keys whose value is less than `least`, or not a number."""
    for name in names:
        value = getattr(section, name)
        if value is not None and not (least <= value < math.inf):
            raise ValueError(f"{name} must be a number of at least {least:g}, not {value}")


class TrapsSection(Section, frozen=True, kw_only=True):
    """Crawler traps: when to stop following URLs of one kind."""

    cut: Annotated[bool, about("stop following URLs that look like a trap")] = True
    patience: Annotated[int, about("pages of the same URL shape without new content before the shape is cut")] = 150

    def __post_init__(self) -> None:
        at_least(self, 1, "patience")


class FrontierSection(Section, frozen=True, kw_only=True):
    """The frontier: its working set in memory, and the shares of the priority classes."""

    max_hosts: Annotated[int, about("hosts with a back queue in memory; further hosts wait in the database")] = 10_000
    shares: Annotated[
        tuple[float, ...],
        about("visits of the groups high, medium and low of `mercator`; the last group has all classes below"),
    ] = (60, 30, 10)
    shares_under_load: Annotated[tuple[float, ...], about("the same under high load")] = (80, 15, 5)

    def __post_init__(self) -> None:
        at_least(self, 1, "max_hosts")
        for name in ("shares", "shares_under_load"):
            shares = getattr(self, name)
            if not shares or not all(0 < share < math.inf for share in shares):
                raise ValueError(f"{name} must be positive numbers, one for each group of classes, not {list(shares)}")
        if len(self.shares_under_load) != len(self.shares):
            raise ValueError(f"shares_under_load must have as many values as shares: {len(self.shares)}")


class WeightsSection(Section, frozen=True, kw_only=True):
    """Weight of each term in the score of a URL. Scores are on a log2 scale: +1 corresponds to doubling the link sum. 0
    disables a term."""

    importance: Annotated[float, about("links from fetched pages, each in equal parts of its page's links")] = 1.0
    links: Annotated[float, about("number of pages that link to it")] = 0.0
    links_from_others: Annotated[float, about("number of pages of other domains that link to it")] = 0.0
    steps: Annotated[float, about("links followed since its host was entered")] = 1.0
    ordinal: Annotated[float, about("URLs of its host that were known before it")] = 0.1
    nesting: Annotated[float, about("levels of the path")] = 1.0
    depth: Annotated[float, about("links followed from a seed")] = 0.0
    page_type: Annotated[float, about("home page, index, article or asset, judged by the URL")] = 0.5
    trusted: Annotated[float, about("its host is trusted; no effect while `trusted` is empty")] = 2.0
    freshness: Annotated[float, about("age of the last known modification; no effect while unknown")] = 0.5
    change: Annotated[float, about("how often it was found changed; no effect before the second visit")] = 0.5
    sitemap: Annotated[float, about("`<priority>` in a sitemap; no effect without one")] = 1.0
    unseen: Annotated[float, about("`best-first`: share of the host's URLs not fetched yet")] = 0.5
    subdomains: Annotated[float, about("`best-first`: hosts of its domain that were known before its own")] = 0.1

    def __post_init__(self) -> None:
        at_least(self, 0, *self.__struct_fields__)

    @property
    def by_signal(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


_TRUSTED = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|[a-z0-9_-]+\.\*", re.IGNORECASE)


class PriorityRuleSection(Section, frozen=True, kw_only=True):
    """A fixed class for some URLs, under every ordering, regardless of their score. A rule applies if all of `host` and
    `pattern` that are given match; the first rule that applies is used. On SIGHUP the rules are read again and applied
    to queued URLs too."""

    host: Annotated[str | None, about("a host, or `*.example.org` for a domain and its subdomains")] = None
    pattern: Annotated[str | None, about("a pattern of the URL; `*` is any text")] = None
    class_: Annotated[
        str,
        about("`high`, `medium` or `low`. By score: ahead of all other URLs, in order of score, or behind all others"),
    ] = msgspec.field(name="class", default="")

    def __post_init__(self) -> None:
        if self.class_ not in ("high", "medium", "low"):
            raise ValueError(f"class must be 'high', 'medium' or 'low', not {self.class_!r}")
        if self.host is None and self.pattern is None:
            raise ValueError("host must be given, or pattern")
        if self.host is not None and not _RULE_HOST.fullmatch(self.host):
            raise ValueError(f"host must be a name like 'example.org' or '*.example.org', not {self.host!r}")


_RULE_HOST = re.compile(r"(\*\.)?[a-z0-9_.-]+|\[[0-9a-f:.]+\]")


class PrioritySection(Section, frozen=True, kw_only=True):
    """How the orderings `mercator` and `best-first` score URLs, and how `mercator` assigns them to classes."""

    trusted: Annotated[
        tuple[str, ...],
        about("trusted domains, and patterns such as `*.gov` or `news.*`, instead of the built-in list; `[]` for none"),
    ] = trusted_by_default()
    bounds: Annotated[
        tuple[float, ...], about("lowest score of each class except the last, highest first; at least two")
    ] = DEFAULT_BOUNDS
    weights: WeightsSection = WeightsSection()
    rules: Annotated[tuple[PriorityRuleSection, ...], about("see below")] = ()

    def __post_init__(self) -> None:
        for pattern in self.trusted:
            if not _TRUSTED.fullmatch(pattern):
                raise ValueError(f"trusted must be domains and patterns like '*.gov' or 'news.*', not {pattern!r}")
        if not all(higher > lower for higher, lower in pairwise((math.inf, *self.bounds, -math.inf))):
            raise ValueError(f"bounds must be numbers in descending order, not {list(self.bounds)}")
        if not any(self.weights.by_signal.values()):
            raise ValueError("weights must not all be 0")


class SearchSection(Section, frozen=True, kw_only=True):
    """Seeds from a search engine (`--query`)."""

    provider: Annotated[str, about("the search engine: `duckduckgo`, or that of an installed package")] = "duckduckgo"
    base: Annotated[str | None, about("URL of its result page, for another server. Default: the engine's own")] = None
    queries: Annotated[tuple[str, ...], about("as `--query`")] = ()


class ArchiveSection(Section, frozen=True, kw_only=True):
    """WARC files."""

    warc_rotate_bytes: Annotated[int, about("start a new file at this size")] = 1_000_000_000
    revisits: Annotated[bool, about("write a revisit record for every duplicate")] = True
    outlinks: Annotated[bool, about("write a record of its links for every page")] = False

    def __post_init__(self) -> None:
        at_least(self, 10_000, "warc_rotate_bytes")


class CacheSection(Section, frozen=True, kw_only=True):
    """A Redis that caches what is known, and announces documents to other programs. The crawl does without it while it
    is away."""

    url: Annotated[
        str | None,
        about(
            "as `--cache`: `redis://HOST:PORT/DB`, `rediss://` with TLS, or `redis+sentinel://S1,S2,S3/NAME`; of "
            "several separated by commas, the first that answers is used"
        ),
    ] = None
    timeout: Annotated[float, about("seconds to wait for an answer")] = 0.05
    documents: Annotated[int, about("documents to keep in the stream of announcements; 0: announce none")] = 0
    text: Annotated[bool, about("announce the main text of pages too")] = False

    def __post_init__(self) -> None:
        at_least(self, 0.001, "timeout")
        at_least(self, 0, "documents")


class ObjectsSection(Section, frozen=True, kw_only=True):
    """An archive in object storage (`--blobs s3://BUCKET/PREFIX`)."""

    linger: Annotated[
        float, about("seconds for which captures are gathered into one object; longer for a slow crawl")
    ] = 1.0
    spool_bytes: Annotated[
        int, about("room for captures on disk while the storage is away; from 80 % on, fetching slows down")
    ] = 10_000_000_000

    def __post_init__(self) -> None:
        at_least(self, 0.01, "linger")
        at_least(self, 100_000, "spool_bytes")


class ContentSection(Section, frozen=True, kw_only=True):
    """Texts and duplicate content."""

    text: Annotated[
        Literal["fast", "trafilatura"],
        about("extractor of the main text of a page: `trafilatura` is better and 20 times slower (extra `text`)"),
    ] = "fast"
    near_duplicates: Annotated[
        Literal["mark", "skip", "off"],
        about("near-duplicates: store and mark them, skip them and their links, or do not look for them"),
    ] = "mark"


class SitemapsSection(Section, frozen=True, kw_only=True):
    """Sitemaps as sources of URLs."""

    enabled: Annotated[bool, about("visit the sitemaps that robots.txt names")] = True
    well_known: Annotated[bool, about("try `/sitemap.xml` on hosts whose robots.txt names no sitemap")] = True


class RecrawlRuleSection(Section, frozen=True, kw_only=True):
    """Recrawl intervals for some URLs. A rule applies if all of `host`, `pattern`, `mime` and `state` that are given
    match; the first rule that applies is used. Rules without a `state` do not apply to `not-found` and `gone`."""

    host: Annotated[str | None, about("a host, or `*.example.org` for a domain and its subdomains")] = None
    pattern: Annotated[str | None, about("a pattern of the URL; `*` is any text")] = None
    mime: Annotated[str | None, about("a MIME type, or `text/*`")] = None
    state: Annotated[
        Literal["page", "near-duplicate", "not-found", "gone", "moved", "elsewhere"] | None,
        about("what the last visit found: `moved` is a permanent redirect, `elsewhere` any other"),
    ] = None
    interval: Annotated[float | None, about("seconds until the next visit, instead of the policy's choice")] = None
    shortest: Annotated[float | None, about("as in `[recrawl]`")] = None
    longest: Annotated[float | None, about("as in `[recrawl]`")] = None
    never: Annotated[bool, about("do not visit again")] = False

    def __post_init__(self) -> None:
        at_least(self, 0.001, "interval", "shortest", "longest")
        if self.host is None and self.pattern is None and self.mime is None and self.state is None:
            raise ValueError("host must be given, or pattern, mime or state")


class RecrawlSection(Section, frozen=True, kw_only=True):
    """When pages are visited again. Times are in seconds."""

    policy: Annotated[
        str,
        about(
            "`adaptive`, `optimal`, `fixed`, `nutch-adaptive`, `stormcrawler-adaptive` or the name of a plugin; "
            "`auto` is `optimal` with a budget and `adaptive` without"
        ),
    ] = "auto"
    keep_fresh: Annotated[
        bool, about("keep running and visit pages again when they are due. Default for `serve`: true")
    ] = False
    interval: Annotated[float, about("default interval, used while nothing is known about a page")] = 1_209_600.0
    shortest: Annotated[float, about("shortest interval")] = 300.0
    longest: Annotated[float, about("longest interval")] = 31_536_000.0
    budget: Annotated[float | None, about("visits per day to URLs visited before. Default: no limit")] = None
    discovery_share: Annotated[float, about("least share of visits for new URLs, while any are queued")] = 0.1
    refresh_share: Annotated[float, about("least share of visits for known URLs, while any are due")] = 0.1
    rules: Annotated[tuple[RecrawlRuleSection, ...], about("see below")] = ()

    def __post_init__(self) -> None:
        at_least(self, 0.001, "interval", "shortest", "longest", "budget")
        at_least(self, 0, "discovery_share", "refresh_share")
        if self.shortest > self.longest:
            raise ValueError(f"shortest must be no longer than longest, {self.longest:g}, not {self.shortest:g}")
        if self.discovery_share + self.refresh_share > 1:
            raise ValueError("discovery_share must not exceed 1 together with refresh_share")


class LogSection(Section, frozen=True, kw_only=True):
    """The event log, `crawl.log`, and the page log."""

    pages: Annotated[str | None, about("as `--log-pages`: a file, or `-` for standard output")] = None
    rotate_bytes: Annotated[int, about("rotate the event log at this size")] = 10_000_000
    keep: Annotated[int, about("rotated files to keep")] = 3

    def __post_init__(self) -> None:
        at_least(self, 10_000, "rotate_bytes")
        at_least(self, 0, "keep")
        if self.pages == "":
            raise ValueError("pages must be the name of a file, or '-' for standard output, not ''")


class ClusterSection(Section, frozen=True, kw_only=True):
    """How workers share a crawl."""

    ttl: Annotated[
        float,
        about(
            "seconds without an answer from the server after which a worker contacts no host. All workers use that of "
            "the first; it changes when a crawl starts while none is alive"
        ),
    ] = 10.0
    partitions: Annotated[
        int | None, about("groups of domains that are shared among workers, fixed for a crawl. Default: 256")
    ] = None

    def __post_init__(self) -> None:
        at_least(self, 0.5, "ttl")
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            raise ValueError(f"partitions must be from 1 to {MOST_PARTITIONS}, not {self.partitions}")


class ServiceSection(Section, frozen=True, kw_only=True):
    """The admin API of `gossamer serve`."""

    host: Annotated[str, about("address to bind to")] = "127.0.0.1"
    port: Annotated[int, about("port to bind to; 0 for any free port")] = 8470
    names: Annotated[
        tuple[str, ...], about("host names accepted in requests, in addition to the address and localhost")
    ] = ()
    https: Annotated[
        bool, about("browsers use HTTPS, through a reverse proxy: the session cookie is marked `Secure`")
    ] = False
    metrics_listen: Annotated[
        str | None,
        about(
            "address and port for `/metrics` and `/healthz` alone, without token, such as `0.0.0.0:9470`; not set: none"
        ),
    ] = None
    max_body_bytes: Annotated[int, about("limit for a request body, except for streamed seeds")] = 16 * 1024 * 1024

    def __post_init__(self) -> None:
        at_least(self, 0, "port")
        at_least(self, 1024, "max_body_bytes")
        if self.port > 65_535:
            raise ValueError(f"port must be at most 65535, not {self.port}")
        _ = self.metrics_address

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of `metrics_listen`. Raises ValueError."""
        if self.metrics_listen is None:
            return None
        host, _, port = self.metrics_listen.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise ValueError(f"metrics_listen must be ADDRESS:PORT, such as 0.0.0.0:9470, not {self.metrics_listen!r}")
        return host, int(port)


class FilterSection(Section, frozen=True, kw_only=True):
    """Which URLs may enter the crawl."""

    exclude_domains: Annotated[tuple[str, ...], about("domains not to crawl, with all their subdomains")] = ()
    include: Annotated[tuple[str, ...], about("if given, a URL must match one of these patterns; `*` is any text")] = ()
    exclude: Annotated[tuple[str, ...], about("a URL must match none of these patterns")] = ()
    exclude_extensions: Annotated[
        tuple[str, ...] | None,
        about("file extensions not to fetch. Default: archives, audio, video, images, fonts and style sheets"),
    ] = None
    max_url_bytes: Annotated[int, about("longer URLs are excluded")] = 2083
    drop_query: Annotated[bool, about("remove the whole query from every URL")] = False
    minimise: Annotated[
        bool, about("treat URLs that differ only in http/https, `www.` or a trailing slash as the same URL")
    ] = False

    def __post_init__(self) -> None:
        at_least(self, 16, "max_url_bytes")


class IdentitySection(Section, frozen=True, kw_only=True):
    """When two URLs count as the same.

    `"ignore"` compares URLs without the parts in question but fetches each URL as it was found; of several URLs that
    are the same, the first one found is fetched. `"remove"` (`"sort"`) also changes the URL that is fetched. `"keep"`
    treats URLs that differ in them as different. Changing these keys, or `drop_query` and `minimise` of `[filter]`, in
    an existing crawl changes which URLs are the same, so some pages may be fetched again."""

    tracking: Annotated[
        Literal["ignore", "remove", "keep"], about("tracking parameters: `utm_*`, `gclid`, `fbclid` and similar")
    ] = "ignore"
    sessions: Annotated[
        Literal["ignore", "remove", "keep"], about("session ids: `;jsessionid=`, `PHPSESSID`, `sid` and similar")
    ] = "ignore"
    order: Annotated[Literal["ignore", "sort", "keep"], about("the order of parameters, and repeated ones")] = "ignore"
    parameters: Annotated[tuple[str, ...], about("names of further parameters to ignore; case does not matter")] = ()
    keep: Annotated[tuple[str, ...], about("names of parameters that always distinguish URLs")] = ()
    learn: Annotated[bool, about("learn for each host which parameters do not change the document")] = True


class FetchSection(Section, frozen=True, kw_only=True):
    """Requests: time limits, size limits and what is sent.

    `kinds` takes MIME types with `*` (`"text/*"`, `"*/*+xml"`) and the words `any`, `html`, `xhtml`, `feeds`,
    `sitemaps`, `text`, `xml`, `json`, `pdf`, `documents`, `images`, `audio`, `video`, `fonts` and `archives`."""

    connect_timeout: Annotated[float, about("seconds to establish a connection")] = 10.0
    head_timeout: Annotated[float, about("seconds from the request to the end of the response headers")] = 20.0
    idle_timeout: Annotated[float, about("seconds without a byte of the body")] = 20.0
    total_timeout: Annotated[float, about("seconds for the whole exchange")] = 120.0
    max_body_bytes: Annotated[int, about("longer bodies are cut off and stored as truncated")] = 10 * 1024 * 1024
    max_redirects: Annotated[int, about("length of the longest chain of redirects that is followed")] = 10
    ftp: Annotated[bool, about("crawl `ftp:` URLs too: files, and directories as pages of links")] = False
    kinds: Annotated[tuple[str, ...], about('kinds of documents to download; `["any"]` for all')] = (
        *("html", "xhtml", "text/plain", "xml", "feeds", "sitemaps", "pdf"),
    )
    headers: Annotated[dict[str, str], about("header fields added to every request")] = msgspec.field(
        default_factory=dict
    )
    accept_language: Annotated[str | None, about("the `Accept-Language` header of every request")] = None
    proxy: Annotated[
        str | None,
        about("`http://host:port`, or with `https:` or `socks5h:`; the proxy resolves host names. Without credentials"),
    ] = None
    proxy_env: Annotated[
        str | None, about("instead of `proxy`: the environment variable that holds its URL, credentials included")
    ] = None
    http2: Annotated[bool, about("use HTTP/2 where the host offers it")] = True
    verify: Annotated[bool, about("verify TLS certificates")] = True
    ca_bundle: Annotated[str | None, about("PEM file of trusted root certificates. Default: the system's")] = None

    def __post_init__(self) -> None:
        _one_proxy(self)
        at_least(self, 0.001, "connect_timeout", "head_timeout", "idle_timeout", "total_timeout")
        at_least(self, 1, "max_body_bytes")
        at_least(self, 0, "max_redirects")


class HostSection(Section, frozen=True, kw_only=True):
    """Settings for one host, or with `[host."*.example.org"]` for all subdomains of a domain.

    If several sections match a host, only the most specific one applies. Absent keys have the crawl's value."""

    delay: Annotated[float | None, about("seconds between requests, in place of the crawl's `delay`")] = None
    headers: Annotated[dict[str, str], about("header fields added to those of `[fetch]`, or replacing them")] = (
        msgspec.field(default_factory=dict)
    )
    auth: Annotated[str | None, about('authentication: `"basic"` or `"bearer"`; needs `auth_env`')] = None
    auth_env: Annotated[str | None, about("environment variable that holds `user:password`, or the token")] = None
    origin: Annotated[
        str | None,
        about(
            "the only origin to which `headers` and `auth` are sent, such as `http://NAME:8080`. "
            "Default: `https://NAME`, at the standard port"
        ),
    ] = None
    verify: Annotated[bool | None, about("as in `[fetch]`")] = None
    http2: Annotated[bool | None, about("as in `[fetch]`")] = None
    proxy: Annotated[str | None, about('as in `[fetch]`; `""` for no proxy')] = None
    proxy_env: Annotated[str | None, about("as in `[fetch]`")] = None
    include: Annotated[tuple[str, ...], about("as in `[filter]`, in addition to it")] = ()
    exclude: Annotated[tuple[str, ...], about("as in `[filter]`, in addition to it")] = ()
    kinds: Annotated[tuple[str, ...] | None, about("as in `[fetch]`")] = None
    trap: Annotated[bool | None, about("`false`: exempt this host from trap detection")] = None

    def __post_init__(self) -> None:
        at_least(self, 0, "delay")
        _one_proxy(self)
        if self.auth not in (None, "basic", "bearer"):
            raise ValueError(f"auth must be basic or bearer, not {self.auth!r}")
        if (self.auth is None) != (self.auth_env is None):
            raise ValueError("auth_env must be given together with auth: it names the variable with the credentials")
        if self.origin is not None and not self.headers and self.auth is None:
            raise ValueError("origin must be given together with headers or auth: it says where to send them")


def _one_proxy(section: "FetchSection | HostSection") -> None:
    if section.proxy is not None and section.proxy_env is not None:
        raise ValueError("proxy_env must not be given together with proxy")
    if section.proxy is not None and "@" in section.proxy:
        raise ValueError(
            "proxy must not contain credentials; put the whole URL into a variable and name it in proxy_env"
        )


class PolitenessSection(Section, frozen=True, kw_only=True):
    """Limits on politeness, in addition to `delay` and `delay_factor`."""

    per: Annotated[
        Literal["host", "domain"],
        about("`domain`: all hosts of a registrable domain share one delay, and one of them is visited at a time"),
    ] = "host"
    max_adaptive_delay: Annotated[float, about("seconds; upper limit of `delay_factor` times the fetch time")] = 30.0
    max_crawl_delay: Annotated[float, about("seconds; a host with a longer Crawl-delay is not crawled")] = 3600.0
    max_retry_after: Annotated[float, about("seconds; upper limit of a Retry-After")] = 86_400.0
    max_per_domain: Annotated[int | None, about("page requests per registrable domain. Default: no limit")] = None

    def __post_init__(self) -> None:
        at_least(self, 0, "max_adaptive_delay", "max_crawl_delay", "max_retry_after")
        at_least(self, 1, "max_per_domain")


class RetrySection(Section, frozen=True, kw_only=True):
    """Retries of failed requests."""

    max_tries: Annotated[int, about("failed visits before a URL becomes a dead letter")] = 3
    delay: Annotated[float, about("seconds after the first failure; doubles with each, up to an hour")] = 10.0
    missing_delay: Annotated[
        float, about("seconds until a URL that answered 4xx is tried again, by this run or a later one")
    ] = 86_400.0

    def __post_init__(self) -> None:
        at_least(self, 1, "max_tries")
        at_least(self, 0.01, "delay", "missing_delay")
