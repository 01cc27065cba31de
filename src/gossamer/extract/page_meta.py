"""Metadata of a page: its language as a BCP 47 tag (`en`, `pt-BR`, `zh-Hant`), and its directives for robots in `<meta
name=robots>` and the X-Robots-Tag header. (robots.txt is separate: it is obeyed before anything is fetched.)"""

import re
from typing import NamedTuple

from turbohtml import Document

MAX_TAG = 35
"""Characters: the length that BCP 47 requires programs to support."""

_TAG = re.compile(r"(?:[a-z]{2,3}|[a-z]{5,8})(?:-[a-z0-9]{1,8})*").fullmatch


def language_tag(written: str | None) -> str | None:
    """A language tag in the usual case (`EN_us` is `en-US`); None if it is not a tag.

    Only the form is checked, not whether the language exists.
    """
    if written is None:
        return None
    tag = written.strip()[: MAX_TAG + 1].replace("_", "-").lower()
    if len(tag) > MAX_TAG or not tag.isascii() or _TAG(tag) is None:
        return None
    if "-" not in tag:
        return tag
    language, *rest = tag.split("-")
    parts = [language]
    for position, part in enumerate(rest):
        if len(parts[-1]) == 1 or "x" in rest[:position]:  # everything after a single letter is lower case
            parts.append(part)
        elif len(part) == 2:
            parts.append(part.upper())
        else:
            parts.append(part.title() if len(part) == 4 and part.isalpha() else part)
    return "-".join(parts)


def header_language(content_language: str | None) -> str | None:
    """The language in a Content-Language header or the equivalent meta element.

    A list of several languages describes the audience, not the language of the page, so it gives no answer.
    """
    if content_language is None or "," in content_language:
        return None
    return language_tag(content_language)


def declared_language(tree: Document, in_meta: str | None, in_header: str | None) -> str | None:
    """The declared language: the `lang` of the root element, else the meta element, else the header."""
    root = tree.root
    written = None if root is None else root.attr("lang") or root.attr("xml:lang")
    return language_tag(written) or header_language(in_meta) or header_language(in_header)


OUR_NAME = "gossamer"
"""The default product token."""

_LONGEST_NAME = 500
# A robot's name. `25 Jun 2030 15` before the colon of a time is not one.
_ROBOT = re.compile(r"[A-Za-z][\w.-]*").fullmatch
_SEPARATORS = re.compile(r"[\s,;]+")
# Directives of X-Robots-Tag with a value, so that `max-snippet: 20` is not read as a robot's name.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})


class RobotsDirectives(NamedTuple):
    """What a page forbids: to be indexed, or to have its links followed."""

    noindex: bool
    nofollow: bool

    def combine(self, other: "RobotsDirectives") -> "RobotsDirectives":
        """The union of both: the strictest applies."""
        return RobotsDirectives(self.noindex or other.noindex, self.nofollow or other.nofollow)


NO_DIRECTIVES = RobotsDirectives(noindex=False, nofollow=False)


def directives_in_meta(content: str) -> RobotsDirectives:
    """Parse the content attribute of a robots meta element. Unknown words are ignored."""
    words = set(_SEPARATORS.split(content.lower()))
    none = "none" in words
    return RobotsDirectives(noindex=none or "noindex" in words, nofollow=none or "nofollow" in words)


class DirectivesFor:
    """The directives of one page for one robot, collected from its header and its elements.

    Directives that name the robot replace those for all robots, as in robots.txt, wherever they occur. Directives for
    the same addressee add up.
    """

    def __init__(self, agent: str, header: str | None = None) -> None:
        """`header` is X-Robots-Tag, several lines joined by commas."""
        self._agent = agent.lower()
        self._to_all = NO_DIRECTIVES
        self._to_us: RobotsDirectives | None = None
        if header is not None:
            self._on_header(header)

    def directives(self) -> RobotsDirectives:
        """The directives that apply, after everything seen so far."""
        return self._to_all if self._to_us is None else self._to_us

    def on_meta(self, name: str, content: str) -> None:
        """Process a meta element of any name."""
        if len(name) > _LONGEST_NAME:
            return
        name = name.strip().lower()
        if name == "robots":
            self._to_all = self._to_all.combine(directives_in_meta(content))
        elif name == self._agent:
            self._to_us = (self._to_us or NO_DIRECTIVES).combine(directives_in_meta(content))

    def _on_header(self, header: str) -> None:
        """`otherbot: noindex` applies to that robot only; a name applies until the next one, since the joined lines do
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
            self.on_meta(addressee, part)
