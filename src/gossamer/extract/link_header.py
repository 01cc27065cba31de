"""`Link:` in the head of an answer (RFC 8288): where any document can say which address it wants to go by."""

import re

from gossamer.extract.links import MAX_HREF

_TARGET = re.compile(r"[\s,]*<([^>]*)>\s*")
_PARAMETER = re.compile(r";\s*([^\s=;,\"<>]*)\s*(?:=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;,\"]*)))?\s*")


def canonical_in_header(value: str) -> str | None:
    """The first target with `rel=canonical`, as written; None if there is none. Links of other documents than this one
    (`anchor`) are passed over, and nothing is read past what is no list of links."""
    at = 0
    while (target := _TARGET.match(value, at)) is not None:
        at = target.end()
        relations: str | None = None
        elsewhere = False
        while (parameter := _PARAMETER.match(value, at)) is not None:
            at = parameter.end()
            name = parameter[1].lower()
            if name == "rel" and relations is None:  # of several the first counts
                relations = parameter[2] or parameter[3] or ""
            elsewhere = elsewhere or name == "anchor"
        href = target[1].strip()
        if relations is not None and "canonical" in relations.lower().split() and not elsewhere:
            return href if href and len(href) <= MAX_HREF else None
    return None
