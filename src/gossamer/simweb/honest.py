"""Large hosts that are no traps: everything that a trap looks like, but with something new on every page.

Each stands on a domain of its own, `large-KIND` in the web's zone, and has a given number of pages beside its lists.
The pages are numbered; a kind says how a number is spelt as a path, and how the path is read again.
"""

import re
from collections.abc import Callable, Iterator
from html import escape
from typing import NamedTuple

from gossamer.simweb.chance import hash64
from gossamer.simweb.traps import Shown, babble
from gossamer.simweb.words import SECTIONS, SLUGS

PER_LIST = 100
"""Pages that a list names."""


class Style(NamedTuple):
    """How the pages of a kind are addressed. The number is the last group of `page`."""

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


def honest_page(kind: str, seed: int, pages: int, target: str) -> Shown | None:
    """What stands there; None for nothing."""
    style = STYLES[kind]
    if target == "/":
        return Shown(
            f"Home of {kind}", babble(seed, kind, "home"), tuple(style.listing(n) for n in range(_lists(pages)))
        )
    number = style.page_number(target)
    if number is not None and number < pages and style.page(number) == target:
        return _page(kind, style, seed, pages, number)
    number = style.list_number(target)
    if number is not None and number < _lists(pages) and style.listing(number) == target:
        listed = range(number * PER_LIST, min((number + 1) * PER_LIST, pages))
        text = "".join(f"<p>{escape(_title(n))}</p>" for n in listed)
        return Shown(f"List {number}", text, ("/", *(style.page(n) for n in listed)))
    return None


def _page(kind: str, style: Style, seed: int, pages: int, number: int) -> Shown:
    related = [hash64(seed, kind, number, i) % pages for i in range(5)]
    around = [n for n in (number - 1, number + 1) if 0 <= n < pages]
    links = ("/", style.listing(number // PER_LIST), *(style.page(n) for n in (*around, *related)))
    return Shown(f"{_title(number).replace('_', ' ')}", babble(seed, kind, number, count=3), links)


def _lists(pages: int) -> int:
    return -(-pages // PER_LIST)
