"""Signals that are added to a score: small pure functions with a range of 0..1, and a list of trusted domains."""

import re
from collections.abc import Iterable

from gossamer.model.units import DAY

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
        self._known: dict[str, bool] = {}
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

    def of_host(self, host: str) -> bool:
        """Whether a host, as written in a URL with or without a port, is trusted."""
        known = self._known.get(host)
        if known is None:
            if len(self._known) >= HOSTS_KEPT:
                self._known.clear()
            known = self._known[host] = self._covers(_without_port(host).lower())
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


AGE_FOR_HALF = 30 * DAY
"""Seconds. A page modified this long ago is half as fresh as one modified today."""

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


def freshness(age: float) -> float:
    """Seconds since the last known modification. 1: modified just now. 0: infinitely long ago; 30 days are a half."""
    return AGE_FOR_HALF / (AGE_FOR_HALF + max(0.0, age))


def change(visits: int, changes: int) -> float:
    """0: never changed in many visits. 1: changed each time in many. There are two visits or more.

    Starts from one visit with a change and one without, so that two visits prove little.
    """
    return (min(changes, visits - 1) + 1) / (visits + 1)
