"""What the crawl notes about the hosts it has in memory, beside their queues."""

from dataclasses import dataclass, field, replace

from gossamer.fetch.robots import RobotsAnswer, rules_from_answer
from gossamer.model.task import HostRecord
from gossamer.model.units import HostId, Instant, Origin, Url
from gossamer.store.changes import RobotsRecord


@dataclass(slots=True)
class HostNotes:
    """One host: its robots answers by origin, and how it has behaved lately."""

    robots: dict[Origin, RobotsAnswer] = field(default_factory=dict)
    redirected: dict[Origin, tuple[Url, Origin, int]] = field(default_factory=dict)  # where robots.txt is; hops
    robots_tries: int = 0  # in a row that told us nothing
    failures: int = 0  # in a row
    rate_limited: int = 0  # in a row


class Notes:
    """Notes on the hosts that have a back queue. Dropped with it, so bounded by the frontier's limits."""

    def __init__(self, robots_agent: str) -> None:
        self._agent = robots_agent
        self._hosts: dict[HostId, HostNotes] = {}

    def __getitem__(self, host_id: HostId) -> HostNotes:
        return self._hosts[host_id]

    def begin(self, record: HostRecord, robots: list[RobotsRecord]) -> None:
        """A host has got a back queue; this is what the store remembers."""
        answers = {r.origin: self.remembered(r) for r in robots}
        self._hosts[record.host_id] = HostNotes(answers)

    def end(self, host_id: HostId) -> None:
        """The host has given its back queue up, and that is committed."""
        del self._hosts[host_id]

    def remembered(self, record: RobotsRecord) -> RobotsAnswer:
        # Only answers that told us something are stored; a redirect among them was one that we did not follow.
        unfollowed = record.status is not None and 300 <= record.status < 400
        answer = rules_from_answer(
            record.status, record.body, agent=self._agent, now=record.fetched_at, redirects_exhausted=unfollowed
        )
        return replace(answer, expires_at=record.expires_at)


def is_current(answer: RobotsAnswer | None, now: Instant) -> bool:
    return answer is not None and now < answer.expires_at
