"""Sitemaps and feeds: from their bytes to the URLs that they list.

Input is a body without content codings, possibly compressed with gzip. `reader` decompresses it and inspects the first
bytes: either it has one URL per line, or it is XML, which `xml` passes to `locations` (sitemaps and their indexes) or
to `feeds` (RSS, Atom) by its root element. The output is a sequence of `Entry` values, a slice of the body at a time,
so that the caller decides when to pause; and at the end an `Outcome`, which says what kind of list it was and what was
wrong with it.

Invariants: no input makes it raise; nothing that a document only refers to is opened or expanded (ADR 14); bytes,
entries, depth and the length of every token are bounded; what was read before a fault counts. URLs are returned as
written: the filter resolves and checks them.
"""

from gossamer.extract.sitemaps.entries import Entry, Fault, ListKind, Outcome, ReadLimits, Related, Slice
from gossamer.extract.sitemaps.reader import GZIP_MARK, begins_as_sitemap, is_feed, is_sitemap, read_list

__all__ = [
    "GZIP_MARK",
    "Entry",
    "Fault",
    "ListKind",
    "Outcome",
    "ReadLimits",
    "Related",
    "Slice",
    "begins_as_sitemap",
    "is_feed",
    "is_sitemap",
    "read_list",
]
