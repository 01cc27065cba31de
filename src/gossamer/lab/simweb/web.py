"""The web as a function from host, target, time and headers to a response. Hot: benchmarks/bench_simweb.py.

Some hosts have sitemaps, in the forms in which sitemaps occur; each lists pages that are not linked from anywhere.
Every host with a sitemap has a few *hidden* pages. They are listed together with all forbidden pages of the host and
some that are linked, so that a crawl that ignores sitemaps, or believes them more than robots.txt, is detected.
"""

import gzip
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import IntEnum

from gossamer.lab.simweb.chance import changes_per_day, hash64, page_key, uniform, version_at
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.endless import EndlessHosts
from gossamer.lab.simweb.graph import Graph
from gossamer.lab.simweb.hosts import HostPlan, Kind, RelativeTo, number_of, path_of, plan_hosts, url_of
from gossamer.lab.simweb.page import VARIATIONS, PageWriter, near_copy
from gossamer.model.units import HostKey, Instant, Seconds

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


_PLAIN = ("Content-Type", "text/plain; charset=utf-8")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NO_DELAY = Seconds(0.0)
_NO_HEADERS: Mapping[str, str] = {}

Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class SimResponse:
    """A response. `delay` is how long the host takes before it sends anything.

    `headers` do not include those of the connection: Date, Content-Length, Connection.
    """

    status: int
    headers: Headers
    body: bytes
    delay: Seconds

    def header(self, name: str) -> str | None:
        """The value of the first header of that name; case does not matter."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class SimWeb:
    """A web of hosts, pages and links, determined by its configuration.

    Two instances of one configuration respond alike; the order of requests does not matter.
    """

    def __init__(self, config: SimWebConfig) -> None:
        self.config = config
        self.hosts: tuple[HostPlan, ...] = plan_hosts(config)
        self.graph = Graph(config, self.hosts)
        self.endless = EndlessHosts(config)
        self.site_maps = SiteMaps(config)
        self._writer = PageWriter(config, self.graph)
        self._by_name = {str(host.name): host for host in self.hosts}
        self._faults = round(config.fault_rate * 65_536)

    def seeds(self) -> tuple[str, ...]:
        """Home pages from which every page of the web can be reached, the portal's first."""
        ordinary = tuple(url_of(host, 0) for host in self.hosts[: self.config.seed_hosts])
        return (*ordinary, *self.endless.seeds())

    def find_host(self, name: str) -> HostPlan | None:
        return self._by_name.get(name.lower())

    def address_of(self, name: str) -> str | None:
        """The loopback address of a host; None for a name that is not of this web."""
        host = self._by_name.get(name.lower())
        return host.address if host is not None else self.endless.address_of(name.lower())

    def crawl_delays(self) -> dict[HostKey, Seconds]:
        """The crawl delays for `gossamer`, of the hosts that have one."""
        return {h.name: h.robots.crawl_delay for h in self.hosts if h.robots.crawl_delay > 0}

    def respond(self, host: str, target: str, time: Instant, headers: Mapping[str, str] = _NO_HEADERS) -> SimResponse:
        """Respond to a GET for `target` (path and query). Names in `headers` are in lower case.

        Never raises for any request: the response for what does not exist is a 404.
        """
        plan = self._by_name.get(host) or self._by_name.get(host.lower())
        if plan is None:
            endless = self.endless.respond(host.lower(), target)
            if endless is not None:
                return SimResponse(*endless)
            return SimResponse(404, [_HTML], self._writer.missing(host), _NO_DELAY)
        if target == "/robots.txt":
            # Never with a fault: rules that cannot be fetched close a host for far longer than a fault lasts.
            text = plan.robots.text
            if text is None:
                return SimResponse(404, [_HTML], self._writer.missing(host), plan.slow)
            return SimResponse(200, [_PLAIN], text + self.site_maps.robots_line(plan), plan.slow)
        page = number_of(plan, target)
        if page is None:
            if (listed := self.site_maps.respond(plan, target)) is not None:
                return SimResponse(200, *listed, plan.slow)
            return SimResponse(404, [_HTML], self._writer.missing(host), plan.slow)
        since_epoch = time - self.config.epoch
        if since_epoch < self.config.fault_seconds:
            remaining = self.recovers_at(plan, page) - since_epoch
            if remaining > 0:
                return self._fault(plan, page, remaining)
        match plan.kind(page):
            case Kind.REDIRECT:
                return self._redirect(plan, page)
            case Kind.MISSING:
                return SimResponse(404, [_HTML], self._writer.missing(host), plan.slow)
            case Kind.DUPLICATE:
                return SimResponse(200, [_HTML], self.duplicate(plan, page), plan.slow)
            case _:
                return self._document(plan, page, time, headers)

    def duplicate(self, host: HostPlan, page: int) -> bytes:
        """The body of a URL in a group of duplicates; with `near_copies` the first of a group is the original."""
        group = self.graph.duplicate_group(host, page)
        body = self._writer.copy(group)
        if not self.config.near_copies:
            return body
        place = self.graph.duplicate_members(group).index((host, page))
        variation = VARIATIONS[(group + place - 1) % len(VARIATIONS)] if place else None
        return near_copy(body, self.config.seed, group, variation)

    def recovers_at(self, host: HostPlan, page: int) -> Seconds:
        """How long after the epoch the page fails: 0 for most, never longer than `fault_seconds`."""
        own = 0.0
        if page and self._faults:
            draw = hash64(self.config.seed, "fault", host.number, page)
            if draw & 0xFFFF < self._faults:
                own = self.config.fault_seconds * (0.3 + 0.7 * ((draw >> 16) & 0xFFFF) / 65_536)
        return Seconds(max(own, host.recovers_at))

    def _fault(self, host: HostPlan, page: int, remaining: float) -> SimResponse:
        draw = hash64(self.config.seed, "which fault", host.number, page)
        status = 429 if draw & 1 else 503
        headers: Headers = [_PLAIN]
        # 429 always has a Retry-After, 503 every other time.
        if status == 429 or draw & 2:
            headers.append(("Retry-After", str(math.ceil(remaining))))
        return SimResponse(status, headers, b"try again later\n", host.slow)

    def _redirect(self, host: HostPlan, page: int) -> SimResponse:
        redirect = self.graph.redirect(host, page)
        other, target = redirect.target
        if redirect.absolute:
            location = url_of(other, target)
        elif target % 2:
            location = RelativeTo(path_of(host, page)).href(path_of(other, target))
        else:
            location = path_of(other, target)
        return SimResponse(redirect.status, [_HTML, ("Location", location)], b"<p>moved</p>\n", host.slow)

    def _document(self, host: HostPlan, page: int, time: Instant, headers: Mapping[str, str]) -> SimResponse:
        config = self.config
        key = page_key(config.seed, host.number, page)
        rate = changes_per_day(key, config.change_rate_per_day, config.static_pages)
        version = version_at(key, rate, time)
        sent = [_HTML]
        if host.sends_validators:
            tag = f'"{key & 0xFFFFFFFF:x}-{version.number}"'
            modified = int(version.since)
            sent += [("ETag", tag), ("Last-Modified", http_date(modified))]
            if _unchanged(headers, tag, modified):
                return SimResponse(304, sent[1:], b"", host.slow)
        return SimResponse(200, sent, self._writer.page(host, page, version.number), host.slow)


def _unchanged(headers: Mapping[str, str], tag: str, modified: int) -> bool:
    """Whether the client's copy is current. If-None-Match takes precedence over the date (RFC 9110, 13.1.3)."""
    tags = headers.get("if-none-match")
    if tags is not None:
        return any(part.strip().removeprefix("W/") in (tag, "*") for part in tags.split(","))
    since = headers.get("if-modified-since")
    if since is None:
        return False
    try:
        return modified <= parsedate_to_datetime(since).timestamp()
    except (ValueError, TypeError, OverflowError):
        return False  # an invalid date is ignored


def http_date(seconds: int) -> str:
    """A date in the format of HTTP. `email.utils` would do, at four times the cost."""
    t = datetime.fromtimestamp(seconds, UTC)
    day, month = _DAYS[t.weekday()], _MONTHS[t.month - 1]
    return f"{day}, {t.day:02} {month} {t.year} {t.hour:02}:{t.minute:02}:{t.second:02} GMT"
