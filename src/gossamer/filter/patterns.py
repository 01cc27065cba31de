"""Patterns of URLs as people write them: text, and `*` for any run of characters.

No regular expressions: one written by a user can take exponential time on a URL written by an attacker.
"""

from dataclasses import dataclass

from gossamer.errors import ConfigError

_MAX_CHARS = 2_083


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """A pattern that the whole URL must match. Case counts, as it does in URLs."""

    text: str

    def __post_init__(self) -> None:
        if not self.text or len(self.text) > _MAX_CHARS:
            raise ConfigError("pattern", f"expected 1 to {_MAX_CHARS} characters, got {self.text[:80]!r}")

    def matches(self, url: str) -> bool:
        """Whether `url` fits. Each piece is looked for once, from left to right: its leftmost place is always good.

        So there is no backtracking, and the time is linear but for what `str.find` needs on self-similar text.
        """
        first, *rest = self.text.split("*")
        if not rest:
            return url == first
        *middle, last = rest
        end = len(url) - len(last)
        if end < len(first) or not (url.startswith(first) and url.endswith(last)):
            return False
        at = len(first)
        for piece in middle:
            at = url.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True
