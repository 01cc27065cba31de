"""What every section of a configuration is; those on sitemaps, recrawls and the service. `config` has the others."""

import math
from typing import Literal

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Root of all sections: immutable, and deaf to keys it does not know."""


def at_least(section: object, least: float, *names: str) -> None:
    """Raise ValueError for the first of these keys that is less than it may be."""
    for name in names:
        value = getattr(section, name)
        if value is not None and not (least <= value < math.inf):
            raise ValueError(f"{name} must be a number of at least {least:g}, not {value}")


class SitemapsSection(Section, frozen=True, kw_only=True):
    """Sitemaps as sources of URLs."""

    enabled: bool = True  # those that robots.txt names, and what they lead to
    well_known: bool = False  # and /sitemap.xml where robots.txt names none
    strict: bool = False  # only URLs that a sitemap may speak for by the protocol
    max_bytes: int = 50 * 1024 * 1024  # of one sitemap, unpacked
    max_entries: int = 50_000  # of one sitemap
    max_levels: int = 5  # a sitemap that robots.txt names is the first
    max_files: int = 1_000  # of one host
    max_urls: int = 1_000_000  # that the sitemaps of one host list

    def __post_init__(self) -> None:
        at_least(self, 1, "max_bytes", "max_entries", "max_levels", "max_files", "max_urls")


class RecrawlRuleSection(Section, frozen=True, kw_only=True):
    """What is different for the URLs that it is about: all that is given must fit."""

    host: str | None = None  # a host, or *. and a domain for it and all below
    pattern: str | None = None  # of the URL, with * for any run of characters
    mime: str | None = None  # a type, or text/*
    state: Literal["page", "near-duplicate", "not-found", "gone", "moved", "elsewhere"] | None = None
    interval: float | None = None  # seconds until the next visit, whatever the policy would say
    shortest: float | None = None
    longest: float | None = None
    never: bool = False

    def __post_init__(self) -> None:
        at_least(self, 0.001, "interval", "shortest", "longest")
        if self.host is None and self.pattern is None and self.mime is None and self.state is None:
            raise ValueError("host must be given, or pattern, mime or state: a rule is about something")


class RecrawlSection(Section, frozen=True, kw_only=True):
    """When URLs are visited again. Times are in seconds."""

    policy: str = "optimal"
    keep_fresh: bool = False  # go on for ever, and visit again whatever comes due; `serve` does unless told otherwise
    interval: float = 1_209_600.0  # two weeks: of policies that do not reckon, and where nothing is known of a page
    shortest: float = 300.0
    longest: float = 31_536_000.0
    budget: float | None = None  # visits a day to URLs that were visited before
    capacity_share: float | None = None  # or as many as fill this share of the slots
    discovery_share: float = 0.1  # of all visits, at least this much for URLs that are new, while there are any
    refresh_share: float = 0.1  # and this much for the others, while any are due
    rules: tuple[RecrawlRuleSection, ...] = ()  # the first that fits counts
    rehearse: float | None = None  # so many times as fast time passes while a crawl of this machine waits

    def __post_init__(self) -> None:
        at_least(self, 0.001, "interval", "shortest", "longest", "budget")
        at_least(self, 0, "discovery_share", "refresh_share")
        at_least(self, 1, "rehearse")
        if self.capacity_share is not None and not 0 < self.capacity_share <= 1:
            raise ValueError(f"capacity_share must be more than 0 and at most 1, not {self.capacity_share:g}")
        if self.budget is not None and self.capacity_share is not None:
            raise ValueError("capacity_share must not stand beside budget: it is another way to say it")
        if self.shortest > self.longest:
            raise ValueError(f"shortest must be no longer than longest, {self.longest:g}, not {self.shortest:g}")
        if self.discovery_share + self.refresh_share > 1:
            raise ValueError("discovery_share must leave room for refresh_share: together they are at most 1")

    @property
    def is_limited(self) -> bool:
        """Whether there is a budget, however it is said."""
        return self.budget is not None or self.capacity_share is not None


class LogSection(Section, frozen=True, kw_only=True):
    """The events of a crawl."""

    rotate_bytes: int = 10_000_000  # at this size a file makes room for the next
    keep: int = 3  # former files

    def __post_init__(self) -> None:
        at_least(self, 10_000, "rotate_bytes")
        at_least(self, 0, "keep")


class ServiceSection(Section, frozen=True, kw_only=True):
    """`gossamer serve`: where it listens, and what callers may cost."""

    host: str = "127.0.0.1"
    port: int = 8470  # 0: any that is free
    names: tuple[str, ...] = ()  # under which it is called, beside its address: behind a proxy, say
    max_body_bytes: int = 16 * 1024 * 1024
    head_timeout: float = 10.0  # until the head of a request is there
    request_timeout: float = 30.0  # until it is answered
    max_connections: int = 100
    max_requests: float = 5000.0  # a second, of all callers
    patience: float = 3600.0  # with a store that fails

    def __post_init__(self) -> None:
        at_least(self, 0, "port", "patience")
        at_least(self, 1, "max_connections", "max_requests")
        at_least(self, 1024, "max_body_bytes")
        at_least(self, 0.05, "head_timeout", "request_timeout")
        if self.port > 65_535:
            raise ValueError(f"port must be at most 65535, not {self.port}")
