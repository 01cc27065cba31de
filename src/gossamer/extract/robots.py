"""What a page asks of robots: `<meta name=robots>` and the X-Robots-Tag header.

(robots.txt is another matter: it is obeyed before anything is fetched.)
"""

import re
from typing import NamedTuple

OUR_NAME = "gossamer"
"""The product token that we go by unless told otherwise."""

_LONGEST_NAME = 500
# What may be a robot's name. `25 Jun 2030 15` before the colon of a time is none.
_ROBOT = re.compile(r"[A-Za-z][\w.-]*").fullmatch
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


class WishesFor:
    """The wishes of one page for one robot, gathered from its header and its elements.

    What is addressed to the robot by name replaces what is said to all, as in robots.txt, wherever either stands.
    Statements to the same addressee add up.
    """

    def __init__(self, agent: str, header: str | None = None) -> None:
        """`header` is X-Robots-Tag, several lines joined by commas."""
        self._agent = agent.lower()
        self._to_all = NO_WISHES
        self._to_us: Wishes | None = None
        if header is not None:
            self._heed_header(header)

    def wishes(self) -> Wishes:
        """What holds, after all that has been heard."""
        return self._to_all if self._to_us is None else self._to_us

    def heed_meta(self, name: str, content: str) -> None:
        """Take in a meta element, whatever it is about."""
        if len(name) > _LONGEST_NAME:
            return
        name = name.strip().lower()
        if name == "robots":
            self._to_all = self._to_all.and_also(wishes_in_meta(content))
        elif name == self._agent:
            self._to_us = (self._to_us or NO_WISHES).and_also(wishes_in_meta(content))

    def _heed_header(self, header: str) -> None:
        """`otherbot: noindex` speaks to that robot only; a name holds until the next one, since the joined lines do
        not show where one ended."""
        addressee = "robots"
        for part in header.split(","):
            name, colon, rest = part.partition(":")
            if colon:
                name = name.strip()
                if name.lower() in _VALUED or _ROBOT(name) is None:
                    continue
                addressee = name
                part = rest
            self.heed_meta(addressee, part)
