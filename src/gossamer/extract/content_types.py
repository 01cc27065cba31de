"""Which responses are documents: what is fetched and stored, and what is parsed for links.

Whether a response is stored is decided on its head, before the body is read: a body declared as an unwanted type is
not read. A type that is undeclared, or that sniffing may change, is decided on the first bytes of the body.
"""

import codecs
import re
from collections.abc import Iterable, Mapping
from typing import Final

from gossamer.errors import ConfigError
from gossamer.extract.mime import (
    RESOURCE_HEADER,
    MimeType,
    computed_type,
    declared_type,
    identify,
    is_unknown,
    nosniff,
    root_element,
)

UNWANTED_TYPE: Final = "unwanted_type"
"""The reason for a document of an unwanted kind."""

_HTML_TYPES: Final = frozenset({"text/html", "application/xhtml+xml"})

NAMED_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "any": ("*/*",),
    "html": ("text/html",),
    "xhtml": ("application/xhtml+xml",),
    "feeds": ("application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"),
    "sitemaps": (),  # no type of their own: recognised by their root element
    "text": ("text/*",),
    "xml": ("text/xml", "application/xml", "*/*+xml"),
    "json": ("application/json", "text/json", "*/*+json"),
    "pdf": ("application/pdf",),
    "documents": (
        "application/pdf",
        "application/postscript",
        "application/rtf",
        "application/epub+zip",
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.openxmlformats-officedocument.*",
        "application/vnd.oasis.opendocument.*",
    ),
    "images": ("image/*",),
    "audio": ("audio/*", "application/ogg"),
    "video": ("video/*", "application/ogg"),
    "fonts": ("font/*", "application/font-*", "application/vnd.ms-fontobject"),
    "archives": ("application/zip", "application/gzip", "application/x-gzip", "application/x-rar-compressed"),
}
"""Names of kinds, each for a few patterns of MIME types."""

_ROOTS: Final[Mapping[str, frozenset[str]]] = {
    "feeds": frozenset({"rss", "feed", "rdf:RDF"}),
    "sitemaps": frozenset({"urlset", "sitemapindex"}),
}
_REMEMBERED_HEADS: Final = 512
_REMEMBERED_CHARS: Final = 256  # longer headers are rare, and would let the server choose the size of the memory
_PATTERN: Final = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+").fullmatch
# What sniffing can turn a declared type of the same family into.
_SNIFFED_IMAGES: Final = tuple(MimeType("image", name) for name in ("x-icon", "bmp", "gif", "webp", "png", "jpeg"))
_SNIFFED_SOUNDS: Final = (
    *(MimeType("audio", name) for name in ("aiff", "mpeg", "midi", "wave")),
    *(MimeType("video", name) for name in ("avi", "mp4", "webm")),
    MimeType("application", "ogg"),
)


def is_html(content_type: str | None, body_start: bytes) -> bool:
    """Whether to parse the body for links: declared as HTML or XHTML, or undeclared and it looks like HTML.

    A declared type is believed, even if it is wrong: HTML sent as `text/plain` is shown as text by every browser, and
    its "links" are an example in a manual. `body_start` is the beginning of the decoded body; a few hundred bytes are
    enough. A UTF-8 byte-order mark before the first tag is skipped; the standard would call such a body text, but a
    text file with a mark does not begin with a tag by accident.
    """
    declared = declared_type(content_type)
    if declared is not None and not is_unknown(declared):
        return declared.essence in _HTML_TYPES
    return identify(body_start[:RESOURCE_HEADER].removeprefix(codecs.BOM_UTF8)).is_html


class Kinds:
    """The kinds of documents that are wanted. If there are none, every kind is."""

    def __init__(self, wanted: Iterable[str] = (), key: str = "fetch.kinds") -> None:
        """`wanted` are names of `NAMED_KINDS` and patterns such as `text/*` and `*/*+xml`.

        Raises ConfigError with `key` for anything else.
        """
        names = [name.strip().lower() for name in wanted]
        patterns: list[str] = []
        roots: set[str] = set()
        for name in names:
            if name in NAMED_KINDS:
                patterns += NAMED_KINDS[name]
                roots |= _ROOTS.get(name, frozenset())
            elif _PATTERN(name):
                patterns.append(name)
            else:
                known = ", ".join(NAMED_KINDS)
                raise ConfigError(key, f"{name!r} is neither a MIME type such as text/* nor one of {known}")
        self.everything = not names or "*/*" in patterns
        self._roots = roots
        self._matches = re.compile("|".join(map(_as_expression, patterns)) or r"(?!)").fullmatch
        self._judged: dict[tuple[str | None, str | None], bool | None] = {}

    def judge_head(self, status: int, headers: Mapping[str, str]) -> bool | None:
        """Whether the body of a response with this head is wanted; None if that depends on its first bytes. The bodies
        of error pages and redirects are."""
        if self.everything or not 200 <= status <= 300:
            return True
        return self._judge_fields(headers)

    def wants_document(self, headers: Mapping[str, str], start: bytes) -> bool:
        """Whether a body that begins with `start` (without codings) is of a wanted kind."""
        if self.everything:
            return True
        judged = self._judge_fields(headers)
        return self._judge_start(headers, start) if judged is None else judged

    def _judge_fields(self, headers: Mapping[str, str]) -> bool | None:
        """What header fields decide, remembered: a site has few content types."""
        content_type, options = headers.get("content-type"), headers.get("x-content-type-options")
        key = content_type, options
        if key in self._judged:
            return self._judged[key]
        judged = self._judge_type(content_type, nosniff(options))
        if len(content_type or "") + len(options or "") <= _REMEMBERED_CHARS:
            if len(self._judged) >= _REMEMBERED_HEADS:
                self._judged.clear()
            self._judged[key] = judged
        return judged

    def _judge_type(self, content_type: str | None, no_sniff: bool) -> bool | None:
        declared = declared_type(content_type)
        if declared is None or is_unknown(declared):
            return None
        if declared.is_html or declared.is_xml or no_sniff:
            return self._wants_type(declared) or (None if self._wants_root_in(declared) else False)
        possible = [declared]  # what sniffing may find
        if declared.type == "image":
            possible += _SNIFFED_IMAGES
        elif declared.is_audio_or_video:
            possible += _SNIFFED_SOUNDS
        elif declared.essence == "text/plain":
            possible.append(computed_type(content_type, b"\0"))  # may be the Apache bug
        wanted = {self._wants_type(each) for each in possible}
        return None if len(wanted) == 2 else wanted.pop()

    def _judge_start(self, headers: Mapping[str, str], start: bytes) -> bool:
        no_sniff = nosniff(headers.get("x-content-type-options"))
        found = computed_type(headers.get("content-type"), start, no_sniff=no_sniff)
        return self._wants_type(found) or (self._wants_root_in(found) and root_element(start) in self._roots)

    def _wants_type(self, found: MimeType) -> bool:
        return self._matches(found.essence) is not None

    def _wants_root_in(self, found: MimeType) -> bool:
        """Whether a document of this type may be a feed or a sitemap, and one of these is wanted."""
        return bool(self._roots) and (found.is_xml or found.is_html)


def _as_expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", "[^/]*")
