"""What a page asks of robots: `<meta name=robots>` and the X-Robots-Tag header.

(robots.txt is another matter: it is obeyed before anything is fetched.)
"""

import re
from typing import NamedTuple

OUR_NAMES = frozenset({"robots", "gossamer"})
"""Whom a directive must be addressed to for us to heed it, in lower case."""

_SEPARATORS = re.compile(r"[\s,;]+")
# Directives of X-Robots-Tag that have a value, so that `max-snippet: 20` is not taken for a robot's name.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class Wishes(NamedTuple):
    """What the page does not want: to be indexed, or to have its links followed."""

    noindex: bool
    nofollow: bool

    def and_also(self, other: "Wishes") -> "Wishes":
        """Several statements add up: the strictest holds."""
        return Wishes(self.noindex or other.noindex, self.nofollow or other.nofollow)


NO_WISHES = Wishes(noindex=False, nofollow=False)


def wishes_in_meta(content: str) -> Wishes:
    """Read the content attribute of a robots meta element. Unknown words mean nothing."""
    words = set(_SEPARATORS.split(content.lower()))
    none = "none" in words
    return Wishes(noindex=none or "noindex" in words, nofollow=none or "nofollow" in words)


def wishes_in_header(value: str) -> Wishes:
    """Read X-Robots-Tag, several lines joined by commas.

    `otherbot: noindex` speaks to that robot only; a name holds until the next one, since the joined lines
    do not show where one ended.
    """
    wishes = NO_WISHES
    for_us = True
    for part in value.split(","):
        name, colon, rest = part.partition(":")
        if colon:
            name = name.strip().lower()
            if name in _VALUED:
                continue
            for_us = name in OUR_NAMES
            part = rest
        if for_us:
            wishes = wishes.and_also(wishes_in_meta(part))
    return wishes
