"""Soft 404s: hosts that answer 200, or redirect to their home page, for pages that they do not have.

Detected from ordinary visits; no probe requests are sent (ADR 13). A page counts as a soft 404 if

* its title says that something was not found, and an earlier page of the host had the same title, or the page
  repeats (exactly or nearly) one whose title said so;
* or it is short, and `MANY_PAGES` other URLs of the host have shown it already;
* or it redirects to the home page, as `MANY_REDIRECTS` other URLs of the host did.

The first page of a kind is therefore accepted. The evidence is held in memory, and the strongest part of it in the
store: `take_changes` returns what has changed, and `recall` restores it when a host is loaded again.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

SOFT_404: Final = "soft_404"
"""The reason that is recorded."""

MANY_PAGES: Final = 10
MANY_REDIRECTS: Final = 5

SHORT_BYTES: Final = 8_192
"""Longer documents are error pages only if they say so."""

LONG_BYTES: Final = 131_072
"""Longer documents are never error pages."""

_HOSTS: Final = 10_000  # hosts in memory, the most recently used
_OF_HOST: Final = 200  # titles and originals per host

_TITLES_KEPT, _URLS_KEPT = 20, 50  # of each host, in the store
_TITLE_KEPT: Final = 200  # characters

# For lower-case titles: matching both cases takes seven times as long, and every page has a title.
_NOT_FOUND = re.compile(
    r"\b(?:404|not found|(?:does not|doesn.t) exist|no longer (?:exists|available)|cannot be found"
    r"|nicht gefunden|introuvable|no encontrad[ao]|n[aã]o encontrad[ao]|non trovat[ao]|niet gevonden"
    r"|hittades inte|nie znalezion[ao])\b"
    r"|не найден|見つかりません|找不到|찾을 수 없"
)
_NUMBERS = re.compile(r"\d+")


@dataclass(slots=True)
class _Host:
    """The evidence of one host."""

    titles: set[str] = field(default_factory=set)  # that say "not found", without digits
    missing: set[int] = field(default_factory=set)  # URLs with such titles
    shown: Counter[int] = field(default_factory=Counter)  # by original: number of URLs that repeat it
    home: int = 0  # redirects to the home page

    def to_text(self) -> str:
        """The strongest evidence, in a few kilobytes."""
        titles = [title for title in sorted(self.titles) if len(title) <= _TITLE_KEPT][:_TITLES_KEPT]
        shown = {str(url): min(n, MANY_PAGES) for url, n in self.shown.most_common(_URLS_KEPT)}
        return json.dumps([titles, sorted(self.missing)[-_URLS_KEPT:], shown, self.home])

    @staticmethod
    def from_text(text: str) -> "_Host":
        titles, missing, shown, home = json.loads(text)
        return _Host(set(titles), set(missing), Counter({int(url): n for url, n in shown.items()}), home)


class Soft404Detector:
    """Tells pages from error pages. Does no IO; each URL is passed only once."""

    def __init__(self, hosts: int = _HOSTS) -> None:
        self._most = hosts
        self._hosts: dict[int, _Host] = {}  # least recently used first
        self._changed: dict[int, _Host] = {}  # since `take_changes`

    def is_soft(self, host_id: int, url_id: int, title: str | None, size: int, same_as: int | None) -> bool:
        """Whether a document with status 200 is an error page for a missing one.

        `same_as` is the URL whose document it repeats, exactly or nearly; the title of a repetition may be None.
        """
        says_so = title is not None and _NOT_FOUND.search(title.lower()) is not None
        if (same_as is None and not says_so) or size > LONG_BYTES:
            return False  # as nearly all pages are
        host = self._host(host_id)
        soft = False
        if says_so or (same_as is not None and host.shown[same_as] < MANY_PAGES):
            self._changed[host_id] = host
        if same_as is not None:
            if len(host.shown) >= _OF_HOST and same_as not in host.shown:
                del host.shown[next(iter(host.shown))]
            host.shown[same_as] += 1
            soft = same_as in host.missing or (size <= SHORT_BYTES and host.shown[same_as] > MANY_PAGES)
        if says_so and title is not None:
            key = _NUMBERS.sub("", title)
            soft = soft or key in host.titles
            if len(host.titles) < _OF_HOST:
                host.titles.add(key)
            if len(host.missing) < _OF_HOST:
                host.missing.add(url_id)
        return soft

    def leads_home(self, host_id: int, url: str, target: str) -> bool:
        """Whether a redirect only says that the page is missing: it leads to the home page, like many others."""
        if not _is_home(target) or _is_home(url) or _origin(target) != _origin(url):
            return False
        host = self._host(host_id)
        if host.home <= MANY_REDIRECTS:
            self._changed[host_id] = host
        host.home += 1
        return host.home > MANY_REDIRECTS

    def recall(self, host_id: int, text: str | None) -> None:
        """A host was loaded; `text` is its stored evidence, if any. What is in memory is newer."""
        if text is not None and host_id not in self._hosts:
            self._put(host_id, _Host.from_text(text))

    def take_changes(self) -> dict[int, str]:
        """What to store of hosts with new evidence since the last call."""
        changed, self._changed = self._changed, {}
        return {host_id: host.to_text() for host_id, host in changed.items()}

    def _host(self, host_id: int) -> _Host:
        host = self._hosts.pop(host_id, None) or _Host()
        self._put(host_id, host)
        return host

    def _put(self, host_id: int, host: _Host) -> None:
        if len(self._hosts) >= self._most:
            del self._hosts[next(iter(self._hosts))]
        self._hosts[host_id] = host


def _origin(url: str) -> str:
    return url.partition("://")[2].partition("/")[0].removeprefix("www.")


def _is_home(url: str) -> bool:
    return url.partition("://")[2].partition("/")[2] == ""
