"""The hosts that a web of traps has in addition to its ordinary ones: the traps themselves, and large ordinary hosts.

Large ordinary hosts look like a trap, but have something new on every page. Each has a domain of its own, `large-KIND`
in the web's zone, and a given number of pages in addition to its lists. The pages are numbered; a kind defines how a
number is written as a path, and how the path is parsed again.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import NamedTuple

from gossamer.lab.simweb.chance import SECTIONS, SLUGS, hash64
from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.traps import HONEST_PAGES, KINDS, MANY_HOSTS, TrapPage, TrapRequest, babble, trap_page
from gossamer.model.units import Seconds

PER_LIST = 100
"""Pages on a list."""


class Style(NamedTuple):
    """The URLs of the pages of a kind. The number is the last group of `page`."""

    page: Callable[[int], str]
    page_number: Callable[[str], int | None]
    listing: Callable[[int], str]
    list_number: Callable[[str], int | None]


def _read(pattern: str) -> Callable[[str], int | None]:
    matches = re.compile(pattern).fullmatch

    def number(target: str) -> int | None:
        found = matches(target)
        return int(found[1]) if found else None

    return number


def _slug(number: int) -> str:
    mixed = hash64("slug", number)
    return f"{SLUGS[mixed % len(SLUGS)]}-{SLUGS[(mixed >> 8) % len(SLUGS)]}"


def _day(number: int) -> str:
    return f"{1990 + number // 372 % 35}/{number // 31 % 12 + 1:02}/{number % 31 + 1:02}"


def _title(number: int) -> str:
    mixed = hash64("title", number)
    return "_".join(SLUGS[(mixed >> shift) % len(SLUGS)].capitalize() for shift in (0, 8, 16, 24))


STYLES: dict[str, Style] = {
    "articles": Style(
        lambda n: f"/article/{n}", _read(r"/article/(\d+)"), lambda n: f"/index/{n}", _read(r"/index/(\d+)")
    ),
    "archive": Style(
        lambda n: f"/{_day(n)}/{_slug(n)}-{n}/",
        _read(r"/\d{4}/\d\d/\d\d/[a-z]+-[a-z]+-(\d+)/"),
        lambda n: f"/{2030 - n // 12}/{n % 12 + 1:02}/?part={n}",
        _read(r"/\d{4}/\d\d/\?part=(\d+)"),
    ),
    "shop": Style(
        lambda n: f"/shop/{SECTIONS[n % len(SECTIONS)]}/{_slug(n)}-{n}.html",
        _read(r"/shop/[a-z]+/[a-z]+-[a-z]+-(\d+)\.html"),
        lambda n: f"/shop/all?page={n}",
        _read(r"/shop/all\?page=(\d+)"),
    ),
    "wiki": Style(
        lambda n: f"/wiki/{SECTIONS[n % len(SECTIONS)].capitalize()}/{_title(n)}/{_title(n + 1)}_({n})",
        _read(r"/wiki/\w+/\w+/\w+_\((\d+)\)"),
        lambda n: f"/wiki/Special:All/{n}",
        _read(r"/wiki/Special:All/(\d+)"),
    ),
    "forum": Style(
        lambda n: f"/forum/thread?id={n // 4}&page={n % 4}",
        lambda target: _forum_number(target),
        lambda n: f"/forum/board?start={n}",
        _read(r"/forum/board\?start=(\d+)"),
    ),
}


def _forum_number(target: str) -> int | None:
    found = re.fullmatch(r"/forum/thread\?id=(\d+)&page=([0-3])", target)
    return 4 * int(found[1]) + int(found[2]) if found else None


def honest_targets(kind: str, pages: int) -> Iterator[str]:
    """Every target of a host of that kind: home page, lists, pages."""
    style = STYLES[kind]
    yield "/"
    yield from (style.listing(n) for n in range(_lists(pages)))
    yield from (style.page(n) for n in range(pages))


def honest_page(kind: str, seed: int, pages: int, target: str) -> TrapPage | None:
    """The page at a target; None if there is none."""
    style = STYLES[kind]
    if target == "/":
        return TrapPage(
            f"Home of {kind}", babble(seed, kind, "home"), tuple(style.listing(n) for n in range(_lists(pages)))
        )
    number = style.page_number(target)
    if number is not None and number < pages and style.page(number) == target:
        return _page(kind, style, seed, pages, number)
    number = style.list_number(target)
    if number is not None and number < _lists(pages) and style.listing(number) == target:
        listed = range(number * PER_LIST, min((number + 1) * PER_LIST, pages))
        text = "".join(f"<p>{escape(_title(n))}</p>" for n in listed)
        return TrapPage(f"List {number}", text, ("/", *(style.page(n) for n in listed)))
    return None


def _page(kind: str, style: Style, seed: int, pages: int, number: int) -> TrapPage:
    related = [hash64(seed, kind, number, i) % pages for i in range(5)]
    around = [n for n in (number - 1, number + 1) if 0 <= n < pages]
    links = ("/", style.listing(number // PER_LIST), *(style.page(n) for n in (*around, *related)))
    return TrapPage(f"{_title(number).replace('_', ' ')}", babble(seed, kind, number, count=3), links)


def _lists(pages: int) -> int:
    return -(-pages // PER_LIST)


_HTML = ("Content-Type", "text/html; charset=utf-8")
Answer = tuple[int, list[tuple[str, str]], bytes, Seconds]


class EndlessHosts:
    """Answers for `trap-KIND` and `large-KIND` in the zone of a web; for nothing if the web has no traps."""

    def __init__(self, config: SimWebConfig) -> None:
        self._seed = config.seed
        self._zone = config.zone
        self._pages = config.large_pages
        default_port = 443 if config.tls else 80
        self._scheme = "https" if config.tls else "http"
        self._port = "" if config.port == default_port else f":{config.port}"
        self.traps = _chosen(KINDS, config.trap_kinds)
        self.large = _chosen(STYLES, config.large_kinds) if config.large_pages else ()

    def base_of(self, host: str) -> str:
        return f"{self._scheme}://{host}{self._port}"

    def trap_host(self, kind: str) -> str:
        return f"trap-{kind}.{self._zone}"

    def large_host(self, kind: str) -> str:
        return f"large-{kind}.{self._zone}"

    def seeds(self) -> tuple[str, ...]:
        """The home pages of all of them."""
        hosts = (*map(self.trap_host, self.traps), *map(self.large_host, self.large))
        return tuple(f"{self.base_of(host)}/" for host in hosts)

    def honest_urls(self) -> dict[str, frozenset[str]]:
        """Host -> every URL on it that a crawl must not miss."""
        found = {
            host: frozenset(self.base_of(host) + target for target in honest_targets(kind, self._pages))
            for kind in self.large
            for host in (self.large_host(kind),)
        }
        for kind in self.traps:
            if kind not in MANY_HOSTS:
                host = self.trap_host(kind)
                about = (f"{self.base_of(host)}/about/{n}" for n in range(1, HONEST_PAGES + 1))
                found[host] = frozenset((f"{self.base_of(host)}/", *about))
        return found

    def kind_of(self, host: str) -> tuple[str, str] | None:
        """`trap` or `large`, and the kind; None for a host that is neither."""
        if not (self.traps or self.large):
            return None
        labels = host.removesuffix(f".{self._zone}").split(".")
        family, dash, kind = labels[-1].partition("-")
        if not dash or (len(labels) > 1 and kind not in MANY_HOSTS):
            return None
        there = self.traps if family == "trap" else self.large if family == "large" else ()
        return (family, kind) if kind in there else None

    def address_of(self, host: str) -> str | None:
        """127.200.x.x and above, so that no host shares one with an ordinary host, nor (except by chance) with
        another."""
        if self.kind_of(host) is None:
            return None
        mixed = hash64(self._seed, "address", host)
        return f"127.{200 + mixed % 50}.{(mixed >> 8) % 255}.{1 + (mixed >> 16) % 250}"

    def respond(self, host: str, target: str) -> Answer | None:
        """The response, if the host is one of these."""
        known = self.kind_of(host)
        if known is None:
            return None
        if target == "/robots.txt":
            return 404, [_HTML], b"<p>none</p>\n", Seconds(0.0)
        family, kind = known
        if family == "large":
            shown = honest_page(kind, self._seed, self._pages, target)
        else:
            path, _, query = target.partition("?")
            shown = trap_page(kind, TrapRequest(self._seed, host, self.base_of(host), path, query))
        if shown is None:
            return 404, [_HTML], b"<p>There is no such page.</p>\n", Seconds(0.0)
        if shown.redirect is not None:
            return 302, [_HTML, ("Location", shown.redirect)], b"<p>moved</p>\n", Seconds(0.0)
        return 200, [_HTML], _written(shown), Seconds(0.0)


def _chosen(kinds: Iterable[str], wanted: str) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if wanted == "all" or kind in wanted.split(","))


def _written(shown: TrapPage) -> bytes:
    links = "\n".join(f'<li><a href="{escape(link)}">more</a></li>' for link in shown.links)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{escape(shown.title)}</title></head>\n'
        f"<body>\n{shown.text}\n<ul>\n{links}\n</ul>\n</body>\n</html>\n"
    ).encode()
