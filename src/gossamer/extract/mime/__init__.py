"""What kind of thing is this body? The MIME Sniffing standard, read for a crawler.

In comes the Content-Type header, as the server wrote it or not at all, and the first bytes of the body. Out goes the
type that a browser would act on. `types` reads and writes MIME types; `signatures` knows what files begin with; `sniff`
decides between the two; `roots` names the first element of XML, which tells a feed or a sitemap from other XML.

What always holds:
  * nothing here raises on any input, and all work is linear in its size;
  * of a body no more than `RESOURCE_HEADER` bytes are looked at;
  * a declared type is believed: bytes never turn a text or an image into something that is read for links.
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
