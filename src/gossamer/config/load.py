"""Reads gossamer.toml and the options of the command line into a frozen `Config`.

Every option of `gossamer crawl` is a top-level key of the file under the same name (`max-pages` or `max_pages`); keys
that are rarely changed are in sections. The command line overrides the file. An unknown key, a wrong type or an
invalid value is rejected with a message that names the key.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from gossamer.config.sections import (
    ArchiveSection,
    CacheSection,
    ClusterSection,
    ContentSection,
    FetchSection,
    FilterSection,
    FrontierSection,
    HostSection,
    IdentitySection,
    LogSection,
    ObjectsSection,
    PolitenessSection,
    PrioritySection,
    RecrawlSection,
    RetrySection,
    SearchSection,
    Section,
    ServiceSection,
    SitemapsSection,
    TrapsSection,
    about,
    at_least,
)
from gossamer.errors import ConfigError, UsageError
from gossamer.model.formats import did_you_mean

T = TypeVar("T")


DEFAULT_USER_AGENT = "gossamer/0.1"


class Config(Section, frozen=True, kw_only=True):
    """All settings of a crawl. The defaults are polite."""

    dir: Annotated[str, about("directory of the crawl")] = "crawl"
    store: Annotated[
        str | None, about("URL of the store: `postgresql://HOST/DATABASE`, or `sqlite:DIR`, which is the same as `dir`")
    ] = None
    unsafe_store: Annotated[bool, about("accept a PostgreSQL server that runs with `fsync = off`")] = False
    blobs: Annotated[
        str | None,
        about(
            "URL of the archive: `file:DIR`, or `s3://BUCKET/PREFIX` (`gs:`, `az:`). Default: `warc` in the directory"
        ),
    ] = None
    seeds: Annotated[str | None, about("file of seeds, or `-` for standard input")] = None
    scope: Annotated[
        str, about("`host`, `domain`, `any`, `host:NAME`, `domain:NAME` or `tld:nz`; several separated by commas")
    ] = "host"
    max_pages: Annotated[int | None, about("stop after this many stored documents. Default: no limit")] = None
    min_pages: Annotated[int | None, about("exit with status 3 if fewer documents are stored at the end")] = None
    max_depth: Annotated[int, about("links followed from a seed")] = 20
    order: Annotated[
        str, about("`mercator`, `best-first`, `bfs`, `dfs`, `novelty`, `balance`, `importance` or the name of a plugin")
    ] = "mercator"
    delay: Annotated[float, about("seconds from the end of a response to the next request to its host")] = 1.0
    delay_factor: Annotated[float, about("or this many times the last fetch time, if that is longer")] = 10.0
    concurrency: Annotated[int, about("visits at a time; never more than one per host")] = 80
    workers: Annotated[int, about("number of processes; each crawls its own share of the domains")] = 1
    user_agent: Annotated[str, about("printable ASCII, beginning with a product name; include a contact address")] = (
        DEFAULT_USER_AGENT
    )
    dns: Annotated[str | None, about("name servers as `HOST:PORT`, separated by commas. Default: the system's")] = None
    allow_private: Annotated[bool, about("permit private and loopback addresses")] = False
    allow_networks: Annotated[tuple[str, ...], about("private networks to permit, such as `10.1.0.0/16`")] = ()
    json: Annotated[bool, about("as `--json`")] = False
    quiet: Annotated[bool, about("as `--quiet`")] = False
    hooks: Annotated[tuple[str, ...], about("names of hooks of installed packages to call")] = ()
    rehearse: float | None = None  # `--rehearse`, for tests and experiments; not a key of the file
    filter: FilterSection = FilterSection()
    identity: IdentitySection = IdentitySection()
    traps: TrapsSection = TrapsSection()
    fetch: FetchSection = FetchSection()
    politeness: PolitenessSection = PolitenessSection()
    retry: RetrySection = RetrySection()
    frontier: FrontierSection = FrontierSection()
    priority: PrioritySection = PrioritySection()
    archive: ArchiveSection = ArchiveSection()
    cache: CacheSection = CacheSection()
    objects: ObjectsSection = ObjectsSection()
    content: ContentSection = ContentSection()
    search: SearchSection = SearchSection()
    sitemaps: SitemapsSection = SitemapsSection()
    recrawl: RecrawlSection = RecrawlSection()
    log: LogSection = LogSection()
    cluster: ClusterSection = ClusterSection()
    service: ServiceSection = ServiceSection()
    host: dict[str, HostSection] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        at_least(self, 0, "delay", "delay_factor", "max_depth")
        at_least(self, 1, "concurrency", "workers", "max_pages", "min_pages", "rehearse")
        if not self.user_agent or any(not " " <= c <= "~" for c in self.user_agent) or len(self.user_agent) > 500:
            raise ValueError("user_agent must be printable ASCII on one line, at most 500 characters")
        if not re.match(r"[A-Za-z_-]+", self.user_agent):
            raise ValueError("user_agent must begin with a product name: robots.txt rules are looked up by it")
        for server in self.name_servers:
            if not re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^:\s]+):\d{1,5}", server):
                raise ValueError(f"dns must be HOST:PORT, not {server!r}")
        if self.json and self.log.pages == "-":
            raise ValueError(
                "log.pages must be a file, not '-': with --json, standard output has the JSON object and nothing else"
            )
        bounds, shares = len(self.priority.bounds), len(self.frontier.shares)
        if self.order == "mercator" and bounds < shares - 1:
            raise ValueError(
                f"priority.bounds must have at least one value fewer than frontier.shares, not {bounds} for {shares}"
            )

    @property
    def name_servers(self) -> tuple[str, ...]:
        """The name servers to query, in this order; empty for the system's."""
        return tuple(server.strip() for server in self.dns.split(",")) if self.dns is not None else ()

    @property
    def robots_agent(self) -> str:
        """The product token by which rules are looked up in robots.txt files."""
        found = re.match(r"[A-Za-z_-]+", self.user_agent)
        assert found is not None
        return found.group()


CONFIG_KEY = "config"
"""The fact that has the whole configuration of a crawl that workers share."""
_OF_PROCESS = ("dir", "store", "unsafe_store", "seeds", "max_pages", "min_pages", "workers", "json", "quiet", "log")
"""What a worker that joins a crawl does not take from the process that has started it."""


def split_cache_password(url: str) -> tuple[str, str | None]:
    """The URL of a cache without its passwords, and the first of them as it is in the URL. Servers after the first need
    no scheme."""
    kept, passwords = [], []
    for part in url.split(","):
        scheme, separator, rest = part.rpartition("://")
        login, at, place = rest.rpartition("@")
        user, _, password = login.partition(":")
        passwords += [password] if password else []
        kept.append(f"{scheme}{separator}{user}{at}{place}")
    return ",".join(kept), passwords[0] if passwords else None


def config_to_text(config: "Config") -> str:
    """The configuration as it is stored for workers that join. Credentials are not part of it, only the names of the
    variables that hold them; nor is the password in the URL of the cache."""
    found = msgspec.to_builtins(config)
    if config.cache.url is not None:
        found["cache"]["url"] = split_cache_password(config.cache.url)[0]
    return msgspec.json.encode({key: value for key, value in found.items() if key not in _OF_PROCESS}).decode()


def config_from_text(text: str, **own: object) -> "Config":
    """The configuration of a worker that joins, with options of its own."""
    return make_config({}, {**msgspec.json.decode(text), **own})


def config_following(config: "Config", text: str) -> "Config":
    """The configuration of a worker after the stored one has changed to `text`: its own options stay."""
    own = {name: getattr(config, name) for name in (*_OF_PROCESS, "blobs")}
    return msgspec.structs.replace(config_from_text(text), **own)


_FIXED = (
    *("fetch.tls_timeout", "fetch.robots_timeout", "fetch.max_connections", "frontier.quantum", "archive.warc_prefix"),
    *("filter.max_links_per_page", "traps.hosts_per_domain", "traps.max_repeats"),
    *("retry.max_delay", "retry.missing_tries", "retry.host_patience"),
    *("sitemaps.max_bytes", "sitemaps.max_entries", "sitemaps.max_levels", "sitemaps.max_files", "sitemaps.max_urls"),
    *("service.head_timeout", "service.request_timeout", "service.max_connections", "service.max_requests"),
    "service.patience",
)
CHANGED_KEYS = {
    **dict.fromkeys(_FIXED, "this key was removed, its value is fixed now; delete the line"),
    "sitemaps.strict": "this key was removed, sitemaps may list any URL in scope; delete the line",
    "filter.drop_tracking": 'this key was removed; write tracking = "remove" under [identity], or delete the line',
    "filter.drop_sessions": 'this key was removed; write sessions = "remove" under [identity], or delete the line',
    "filter.sort_query": 'this key was removed; write order = "sort" under [identity], or delete the line',
    "recrawl.capacity_share": "this key was removed; set recrawl.budget, in visits per day, instead",
    "recrawl.rehearse": "this key was removed; delete the line",
    "identity.tracking": 'must be "ignore" (formerly true), "keep" (formerly false) or "remove"',
    "identity.sessions": 'must be "ignore" (formerly true), "keep" (formerly false) or "remove"',
    "identity.order": 'must be "ignore" (formerly true), "keep" (formerly false) or "sort"',
}
"""Hints for keys of earlier versions that were removed or take other values now."""

# Messages raised by the sections themselves begin with the key.
_OURS = re.compile(r"[a-z][a-z0-9_.]+ must ").match


def read_toml(path: Path) -> dict[str, object]:
    """The keys of a configuration file, with underscores in place of hyphens. Raises UsageError."""
    try:
        with path.open("rb") as file:
            return with_underscores(tomllib.load(file))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def with_underscores(table: Mapping[str, object]) -> dict[str, object]:
    """The table with underscores in place of hyphens in its keys. Host names and header names are left as they are."""
    found: dict[str, object] = {}
    for key, value in table.items():
        key = key.replace("-", "_")
        if not isinstance(value, dict) or key == "headers":
            found[key] = value
        elif key == "host":
            found[key] = {name: with_underscores(own) if isinstance(own, dict) else own for name, own in value.items()}
        else:
            found[key] = with_underscores(value)
    return found


SHAPING = ("scope", "max_depth", "order", "workers", "dns", "allow_private", "allow_networks", "filter", "identity")
"""Keys that are stored in the crawl's directory, so that a crawl can be resumed without repeating them."""
SHAPING_IF_GIVEN = ("blobs",)
"""Keys that are stored only if they were given. So is `content.text`, for those who read the crawl."""


def shape_of(config: Config) -> dict[str, object]:
    """The keys of a configuration that are stored with its crawl, as they come back from JSON."""
    plain: dict[str, object] = msgspec.json.decode(msgspec.json.encode(config))
    found = {
        key: value for key, value in plain.items() if key in SHAPING or (key in SHAPING_IF_GIVEN and value is not None)
    }
    if config.content.text != ContentSection().text:
        found["content"] = {"text": config.content.text}
    return found


DELAYS_KEY = "delays"
"""The name under which the delays of the last start are stored, for commands that show them. The next start does not
use them: it has those of its own configuration."""


def delays_to_text(config: Config) -> str:
    return msgspec.json.encode({"delay": config.delay, "delay_factor": config.delay_factor}).decode()


def with_delays(config: Config, delays: Mapping[str, float]) -> Config:
    return msgspec.structs.replace(config, **delays)


def delays_from_text(text: str | None) -> dict[str, float]:
    """The keys and values; none if no start has stored them."""
    return {} if text is None else msgspec.json.decode(text, type=dict[str, float])


def known_shape(remembered: Mapping[str, object]) -> dict[str, object]:
    """The stored keys that this version knows, with the values of earlier versions converted."""
    found = {
        key: value
        for key, value in remembered.items()
        if key in (*SHAPING, *SHAPING_IF_GIVEN, "content") and key in Config.__struct_fields__
    }
    before, identity = found.get("filter"), found.get("identity")
    if isinstance(before, dict) and isinstance(identity, dict):
        found["identity"] = _identity_of(before, identity)
    for name, section in (("filter", FilterSection), ("identity", IdentitySection), ("content", ContentSection)):
        within = found.get(name)
        if isinstance(within, dict):
            found[name] = {key: value for key, value in within.items() if key in section.__struct_fields__}
    return found


def _identity_of(remembered: Mapping[str, object], identity: Mapping[str, object]) -> dict[str, object]:
    """The stored `[identity]` section; one written by a version with booleans and `filter.drop_*` is converted."""
    found = dict(identity)
    for key, former, changed in (
        ("tracking", "drop_tracking", "remove"),
        ("sessions", "drop_sessions", "remove"),
        ("order", "sort_query", "sort"),
    ):
        if isinstance(identity.get(key), bool):
            found[key] = changed if remembered.get(former) else "ignore" if identity[key] else "keep"
    return found


def layered(below: Mapping[str, object], above: Mapping[str, object]) -> dict[str, object]:
    """The keys of both; `above` has precedence, in sections key by key."""
    found = {**below, **above}
    for name, before in below.items():
        now = above.get(name)
        if isinstance(before, dict) and isinstance(now, dict):
            found[name] = {**before, **now}
    return found


def make_config(file: Mapping[str, object], options: Mapping[str, object]) -> Config:
    """The defaults, overridden by the file, overridden by the options that are not None. Raises ConfigError."""
    if "rehearse" in file:
        raise ConfigError("rehearse", "no such key")
    merged = {**file, **{key: value for key, value in options.items() if value is not None}}
    hosts = merged.get("host")
    if isinstance(hosts, dict):
        # One by one, since msgspec does not say in which of them the error is.
        merged["host"] = {name: _convert(own, HostSection, f'host."{name}"') for name, own in hosts.items()}
    return _convert(merged, Config)


def _convert(value: object, kind: type[T], within: str = "") -> T:
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        raise _config_error(str(error), within) from error


def _keys() -> Iterator[str]:
    """The keys of the file, those of sections with the section's name."""
    for field in msgspec.structs.fields(Config):
        if isinstance(field.default, Section):
            yield from (f"{field.name}.{name}" for name in field.default.__struct_fields__)
        elif field.name != "rehearse":
            yield field.name


def _config_error(message: str, within: str) -> ConfigError:
    """A ConfigError with the key taken from msgspec's message: 'Expected `int`, got `str` - at `$.fetch.ftp`'."""
    problem, _, where = message.partition(" - at `$")
    path = ".".join(part for part in (within, where.rstrip("`").lstrip(".")) if part)
    if found := re.search(r"unknown field `(.+?)`", problem):
        key = ".".join(part for part in (path, found.group(1)) if part)
        near = did_you_mean(key, (f"{path}.{name}" for name in HostSection.__struct_fields__) if within else _keys())
        return ConfigError(key, CHANGED_KEYS.get(key) or "no such key" + (f". {near}" if near else ""))
    if _OURS(problem):
        key, _, rest = problem.partition(" ")
        return ConfigError(".".join(part for part in (path, key) if part), rest)
    return ConfigError(path, CHANGED_KEYS.get(path, problem.replace("`", "")))
