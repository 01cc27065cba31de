"""Parses XML in slices with expat, with everything disabled that a hostile document could use (ADR 14).

No entity is expanded in text: predefined and numeric ones are, all others are left out, declared or not. Nothing
external is ever opened: there is no handler for it. A declaration that could expand in an attribute (one that refers to
other entities or is longer than a word) stops the parser. A tag, comment or declaration that does not end is given up
after it has been scanned a few times.

Names are compared as written. Half of the prefixes on the web are undeclared, and a parser with namespace processing
would reject them; `Names` knows what a prefix means as far as it was declared.
"""

import codecs
import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol
from xml.parsers import expat

from gossamer.extract.charset import encoding_of_label
from gossamer.extract.sitemaps.entries import Entry, Fault, ListKind, ReadLimits, Stopped

_LONGEST_ENTITY: Final = 64  # characters: a word at most, so that nothing is amplified
_MAX_ENTITIES: Final = 1_000
_MAX_TEXT_PIECES: Final = 64  # of 8 KiB each, in one element
_MAX_NAMES: Final = 1_000
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\x21-\x7e]{1,40}?)["']""").match
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Where Python does not know the standard's name.
_CODECS: Final[Mapping[str, str]] = {
    "ISO-8859-8-I": "iso-8859-8",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "windows-874": "cp874",
    "x-user-defined": "windows-1252",
    "replacement": "utf-8",
    # It was declared in ASCII, so it cannot be true.
    "UTF-16LE": "utf-8",
    "UTF-16BE": "utf-8",
}


class Sink(Protocol):
    """Receives the elements. `start` and `end` may raise Stopped."""

    text: list[str]  # of the open element, in pieces
    text_cut: bool  # it was too long and was cut
    entries: list[Entry]
    found: int
    dropped: int
    home: str | None
    kind: ListKind

    def start(self, name: str, attributes: list[str]) -> None: ...

    def end(self, name: str) -> None: ...

    def break_off(self, *, at_end_tag: bool) -> None:
        """The document ends here, in the middle. `at_end_tag`: the text of the open element is complete."""
        ...


def encoding_of(start: bytes, charset: str | None) -> tuple[str, int]:
    """A codec for a document that begins like this, and the number of bytes of its byte-order mark. `charset` is the
    header's and has the lowest precedence, since few servers know the encoding of their files."""
    for mark, codec in _MARKS:
        if start.startswith(mark):
            return codec, len(mark)
    if start[:4] in (b"<\0?\0", b"<\0!\0"):
        return "utf-16-le", 0
    if start[:4] in (b"\0<\0?", b"\0<\0!"):
        return "utf-16-be", 0
    declared = _DECLARED(start.lstrip())
    label = declared[1].decode("ascii") if declared is not None else charset
    name = encoding_of_label(label) if label is not None else None
    if name is None:
        return "utf-8", 0
    return _CODECS.get(name, name).lower(), 0


class Xml:
    """Feeds one document to the sink that `choose` returns for its root element; `choose` may raise Stopped."""

    def __init__(self, choose: Callable[[str, list[str]], Sink], limits: ReadLimits, encoding: str) -> None:
        self._choose = choose
        self._limits = limits
        self.sink: Sink | None = None
        self._decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)("replace")
        self._entities = 0
        self._fed = 0
        self._last = (b"", 0)  # the last data, and its offset
        self.fault: tuple[Fault, str] | None = None
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.UseForeignDTD(True)  # so that an undeclared entity is skipped instead of being an error
        parser.DefaultHandler = _ignore  # keeps declared entities from being expanded
        parser.EntityDeclHandler = self._declared
        parser.StartElementHandler = self._begin

    def feed(self, data: bytes, *, last: bool = False) -> None:
        """The next bytes; `last` for the end. Does nothing after a fault."""
        if self.fault is not None:
            return
        if self._decoder is not None:
            data = self._decoder.decode(data, last).encode("utf-8", "replace")
        parser = self._parser
        if data:
            self._last = data, self._fed
            self._fed += len(data)
        try:
            parser.Parse(data, last)
        except expat.ExpatError as error:
            self._break_off()
            self.fault = Fault.BAD_XML, str(error)
            return
        except Stopped as stop:
            self.fault = stop.fault, stop.detail
            return
        if self._fed - parser.CurrentByteIndex > self._limits.max_token:
            self._break_off()
            self.fault = Fault.LIMIT, f"a tag or comment of more than {self._limits.max_token} bytes"
        sink = self.sink
        if sink is not None and len(sink.text) > _MAX_TEXT_PIECES:
            del sink.text[_MAX_TEXT_PIECES:]
            sink.text_cut = True

    def _begin(self, name: str, attributes: list[str]) -> None:
        sink = self.sink = self._choose(name, attributes)
        self._parser.StartElementHandler = sink.start
        self._parser.EndElementHandler = sink.end
        self._parser.CharacterDataHandler = sink.text.append

    def _break_off(self) -> None:
        if self.sink is not None:
            self._parser.buffer_text = False  # flushes buffered text
            data, begins = self._last
            at = self._parser.CurrentByteIndex - begins
            self.sink.break_off(at_end_tag=at >= 0 and data.startswith(b"</", at))

    def _declared(
        self,
        name: str,
        is_parameter: bool,
        value: str | None,
        base: str | None,
        system_id: str | None,
        public_id: str | None,
        notation: str | None,
    ) -> None:
        self._entities += 1
        if self._entities > _MAX_ENTITIES:
            raise Stopped(Fault.BAD_XML, f"more than {_MAX_ENTITIES} entities are declared")
        if value is not None and (len(value) > _LONGEST_ENTITY or "&" in value or "%" in value):
            raise Stopped(Fault.BAD_XML, f"the entity {name[:40]!r} would expand to more than a word")


def _ignore(data: str) -> None:
    pass


class Names:
    """What element names mean: the local part in lower case, or "" for those of a foreign namespace."""

    def __init__(self, ours: frozenset[str], prefixes: frozenset[str] = frozenset()) -> None:
        """`ours` are the local names of interest; `prefixes` count as ours unless declared otherwise."""
        self._ours = ours
        self._prefixes = set(prefixes) | {""}
        self._known: dict[str, str] = {}

    def meaning(self, name: str) -> str:
        known = self._known.get(name)
        if known is None:
            prefix, _, local = name.rpartition(":")
            local = local.lower()
            known = local if prefix.lower() in self._prefixes and local in self._ours else ""
            if len(self._known) < _MAX_NAMES:
                self._known[name] = known
        return known
