"""The live status of a crawl that workers share: what they have published, merged; and the workers themselves. Without
workers, the totals in the store."""

from collections import deque
from collections.abc import Sequence
from enum import Enum
from itertools import zip_longest
from typing import Any, Final

from gossamer.clock import Clock
from gossamer.crawl.run.live import OUTCOMES_KEPT
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import crawl_exists, open_part, open_session
from gossamer.crawl.run.workers import keep_crawl_open, read_live
from gossamer.errors import NotThisCrawl, StoreFailed
from gossamer.model.units import Instant
from gossamer.observe.merged_snapshot import whole_snapshot
from gossamer.observe.snapshot import (
    LimitProgress,
    Snapshot,
    Status,
    SteeringStatus,
    decode_live,
    snapshot_of_totals,
)
from gossamer.service.live_view import Reading

_RENEW: Final = 5.0  # seconds
KEPT_OPEN: Final = 20.0
"""Seconds for which the crawl is kept open at a time: so long it waits after a service was killed."""
_TOTALS: Final = 5.0
"""Seconds between two looks at the totals while there is no worker."""


class Awaited(Enum):
    """What must be there before the first status."""

    NOTHING = 0
    WORKER = 1
    ORDERS = 2  # a worker that takes orders


class AllWorkers:
    """`LiveSource` of all workers. Used by one thread at a time."""

    def __init__(self, location: CrawlLocation, clock: Clock, awaited: Awaited) -> None:
        self._location = location
        self._awaited = awaited
        self._clock = clock
        self._session = open_session(location)
        self._exists = False
        self._outcomes = MergedOutcomes(f"{1000 * clock.now():.0f}")
        self._renew_at = self._totals_at = 0.0  # monotonic
        self._last: Snapshot | None = None

    def read(self) -> Reading | None:
        """None if the store cannot be read, or there is no crawl yet, or its workers are still starting."""
        try:
            if not self._exists:
                self._exists = crawl_exists(self._location)
            return self._read() if self._exists else None
        except (StoreFailed, NotThisCrawl):
            return None

    def _read(self) -> Reading | None:
        now = self._clock.monotonic()
        if now >= self._renew_at:
            keep_crawl_open(self._session, KEPT_OPEN)
            self._renew_at = now + _RENEW
        workers, texts = read_live(self._session)
        found = decode_live(texts)
        steering = self._merge([status.steering for status in found])
        if (self._awaited is Awaited.ORDERS and steering is None) or (self._awaited is Awaited.WORKER and not found):
            return None
        self._awaited = Awaited.NOTHING
        if found:
            self._last = whole_snapshot([status.snapshot for status in found])
            self._totals_at = 0.0
        elif now >= self._totals_at:
            self._last = self._read_totals()
            self._totals_at = now + _TOTALS
        assert self._last is not None
        return Reading(Status(0, self._last, steering), tuple(workers))

    def _read_totals(self) -> Snapshot:
        reader = open_part(self._location)
        try:
            return snapshot_of_totals(reader.status.totals(), Instant(self._clock.now()))
        finally:
            reader.close()

    def _merge(self, found: Sequence[SteeringStatus | None]) -> SteeringStatus | None:
        """None: no worker takes orders. What every one has applied is in force."""
        taking = [each for each in found if each is not None]
        for each in taking:
            self._outcomes.add(each)
        if not taking:
            return None
        limits = [each.limits for each in taking]
        return SteeringStatus(
            settings=min(each.settings for each in taking),
            orders=tuple(order for each in taking for order in each.orders),
            limits=LimitProgress(
                sum(each.excluded for each in limits),
                sum(each.requeued for each in limits),
                sum(each.unchecked for each in limits),
                sum(each.rereading for each in limits),
                all(each.complete for each in limits),
            ),
            run=self._outcomes.run,
            visits=self._outcomes.number,
            outcomes=self._outcomes.shown(),
            rests=tuple(map(sum, zip_longest(*(each.rests for each in taking), fillvalue=0))),
        )

    def close(self) -> None:
        self._session.close()


class MergedOutcomes:
    """The last outcomes of visits by all workers, numbered anew in the order in which they were read."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.number = 0  # of all outcomes so far
        self._seen: dict[str, int] = {}  # by the run of a worker: the last number that was read
        self._recent: deque[tuple[int, dict[str, Any]]] = deque(maxlen=OUTCOMES_KEPT)

    def add(self, steering: SteeringStatus) -> None:
        """What a worker has published."""
        seen = self._seen.get(steering.run, steering.visits - len(steering.outcomes))
        for number, outcome in steering.outcomes:
            if number > seen:
                self.number += 1
                self._recent.append((self.number, outcome))
        self._seen.pop(steering.run, None)
        self._seen[steering.run] = steering.visits
        while len(self._seen) > 10_000:  # workers that are gone
            del self._seen[next(iter(self._seen))]

    def shown(self) -> tuple[tuple[int, dict[str, Any]], ...]:
        return tuple(self._recent)
