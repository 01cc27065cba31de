"""The states of a URL, and which may follow which."""

from enum import IntEnum
from functools import cached_property


class UrlState(IntEnum):
    """Where a URL stands. The numbers are the store's; never reuse one.

    QUEUED is the only state in which a crawl still owes the URL a visit. The others may carry a date of
    the next visit, which is a matter of recrawling, not of finishing.
    """

    QUEUED = 0
    STORED = 1  # a document is in a WARC file
    DUPLICATE = 2  # fetched; the same content is stored under another URL
    REDIRECT = 3  # answered with the address of another URL, which was offered to the frontier
    MISSING = 4  # a 4xx; asked again after a long while
    GONE = 5  # missing so often, or declared gone, that we no longer ask
    EXCLUDED = 6  # a rule forbids it (robots.txt, a cap, a scope that was changed)
    DEAD = 7  # tries used up: the dead-letter queue, handled by a person

    @cached_property
    def word(self) -> str:
        return self.name.lower()

    @cached_property
    def counter(self) -> str:
        """The name under which URLs in this state are counted."""
        return f"state:{self.word}"


TRANSITIONS: dict[UrlState, frozenset[UrlState]] = {
    # A visit ends in any state; a retry leaves the URL queued with a later date.
    UrlState.QUEUED: frozenset(UrlState),
    # A recrawl is a visit too, so what was visited may come out differently the next time.
    UrlState.STORED: frozenset(UrlState),
    UrlState.DUPLICATE: frozenset(UrlState),
    UrlState.REDIRECT: frozenset(UrlState),
    UrlState.MISSING: frozenset(UrlState),
    UrlState.GONE: frozenset({UrlState.QUEUED}),
    # A person, or a rule that was lifted, gives these back.
    UrlState.EXCLUDED: frozenset({UrlState.QUEUED}),
    UrlState.DEAD: frozenset({UrlState.QUEUED, UrlState.EXCLUDED}),
}


def may_follow(old: UrlState, new: UrlState) -> bool:
    """Whether a URL in state `old` may be moved to `new`."""
    return new in TRANSITIONS[old]
