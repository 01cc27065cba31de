"""Changes of many URLs on request: an operator or `verify` queues them again or gives them up, or a rule was lifted.

`apply_change` is the only way back into the queue, apart from recrawls and retries, which are planned.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from gossamer.model.batch import BulkChange
from gossamer.model.facts import QueuePosition, UrlFacts
from gossamer.model.outcome import CORRUPTED, FailureClass
from gossamer.model.states import UrlState, may_follow
from gossamer.model.units import HostId, HostKey, Instant, Url
from gossamer.store.ports import Database
from gossamer.store.row_formats import facts_from
from gossamer.store.table.hosts import row_of_host
from gossamer.store.table.windows import url_windows

MOST = 1_000
"""URLs of one change: a few milliseconds of a commit."""
DROPPED = "dropped"
"""Exclusion reason of a dropped dead letter."""
_SCANNED = 20_000

PositionOf = Callable[[UrlFacts], QueuePosition]
"""Where a URL position_of in the order of the queue."""
Entry = tuple[HostId, int, float]
"""A new entry of a front queue: host, queue and place."""
Excluded = tuple[int, Url, HostKey, int, int]
"""A URL that is excluded: its row, the URL, its host, its depth, and whether it is a sitemap."""

Limited = tuple[int, Url, HostKey, int, int, int]
"""A URL that limits apply to: as `Excluded`, and its state."""


def apply_change(
    db: Database, order: BulkChange, position_of: PositionOf, stamp: Instant, counts: Counter[str]
) -> list[Entry]:
    """Move the URLs that are still in the state that the change expects, and add the difference to the counters. Within
    a transaction. Returns the new entries of the front queues."""
    if not may_follow(order.from_state, order.to_state):
        raise ValueError(f"no order may move a URL from {order.from_state.word} to {order.to_state.word}")
    entries: list[Entry] = []
    rows = {url_id: db.fetch_one("url_in_state", url_id, order.from_state) for url_id in order.url_ids}
    meant = {url_id: row for url_id, row in rows.items() if row and (not order.reasons or row[0] in order.reasons)}
    order.changed = len(meant)
    if order.from_state is UrlState.QUEUED:
        order.withdrawn = [(row[1], url_id) for url_id, row in meant.items()]
    db.write_rows("count_moves", [(order.to_state, False, url_id) for url_id in meant])
    for url_id, (reason, host_id, *learnt) in meant.items():
        if order.from_state is UrlState.EXCLUDED and reason is not None:
            counts["excluded:" + reason] -= 1
        if order.to_state is UrlState.QUEUED:
            front, priority, place = position_of(facts_from(learnt, stamp))
            place = stamp if place is None else place
            db.execute("queue_again", stamp, front, place, priority, url_id)
            db.execute("forgive_host", host_id)
            entries.append((host_id, front, place))
        else:
            db.execute("give_up", order.to_state, order.to_reason, url_id)
    counts[order.from_state.counter] -= order.changed
    counts[order.to_state.counter] += order.changed
    if order.to_state is UrlState.EXCLUDED and order.to_reason is not None:
        counts["excluded:" + order.to_reason] += order.changed
    return entries


def apply_changes(db: Database, orders: Iterable[BulkChange], position_of: PositionOf, now: Instant) -> int:
    """Apply changes to a crawl that is not running, with its front queues and counters. Within a transaction. Returns
    the number of URLs moved."""
    counts: Counter[str] = Counter()
    done = 0
    for order in orders:
        db.write_rows("enter_front", apply_change(db, order, position_of, now, counts))
        done += order.changed
    db.write_rows("count", [(name, n) for name, n in counts.items() if n])
    return done


def requeue_dead(
    db: Database,
    now: Instant,
    position_of: PositionOf,
    *,
    host: str | None = None,
    reason: str | None = None,
    failure_class: FailureClass | None = None,
) -> int:
    """Queue dead letters again, due now and with all their tries. Returns how many.

    The keywords select them; None selects all. The crawl does not run. One transaction. Raises StoreFailed.
    """
    with db.transaction():
        return apply_changes(db, _of_dead(db, host, reason, failure_class, UrlState.QUEUED), position_of, now)


def drop_dead(
    db: Database,
    now: Instant,
    position_of: PositionOf,
    *,
    host: str | None = None,
    reason: str | None = None,
    failure_class: FailureClass | None = None,
) -> int:
    """Drop dead letters: they become excluded, with the reason `dropped`. Otherwise as `requeue_dead`."""
    with db.transaction():
        dropped = _of_dead(db, host, reason, failure_class, UrlState.EXCLUDED, DROPPED)
        return apply_changes(db, dropped, position_of, now)


def _of_dead(
    db: Database,
    host: str | None,
    reason: str | None,
    failure_class: FailureClass | None,
    to: UrlState,
    because: str | None = None,
) -> Iterator[BulkChange]:
    after = 0
    while ids := dead_ids(db, host, reason, failure_class, after=after, most=MOST):
        after = ids[-1]
        yield BulkChange(tuple(ids), UrlState.DEAD, to, to_reason=because)


def dead_ids(
    db: Database,
    host: str | None,
    reason: str | None,
    failure_class: FailureClass | None,
    *,
    after: int,
    most: int,
) -> list[int]:
    """The ids of dead letters after an id. None: any."""
    host_id = None if host is None else row_of_host(db, host)
    corrupted = None if failure_class is None else failure_class is FailureClass.CORRUPTED
    wanted = (after, host_id, reason, corrupted, sorted(CORRUPTED), most)
    return [url_id for (url_id,) in db.fetch_all("dead_ids", *wanted)]


def excluded_urls(db: Database, reasons: Sequence[str], host: str | None = None) -> Iterator[list[Excluded]]:
    """The URLs that are excluded for one of these reasons, a chunk at a time. Raises StoreFailed."""
    host_id = None if host is None else row_of_host(db, host)
    for after, upto in url_windows(db, _SCANNED, db.fetch_value("last_url")):
        window = (after, upto, list(reasons))
        if host_id is None:
            rows = db.fetch_all("excluded", *window)
        else:
            rows = db.fetch_all("excluded_of_host", host_id, *window)
        for at in range(0, len(rows), MOST):
            yield rows[at : at + MOST]


def limited_urls(db: Database, reasons: Sequence[str]) -> Iterator[tuple[list[Limited], int]]:
    """The queued URLs that are not recrawls, and the URLs that are excluded for one of these reasons, a window at a
    time, with the number of ids after the window. Raises StoreFailed."""
    last = db.fetch_value("last_url")
    for after, upto in url_windows(db, _SCANNED, last):
        yield db.fetch_all("limited", after, upto, list(reasons)), max(0, last - upto)
