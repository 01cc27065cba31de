"""A directory as a page: the same entries give the same bytes, so that one that did not change is seen not to."""

from html import escape
from urllib.parse import quote_from_bytes

from gossamer.fetch.ftp.listing import Listing

CONTENT_TYPE = "text/html; charset=utf-8"


def index_page(path: bytes, listing: Listing) -> bytes:
    """HTML with one link per entry, relative to the directory's own URL, which ends with a slash."""
    title = f"Index of {_shown(path)}"
    lines = [f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{title}</title></head>\n<body><ul>\n']
    for entry in listing.entries:
        slash = "/" if entry.directory else ""
        # Escaped byte for byte, colons too: a name must not become a scheme, a query or another directory.
        href = quote_from_bytes(entry.name, safe="") + slash
        about = " ".join(filter(None, (entry.size, entry.modified)))
        lines.append(f'<li><a href="{href}">{_shown(entry.name)}{slash}</a> {escape(about)}\n')
    lines.append("</ul></body></html>\n")
    return "".join(lines).encode()


def _shown(name: bytes) -> str:
    return escape(name.decode("utf-8", "replace"))
