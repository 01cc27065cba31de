"""Configuration: frozen, typed sections, read once.

Every option of `gossamer crawl` is a top-level key of gossamer.toml under the same name (`max-pages` or `max_pages`);
what is rarely changed stands in sections. The command line wins over the file. An unknown key, a wrong type or an
impossible value is refused by name.
"""

import math
import re
import tomllib
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from gossamer.errors import ConfigError, UsageError
from gossamer.sections import LogSection, RecrawlSection, Section, ServiceSection, SitemapsSection, at_least

T = TypeVar("T")


class FilterSection(Section, frozen=True, kw_only=True):
    """Which URLs may enter."""

    exclude_domains: tuple[str, ...] = ()
    include: tuple[str, ...] = ()  # glob patterns; if any are given a URL must match one
    exclude: tuple[str, ...] = ()
    exclude_extensions: tuple[str, ...] | None = None  # None: the built-in list
    max_url_bytes: int = 2083
    max_links_per_page: int = 5000
    drop_tracking: bool = False
    drop_sessions: bool = False
    drop_query: bool = False
    sort_query: bool = False
    minimise: bool = False  # http/https, www. and a trailing slash do not make two URLs of one

    def __post_init__(self) -> None:
        at_least(self, 16, "max_url_bytes")
        at_least(self, 1, "max_links_per_page")


class IdentitySection(Section, frozen=True, kw_only=True):
    """What makes no difference between two URLs. Addresses are asked for as they were found."""

    tracking: bool = True  # utm_... and their like
    sessions: bool = True
    order: bool = True  # of parameters
    parameters: tuple[str, ...] = ()  # more names that make none
    keep: tuple[str, ...] = ()  # names that always make one
    learn: bool = True  # on each host, from its documents, which parameters make none


class TrapsSection(Section, frozen=True, kw_only=True):
    """When to stop."""

    cut: bool = True
    patience: int = 150  # pages of one shape that bring nothing new
    hosts_per_domain: int = 500  # hosts of one domain that bring nothing new
    max_repeats: int = 3  # of the same segments or parameters within a URL

    def __post_init__(self) -> None:
        at_least(self, 1, "patience", "hosts_per_domain", "max_repeats")


class FetchSection(Section, frozen=True, kw_only=True):
    """How long and how much."""

    connect_timeout: float = 10.0
    tls_timeout: float = 10.0
    head_timeout: float = 20.0
    idle_timeout: float = 20.0
    total_timeout: float = 120.0
    robots_timeout: float = 20.0  # for a robots.txt, everything
    max_body_bytes: int = 10 * 1024 * 1024
    max_redirects: int = 10
    ftp: bool = False  # whether ftp: URLs may enter
    kinds: tuple[str, ...] = ()  # MIME types and words for them; none: everything
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    accept_language: str | None = None
    proxy: str | None = None
    proxy_env: str | None = None  # the variable that holds a proxy with its credentials
    http2: bool = True
    verify: bool = True
    ca_bundle: str | None = None  # a file of trusted roots; without it, the system's
    max_connections: int = 4000  # kept open for a host's next visit

    def __post_init__(self) -> None:
        _one_proxy(self)
        at_least(self, 0.001, "connect_timeout", "tls_timeout", "head_timeout", "idle_timeout", "total_timeout")
        at_least(self, 0.001, "robots_timeout")
        at_least(self, 1, "max_body_bytes", "max_connections")
        at_least(self, 0, "max_redirects")


class HostSection(Section, frozen=True, kw_only=True):
    """What is different for one host, or for all names below a domain. What is absent is as for every host."""

    delay: float | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)  # added to those of [fetch]
    auth: str | None = None
    auth_env: str | None = None  # the variable that holds user:password, or the token
    verify: bool | None = None
    http2: bool | None = None
    proxy: str | None = None  # "" for none
    proxy_env: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kinds: tuple[str, ...] | None = None
    trap: bool | None = None  # false: nothing of it is cut as a trap

    def __post_init__(self) -> None:
        at_least(self, 0, "delay")
        _one_proxy(self)
        if self.auth not in (None, "basic", "bearer"):
            raise ValueError(f"auth must be basic or bearer, not {self.auth!r}")
        if (self.auth is None) != (self.auth_env is None):
            raise ValueError("auth_env must be given together with auth: it names the variable with the credentials")


def _one_proxy(section: "FetchSection | HostSection") -> None:
    if section.proxy is not None and section.proxy_env is not None:
        raise ValueError("proxy_env must not be given together with proxy")
    if section.proxy is not None and "@" in section.proxy:
        raise ValueError("proxy must be without credentials; name a variable that holds all of it as proxy_env")


class PolitenessSection(Section, frozen=True, kw_only=True):
    """Beyond `delay` and `delay_factor`."""

    max_adaptive_delay: float = 30.0  # cap on delay_factor times the last fetch time
    max_crawl_delay: float = 3600.0  # a robots.txt that asks for more closes the host
    max_retry_after: float = 86_400.0
    max_per_domain: int | None = None  # at most this many page requests per registrable domain

    def __post_init__(self) -> None:
        at_least(self, 0, "max_adaptive_delay", "max_crawl_delay", "max_retry_after")
        at_least(self, 1, "max_per_domain")


class RetrySection(Section, frozen=True, kw_only=True):
    """What failures cost."""

    max_tries: int = 3
    delay: float = 10.0  # after the first failure; doubles
    max_delay: float = 3600.0
    missing_delay: float = 86_400.0  # until a URL that answered 4xx is asked again
    missing_tries: int = 3  # then it is gone
    host_patience: float = 900.0  # a host that is down for longer takes its URLs to the dead letters

    def __post_init__(self) -> None:
        at_least(self, 1, "max_tries", "missing_tries")
        at_least(self, 0, "host_patience")
        at_least(self, 0.01, "delay", "max_delay", "missing_delay")


class FrontierSection(Section, frozen=True, kw_only=True):
    """The working set in memory, and the bias of the selector."""

    max_hosts: int = 10_000
    quantum: int = 100
    shares: tuple[float, ...] = (60, 30, 10)
    shares_under_load: tuple[float, ...] = (80, 15, 5)

    def __post_init__(self) -> None:
        at_least(self, 1, "max_hosts", "quantum")
        for name in ("shares", "shares_under_load"):
            shares = getattr(self, name)
            if not shares or not all(0 < share < math.inf for share in shares):
                raise ValueError(f"{name} must be positive numbers, one for each class, not {list(shares)}")
        if len(self.shares_under_load) != len(self.shares):
            raise ValueError(f"shares_under_load must be as many as shares: {len(self.shares)}")


class WeightsSection(Section, frozen=True, kw_only=True):
    """What each signal counts in a priority; only their proportions matter. 0 leaves it out."""

    importance: float = 4.0  # credit that links have brought
    links_from_others: float = 2.0  # pages of other domains that link to it
    links: float = 0.0  # pages that link to it, from anywhere
    page_type: float = 4.0  # home page, index, article, asset
    nesting: float = 4.0  # levels of the path
    depth: float = 0.5  # links followed from a seed
    trusted: float = 2.0  # on the list of trusted domains; nothing where there is no list
    freshness: float = 0.5  # age of the last known modification; nothing where that is not known
    change: float = 0.5  # how often it was found changed; nothing before the second visit

    def __post_init__(self) -> None:
        at_least(self, 0, *self.__struct_fields__)

    @property
    def by_signal(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


_TRUSTED = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|[a-z0-9_-]+\.\*", re.IGNORECASE)


class PrioritySection(Section, frozen=True, kw_only=True):
    """How the ordering `mercator` scores URLs, and which scores make which class."""

    trusted: tuple[str, ...] = ()
    bounds: tuple[float, ...] = (0.27, 0.15)  # the least score of each class but the lowest, highest first
    weights: WeightsSection = WeightsSection()

    def __post_init__(self) -> None:
        for pattern in self.trusted:
            if not _TRUSTED.fullmatch(pattern):
                raise ValueError(f"trusted must be domains and patterns like '*.gov' or 'news.*', not {pattern!r}")
        falling = all(higher > lower for higher, lower in pairwise(self.bounds))
        if not falling or not all(0 < bound <= 1 for bound in self.bounds):
            raise ValueError(f"bounds must fall, from 1 at most to more than 0, not {list(self.bounds)}")
        if not any(self.weights.by_signal.values()):
            raise ValueError("weights must not all be 0")


class SearchSection(Section, frozen=True, kw_only=True):
    """Seeds from a search engine."""

    provider: str = "duckduckgo"
    base: str | None = None  # the address of its page of results, where it is not the usual one
    queries: tuple[str, ...] = ()


class ArchiveSection(Section, frozen=True, kw_only=True):
    """How the results are kept."""

    warc_rotate_bytes: int = 1_000_000_000
    warc_prefix: str = "gossamer"
    revisits: bool = True  # a record for every duplicate, that it is one
    outlinks: bool = False  # a record for every page of what it links to

    def __post_init__(self) -> None:
        at_least(self, 10_000, "warc_rotate_bytes")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", self.warc_prefix):
            raise ValueError(f"warc_prefix must be letters, digits, '-' or '_', not {self.warc_prefix!r}")


class ContentSection(Section, frozen=True, kw_only=True):
    """What is made of documents that we have already, or almost."""

    near_duplicates: Literal["mark", "skip", "off"] = "mark"


DEFAULT_USER_AGENT = "gossamer/0.1"


class Config(Section, frozen=True, kw_only=True):
    """Everything a crawl is told. The defaults are polite."""

    dir: str = "crawl"
    seeds: str | None = None  # a file, or - for standard input
    scope: str = "host"
    max_pages: int | None = None
    max_depth: int = 20  # links followed from a seed
    order: str = "mercator"
    delay: float = 1.0
    delay_factor: float = 10.0
    concurrency: int = 80
    workers: int = 1  # processes; each has its part of the domains
    user_agent: str = DEFAULT_USER_AGENT
    dns: str | None = None  # name servers, HOST:PORT, several joined by commas
    allow_private: bool = False
    allow_networks: tuple[str, ...] = ()  # of private addresses, just these
    json: bool = False
    quiet: bool = False
    hooks: tuple[str, ...] = ()  # of users' packages, by name
    filter: FilterSection = FilterSection()
    identity: IdentitySection = IdentitySection()
    traps: TrapsSection = TrapsSection()
    fetch: FetchSection = FetchSection()
    politeness: PolitenessSection = PolitenessSection()
    retry: RetrySection = RetrySection()
    frontier: FrontierSection = FrontierSection()
    priority: PrioritySection = PrioritySection()
    archive: ArchiveSection = ArchiveSection()
    content: ContentSection = ContentSection()
    search: SearchSection = SearchSection()
    sitemaps: SitemapsSection = SitemapsSection()
    recrawl: RecrawlSection = RecrawlSection()
    log: LogSection = LogSection()
    service: ServiceSection = ServiceSection()
    host: dict[str, HostSection] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        at_least(self, 0, "delay", "delay_factor", "max_depth")
        at_least(self, 1, "concurrency", "workers", "max_pages")
        if not self.user_agent or any(not " " <= c <= "~" for c in self.user_agent) or len(self.user_agent) > 500:
            raise ValueError("user_agent must be printable ASCII on one line, at most 500 characters")
        if not re.match(r"[A-Za-z_-]+", self.user_agent):
            raise ValueError("user_agent must begin with a product name: it is what robots.txt is asked about")
        for server in self.name_servers:
            if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\s]+):\d{1,5}", server):
                raise ValueError(f"dns must be HOST:PORT, not {server!r}")
        bounds, shares = len(self.priority.bounds), len(self.frontier.shares)
        if self.order == "mercator" and bounds != shares - 1:
            raise ValueError(f"priority.bounds must be one fewer than frontier.shares, not {bounds} and {shares}")

    @property
    def name_servers(self) -> tuple[str, ...]:
        """The name servers to ask, in turn; none: the system's."""
        return tuple(server.strip() for server in self.dns.split(",")) if self.dns is not None else ()

    @property
    def robots_agent(self) -> str:
        """The product token that robots.txt files are asked about."""
        found = re.match(r"[A-Za-z_-]+", self.user_agent)
        assert found is not None
        return found.group()


# Problems that sections find themselves begin with the key.
_OURS = re.compile(r"[a-z][a-z0-9_.]+ must ").match


def read_toml(path: Path) -> dict[str, object]:
    """The keys of a configuration file, hyphens as underscores."""
    try:
        with path.open("rb") as file:
            return underscored(tomllib.load(file))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def underscored(table: Mapping[str, object]) -> dict[str, object]:
    """Keys as they are in the sections. Names of hosts and of header fields are no keys of ours: they stay."""
    found: dict[str, object] = {}
    for key, value in table.items():
        key = key.replace("-", "_")
        if not isinstance(value, dict) or key == "headers":
            found[key] = value
        elif key == "host":
            found[key] = {name: underscored(own) if isinstance(own, dict) else own for name, own in value.items()}
        else:
            found[key] = underscored(value)
    return found


SHAPING = ("scope", "max_depth", "order", "workers", "dns", "allow_private", "allow_networks", "filter", "identity")
"""What makes a crawl the crawl that it is. Its directory remembers these keys, so that a resume need not name them."""


def shape_of(config: Config) -> dict[str, object]:
    """The keys of a configuration that its crawl remembers, as they come back from JSON."""
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(config))
    return {key: value for key, value in plain.items() if key in SHAPING}


def known_shape(remembered: Mapping[str, object]) -> dict[str, object]:
    """What was remembered, as far as this version knows the keys."""
    found = {key: value for key, value in remembered.items() if key in SHAPING and key in Config.__struct_fields__}
    for name, section in (("filter", FilterSection), ("identity", IdentitySection)):
        within = found.get(name)
        if isinstance(within, dict):
            found[name] = {key: value for key, value in within.items() if key in section.__struct_fields__}
    if "filter" in found and "identity" not in found:
        # A crawl of a version that knew no such section: what it has met, it has met under its plain names.
        found["identity"] = {"tracking": False, "sessions": False, "order": False, "learn": False}
    return found


def make_config(file: Mapping[str, object], options: Mapping[str, object]) -> Config:
    """Defaults, then the file, then the options that were given (None: not given). Raises ConfigError."""
    merged = {**file, **{key: value for key, value in options.items() if value is not None}}
    hosts = merged.get("host")
    if isinstance(hosts, dict):
        # One by one, since msgspec does not say in which of them something is wrong.
        merged["host"] = {name: _convert(own, HostSection, f'host."{name}"') for name, own in hosts.items()}
    return _convert(merged, Config)


def _convert(value: object, kind: type[T], within: str = "") -> T:
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _named(str(error), within) from error


def _named(message: str, within: str) -> ConfigError:
    """msgspec's message, with the key in front: 'Expected `int`, got `str` - at `$.fetch.max_redirects`'."""
    problem, _, where = message.partition(" - at `$")
    path = ".".join(part for part in (within, where.rstrip("`").lstrip(".")) if part)
    if found := re.search(r"unknown field `(.+?)`", problem):
        return ConfigError(".".join(part for part in (path, found.group(1)) if part), "no such key")
    if _OURS(problem):
        key, _, rest = problem.partition(" ")
        return ConfigError(".".join(part for part in (path, key) if part), rest)
    return ConfigError(path, problem.replace("`", ""))
