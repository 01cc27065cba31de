"""The configuration of a simulated web: its parameters, their limits, and named presets."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import msgspec

from gossamer.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SimWebConfig:
    """Everything that the web is a function of, apart from URL and time.

    Rates and shares are between 0 and 1. Page counts are URLs of every kind, so `pages` includes redirects and missing
    pages. Raises `ConfigError` with the field that is invalid.
    """

    seed: int = 1
    hosts: int = 150
    pages: int = 4000
    port: int = 8080
    epoch: float = 0.0  # when the web started; transient faults are relative to it
    zone: str = "test"
    tls: bool = False  # https instead of http
    requests_per_connection: int = 0  # after which the server closes it; 0 for no limit

    # sizes
    mean_bytes: int = 12_000
    bytes_spread: float = 0.6  # sigma of the log-normal page size
    links_per_page: int = 40
    nav_links: int = 8  # of those, how many are the host's navigation bar
    host_exponent: float = 0.75  # host sizes fall as rank ** -exponent; 0 makes all hosts equal
    max_host_pages: int = 0  # no host is larger (except by big_host_share); 0 for no limit
    big_host_share: float = 0.0  # this share of all pages is on one host
    external_links: float = 0.15  # share of the links outside the navigation bar that leave the host
    popularity: float = 3.0  # how unequal in-links are: a page's share falls as its rank ** (1/popularity - 1)
    hub_pages: int = 0  # pages which together link to every URL of the web

    # hosts with special behaviour; these three kinds are disjoint and taken from the small hosts
    slow_hosts: float = 0.03
    slow_seconds: float = 0.15
    crawl_delay_hosts: float = 0.05
    crawl_delay_seconds: float = 0.5
    shared_address_hosts: float = 0.1
    missing_robots: float = 0.1  # hosts whose robots.txt is a 404
    validator_hosts: float = 0.9  # hosts that send ETag and Last-Modified
    sitemap_hosts: float = 0.0  # among those with a robots.txt: hosts with a sitemap, and pages that only it lists

    # pages with special behaviour
    fault_rate: float = 0.01
    fault_seconds: float = 4.0
    redirect_rate: float = 0.03
    missing_rate: float = 0.02
    duplicate_rate: float = 0.03
    near_copies: bool = False  # duplicates are near-duplicates: each differs a little from the others
    disallowed_rate: float = 0.04
    change_rate_per_day: float = 0.1  # the mean over the pages that change at all
    static_pages: float = 0.3  # pages that never change

    # in addition to the ordinary hosts, and not counted in `hosts` and `pages`
    trap_kinds: str = ""  # kinds of `lab.simweb.traps`, joined by commas, or all; none if empty
    large_pages: int = 0  # of each large ordinary host of `lab.simweb.endless`; 0 for none
    large_kinds: str = "all"  # as `trap_kinds`

    seed_hosts: int = 3
    dns_ttl: int = 300

    def __post_init__(self) -> None:
        for name in _SHARES:
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise ConfigError(name, f"must be between 0 and 1, not {value!r}")
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ConfigError(name, f"must be between {low} and {high}, not {value!r}")
        if self.pages < self.hosts:
            raise ConfigError("pages", f"{self.pages} pages are too few for {self.hosts} hosts")
        if self.max_host_pages and self.max_host_pages * self.hosts < self.pages:
            raise ConfigError("max_host_pages", f"{self.hosts} hosts of {self.max_host_pages} cannot hold {self.pages}")
        if self.nav_links > self.links_per_page:
            raise ConfigError("nav_links", f"more than links_per_page ({self.links_per_page})")
        special = self.redirect_rate + self.missing_rate + self.duplicate_rate + self.disallowed_rate
        if special > 0.6:
            raise ConfigError(
                "disallowed_rate", f"with redirects, missing and duplicates {special:.2f} of all, at most 0.6"
            )
        character = self.slow_hosts + self.crawl_delay_hosts + self.shared_address_hosts
        if character > 1.0:
            raise ConfigError("shared_address_hosts", f"with slow and crawl-delay hosts {character:.2f} of all")
        for name in ("trap_kinds", "large_kinds"):
            for kind in filter(None, getattr(self, name).split(",")):
                if not kind.isalpha():
                    raise ConfigError(name, f"not a kind of host: {kind!r}")
        if not all(label.isalnum() and label.isascii() for label in self.zone.split(".")):
            raise ConfigError("zone", f"not a domain name of plain letters: {self.zone!r}")


_SHARES = (
    "big_host_share",
    "external_links",
    "slow_hosts",
    "crawl_delay_hosts",
    "shared_address_hosts",
    "missing_robots",
    "validator_hosts",
    "sitemap_hosts",
    "fault_rate",
    "redirect_rate",
    "missing_rate",
    "duplicate_rate",
    "disallowed_rate",
    "static_pages",
)

_RANGES: Mapping[str, tuple[float, float]] = {
    "hosts": (1, 1_000_000),
    "pages": (1, 1_000_000_000),
    "port": (0, 65_535),
    "requests_per_connection": (0, 1_000_000),
    "mean_bytes": (1_000, 200_000),
    "bytes_spread": (0.0, 2.0),
    "links_per_page": (2, 2_000),
    "nav_links": (1, 200),
    "host_exponent": (0.0, 3.0),
    "max_host_pages": (0, 1_000_000_000),
    "popularity": (1.0, 50.0),
    "hub_pages": (0, 10_000),
    "slow_seconds": (0.0, 600.0),
    "crawl_delay_seconds": (0.0, 600.0),
    "fault_seconds": (0.0, 600.0),
    "change_rate_per_day": (0.0, 10_000.0),
    "large_pages": (0, 1_000_000),
    "seed_hosts": (1, 1_000),
    "dns_ttl": (0, 86_400),
}

# For throughput: nothing that makes a crawler wait or fail.
_CALM = {
    "fault_rate": 0.0,
    "redirect_rate": 0.0,
    "missing_rate": 0.0,
    "duplicate_rate": 0.0,
    "disallowed_rate": 0.0,
    "slow_hosts": 0.0,
    "crawl_delay_hosts": 0.0,
    "shared_address_hosts": 0.0,
    "missing_robots": 0.0,
}

_PRESETS: Mapping[str, Mapping[str, float | str]] = {
    # Crawlable in half a minute with a gap of 0.1 s: the largest host takes 230 gaps.
    "demo": {"hosts": 150, "pages": 4000, "max_host_pages": 230},
    # Far larger than any run, so that the frontier grows all the while, as on the real web.
    "bench": {
        **_CALM,
        "hosts": 4000,
        "pages": 1_000_000,
        "host_exponent": 0.5,
        "mean_bytes": 25_000,
        "links_per_page": 56,  # pages near the root, which are found first, have a few more: 60
        "popularity": 25.0,  # of those, one in eight is new, and stays so for 40,000 pages
        "nav_links": 12,
        "seed_hosts": 50,
    },
    "small": {
        **_CALM,
        "hosts": 2000,
        "pages": 200_000,
        "host_exponent": 0.5,
        "mean_bytes": 2_500,
        "bytes_spread": 0.1,
        "links_per_page": 10,
        "nav_links": 3,
        "seed_hosts": 50,
    },
    # 38 hubs of 5,264 links each: all 200,000 URLs are known after some forty pages.
    "burst": {
        **_CALM,
        "hosts": 100,
        "pages": 200_000,
        "host_exponent": 0.0,
        "hub_pages": 38,
        "mean_bytes": 6_000,
        "links_per_page": 20,
        "nav_links": 5,
        "seed_hosts": 1,
    },
    # Every kind of trap, and ordinary hosts that are as large as one.
    "traps": {**_CALM, "hosts": 5, "pages": 50, "seed_hosts": 1, "trap_kinds": "all", "large_pages": 20_000},
    "even": {**_CALM, "hosts": 60, "pages": 6_000, "big_host_share": 0.5, "host_exponent": 0.0},
}

PRESET_NAMES = tuple(_PRESETS)


def preset(name: str, **overrides: float | str) -> SimWebConfig:
    """A preset with some fields replaced. Raises `ConfigError` for an unknown name or field."""
    if name not in _PRESETS:
        raise ConfigError("preset", f"{name!r} is not one of {', '.join(_PRESETS)}")
    known = {field.name for field in fields(SimWebConfig)}
    for key in overrides:
        if key not in known:
            raise ConfigError(key, "no such setting of the simulated web")
    # Decoded rather than constructed, so that a value of the wrong type is rejected with its name too.
    return _validate({**_PRESETS[name], **overrides})


def to_json(config: SimWebConfig) -> str:
    return msgspec.json.encode(config).decode()


def from_json(text: str) -> SimWebConfig:
    """The inverse of `to_json`. Raises `ConfigError`."""
    try:
        return msgspec.json.decode(text, type=SimWebConfig)
    except msgspec.DecodeError as error:
        raise ConfigError("simweb", str(error)) from error


def at(config: SimWebConfig, *, port: int, epoch: float) -> SimWebConfig:
    """The same web, served at `port` and started at `epoch`."""
    return replace(config, port=port, epoch=epoch)


def _validate(values: Mapping[str, float | str]) -> SimWebConfig:
    try:
        return msgspec.convert(dict(values), type=SimWebConfig)
    except msgspec.ValidationError as error:
        raise ConfigError("simweb", str(error)) from error
