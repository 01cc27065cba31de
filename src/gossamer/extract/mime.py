"""Content sniffing: the MIME Sniffing standard, applied to a crawler.

Input is the Content-Type header, if any (the bytes of a header decoded as latin-1), and the first bytes of the body.
Output is the type that a browser would use. `parse_mime_type` and `declared_type` parse headers in one pass from left
to right. Each table of signatures is one regular expression whose groups are tried in the standard's order, so that a
body is read once. `root_element` finds the root element of XML without a parser, which is enough to distinguish a feed
or a sitemap from other XML. (The standard once had a rule for feeds sent as HTML; this extends it to XML.)

Invariants:
  * nothing here raises for any input, and all work is linear in its size;
  * at most `RESOURCE_HEADER` bytes of a body are examined;
  * a declared type is believed: bytes never turn a text or an image into something that is parsed for links.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

_SPACE: Final = "\t\n\r "  # "HTTP whitespace"
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch
_QUOTABLE: Final = re.compile(r"[\t -~\x80-\xff]*").fullmatch
_QUOTED: Final = re.compile(r"[^\"\\]*+")
_UNQUOTED: Final = re.compile(r"[^\",]*+")
_NEEDS_ESCAPE: Final = re.compile(r'(["\\])')
_ASCII_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_REMEMBERED_CHARS: Final = 256  # longer headers are rare, and would let the server choose the size of the cache


@dataclass(frozen=True, slots=True)
class MimeType:
    """A type, a subtype and parameters; names in lower case, values as written."""

    type: str
    subtype: str
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def essence(self) -> str:
        return f"{self.type}/{self.subtype}"

    @property
    def charset(self) -> str | None:
        """The label of the `charset` parameter, as written."""
        return self.parameters.get("charset")

    @property
    def is_xml(self) -> bool:
        return self.subtype.endswith("+xml") or self.essence in ("text/xml", "application/xml")

    @property
    def is_html(self) -> bool:
        return self.essence == "text/html"

    @property
    def is_audio_or_video(self) -> bool:
        return self.type in ("audio", "video") or self.essence == "application/ogg"

    def __str__(self) -> str:
        written = [self.essence]
        for name, value in self.parameters.items():
            if not _TOKEN(value):
                value = '"' + _NEEDS_ESCAPE.sub(r"\\\1", value) + '"'
            written.append(f"{name}={value}")
        return ";".join(written)


def parse_mime_type(text: str) -> MimeType | None:
    """Parse a MIME type; None if it is not one. Invalid parameters are left out; the first of several with one name
    counts."""
    text = text.strip(_SPACE)
    slash = text.find("/")
    if slash < 0 or not _TOKEN(text[:slash]):
        return None
    end = text.find(";", slash)
    end = len(text) if end < 0 else end
    subtype = text[slash + 1 : end].rstrip(_SPACE)
    if not _TOKEN(subtype):
        return None
    parameters: dict[str, str] = {}
    at = end
    while at < len(text):
        at, name, value = _parameter(text, at + 1)
        if value is not None and name not in parameters and _TOKEN(name):
            parameters[name] = value
    return MimeType(_lower(text[:slash]), _lower(subtype), MappingProxyType(parameters))


def _parameter(text: str, at: int) -> tuple[int, str, str | None]:
    """Where the parameter that begins at `at` ends (a semicolon, or the end), its name, and its value if it has one."""
    semicolon = text.find(";", at)
    semicolon = len(text) if semicolon < 0 else semicolon
    equals = text.find("=", at, semicolon)
    if equals < 0:
        return semicolon, "", None
    name = _lower(text[at:equals].lstrip(_SPACE))
    if text[equals + 1 : equals + 2] == '"':
        value, at = _quoted_string(text, equals + 1)
        semicolon = text.find(";", at)
        semicolon = len(text) if semicolon < 0 else semicolon
        return semicolon, name, value if _QUOTABLE(value) else None
    value = text[equals + 1 : semicolon].rstrip(_SPACE)
    return semicolon, name, value if value and _QUOTABLE(value) else None


def _quoted_string(text: str, at: int) -> tuple[str, int]:
    """The text between the quotes that open at `at`, and the position after them. If never closed, it is all the
    rest."""
    pieces = []
    at += 1
    while True:
        plain = _QUOTED.match(text, at)
        assert plain is not None  # it matches the empty string
        pieces.append(plain[0])
        at = plain.end()
        if at >= len(text) or text[at] == '"':
            return "".join(pieces), at + 1
        # A backslash escapes the next character; at the very end it is literal.
        pieces.append(text[at + 1 : at + 2] or "\\")
        at += 2


def declared_type(content_type: str | None) -> MimeType | None:
    """The type that a Content-Type header declares; several are joined by commas (Fetch, "extract a MIME type").

    The last valid one counts; it inherits the charset of earlier ones of the same essence. None if there is none.
    """
    if content_type is None:
        return None
    if len(content_type) > _REMEMBERED_CHARS:
        return _extract(content_type)
    return _remembered(content_type)


def _extract(content_type: str) -> MimeType | None:
    found: MimeType | None = None
    charset: str | None = None
    for value in _split(content_type):
        here = parse_mime_type(value)
        if here is None or here.essence == "*/*":
            continue
        if found is None or here.essence != found.essence or here.charset is not None:
            charset = here.charset
        elif charset is not None:
            here = MimeType(here.type, here.subtype, MappingProxyType({**here.parameters, "charset": charset}))
        found = here
    return found


_remembered = lru_cache(2048)(_extract)


def _split(values: str) -> list[str]:
    """The comma-separated values of a header; a comma between quotes does not separate."""
    if '"' not in values:
        return values.split(",")
    found: list[str] = []
    start = at = 0
    while True:
        plain = _UNQUOTED.match(values, at)
        assert plain is not None  # it matches the empty string
        at = plain.end()
        if at < len(values) and values[at] == '"':
            _, at = _quoted_string(values, at)
            if at < len(values):
                continue
        found.append(values[start:at].strip("\t "))
        if at >= len(values):
            return found
        at += 1
        start = at


def nosniff(options: str | None) -> bool:
    """Whether X-Content-Type-Options, several joined by commas, forbids sniffing: the first value decides."""
    return options is not None and _lower(_split(options)[0].strip("\t ")) == "nosniff"


def _lower(text: str) -> str:
    """ASCII only: `str.lower` would turn some characters into two, or a Kelvin sign into a k."""
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


_Matcher = Callable[[bytes], "str | None"]


def _table(*rows: tuple[str, bytes]) -> _Matcher:
    """A function that returns the type of the first row whose pattern matches the beginning of the bytes."""
    match = re.compile(b"|".join(b"(%s)" % pattern for _, pattern in rows), re.DOTALL).match
    types = [type_ for type_, _ in rows]

    def type_of(start: bytes) -> str | None:
        found = match(start)
        return None if found is None or found.lastindex is None else types[found.lastindex - 1]

    return type_of


_TAGS: Final = b"!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--"
_SPACE_BYTES: Final = rb"[\t\n\f\r ]*+"

_scriptable_type = _table(
    ("text/html", _SPACE_BYTES + b"<(?i:" + _TAGS + b")[ >]"),
    ("text/xml", _SPACE_BYTES + rb"<\?xml"),
    ("application/pdf", rb"%PDF-"),
)
"""Types that may contain scripts; not sniffed if the server says "nosniff"."""

_other_text_type = _table(
    ("application/postscript", rb"%!PS-Adobe-"),
    ("text/plain", rb"\xfe\xff..|\xff\xfe..|\xef\xbb\xbf."),
)

_image_type = _table(
    ("image/x-icon", rb"\0\0[\x01\x02]\0"),
    ("image/bmp", rb"BM"),
    ("image/gif", rb"GIF8[79]a"),
    ("image/webp", rb"RIFF....WEBPVP"),
    ("image/png", rb"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", rb"\xff\xd8\xff"),
)

_audio_or_video_by_mark = _table(
    ("audio/aiff", rb"FORM....AIFF"),
    ("audio/mpeg", rb"ID3"),
    ("application/ogg", rb"OggS\0"),
    ("audio/midi", rb"MThd\0\0\0\x06"),
    ("video/avi", rb"RIFF....AVI\x20"),
    ("audio/wave", rb"RIFF....WAVE"),
)

_archive_type = _table(
    ("application/x-gzip", rb"\x1f\x8b\x08"),
    ("application/zip", rb"PK\x03\x04"),
    ("application/x-rar-compressed", rb"Rar!\x1a\x07\0"),
)

_has_binary_bytes: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]").search


def audio_or_video(start: bytes) -> str | None:
    found = _audio_or_video_by_mark(start)
    if found is not None:
        return found
    if _is_mp4(start):
        return "video/mp4"
    if _is_webm(start):
        return "video/webm"
    return "audio/mpeg" if _is_mp3(start) else None


def _is_mp4(start: bytes) -> bool:
    size = int.from_bytes(start[:4], "big")
    if len(start) < 12 or len(start) < size or size % 4 or start[4:8] != b"ftyp":
        return False
    if start[8:11] == b"mp4":
        return True
    # The four bytes after the major brand are its version.
    return any(start[at : at + 3] == b"mp4" for at in range(16, size, 4))


def _is_webm(start: bytes) -> bool:
    if start[:4] != b"\x1a\x45\xdf\xa3":
        return False
    at = start.find(b"\x42\x82", 4, 39)  # the document type, one of the first fields
    while at >= 0:
        length_at = at + 2
        if length_at >= len(start):
            return False
        first = start[length_at]
        value_at = length_at + (
            9 - first.bit_length() if first else 8
        )  # the length of the number follows from its leading zeros
        if value_at >= len(start) - 4:
            return False
        if start[value_at : value_at + 64].lstrip(b"\0").startswith(b"webm"):
            return True
        at = start.find(b"\x42\x82", at + 1, 39)
    return False


_BITRATES: Final = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
_LOW_BITRATES: Final = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_SAMPLE_RATES: Final = (44_100, 48_000, 32_000)


def _is_mp3(start: bytes) -> bool:
    """Two consecutive frames of MPEG audio, layer 3.

    The standard's text recognises a header by either of its first two bytes and compares the frame with a negative
    length; it means, and browsers check, both bytes and the remaining bytes.
    """
    size = _mp3_frame_bytes(start)
    return size is not None and size >= 4 and _mp3_frame_bytes(start[size : size + 4]) is not None


def _mp3_frame_bytes(start: bytes) -> int | None:
    """The size of the frame with this header; None if it is not a header."""
    if len(start) < 4 or start[0] != 0xFF or start[1] & 0xE0 != 0xE0 or start[1] & 0x06 != 0x02:
        return None
    bitrate, sample_rate = start[2] >> 4, start[2] >> 2 & 3
    if bitrate == 15 or sample_rate == 3:
        return None
    version = start[1] >> 3 & 3  # 3: MPEG 1, 2: MPEG 2, 0: MPEG 2.5
    if version == 1:
        return None
    if version == 3:
        scale, rates, divisor = 144, _BITRATES, 1
    else:
        scale, rates, divisor = 72, _LOW_BITRATES, 2 if version == 2 else 4
    return rates[bitrate] * 1000 * scale * divisor // _SAMPLE_RATES[sample_rate] + (start[2] >> 1 & 1)


RESOURCE_HEADER: Final = 1445
"""Bytes of a body that are examined at most."""

# What servers send when they do not know the type.
_UNKNOWN: Final = frozenset({"unknown/unknown", "application/unknown", "*/*"})
# Old Apache versions declare exactly these for every unknown file.
_APACHE_BUG: Final = frozenset(
    {
        "text/plain",
        "text/plain; charset=ISO-8859-1",
        "text/plain; charset=iso-8859-1",
        "text/plain; charset=UTF-8",
    }
)
_OCTETS: Final = MimeType("application", "octet-stream")
_PLAIN: Final = MimeType("text", "plain")


def is_unknown(declared: MimeType | None) -> bool:
    """Whether a header says nothing about the type."""
    return declared is None or declared.essence in _UNKNOWN


def computed_type(content_type: str | None, start: bytes, *, no_sniff: bool = False) -> MimeType:
    """The type of a body that begins with `start`, sent with the header `content_type` (None: there was none).

    `no_sniff` is the result of `nosniff` for X-Content-Type-Options. Never raises; only the first `RESOURCE_HEADER`
    bytes of `start` count.
    """
    declared = declared_type(content_type)
    if declared is not None and (declared.is_html or declared.is_xml):
        return declared
    start = start[:RESOURCE_HEADER]
    if declared is None or is_unknown(declared):
        return identify(start, scriptable=not no_sniff)
    if no_sniff:
        return declared
    if content_type is not None and _last_value(content_type) in _APACHE_BUG:
        return _PLAIN if _is_text(start) else _OCTETS
    found = None
    if declared.type == "image":
        found = _image_type(start)
    elif declared.is_audio_or_video:
        found = audio_or_video(start)
    return declared if found is None else _of(found)


def identify(start: bytes, *, scriptable: bool = True) -> MimeType:
    """The type of a body without a declared type. With `scriptable` unset it is never HTML, XML or PDF."""
    start = start[:RESOURCE_HEADER]
    found = _scriptable_type(start) if scriptable else None
    found = found or _other_text_type(start) or _image_type(start) or audio_or_video(start) or _archive_type(start)
    if found is not None:
        return _of(found)
    return _OCTETS if _has_binary_bytes(start) else _PLAIN


def _last_value(content_type: str) -> str:
    """The last of several headers; the four values of the Apache bug contain no comma."""
    return content_type.rpartition(",")[2].strip("\t ")


def _is_text(start: bytes) -> bool:
    marked = start.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf"))
    return marked or _has_binary_bytes(start) is None


def _of(essence: str) -> MimeType:
    found = parse_mime_type(essence)
    assert found is not None, essence
    return found


_MAX_STEPS: Final = 64  # comments and instructions before the root element; no real prologue has more
_SPACE_OR_MARK: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+")
_SKIPPED: Final = re.compile(
    rb"(?:<!--(?:.*?)-->|<\?(?:.*?)\?>|<!(?!--)[^>\[]*+(?:\[[^\]]*+\][^>]*+)?>)[\t\n\f\r ]*+", re.DOTALL
)
_ELEMENT: Final = re.compile(rb"<([A-Za-z_][\w.\-]*+(?::[\w.\-]+)?)(?=[\s/>]|\Z)")


def root_element(start: bytes) -> str | None:
    """The name of the root element, as written, in text that is compatible with ASCII; None if there is none within
    `start`.

    A document type with an internal subset is skipped unless the subset contains `]`.
    """
    start = start[:RESOURCE_HEADER]
    opening = _SPACE_OR_MARK.match(start)
    at = opening.end() if opening is not None else 0
    for _ in range(_MAX_STEPS):
        element = _ELEMENT.match(start, at)
        if element is not None:
            return element[1].decode("ascii", "replace")
        skipped = _SKIPPED.match(start, at)
        if skipped is None:
            return None
        at = skipped.end()
    return None
