"""Reads sitemaps and their indexes: `<url>` and `<sitemap>` elements. Hot: benchmarks/bench_sitemaps.py."""

from typing import Final

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
    change_frequency,
    plausible,
    priority_of,
)
from gossamer.extract.sitemaps.xml import Names
from gossamer.model.units import Instant

ROOTS: Final = {"urlset": ListKind.URLSET, "sitemapindex": ListKind.INDEX}

_ITEMS: Final = ("url", "sitemap")
_FIELDS: Final = ("loc", "lastmod", "changefreq", "priority")
_ROOT, _ITEM, _FIELD, _WITHIN = 1, 2, 3, 4  # depths


class Locations(Gathering):
    """Collects entries. A field counts only directly in its entry, and with the root's prefix or none."""

    def __init__(self, kind: ListKind, root: str, limits: ReadLimits, now: Instant) -> None:
        super().__init__(kind, limits, now)
        self._meaning = Names(frozenset((*_ITEMS, *_FIELDS)), frozenset({root.rpartition(":")[0].lower()})).meaning
        self._depth = _ROOT
        self._in_item = False
        self._bare = True  # the entry contains only text so far
        self._field = ""
        self._values: dict[str, str] = {}
        self._related: list[Related] = []

    def start(self, name: str, attributes: list[str]) -> None:
        depth = self._depth = self._depth + 1
        self.text.clear()
        self.text_cut = False
        self._field = ""
        if depth == _FIELD:
            self._bare = False
            if self._in_item:
                self._field = self._meaning(name)
                if not self._field and attributes and name.endswith("link"):
                    self._alternate(attributes)
        elif depth == _ITEM:
            self._in_item = self._meaning(name) in _ITEMS
            self._bare = True
        elif depth > self._limits.max_depth:
            raise Stopped(Fault.LIMIT, f"elements nested more than {self._limits.max_depth} deep")

    def end(self, name: str) -> None:
        depth = self._depth
        self._depth = depth - 1
        if depth == _FIELD:
            if self._field:
                self._keep()
        elif depth == _ITEM:
            if self._in_item:
                self._finish()
        elif depth == _WITHIN and self._in_item and name.endswith("image:loc"):
            href = "".join(self.text).strip()
            if href and not self.text_cut:
                self._relate("image", href)

    def break_off(self, *, at_end_tag: bool) -> None:
        if self._depth == _FIELD and self._field and at_end_tag:
            self._keep()
        if self._in_item and self._depth >= _ITEM and "loc" in self._values:
            self._finish()

    def _keep(self) -> None:
        # The first one counts.
        self._values.setdefault(self._field, "" if self.text_cut else "".join(self.text))
        self._field = ""

    def _alternate(self, attributes: list[str]) -> None:
        found = dict(zip(attributes[::2], attributes[1::2], strict=True))
        if found.get("rel", "").lower() == "alternate" and found.get("href"):
            self._relate("alternate", found["href"].strip())

    def _relate(self, rel: str, href: str) -> None:
        if len(self._related) < MAX_RELATED and len(href) <= MAX_HREF:
            self._related.append(Related(rel, href))

    def _finish(self) -> None:
        values = self._values
        self._in_item = False
        self.found += 1
        url = values.get("loc", "").strip()
        if not url and self._bare and not self.text_cut:  # some sites omit the <loc> element
            url = "".join(self.text).strip()
            url = url if "://" in url else ""
        if not url or len(url) > MAX_HREF or self.found - self.dropped > self._limits.max_entries:
            self.dropped += 1
        else:
            date, frequency, priority = values.get("lastmod"), values.get("changefreq"), values.get("priority")
            self.entries.append(
                Entry(
                    url,
                    plausible(any_date(date), self._now) if date else None,
                    change_frequency(frequency) if frequency else None,
                    priority_of(priority) if priority else None,
                    tuple(self._related) if self._related else (),
                )
            )
        if values:
            values.clear()
        if self._related:
            self._related.clear()
