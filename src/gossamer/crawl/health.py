"""How a host does, as its visits see it: what counts against it, and what that means for its URLs."""

import random

from gossamer.crawl.notes import HostNotes
from gossamer.frontier.breaker import BreakerPolicy, Trouble, after_failure, is_given_up, is_open
from gossamer.model.units import Instant, Seconds


class Health:
    """Notes failures of hosts by the breaker's rules. The state is the notes'."""

    def __init__(self, policy: BreakerPolicy, chance: random.Random) -> None:
        self._policy = policy
        self._chance = chance

    def failed(
        self, notes: HostNotes, reason: str, now: Instant, *, unreached: bool, asked: Seconds | None = None
    ) -> bool:
        """One more failure that the host is to blame for. Whether it is given up with that."""
        notes.trouble = after_failure(
            self._policy, notes.trouble, reason, now, self._chance, unreached=unreached, asked=asked
        )
        return is_given_up(self._policy, notes.trouble, now)

    def despair(self, notes: HostNotes, reason: str, now: Instant) -> None:
        """The host failed in a way that passes with time at best: it is given up at once, until the longest rest."""
        policy = self._policy
        notes.trouble = Trouble(
            policy.opens_after, Instant(now - policy.patience), Instant(now + policy.longest_rest), reason
        )

    def is_sick(self, notes: HostNotes) -> bool:
        return is_open(self._policy, notes.trouble)

    def is_given_up(self, notes: HostNotes, now: Instant) -> bool:
        """Whether the host's URLs are not worth a request now. When its rest is over, the next one finds out."""
        trouble = notes.trouble
        return trouble is not None and now < trouble.until and is_given_up(self._policy, trouble, now)
