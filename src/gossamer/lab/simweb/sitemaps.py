"""Sitemaps of some hosts, in the forms in which sitemaps occur; each lists pages that are not linked from anywhere.

Every host with a sitemap has a few *hidden* pages. They are listed together with all forbidden pages of the host and
some that are linked, so that a crawl that ignores sitemaps, or believes them more than robots.txt, is detected.
"""

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from enum import IntEnum

from gossamer.lab.simweb.chance import hash64, uniform
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.hosts import HostPlan, path_of

HIDDEN = 4
"""Hidden pages of a host with a sitemap."""

_LINKED = 3  # other pages that it lists
_FIRST = "/sitemap.xml"
_XML = ("Content-Type", "application/xml")
_TEXT = ("Content-Type", "text/plain; charset=utf-8")
_GZIP = ("Content-Type", "application/x-gzip")
_HTML = ("Content-Type", "text/html; charset=utf-8")
_SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

Served = tuple[list[tuple[str, str]], bytes]


class Form(IntEnum):
    """The form of a host's sitemap."""

    PLAIN = 0  # one file
    INDEX = 1  # an index of two, one compressed and one in plain text
    DEEP = 2  # an index that lists itself, and an index


class SiteMaps:
    """Which hosts have sitemaps, what they contain, and what a crawl must find by them."""

    def __init__(self, config: SimWebConfig) -> None:
        self._config = config

    def has(self, host: HostPlan) -> bool:
        seed, share = self._config.seed, self._config.sitemap_hosts
        return share > 0 and host.robots.text is not None and uniform(seed, "sitemap", host.number) < share

    def form(self, host: HostPlan) -> Form:
        return Form(hash64(self._config.seed, "sitemap form", host.number) % len(Form))

    def robots_line(self, host: HostPlan) -> bytes:
        """What the host's robots.txt has in addition to its rules."""
        return f"\nSitemap: {host.base}{_FIRST}\n".encode() if self.has(host) else b""

    def files(self, host: HostPlan) -> tuple[str, ...]:
        """The paths of the host's sitemaps; the first is the one that robots.txt names."""
        more = {
            Form.PLAIN: (),
            Form.INDEX: ("/maps/a.xml.gz", "/maps/b.txt"),
            Form.DEEP: ("/maps/i.xml", "/maps/u.xml"),
        }
        return (_FIRST, *more[self.form(host)]) if self.has(host) else ()

    def hidden(self, host: HostPlan) -> tuple[str, ...]:
        """The paths of the pages that only a sitemap lists."""
        return tuple(f"/hidden/{number}.html" for number in range(HIDDEN)) if self.has(host) else ()

    def numbers(self, host: HostPlan) -> Iterator[int]:
        """The host's pages that are listed: a few of the first, and all restricted ones."""
        yield from range(min(_LINKED, host.ordinary))
        yield from range(host.missing_end, host.pages)

    def respond(self, host: HostPlan, target: str) -> Served | None:
        """A sitemap or a hidden page; None for everything else."""
        if not target.startswith(("/sitemap", "/maps/", "/hidden/")) or not self.has(host):
            return None
        if target in self.hidden(host):
            return [_HTML], f"<!DOCTYPE html><title>{target}</title><p>Nothing leads to {host.base}{target}".encode()
        if target not in self.files(host):
            return None
        paths = [*self.hidden(host), *(path_of(host, number) for number in self.numbers(host))]
        match self.form(host), target:
            case (Form.PLAIN, _) | (Form.DEEP, "/maps/u.xml"):
                return [_XML], self._urlset(host, paths)
            case Form.INDEX, "/maps/a.xml.gz":
                return [_GZIP], gzip.compress(self._urlset(host, paths[::2]), mtime=0)
            case Form.INDEX, "/maps/b.txt":
                return [_TEXT], "".join(f"{host.base}{path}\r\n" for path in paths[1::2]).encode()
            case Form.DEEP, "/maps/i.xml":
                return [_XML], _index(host, "/maps/u.xml")
            case Form.DEEP, _:
                return [_XML], _index(host, _FIRST, "/maps/i.xml")
            case _:
                return [_XML], _index(host, "/maps/a.xml.gz", "/maps/b.txt")

    def _urlset(self, host: HostPlan, paths: list[str]) -> bytes:
        items = []
        for place, path in enumerate(paths):
            days = hash64(self._config.seed, "listed", host.number, place) % 3000
            date = datetime.fromtimestamp(1_500_000_000 + days * 86_400, UTC).date().isoformat()
            items.append(f"<url><loc>{host.base}{_escape(path)}</loc><lastmod>{date}</lastmod></url>\n")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_SPACE}>\n{"".join(items)}</urlset>\n'.encode()


def _index(host: HostPlan, *paths: str) -> bytes:
    inside = "".join(f"<sitemap><loc>{host.base}{path}</loc></sitemap>" for path in paths)
    return f"<sitemapindex {_SPACE}>{inside}</sitemapindex>".encode()


def _escape(path: str) -> str:
    return path.replace("&", "&amp;")
