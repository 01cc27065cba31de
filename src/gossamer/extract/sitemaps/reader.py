"""Reads a sitemap or feed of any kind, a slice at a time.

Sitemaps in plain text have one URL per line. Gzip is decompressed in bounded pieces; a file that was compressed twice
is decompressed twice, but not more often.
"""

import codecs
import zlib
from collections.abc import Generator
from typing import Final

from gossamer.extract.charset import charset_parameter
from gossamer.extract.mime import RESOURCE_HEADER, declared_type, root_element
from gossamer.extract.sitemaps import feeds, locations
from gossamer.extract.sitemaps.entries import MAX_HREF, Entry, Fault, ListKind, Outcome, ReadLimits, Slice, Stopped
from gossamer.extract.sitemaps.feeds import Feeds
from gossamer.extract.sitemaps.locations import Locations
from gossamer.extract.sitemaps.xml import Sink, Xml, encoding_of
from gossamer.model.units import Instant

_PATIENCE: Final = 256 * 1024  # characters without a URL after which it is not a list
_STARTS: Final = ("http://", "https://", "ftp://")


class TextLines:
    """Reads lines as they arrive. Lines that are not absolute URLs are skipped: comments, or damage."""

    def __init__(self, limits: ReadLimits, encoding: str = "utf-8") -> None:
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._rest = ""
        self._skipping = False  # skipping the rest of a line that is too long
        self._read = 0
        self.entries: list[Entry] = []
        self.found = 0
        self.dropped = 0
        self.home: str | None = None
        self.fault: tuple[Fault, str] | None = None

    @property
    def kind(self) -> ListKind:
        return ListKind.TEXT if self.found > self.dropped else ListKind.UNKNOWN

    def feed(self, data: bytes, *, last: bool = False) -> None:
        text = self._decoder.decode(data, last)
        self._read += len(text)
        lines = (self._rest + text).splitlines()
        open_line = not last and bool(lines) and not text.endswith(("\n", "\r"))
        self._rest = lines.pop() if open_line else ""
        for line in lines:
            if self._skipping:
                self._skipping = False
                continue
            self._take(line.strip())
        if len(self._rest) > MAX_HREF:
            if not self._skipping:
                self._take(self._rest.lstrip())
            self._skipping, self._rest = True, ""
        if self.kind is ListKind.UNKNOWN and (last or self._read > _PATIENCE):
            self.fault = Fault.NOT_A_LIST, "neither XML nor a line with a URL"

    def _take(self, line: str) -> None:
        if not line[:8].lower().startswith(_STARTS):
            return
        self.found += 1
        if self.found > self._limits.max_entries or len(line) > MAX_HREF:
            self.dropped += 1
        else:
            self.entries.append(Entry(line))


GZIP_MARK: Final = b"\x1f\x8b"
SLICE: Final = 64 * 1024
"""Bytes per slice: some milliseconds of parsing."""

_PACKED_SLICE: Final = 16 * 1024
_LAYERS: Final = 2
_MAX_MEMBERS: Final = 1_000  # gzip members in one file; each costs a new decoder

Pieces = Generator[bytes, None, Fault | None]


def decompress(body: bytes) -> Pieces:
    """The body in slices, decompressed if it is gzip. Returns what was wrong with the compression, if anything."""
    pieces = _slices(body)
    for _ in range(_LAYERS):
        first = next(pieces, b"")
        if not first.startswith(GZIP_MARK):
            yield first
            return (yield from pieces)
        pieces = _inflate(first, pieces)
    return (yield from pieces)


def _slices(body: bytes) -> Pieces:
    for start in range(0, len(body), SLICE):
        yield body[start : start + SLICE]
    return None


def _inflate(first: bytes, rest: Pieces) -> Pieces:
    decoder = zlib.decompressobj(wbits=31)
    members = 1
    packed: bytes | None = first
    try:
        while packed is not None:
            for start in range(0, len(packed), _PACKED_SLICE):
                piece = packed[start : start + _PACKED_SLICE]
                while piece:
                    if decoder.eof:
                        if not piece.startswith(GZIP_MARK[:1]) or members >= _MAX_MEMBERS:
                            return None  # trailing garbage is ignored
                        decoder = zlib.decompressobj(wbits=31)
                        members += 1
                    out = decoder.decompress(piece, SLICE)
                    if out:
                        yield out
                    piece = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
            packed = next(rest, None)
        while not decoder.eof:  # if the window was full at the last byte, there is output left
            out = decoder.decompress(b"", SLICE)
            if not out:
                return Fault.BAD_PACKING  # truncated
            yield out
    except zlib.error:
        return Fault.BAD_PACKING
    return None


_DEFAULT_LIMITS: Final = ReadLimits()
_FEED_TYPES: Final = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "text/rss"})
_FEED_ROOTS: Final = frozenset({"rss", "feed", "rdf"})
_BLANK: Final = b"\t\n\r\f "

Reading = Generator[Slice, None, Outcome]


def is_feed(content_type: str | None, start: bytes) -> bool:
    """Whether a document that was not requested as a list is a feed: by its declared type, or XML with the root element
    of a feed."""
    declared = declared_type(content_type)
    if declared is not None and declared.essence in _FEED_TYPES:
        return True
    if declared is None or not declared.is_xml:
        return False
    return _root(start) in _FEED_ROOTS


def is_sitemap(content_type: str | None, start: bytes) -> bool:
    """Whether a document that was not requested as one is a sitemap or an index: XML with its root element."""
    declared = declared_type(content_type)
    return declared is not None and declared.is_xml and _root(start) in locations.ROOTS


def begins_as_sitemap(start: bytes, content_type: str | None = None) -> bool:
    """Whether a document that begins like this is a sitemap or an index, of any form and whatever its type."""
    kind, _ = next(read_list(start, Instant(0.0), content_type=content_type))
    return kind.is_sitemap


def _root(start: bytes) -> str:
    return (root_element(start[:RESOURCE_HEADER]) or "").rpartition(":")[2].lower()


def read_list(
    body: bytes, now: Instant, *, content_type: str | None = None, limits: ReadLimits = _DEFAULT_LIMITS
) -> Reading:
    """The entries of a sitemap or feed, a slice at a time (possibly empty), and at the end the outcome.

    Never raises for any content. A step is some milliseconds of work, so that the caller can pause in between.
    """
    pieces = decompress(body)
    piece = next(pieces)
    encoding, marked = encoding_of(piece, charset_parameter(content_type))
    piece = piece[marked:]
    if encoding == "utf-8":
        piece = piece.lstrip(_BLANK)  # the XML declaration must come first, but blank lines before it are common
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
        yield _take_entries(reader)
        if reader.fault is not None or read > limits.max_bytes:
            break
        try:
            piece = next(pieces)
        except StopIteration as end:
            packing = end.value
            break
    if reader.fault is None:
        reader.feed(b"", last=True)
        yield _take_entries(reader)
    fault = reader.fault
    if read > limits.max_bytes:
        fault = Fault.LIMIT, f"more than {limits.max_bytes} bytes"
    elif packing is not None:
        fault = packing, "the compressed file is damaged or truncated"
    return _outcome(reader, fault, min(read, limits.max_bytes), limits)


def _sink_for(root: str, attributes: list[str], limits: ReadLimits, now: Instant) -> Sink:
    local = root.rpartition(":")[2].lower()
    if local in locations.ROOTS:
        return Locations(locations.ROOTS[local], root, limits, now)
    if local in feeds.ROOTS:
        return Feeds(feeds.ROOTS[local], root, attributes, limits, now)
    raise Stopped(Fault.NOT_A_LIST, f"the root element is {root[:40]!r}")


def _sink_of(reader: Xml | TextLines) -> Sink | TextLines | None:
    return reader.sink if isinstance(reader, Xml) else reader


def _take_entries(reader: Xml | TextLines) -> Slice:
    sink = _sink_of(reader)
    if sink is None:
        return Slice(ListKind.UNKNOWN, [])
    entries, sink.entries = sink.entries, []
    return Slice(sink.kind, entries)


def _outcome(reader: Xml | TextLines, fault: tuple[Fault, str] | None, read: int, limits: ReadLimits) -> Outcome:
    sink = _sink_of(reader)
    if sink is None:
        word, detail = fault or (Fault.NOT_A_LIST, "empty")
        return Outcome(ListKind.UNKNOWN, 0, 0, read, None, word, detail)
    kept = sink.found - sink.dropped
    if fault is None and kept >= limits.max_entries and sink.dropped:
        fault = Fault.LIMIT, f"more than {limits.max_entries} entries"
    return Outcome(sink.kind, kept, sink.dropped, read, sink.home, *(fault or (None, None)))
