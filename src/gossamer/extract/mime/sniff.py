"""The type that a browser would act on, from what the server declared and what the body begins with."""

from typing import Final

from gossamer.extract.mime import signatures
from gossamer.extract.mime.types import MimeType, declared_type, parse_mime_type

RESOURCE_HEADER: Final = 1445
"""Bytes of a body that are ever looked at."""

# What servers send when they do not know: as good as nothing.
_UNKNOWN: Final = frozenset({"unknown/unknown", "application/unknown", "*/*"})
# Old Apaches declare these, byte for byte, for every file that they do not know.
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
    """The type of a body that begins with `start`, sent under the header `content_type` (None: there was none).

    `no_sniff` is what `nosniff` says of X-Content-Type-Options. Never raises; of `start` only the first
    `RESOURCE_HEADER` bytes count.
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
        found = signatures.image(start)
    elif declared.is_audio_or_video:
        found = signatures.audio_or_video(start)
    return declared if found is None else _of(found)


def identify(start: bytes, *, scriptable: bool = True) -> MimeType:
    """The type of a body that came without one. With `scriptable` unset it is never HTML, XML or PDF."""
    start = start[:RESOURCE_HEADER]
    found = signatures.scriptable(start) if scriptable else None
    found = (
        found
        or signatures.other_text(start)
        or signatures.image(start)
        or signatures.audio_or_video(start)
        or signatures.archive(start)
    )
    if found is not None:
        return _of(found)
    return _OCTETS if signatures.has_binary_bytes(start) else _PLAIN


def _last_value(content_type: str) -> str:
    """The last of several headers; the four values of the bug hold no comma."""
    return content_type.rpartition(",")[2].strip("\t ")


def _is_text(start: bytes) -> bool:
    marked = start.startswith((b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf"))
    return marked or signatures.has_binary_bytes(start) is None


def _of(essence: str) -> MimeType:
    found = parse_mime_type(essence)
    assert found is not None, essence
    return found
