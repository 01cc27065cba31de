"""What the crawl notes about the hosts it has in memory, beside their queues.

How a host does, as its visits see it: what counts against it, and what that means for its URLs.
"""

import random
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.crawl.observers import NullObserver
from gossamer.fetch.robots import RobotsAnswer, remembered_answer
from gossamer.frontier.breaker import (
    BreakerPolicy,
    HostFailures,
    Silence,
    after_failure,
    is_given_up,
    is_open,
    should_stop_waiting,
)
from gossamer.frontier.frontier import Frontier
from gossamer.model.batch import Committed, RobotsRecord
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.store.threads import StoreQueries


class Hop(NamedTuple):
    """Where a robots.txt was redirected to."""

    url: Url
    origin: Origin
    host: HostKey
    number: int  # of redirects followed so far


@dataclass(slots=True)
class HostContext:
    """One host: its robots answers by origin, and how it has behaved lately."""

    robots: dict[Origin, RobotsAnswer] = field(default_factory=dict)
    hops: dict[Origin, Hop] = field(default_factory=dict)  # robots.txt files that are being followed
    trouble: HostFailures | None = None
    rate_limited: int = 0  # in a row
    resolved_until: Instant = Instant(0.0)  # of the addresses that are on record

    @property
    def rest_reason(self) -> str:
        """Why the host rests longer than its gap, in words."""
        if self.trouble is None:
            return "rules out of reach"
        return f"{self.trouble.reason}, {self.trouble.failures} in a row"


class HostContexts(NullObserver):
    """Notes on the hosts that have a back queue. Dropped with it, so bounded by the frontier's limits.

    `recall` is told where a host was found before, as the store has it.
    """

    def __init__(self, robots_agent: str, recall: Callable[[HostKey, str], None] | None = None) -> None:
        self._agent = robots_agent
        self._recall = recall
        self._hosts: dict[HostId, HostContext] = {}

    def __getitem__(self, host_id: HostId) -> HostContext:
        return self._hosts[host_id]

    def get(self, host_id: HostId) -> HostContext | None:
        return self._hosts.get(host_id)

    def none_has_answered(self) -> bool:
        """Whether every host has been asked, and none of them has ever answered."""
        silent = (Silence.NEVER_ANSWERED, Silence.GIVEN_UP)
        return all(
            context.trouble is not None and context.trouble.silence in silent for context in self._hosts.values()
        )

    def failing(self, least: int) -> int:
        """How many have failed so many times in a row. Looks at every host."""
        return sum([each.trouble is not None and each.trouble.failures >= least for each in self._hosts.values()])

    def __len__(self) -> int:
        return len(self._hosts)

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        """A host has got a back queue; this is what the store remembers."""
        trouble = HostFailures.from_text(record.failures) if record.failures else None
        self._hosts[record.host_id] = HostContext({r.origin: self.remembered(r) for r in robots}, trouble=trouble)
        if record.resolved and self._recall is not None:
            self._recall(record.host, record.resolved)

    def host_retired(self, host_id: HostId) -> None:
        """The host has given its back queue up, and that is committed."""
        del self._hosts[host_id]

    def committed(self, committed: Committed) -> None:
        """Forget the failures of hosts to which an operator has given URLs back."""
        for host_id in committed.restored_hosts:
            if (context := self._hosts.get(host_id)) is not None:
                context.trouble = None

    def remembered(self, record: RobotsRecord) -> RobotsAnswer:
        """What a stored answer means."""
        return remembered_answer(
            record.status,
            record.body,
            agent=self._agent,
            fetched_at=record.fetched_at,
            expires_at=record.expires_at,
            unreachable_since=record.unreachable_since,
        )

    def longest_crawl_delay(self, robots: list[RobotsRecord]) -> Seconds | None:
        """What the stored files of a host ask for, the longest of them."""
        answers = [self.remembered(record) for record in robots]
        delays = [answer.rules.crawl_delay for answer in answers if answer.rules is not None]
        return max((delay for delay in delays if delay is not None), default=None)


def is_current(answer: RobotsAnswer | None, now: Instant) -> bool:
    return answer is not None and now < answer.expires_at


def only_silent_hosts_left(
    host_contexts: HostContexts, frontier: Frontier, documents: Sized, queries: StoreQueries, max_hosts: int
) -> bool:
    """Whether all that is left of the crawl is to wait for hosts that have never answered. Looks at every host."""
    if queries.is_loading or len(documents) or len(host_contexts) >= max_hosts:
        return False
    return host_contexts.none_has_answered() and frontier.statistics().next_due is None


class HostHealth:
    """Notes failures of hosts by the breaker's rules. The state is the notes'.

    `nothing_else_left` is asked whether all that is left of the crawl are hosts that never answered.
    """

    def __init__(self, policy: BreakerPolicy, chance: random.Random, nothing_else_left: Callable[[], bool]) -> None:
        self._policy = policy
        self._chance = chance
        self._nothing_else_left = nothing_else_left

    def failed(
        self,
        context: HostContext,
        reason: str,
        now: Instant,
        *,
        unreached: bool,
        asked: Seconds | None = None,
        unanswered: bool = False,
    ) -> bool:
        """One more failure that the host is to blame for. Whether it is given up with that."""
        context.trouble = trouble = after_failure(
            self._policy,
            context.trouble,
            reason,
            now,
            self._chance,
            unreached=unreached,
            asked=asked,
            unanswered=unanswered,
        )
        if should_stop_waiting(self._policy, trouble, now) and self._nothing_else_left():
            context.trouble = trouble._replace(silence=Silence.GIVEN_UP)
        return is_given_up(self._policy, context.trouble, now)

    def give_up_now(self, context: HostContext, reason: str, now: Instant) -> None:
        """The host failed in a way that passes with time at best: it is given up at once, until the longest rest."""
        policy = self._policy
        context.trouble = HostFailures(
            policy.opens_after, Instant(now - policy.patience), Instant(now + policy.longest_rest), reason
        )

    @property
    def opens_after(self) -> int:
        """Failures in a row after which a host counts as sick."""
        return self._policy.opens_after

    def is_open(self, context: HostContext) -> bool:
        return is_open(self._policy, context.trouble)

    def is_given_up(self, context: HostContext, now: Instant) -> bool:
        """Whether the host's URLs are not worth a request now. When its rest is over, the next one finds out."""
        trouble = context.trouble
        return trouble is not None and now < trouble.until and is_given_up(self._policy, trouble, now)
