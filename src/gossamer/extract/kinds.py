"""Is this answer a page to read for links?"""

import codecs
import re

_HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
# What servers send when they do not know: as good as nothing (MIME Sniffing standard, "unknown type").
_UNKNOWN_TYPES = frozenset({"", "unknown/unknown", "application/unknown", "*/*"})

_LOOKS_LIKE_HTML = re.compile(
    rb"[\t\n\f\r ]*+<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)"
    rb"[ >])",
    re.IGNORECASE,
)


def is_html(content_type: str | None, body_start: bytes) -> bool:
    """Whether to read the body for links: declared as HTML or XHTML, or undeclared and it looks like HTML.

    A declared type is believed, even when it is wrong: HTML sent as `text/plain` is shown as text by every
    browser, and its "links" are an example in somebody's manual. `body_start` is the decoded body's first
    bytes; a few hundred are enough.
    """
    essence = "" if content_type is None else content_type.partition(";")[0].strip().lower()
    if essence in _HTML_TYPES:
        return True
    if essence not in _UNKNOWN_TYPES:
        return False
    return _LOOKS_LIKE_HTML.match(body_start.removeprefix(codecs.BOM_UTF8)) is not None
