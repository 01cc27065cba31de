"""The signals that a priority is made of: small pure functions with a range of 0..1, and a list of trusted domains.

A signal is None if nothing is known: it is then left out, and the others make up the score. These functions define the
score; `orderings.mercator` computes the same in one pass, and a test compares the two.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import frexp

from gossamer.model.facts import BIRTH_CREDIT, UrlFacts
from gossamer.model.units import DAY, Url

HOSTS_KEPT = 65_536  # cached answers

_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")


class TrustedDomains:
    """A set of trusted domains and patterns.

      `example.org`    that name and every name below it
      `*.gov`          every name below `gov`, not `gov` itself
      `news.*`         every name whose first label is `news` and that has another label

    Case does not matter; names are in A-label form. A lookup is one step for each label of the host, and recent hosts
    are cached.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        """Raises ValueError for a pattern that is none of the above."""
        self._named: set[str] = set()
        self._below: set[str] = set()
        self._first: set[str] = set()
        self._known: dict[str, float] = {}
        self.patterns = frozenset(patterns)
        for pattern in self.patterns:
            self._learn(pattern)

    def __bool__(self) -> bool:
        return bool(self._named or self._below or self._first)

    @property
    def remembered(self) -> int:
        return len(self._known)

    def _learn(self, pattern: str) -> None:
        text = pattern.lower()
        if text.startswith("*."):
            name, names = text[2:], self._below
        elif text.endswith(".*"):
            name, names = text[:-2], self._first
        else:
            name, names = text, self._named
        if not _NAME.fullmatch(name) or (names is self._first and "." in name):
            raise ValueError(f"{pattern!r} is not a domain or a pattern like '*.gov' or 'news.*'")
        names.add(name)

    def value(self, url: Url) -> float | None:
        """1: the host is trusted. 0: it is not. None: there is no list, or no URL."""
        if not url or not self:
            return None
        return self.of_host(url.split("/", 3)[2])

    def of_host(self, host: str) -> float:
        """The same for a host as written in a URL, with or without a port."""
        known = self._known.get(host)
        if known is None:
            if len(self._known) >= HOSTS_KEPT:
                self._known.clear()
            known = self._known[host] = float(self._covers(_without_port(host).lower()))
        return known

    def _covers(self, host: str) -> bool:
        first, dot, rest = host.partition(".")
        if host in self._named or (dot and first in self._first):
            return True
        while dot:
            if rest in self._named or rest in self._below:
                return True
            _, dot, rest = rest.partition(".")
        return False


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not host.endswith("]") else host


LINKS_FOR_HALF = 10
"""This many links are worth half of the maximum: a site's menu soon gives that many."""

AGE_FOR_HALF = 30 * DAY
"""Seconds. A page modified this long ago is half as fresh as one modified today."""

CREDIT_STEP = BIRTH_CREDIT / 64
"""The least received credit that counts: about what a page with fifty links passes to each."""

CREDIT_DOUBLINGS = 10
"""This many doublings of the step make 1: sixteen times the initial credit."""

HOME, INDEX, ARTICLE, ASSET = 1.0, 0.25, 0.1, 0.0
"""The values of the page types."""

INDEX_NAMES = ("index.", "default.", "home.")
"""A last path segment that begins like this represents its directory."""

_ASSETS = """
    atom avi bmp bz2 css csv doc docx eot epub exe gif gz ico ics iso jpeg jpg js json m4a mov mp3 mp4 mpeg mpg odp ods
    odt ogg pdf png ppt pptx ps rar rss rtf svg tar tgz tif tiff ttf txt wav webm webp woff woff2 xls xlsx xml zip
"""
ASSET_ENDINGS = frozenset(_ASSETS.split())
"""File name extensions that are hardly ever pages with links. The filter excludes most of them; documents and feeds
pass."""


def links(count: int) -> float:
    """0: no fetched page links to it. 1: countless do."""
    return count / (count + LINKS_FOR_HALF)


def links_from_others(count: int) -> float:
    """0: no page of another domain links to it. 1: countless do. The first one makes half: no menu put it there."""
    return count / (count + 1)


def importance(credit: int) -> float:
    """0: nothing but the initial credit. 1: received sixteen times as much, or more.

    Logarithmic: every doubling adds a tenth. Linear between powers of two, because that gives the same result on every
    machine, and a logarithm may not.
    """
    received = (credit - BIRTH_CREDIT) / CREDIT_STEP
    if received <= 0.0:
        return 0.0
    mantissa, exponent = frexp(1.0 + received)
    return min(1.0, (exponent - 2 + 2 * mantissa) / CREDIT_DOUBLINGS)


def depth(hops: int) -> float:
    """1: a seed. 0: infinitely far from all seeds; one link away is a half, two are a third."""
    return 1 / (1 + hops)


def nesting(url: Url) -> float | None:
    """1: the top of a host. 0: infinitely deep; every level halves it.

    A level is a directory, a file in it, or a query.
    """
    return None if not url else at_level(levels(url))


def page_type(url: Url) -> float | None:
    """By the URL alone. 1: a home page; 0.25: an index or directory; 0.1: an article, or anything else; 0: an asset, by
    its extension."""
    if not url:
        return None
    path, mark, _ = url.partition("?")
    name = path[path.rfind("/") + 1 :].lower()
    if not name or name.startswith(INDEX_NAMES):
        return HOME if path.count("/") == 3 and not mark else INDEX
    _, dot, ending = name.rpartition(".")
    return ASSET if dot and ending in ASSET_ENDINGS else ARTICLE


def freshness(age: float | None) -> float | None:
    """Seconds since the last known modification. 1: modified just now. 0: infinitely long ago; 30 days are a half."""
    return None if age is None else AGE_FOR_HALF / (AGE_FOR_HALF + max(0.0, age))


def change(visits: int, changes: int) -> float | None:
    """0: never changed in many visits. 1: changed each time in many. None before the second visit.

    Starts from one visit with a change and one without, so that two visits prove little.
    """
    return None if visits < 2 else (min(changes, visits - 1) + 1) / (visits + 1)


def levels(url: Url) -> int:
    """Levels of nesting. "http://host/a/b?q" has three slashes before the first name, then one more for each level."""
    path, mark, _ = url.partition("?")
    return path.count("/") - 3 + (not path.endswith("/")) + bool(mark)


def at_level(level: int) -> float:
    """The value of `nesting` at a level."""
    return 0.5**level


SIGNALS: Mapping[str, Callable[[UrlFacts], float | None]] = {
    "importance": lambda url: importance(url.credit),
    "links_from_others": lambda url: links_from_others(url.links_from_others),
    "links": lambda url: links(url.links),
    "page_type": lambda url: page_type(url.url),
    "nesting": lambda url: nesting(url.url),
    "depth": lambda url: depth(url.depth),
    "freshness": lambda url: freshness(url.age),
    "change": lambda url: change(url.visits, url.changes),
}
"""All but `trusted`, which is a list (`TrustedDomains`)."""

BORNE_BY_LINKS = frozenset({"importance", "links_from_others", "links"})
"""The signals that links found later change."""
