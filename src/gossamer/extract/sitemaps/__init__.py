"""From the bytes of a sitemap or a feed to the URLs that it lists.

In comes a body as it was found at its address, content codings off, perhaps still packed with gzip. `unpack` takes
that off, `reading` looks at the first bytes and chooses: a line for each URL (`text`), or XML, which `xml` hands to
`locations` (sitemaps and their indexes) or to `feeds` (RSS, Atom) by its first element. Out go `Entry` values,
a slice of the body at a time, so whoever reads decides when to pause; and at the end an `Outcome`, which says what it
was and what was wrong with it.

What always holds: no bytes make it raise; nothing is opened or expanded that a document only names (ADR 14); bytes,
entries, depth and the length of every piece are bounded; what was read before a fault counts. URLs come out as they
were written: resolving and judging them is the filter's business.
"""

from gossamer.extract.sitemaps.entries import Entry, Fault, ListKind, Outcome, ReadLimits, Related, Slice
from gossamer.extract.sitemaps.reader import GZIP_MARK, is_feed, is_sitemap, read_list

__all__ = [
    "GZIP_MARK",
    "Entry",
    "Fault",
    "ListKind",
    "Outcome",
    "ReadLimits",
    "Related",
    "Slice",
    "is_feed",
    "is_sitemap",
    "read_list",
]
