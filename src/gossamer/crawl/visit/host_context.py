"""Host contexts: robots.txt rules and failures of every host with a back queue, and when a host is given up."""

import random
from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gossamer.crawl.observers import CrawlObserver
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

_MAX_RATE_LIMITED_HOSTS = 10_000
PAUSED_LOOK: Final = Seconds(2.0)
"""Seconds after which a paused host is checked again, without a contact."""
GUESS_AGAIN: Final = Seconds(30 * 86_400.0)
"""Seconds after which a guess that a host has a sitemap is repeated."""


class Hop(NamedTuple):
    """The target of a redirect of robots.txt."""

    url: Url
    origin: Origin
    host: HostKey
    number: int  # of redirects followed so far


class Guess(NamedTuple):
    """A guess that an origin has a sitemap at `url`; None: none is to be made before the given time."""

    url: Url | None
    not_before: Instant = Instant(0.0)
    redirects: int = 0  # followed so far


@dataclass(slots=True)
class HostContext:
    """One host: its robots.txt rules by origin, and its recent failures."""

    robots: dict[Origin, RobotsAnswer] = field(default_factory=dict)
    hops: dict[Origin, Hop] = field(default_factory=dict)  # redirects of robots.txt still to be followed
    guesses: dict[Origin, Guess] = field(default_factory=dict)  # of sitemaps, the last of each origin
    trouble: HostFailures | None = None
    rate_limited: int = 0  # in a row
    resolved_until: Instant = Instant(0.0)  # expiry of the addresses in the store
    held_at: Instant | None = None  # when its turn came last while it was paused

    @property
    def rest_reason(self) -> str:
        """Why the host rests longer than its gap, in words for `explain`."""
        if self.trouble is None:
            return "rules out of reach"
        return f"{self.trouble.reason}, {self.trouble.failures} in a row"


class HostContexts(CrawlObserver):
    """The contexts of all hosts with a back queue. Dropped with the back queue, so bounded by the limits of the
    frontier.

    `recall` is called with the addresses of a host that the store has.
    """

    def __init__(self, robots_agent: str, recall: Callable[[HostKey, str], None] | None = None) -> None:
        self._agent = robots_agent
        self._recall = recall
        self._hosts: dict[HostId, HostContext] = {}
        self._rate_limited: dict[HostId, int] = {}  # counts of hosts without a back queue; oldest first

    def __getitem__(self, host_id: HostId) -> HostContext:
        return self._hosts[host_id]

    def none_has_answered(self) -> bool:
        """Whether every host was contacted and none has ever answered."""
        silent = (Silence.NEVER_ANSWERED, Silence.GIVEN_UP)
        return all(
            context.trouble is not None and context.trouble.silence in silent for context in self._hosts.values()
        )

    def count_failing(self, least: int) -> int:
        """The number of hosts with at least `least` failures in a row. Looks at every host."""
        return sum([each.trouble is not None and each.trouble.failures >= least for each in self._hosts.values()])

    def count_held(self, now: Instant) -> int:
        """The number of hosts whose turn came lately while they were paused. Looks at every host."""
        return sum([each.held_at is not None and now - each.held_at < 2 * PAUSED_LOOK for each in self._hosts.values()])

    def __len__(self) -> int:
        return len(self._hosts)

    def host_loaded(self, record: HostRecord, robots: Sequence[RobotsRecord]) -> None:
        """Restore the context of a host from the store."""
        trouble = HostFailures.from_text(record.failures) if record.failures else None
        self._hosts[record.host_id] = context = HostContext(
            {r.origin: self.restored_answer(r) for r in robots},
            guesses={r.origin: _last_guess(r.guessed_at) for r in robots if r.guessed_at is not None},
            trouble=trouble,
        )
        if self._rate_limited:
            context.rate_limited = self._rate_limited.pop(record.host_id, 0)
        if record.resolved and self._recall is not None:
            self._recall(record.host, record.resolved)

    def host_retired(self, host_id: HostId) -> None:
        """Drop the context of a host, except the number of its 429s: a host with a single URL loses its back queue
        after each of them."""
        context = self._hosts.pop(host_id)
        if context.rate_limited:
            self._rate_limited[host_id] = context.rate_limited
            if len(self._rate_limited) > _MAX_RATE_LIMITED_HOSTS:
                del self._rate_limited[next(iter(self._rate_limited))]

    def committed(self, committed: Committed) -> None:
        """Forget the failures of hosts to which an operator has given URLs back."""
        for host_id in committed.restored_hosts:
            if (context := self._hosts.get(host_id)) is not None:
                context.trouble = None
                context.rate_limited = 0
            self._rate_limited.pop(host_id, None)

    def restored_answer(self, record: RobotsRecord) -> RobotsAnswer:
        """The answer that a stored record means."""
        return remembered_answer(
            record.status,
            record.body,
            agent=self._agent,
            fetched_at=record.fetched_at,
            expires_at=record.expires_at,
            unreachable_since=record.unreachable_since,
        )

    def longest_crawl_delay(self, robots: list[RobotsRecord]) -> Seconds | None:
        """The longest Crawl-delay in the stored robots.txt files of a host."""
        answers = [self.restored_answer(record) for record in robots]
        delays = [answer.rules.crawl_delay for answer in answers if answer.rules is not None]
        return max((delay for delay in delays if delay is not None), default=None)


def _last_guess(at: Instant) -> Guess:
    return Guess(None, Instant(at + GUESS_AGAIN))


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
    """Applies the rules of the breaker to the contexts of hosts, which hold the state.

    `nothing_else_left` returns whether all that is left of the crawl are hosts that never answered.
    """

    def __init__(self, policy: BreakerPolicy, chance: random.Random, nothing_else_left: Callable[[], bool]) -> None:
        self._policy = policy
        self._chance = chance
        self._nothing_else_left = nothing_else_left

    def record_failure(
        self,
        context: HostContext,
        reason: str,
        now: Instant,
        *,
        unreached: bool,
        asked: Seconds | None = None,
        unanswered: bool = False,
    ) -> bool:
        """Record a failure that the host is to blame for. Returns whether it is given up."""
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
        """Give the host up at once, until the longest rest is over: another request would fail in the same way."""
        policy = self._policy
        context.trouble = HostFailures(
            policy.opens_after, Instant(now - policy.patience), Instant(now + policy.longest_rest), reason
        )

    @property
    def opens_after(self) -> int:
        """Failures in a row that open the breaker of a host."""
        return self._policy.opens_after

    def is_open(self, context: HostContext) -> bool:
        """Whether the breaker of the host is open."""
        return is_open(self._policy, context.trouble)

    def is_given_up(self, context: HostContext, now: Instant) -> bool:
        """Whether URLs of the host are dead without a request. When its rest is over, the next visit tries again."""
        trouble = context.trouble
        return trouble is not None and now < trouble.until and is_given_up(self._policy, trouble, now)
