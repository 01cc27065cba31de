"""Reading a list, whatever it is, a slice at a time."""

from collections.abc import Generator
from typing import Final

from gossamer.extract.charset import charset_parameter
from gossamer.extract.mime import RESOURCE_HEADER, declared_type, root_element
from gossamer.extract.sitemaps import feeds, locations
from gossamer.extract.sitemaps.entries import Fault, ListKind, Outcome, ReadLimits, Slice, Stopped
from gossamer.extract.sitemaps.feeds import Feeds
from gossamer.extract.sitemaps.locations import Locations
from gossamer.extract.sitemaps.text import TextLines
from gossamer.extract.sitemaps.unpack import unpacked
from gossamer.extract.sitemaps.xml import Sink, Xml, encoding_of
from gossamer.model.units import Instant

_DEFAULT_LIMITS: Final = ReadLimits()
_FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/rss"})
_FEED_ROOTS: Final = frozenset({"rss", "feed", "rdf"})
_BLANK: Final = b"\t\n\r\f "

Reading = Generator[Slice, None, Outcome]


def is_feed(content_type: str | None, start: bytes) -> bool:
    """Whether a document that was not announced as a list is one that leads to pages: a feed by its declared type, or
    XML whose first element is a feed's."""
    declared = declared_type(content_type)
    if declared is not None and declared.essence in _FEED_TYPES:
        return True
    if declared is None or not declared.is_xml:
        return False
    return _root(start) in _FEED_ROOTS


def is_sitemap(content_type: str | None, start: bytes) -> bool:
    """Whether a document that was not announced as one is a sitemap or an index: XML with its first element."""
    declared = declared_type(content_type)
    return declared is not None and declared.is_xml and _root(start) in locations.ROOTS


def _root(start: bytes) -> str:
    return (root_element(start[:RESOURCE_HEADER]) or "").rpartition(":")[2].lower()


def read_list(
    body: bytes, now: Instant, *, content_type: str | None = None, limits: ReadLimits = _DEFAULT_LIMITS
) -> Reading:
    """The entries of a sitemap or feed, a slice's at a time (also none), and at last what it came to.

    Never raises on what the body holds. A step is some milliseconds of work, so that the caller can pause between two.
    """
    pieces = unpacked(body)
    piece = next(pieces)
    encoding, marked = encoding_of(piece, charset_parameter(content_type))
    piece = piece[marked:]
    if encoding == "utf-8":
        piece = piece.lstrip(_BLANK)  # a declaration must come first, and blank lines before it are common
    reader: Xml | TextLines
    if piece[:2].strip(b"\0").startswith(b"<"):
        reader = Xml(lambda root, attributes: _sink_for(root, attributes, limits, now), limits, encoding)
    else:
        reader = TextLines(limits, encoding)
    read, packing = 0, None
    while True:
        room = limits.max_bytes - read
        read += len(piece)
        reader.feed(piece if len(piece) <= room else piece[:room])
        yield _taken(reader)
        if reader.fault is not None or read > limits.max_bytes:
            break
        try:
            piece = next(pieces)
        except StopIteration as end:
            packing = end.value
            break
    if reader.fault is None:
        reader.feed(b"", last=True)
        yield _taken(reader)
    fault = reader.fault
    if read > limits.max_bytes:
        fault = Fault.LIMIT, f"more than {limits.max_bytes} bytes"
    elif packing is not None:
        fault = packing, "the packed file is damaged or cut off"
    return _outcome(reader, fault, min(read, limits.max_bytes), limits)


def _sink_for(root: str, attributes: list[str], limits: ReadLimits, now: Instant) -> Sink:
    local = root.rpartition(":")[2].lower()
    if local in locations.ROOTS:
        return Locations(locations.ROOTS[local], root, limits, now)
    if local in feeds.ROOTS:
        return Feeds(feeds.ROOTS[local], root, attributes, limits, now)
    raise Stopped(Fault.NOT_A_LIST, f"its first element is {root[:40]!r}")


def _sink_of(reader: Xml | TextLines) -> Sink | TextLines | None:
    return reader.sink if isinstance(reader, Xml) else reader


def _taken(reader: Xml | TextLines) -> Slice:
    sink = _sink_of(reader)
    if sink is None:
        return Slice(ListKind.UNKNOWN, [])
    entries, sink.entries = sink.entries, []
    return Slice(sink.kind, entries)


def _outcome(reader: Xml | TextLines, fault: tuple[Fault, str] | None, read: int, limits: ReadLimits) -> Outcome:
    sink = _sink_of(reader)
    if sink is None:
        word, detail = fault or (Fault.NOT_A_LIST, "nothing is in it")
        return Outcome(ListKind.UNKNOWN, 0, 0, read, None, word, detail)
    kept = sink.found - sink.dropped
    if fault is None and kept >= limits.max_entries and sink.dropped:
        fault = Fault.LIMIT, f"more than {limits.max_entries} entries"
    return Outcome(sink.kind, kept, sink.dropped, read, sink.home, *(fault or (None, None)))
