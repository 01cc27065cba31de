"""What every section of a configuration is, and the section on sitemaps. `config` has the others and the whole."""

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
