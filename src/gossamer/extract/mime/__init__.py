"""Content sniffing: the MIME Sniffing standard, applied to a crawler.

Input is the Content-Type header, if any, and the first bytes of the body. Output is the type that a browser would use.
`types` parses and writes MIME types; `sniff` has the signatures of file formats, decides between them and the declared
type, and finds the root element of XML, which distinguishes feeds and sitemaps from other XML.

Invariants:
  * nothing here raises for any input, and all work is linear in its size;
  * at most `RESOURCE_HEADER` bytes of a body are examined;
  * a declared type is believed: bytes never turn a text or an image into something that is parsed for links.
"""

from gossamer.extract.mime.sniff import RESOURCE_HEADER, computed_type, identify, is_unknown, root_element
from gossamer.extract.mime.types import MimeType, declared_type, nosniff, parse_mime_type

__all__ = [
    "RESOURCE_HEADER",
    "MimeType",
    "computed_type",
    "declared_type",
    "identify",
    "is_unknown",
    "nosniff",
    "parse_mime_type",
    "root_element",
]
