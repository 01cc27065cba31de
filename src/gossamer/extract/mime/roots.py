"""The first element of an XML document, without a parser: enough to tell a feed or a sitemap from other XML.

The MIME Sniffing standard once had a rule for feeds sent as HTML; this is its idea, used for XML as well.
"""

import re
from typing import Final

from gossamer.extract.mime.sniff import RESOURCE_HEADER

_MAX_STEPS: Final = 64  # comments and instructions before the first element; more is no honest prologue
_SPACE_OR_MARK: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\t\n\f\r ]*+")
_SKIPPED: Final = re.compile(
    rb"(?:<!--(?:.*?)-->|<\?(?:.*?)\?>|<!(?!--)[^>\[]*+(?:\[[^\]]*+\][^>]*+)?>)[\t\n\f\r ]*+", re.DOTALL
)
_ELEMENT: Final = re.compile(rb"<([A-Za-z_][\w.\-]*+(?::[\w.\-]+)?)(?=[\s/>]|\Z)")


def root_element(start: bytes) -> str | None:
    """The name of the first element, as written, in text that is compatible with ASCII; None if there is none in sight.

    A document type with a subset of its own is passed over as long as the subset holds no `]`.
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
