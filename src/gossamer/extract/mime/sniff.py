"""The MIME type that a browser would use, from the declared type and the first bytes of the body (MIME Sniffing
standard).

Each table of signatures is one regular expression whose groups are tried in the standard's order, so that a body is
read once. `root_element` finds the root element of XML without a parser, which is enough to distinguish a feed or a
sitemap from other XML. (The standard once had a rule for feeds sent as HTML; this extends it to XML.)
"""

import re
from collections.abc import Callable
from typing import Final

from gossamer.extract.mime import sniff
from gossamer.extract.mime.types import MimeType, declared_type, parse_mime_type

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
_SPACE: Final = rb"[\t\n\f\r ]*+"

scriptable = _table(
    ("text/html", _SPACE + b"<(?i:" + _TAGS + b")[ >]"),
    ("text/xml", _SPACE + rb"<\?xml"),
    ("application/pdf", rb"%PDF-"),
)
"""Types that may contain scripts; not sniffed if the server says "nosniff"."""

other_text = _table(
    ("application/postscript", rb"%!PS-Adobe-"),
    ("text/plain", rb"\xfe\xff..|\xff\xfe..|\xef\xbb\xbf."),
)

image = _table(
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

archive = _table(
    ("application/x-gzip", rb"\x1f\x8b\x08"),
    ("application/zip", rb"PK\x03\x04"),
    ("application/x-rar-compressed", rb"Rar!\x1a\x07\0"),
)

has_binary_bytes: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]").search


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
        found = sniff.image(start)
    elif declared.is_audio_or_video:
        found = sniff.audio_or_video(start)
    return declared if found is None else _of(found)


def identify(start: bytes, *, scriptable: bool = True) -> MimeType:
    """The type of a body without a declared type. With `scriptable` unset it is never HTML, XML or PDF."""
    start = start[:RESOURCE_HEADER]
    found = sniff.scriptable(start) if scriptable else None
    found = (
        found or sniff.other_text(start) or sniff.image(start) or sniff.audio_or_video(start) or sniff.archive(start)
    )
    if found is not None:
        return _of(found)
    return _OCTETS if sniff.has_binary_bytes(start) else _PLAIN


def _last_value(content_type: str) -> str:
    """The last of several headers; the four values of the Apache bug contain no comma."""
    return content_type.rpartition(",")[2].strip("\t ")


def _is_text(start: bytes) -> bool:
    marked = start.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf"))
    return marked or sniff.has_binary_bytes(start) is None


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
