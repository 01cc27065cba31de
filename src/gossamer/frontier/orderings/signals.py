"""Trusted domains: a signal of 1 for the hosts that whoever runs the crawl has named, 0 for all others.

The signals that a priority is made of, each a small pure function with a range of 0..1.

A signal is None where nothing is known: it then takes no part, and the others carry the score. These functions say
what a score means; `orderings.mercator` computes the same in one go, and a test holds it to them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from math import frexp

from gossamer.model.facts import BIRTH_CREDIT, UrlFacts
from gossamer.model.units import DAY, Url

HOSTS_KEPT = 65_536  # answers that are remembered

_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")


class TrustedDomains:
    """A set of domains and patterns, asked for one URL after another.

    `example.org`    that name and every name below it
    `*.gov`          every name below `gov`, not `gov` itself
    `news.*`         every name whose first label is `news` and that has another label

    Letters count alike in both cases; names are in A-label form. A lookup is one step for each label of the host, and
    hosts met lately are remembered.
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
            raise ValueError(f"{pattern!r} is no domain, nor a pattern like '*.gov' or 'news.*'")
        names.add(name)

    def value(self, url: Url) -> float | None:
        """1: the host is trusted. 0: it is not. None: there is no list, or no URL."""
        if not url or not self:
            return None
        return self.of_host(url.split("/", 3)[2])

    def of_host(self, host: str) -> float:
        """The same for a host as it stands in a URL, with or without a port."""
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
"""So many links from anywhere are worth half of what links can be worth at all: a site's menu soon gives them."""

AGE_FOR_HALF = 30 * DAY
"""Seconds. A page that was modified so long ago is half as fresh as one of today."""

CREDIT_STEP = BIRTH_CREDIT / 64
"""The least received credit that counts: about what a page with fifty links hands to each."""

CREDIT_DOUBLINGS = 10
"""So many doublings of the step make 1: sixteen times what a page is born with."""

HOME, INDEX, ARTICLE, ASSET = 1.0, 0.25, 0.1, 0.0
"""What the types of pages are worth."""

INDEX_NAMES = ("index.", "default.", "home.")
"""A last name that begins so stands for its directory."""

_ASSETS = """
    atom avi bmp bz2 css csv doc docx eot epub exe gif gz ico ics iso jpeg jpg js json m4a mov mp3 mp4 mpeg mpg odp ods
    odt ogg pdf png ppt pptx ps rar rss rtf svg tar tgz tif tiff ttf txt wav webm webp woff woff2 xls xlsx xml zip
"""
ASSET_ENDINGS = frozenset(_ASSETS.split())
"""Endings of names that are hardly ever pages with links. Most are refused before; documents and feeds are not."""


def links(count: int) -> float:
    """0: no fetched page links to it. 1: countless do."""
    return count / (count + LINKS_FOR_HALF)


def links_from_others(count: int) -> float:
    """0: no page of another domain links to it. 1: countless do. The first one makes half: no menu put it there."""
    return count / (count + 1)


def importance(credit: int) -> float:
    """0: has nothing but what it was born with. 1: was handed sixteen times as much, or more.

    By the logarithm: every doubling adds a tenth. Between powers of two it goes straight, since that is the same on
    every machine, and a logarithm may not be.
    """
    received = (credit - BIRTH_CREDIT) / CREDIT_STEP
    if received <= 0.0:
        return 0.0
    mantissa, exponent = frexp(1.0 + received)
    return min(1.0, (exponent - 2 + 2 * mantissa) / CREDIT_DOUBLINGS)


def depth(hops: int) -> float:
    """1: a seed. 0: endlessly far from all seeds; one link away is a half, two are a third."""
    return 1 / (1 + hops)


def nesting(url: Url) -> float | None:
    """1: the top of a host. 0: endlessly deep in its tree; every level halves it.

    A level is a directory, a file in it, or a query.
    """
    return None if not url else at_level(levels(url))


def page_type(url: Url) -> float | None:
    """By the URL alone. 1: a home page; 0.25: an index, which is a directory; 0.1: an article, or anything else; 0: an
    asset, by its ending."""
    if not url:
        return None
    path, mark, _ = url.partition("?")
    name = path[path.rfind("/") + 1 :].lower()
    if not name or name.startswith(INDEX_NAMES):
        return HOME if path.count("/") == 3 and not mark else INDEX
    _, dot, ending = name.rpartition(".")
    return ASSET if dot and ending in ASSET_ENDINGS else ARTICLE


def freshness(age: float | None) -> float | None:
    """Seconds since the last known modification. 1: modified just now. 0: endlessly long ago; 30 days are a half."""
    return None if age is None else AGE_FOR_HALF / (AGE_FOR_HALF + max(0.0, age))


def change(visits: int, changes: int) -> float | None:
    """0: never found changed, in many visits. 1: changed each time, in many. None before the second visit.

    One visit with a change and one without are taken as seen already, so that two visits prove little.
    """
    return None if visits < 2 else (min(changes, visits - 1) + 1) / (visits + 1)


def levels(url: Url) -> int:
    """Of nesting. "http://host/a/b?q" has three slashes before the first name, then one more for each level."""
    path, mark, _ = url.partition("?")
    return path.count("/") - 3 + (not path.endswith("/")) + bool(mark)


def at_level(level: int) -> float:
    """What nesting makes of so many levels."""
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
"""All but `trusted`, which has a list of its own (`frontier.orderings.signals`)."""

BORNE_BY_LINKS = frozenset({"importance", "links_from_others", "links"})
"""The signals that a link found later changes."""
