"""Which responses are documents: what is fetched and stored, and what is parsed for links.

Whether a response is stored is decided twice. From its head, before the body is read: a body declared as an unwanted
type is not read. From its first bytes: a type that is undeclared, or that sniffing may change, is decided then.
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
_PATTERN: Final = re.compile(r"[a-z0-9!#$&^_.+*-]+/[a-z0-9!#$&^_.+*-]+").fullmatch
# What sniffing can turn a declared type of the same family into.
_SNIFFED_IMAGES: Final = ("image/x-icon", "image/bmp", "image/gif", "image/webp", "image/png", "image/jpeg")
_SNIFFED_SOUNDS: Final = (
    *("audio/aiff", "audio/mpeg", "application/ogg", "audio/midi", "audio/wave"),
    *("video/avi", "video/mp4", "video/webm"),
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

    def wants_head(self, status: int, headers: Mapping[str, str]) -> bool:
        """Whether to read the body of a response with this head. Error pages and redirects are not decided here.

        False only if nothing that the body may begin with would make it wanted.
        """
        if self.everything or not 200 <= status <= 300:
            return True
        content_type = headers.get("content-type")
        declared = declared_type(content_type)
        if declared is None or is_unknown(declared) or self._wants_type(declared):
            return True
        if nosniff(headers.get("x-content-type-options")):
            return self._wants_root_in(declared)
        if declared.type == "image":
            return self._wants_any(_SNIFFED_IMAGES)
        if declared.is_audio_or_video:
            return self._wants_any(_SNIFFED_SOUNDS)
        if declared.essence == "text/plain":  # may be the Apache bug
            return self._wants_type(computed_type(content_type, b"\0"))
        return self._wants_root_in(declared)

    def wants_document(self, headers: Mapping[str, str], start: bytes) -> bool:
        """Whether a body that begins with `start` (without codings) is of a wanted kind."""
        if self.everything:
            return True
        no_sniff = nosniff(headers.get("x-content-type-options"))
        found = computed_type(headers.get("content-type"), start, no_sniff=no_sniff)
        return self._wants_type(found) or (self._wants_root_in(found) and root_element(start) in self._roots)

    def _wants_type(self, found: MimeType) -> bool:
        return self._matches(found.essence) is not None

    def _wants_any(self, essences: Iterable[str]) -> bool:
        return any(self._matches(essence) for essence in essences)

    def _wants_root_in(self, found: MimeType) -> bool:
        """Whether a document of this type may be a feed or a sitemap, and one of these is wanted."""
        return bool(self._roots) and (found.is_xml or found.is_html)


def _as_expression(pattern: str) -> str:
    return re.escape(pattern).replace(r"\*", "[^/]*")
