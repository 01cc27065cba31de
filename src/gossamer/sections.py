"""What every section of a configuration is, and the sections on sitemaps and on the service. `config` has the rest."""

import math

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
