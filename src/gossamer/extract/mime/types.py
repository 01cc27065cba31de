"""Parser and serialiser of MIME types (MIME Sniffing standard), and the meaning of several Content-Type headers.

Text is the bytes of a header decoded as latin-1. Everything is one pass from left to right.
"""

import re
from collections.abc import Mapping
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
