"""What the crawl notes about the hosts it has in memory, beside their queues."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from gossamer.fetch.robots import RobotsAnswer, remembered_answer
from gossamer.frontier.breaker import Silence, Trouble
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.store.changes import RobotsRecord


class Hop(NamedTuple):
    """Where a robots.txt was redirected to."""

    url: Url
    origin: Origin
    host: HostKey
    number: int  # of redirects followed so far


@dataclass(slots=True)
class HostNotes:
    """One host: its robots answers by origin, and how it has behaved lately."""

    robots: dict[Origin, RobotsAnswer] = field(default_factory=dict)
    hops: dict[Origin, Hop] = field(default_factory=dict)  # robots.txt files that are being followed
    trouble: Trouble | None = None
    rate_limited: int = 0  # in a row
    resolved_until: Instant = Instant(0.0)  # of the addresses that are on record

    @property
    def rest_reason(self) -> str:
        """Why the host rests longer than its gap, in words."""
        if self.trouble is None:
            return "rules out of reach"
        return f"{self.trouble.reason}, {self.trouble.failures} in a row"


class Notes:
    """Notes on the hosts that have a back queue. Dropped with it, so bounded by the frontier's limits.

    `recall` is told where a host was found before, as the store has it.
    """

    def __init__(self, robots_agent: str, recall: Callable[[HostKey, str], None] | None = None) -> None:
        self._agent = robots_agent
        self._recall = recall
        self._hosts: dict[HostId, HostNotes] = {}

    def __getitem__(self, host_id: HostId) -> HostNotes:
        return self._hosts[host_id]

    def get(self, host_id: HostId) -> HostNotes | None:
        return self._hosts.get(host_id)

    def none_has_answered(self) -> bool:
        """Whether every host has been asked, and none of them has ever answered."""
        silent = (Silence.SO_FAR, Silence.GIVEN_UP)
        return all(notes.trouble is not None and notes.trouble.silence in silent for notes in self._hosts.values())

    def failing(self, least: int) -> int:
        """How many have failed so many times in a row. Looks at every host."""
        return sum([each.trouble is not None and each.trouble.failures >= least for each in self._hosts.values()])

    def __len__(self) -> int:
        return len(self._hosts)

    def begin(self, record: HostRecord, robots: list[RobotsRecord]) -> None:
        """A host has got a back queue; this is what the store remembers."""
        trouble = Trouble.from_text(record.trouble) if record.trouble else None
        self._hosts[record.host_id] = HostNotes({r.origin: self.remembered(r) for r in robots}, trouble=trouble)
        if record.resolved and self._recall is not None:
            self._recall(record.host, record.resolved)

    def end(self, host_id: HostId) -> None:
        """The host has given its back queue up, and that is committed."""
        del self._hosts[host_id]

    def forgive(self, host_ids: Iterable[HostId]) -> None:
        """However these hosts did before, they are worth another request."""
        for host_id in host_ids:
            if (notes := self._hosts.get(host_id)) is not None:
                notes.trouble = None

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
