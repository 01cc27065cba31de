"""How a host does, as its visits see it: what counts against it, and what that means for its URLs."""

import random
from collections.abc import Callable

from gossamer.crawl.notes import HostNotes
from gossamer.frontier.breaker import (
    BreakerPolicy,
    Silence,
    Trouble,
    after_failure,
    is_given_up,
    is_open,
    is_waited_for_in_vain,
)
from gossamer.model.units import Instant, Seconds


class Health:
    """Notes failures of hosts by the breaker's rules. The state is the notes'.

    `nothing_else_left` is asked whether all that is left of the crawl are hosts that never answered.
    """

    def __init__(self, policy: BreakerPolicy, chance: random.Random, nothing_else_left: Callable[[], bool]) -> None:
        self._policy = policy
        self._chance = chance
        self._nothing_else_left = nothing_else_left

    def failed(
        self,
        notes: HostNotes,
        reason: str,
        now: Instant,
        *,
        unreached: bool,
        asked: Seconds | None = None,
        unanswered: bool = False,
    ) -> bool:
        """One more failure that the host is to blame for. Whether it is given up with that."""
        notes.trouble = trouble = after_failure(
            self._policy,
            notes.trouble,
            reason,
            now,
            self._chance,
            unreached=unreached,
            asked=asked,
            unanswered=unanswered,
        )
        if is_waited_for_in_vain(self._policy, trouble, now) and self._nothing_else_left():
            notes.trouble = trouble._replace(silence=Silence.GIVEN_UP)
        return is_given_up(self._policy, notes.trouble, now)

    def despair(self, notes: HostNotes, reason: str, now: Instant) -> None:
        """The host failed in a way that passes with time at best: it is given up at once, until the longest rest."""
        policy = self._policy
        notes.trouble = Trouble(
            policy.opens_after, Instant(now - policy.patience), Instant(now + policy.longest_rest), reason
        )

    @property
    def opens_after(self) -> int:
        """Failures in a row after which a host counts as sick."""
        return self._policy.opens_after

    def is_sick(self, notes: HostNotes) -> bool:
        return is_open(self._policy, notes.trouble)

    def is_given_up(self, notes: HostNotes, now: Instant) -> bool:
        """Whether the host's URLs are not worth a request now. When its rest is over, the next one finds out."""
        trouble = notes.trouble
        return trouble is not None and now < trouble.until and is_given_up(self._policy, trouble, now)
