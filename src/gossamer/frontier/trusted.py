"""Trusted domains: a signal of 1 for the hosts that whoever runs the crawl has named, 0 for all others."""

import re
from collections.abc import Iterable

from gossamer.model.units import Url

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
