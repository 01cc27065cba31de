"""Reads feeds: RSS of all versions, Atom 0.3 and 1.0.

All are treated alike. An item has links, as text, as `href`, or as a permalink id that is a URL; the first that is an
alternate link, or has no rel, is the item's page.
"""

from typing import Final
from urllib.parse import urljoin

from gossamer.extract.sitemaps.entries import (
    MAX_HREF,
    MAX_RELATED,
    Entry,
    Fault,
    Gathering,
    ListKind,
    ReadLimits,
    Related,
    Stopped,
    any_date,
    plausible,
)
from gossamer.extract.sitemaps.xml import Names
from gossamer.model.units import Instant

ROOTS: Final = {"rss": ListKind.RSS, "rdf": ListKind.RSS, "feed": ListKind.ATOM}

_ITEMS: Final = ("item", "entry")
_PARENTS: Final = ("item", "entry", "channel", "feed")
# The date of the last modification rather than of publication, if an item has both.
_DATES: Final = ("updated", "modified", "pubdate", "date", "published", "issued", "created")
_TEXTS: Final = ("link", "guid", *_DATES)
_NAMES: Final = frozenset((*_PARENTS, *_TEXTS, "enclosure", "rss", "rdf"))
_PREFIXES: Final = frozenset({"atom", "a10", "rss", "dc", "dcterms"})
_WEB: Final = ("http://", "https://")


class Feeds(Gathering):
    """Collects the items of a feed."""

    def __init__(self, kind: ListKind, root: str, attributes: list[str], limits: ReadLimits, now: Instant) -> None:
        super().__init__(kind, limits, now)
        self._names = Names(_NAMES, _PREFIXES | {root.rpartition(":")[0].lower()})
        meaning = self._names.meaning(root)
        self._path = [meaning]  # of the open elements, by meaning
        self._bases: list[tuple[int, str]] = []  # xml:base, by depth
        self._item_at = 0  # depth of the open item; 0 if there is none
        self._field = ""
        self._rel: str | None = None  # of the open link
        self._links: list[Related] = []
        self._dates: dict[str, str] = {}
        self._guid = ""
        self._rebase(_as_dict(attributes))

    def start(self, name: str, attributes: list[str]) -> None:
        path = self._path
        meaning = self._names.meaning(name)
        parent = path[-1]
        path.append(meaning)
        self.text.clear()
        self.text_cut = False
        self._field = ""
        if len(path) > self._limits.max_depth:
            raise Stopped(Fault.LIMIT, f"elements nested more than {self._limits.max_depth} deep")
        found = _as_dict(attributes) if attributes else {}
        if found:
            self._rebase(found)
        if meaning in _ITEMS and not self._item_at:
            self._item_at = len(path)
        elif parent in _PARENTS and (not self._item_at or len(path) == self._item_at + 1):
            self._begin(meaning, found)

    def _begin(self, meaning: str, found: dict[str, str]) -> None:
        """An element directly in an item, or in the channel."""
        if meaning == "link":
            rel = found.get("rel", "alternate").lower()
            if "href" in found:
                self._relate(rel, found["href"])
            else:
                self._field, self._rel = meaning, rel
        elif meaning == "enclosure":
            if "url" in found:
                self._relate("enclosure", found["url"])
        elif meaning in _TEXTS and self._item_at:
            self._field = meaning

    def end(self, name: str) -> None:
        if self._field:
            self._keep()
        depth = len(self._path)
        self._path.pop()
        if self._bases and self._bases[-1][0] >= depth:
            self._bases.pop()
        if depth == self._item_at:
            self._finish()

    def break_off(self, *, at_end_tag: bool) -> None:
        if self._field and at_end_tag:
            self._keep()
        if self._item_at and self._links:
            self._finish()

    def _keep(self) -> None:
        field, self._field = self._field, ""
        text = "" if self.text_cut else "".join(self.text).strip()
        if not text or len(text) > MAX_HREF:
            return
        if field == "link":
            self._relate(self._rel or "alternate", text)
        elif field == "guid":
            self._guid = text
        else:
            self._dates.setdefault(field, text)

    def _relate(self, rel: str, href: str) -> None:
        href = href.strip()
        if not href or len(href) > MAX_HREF:
            return
        href = self._join(href)
        if self._item_at:
            if len(self._links) < MAX_RELATED:
                self._links.append(Related(rel, href))
        elif rel == "alternate" and self.home is None:
            self.home = href

    def _rebase(self, found: dict[str, str]) -> None:
        base = found.get("xml:base")
        if base and len(base) <= MAX_HREF:
            self._bases.append((len(self._path), self._join(base)))

    def _join(self, href: str) -> str:
        if not self._bases:
            return href
        try:
            return urljoin(self._bases[-1][1], href)
        except ValueError:  # brackets that are not an address
            return href

    def _finish(self) -> None:
        self._item_at = 0
        self.found += 1
        links, dates = self._links, self._dates
        url = next((link.href for link in links if link.rel == "alternate"), None)
        if url is None and self._guid.lower().startswith(_WEB):
            url = self._guid
        written = next((dates[name] for name in _DATES if name in dates), None)
        if (url is None and not links) or self.found - self.dropped > self._limits.max_entries:
            self.dropped += 1
        else:
            lastmod = plausible(any_date(written), self._now) if written else None
            self.entries.append(Entry(url, lastmod, related=tuple(links)))
        self._links, self._dates, self._guid = [], {}, ""


def _as_dict(attributes: list[str]) -> dict[str, str]:
    """Attributes by name in lower case."""
    return {name.lower(): value for name, value in zip(attributes[::2], attributes[1::2], strict=True)}
