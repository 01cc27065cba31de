"""`<meta http-equiv=refresh>`: where a page sends its reader after a while."""

import re

# The standard's steps: a number (only its digits and dots are looked at), a separator, perhaps `url=`, the target.
# Possessive quantifiers: a megabyte of digits is read once.
_REFRESH = re.compile(
    r"[\t\n\f\r ]*+(?:[0-9]++[0-9.]*+|\.[0-9.]*+)(?=[;,\t\n\f\r ])"
    r"[\t\n\f\r ]*+[;,]?[\t\n\f\r ]*+"
    r"(?:url[\t\n\f\r ]*+=[\t\n\f\r ]*+)?"
    r"""(?:"([^"]*)|'([^']*)|(.*))""",
    re.IGNORECASE | re.DOTALL,
)


def refresh_target(content: str) -> str | None:
    """The target in a refresh's content attribute, as written; None if there is none or it is the page itself."""
    match = _REFRESH.match(content)
    if match is None:
        return None
    return match[1] or match[2] or match[3] or None
