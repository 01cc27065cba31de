"""Gives queued URLs their priorities: all of them for another ordering, single ones when links to them are found.

The whole queue is reordered before the writer is opened. A crash in the middle leaves a queue without a known ordering,
and the next start reorders all of it again: what a row gets depends on that row alone.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from gossamer.model.batch import Moved
from gossamer.model.units import Instant
from gossamer.store.ports import Database, Prioritiser
from gossamer.store.row_formats import FACTS, facts_from
from gossamer.store.table.metadata import Metadata

CHUNK = 20_000
RUNNING_CHUNK = 2_000
"""The same in one commit of a running crawl."""

Gain = tuple[int, ...]
"""(domain, fingerprint, links, ...) of a URL: what it has got."""


def reorder(
    db: Database,
    order: str,
    prioritiser: Prioritiser,
    now: Instant,
    progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    settings: str = "",
) -> bool:
    """Put the queue in the order of the ordering of that name, with these settings. False if it is already.

    `progress` is called with the number of URLs done and of all that are queued. Raises StoreFailed.
    """
    facts = Metadata(db)
    if (facts.order(), facts.order_settings()) == (order, settings):
        return False
    _reorder(db, order, settings, prioritiser, now, progress)
    return True


def _reorder(
    db: Database,
    order: str,
    settings: str,
    prioritiser: Prioritiser,
    now: Instant,
    progress: Callable[[int, int], None],
) -> None:
    # Until all rows have changed the queue is in the order of no ordering.
    db.execute("forget_fact", "order")
    total: int = db.fetch_value("count_queued")
    done = last = 0
    while rows := db.fetch_all("queued_after", last, CHUNK):
        changed = [new for row in rows if (new := _moved_row(row, prioritiser, now)) is not None]
        with db.transaction():
            db.write_rows("move_url", changed)
        last = rows[-1][0]
        done += len(rows)
        progress(done, total)
    with db.transaction():
        db.execute("clear_fronts")
        db.execute("rebuild_fronts")
        db.write_rows("set_fact", [("order_settings", settings), ("order", order)])


def _moved_row(row: tuple[object, ...], prioritiser: Prioritiser, now: Instant) -> tuple[int, float, float, int] | None:
    """The row as `move_url` takes it; None if its place is right."""
    facts = facts_from(row, now)
    *stood, available_at = row[FACTS:]
    front, priority, place = prioritiser.standing(facts)
    due: float = available_at or 0.0  # type: ignore[assignment]
    if due > now:
        front, place = prioritiser.front_until_due(front), due
    elif place is None:
        place = due
    return None if stood == [front, place, priority] else (front, place, priority, facts.url_id)


class Reprioritiser:
    """Moves queued URLs whose position changes while links are counted, or because the rules have changed."""

    def __init__(self, db: Database, prioritiser: Prioritiser) -> None:
        self._db = db
        self._prioritiser = prioritiser

    def update(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """Move the URLs with these identities, which have gained links or credit, if their position has changed. The
        moves are stored, in the front queues too."""
        if not self._prioritiser.moved_by_links:
            return []
        moved = self._by_score(gains, stamp) if self._prioritiser.by_score else self._by_class(gains, stamp)
        self._db.write_rows("enter_front", [(m.host_id, m.front, m.place) for m in moved])
        return moved

    def reorder_some(self, after: int, stamp: float) -> tuple[list[Moved], int | None]:
        """Move the next queued URLs after an id whose position is another one now. Returns the moves, which are stored
        in the front queues too, and the id to continue after; None: there are no more."""
        queued = self._db.fetch_all("queued_after", after, RUNNING_CHUNK)
        positions = ((row, _moved_row(row, self._prioritiser, Instant(stamp))) for row in queued)
        changed = [(row, new) for row, new in positions if new is not None]
        if self._prioritiser.by_score:
            rows = [new for _, new in changed]
        else:  # what is due joins the end of its new class; scores that have changed since do not matter
            rows = [
                (front, max(place, stamp), score, n) for row, (front, place, score, n) in changed if row[FACTS] != front
            ]
        self._db.write_rows("move_url" if self._prioritiser.by_score else "join_front", rows)
        hosts = dict(self._db.read_rows("hosts_of", [(row[3],) for row in rows]))
        moved = [Moved(hosts[url_id], url_id, front, place, priority) for front, place, priority, url_id in rows]
        self._db.write_rows("enter_front", [(m.host_id, m.front, m.place) for m in moved])
        return moved, queued[-1][0] if len(queued) == RUNNING_CHUNK else None

    def _by_score(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """The place in front queue 0 follows the score. What waits for a date keeps its place and gets its score."""
        moved, rows = [], []
        for row in self._db.read_rows("waiting_of", [gain[:2] for gain in gains], 0, math.inf):
            host_id, front, place, priority = row[FACTS:]
            standing = self._prioritiser.standing(facts_from(row, stamp))
            if front != standing.front:
                if priority == standing.priority:
                    continue
                new_place = self._db.fetch_value("place_of", row[0])
            elif place == standing.place or standing.place is None:
                continue
            else:
                new_place = standing.place
            moved.append(Moved(host_id, row[0], front, new_place, standing.priority))
            rows.append((front, new_place, standing.priority, row[0]))
        self._db.write_rows("move_url", rows)
        return moved

    def _by_class(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """A URL of a better class than it was joins the end of that class's queue, unless it waits for a date.

        It is looked at when its links reach a power of two: a class is coarse, and a URL with a thousand links need not
        be looked at a thousand times."""
        return self._promote(self._db.read_rows("grown_of", [gain[:3] for gain in gains if gain[2] > 0], stamp), stamp)

    def update_listed(self, identities: Sequence[tuple[int, int]], stamp: float) -> list[Moved]:
        """Move the URLs with these identities (domain, fingerprint), of which a sitemap says what they are worth, if
        their position has changed. The moves are stored, in the front queues too."""
        if self._prioritiser.by_score:
            moved = self._by_score(identities, stamp)
        else:
            moved = self._promote(self._db.read_rows("waiting_of", identities, 1, stamp), stamp)
        self._db.write_rows("enter_front", [(m.host_id, m.front, m.place) for m in moved])
        return moved

    def _promote(self, found: Sequence[Sequence[Any]], stamp: float) -> list[Moved]:
        moved, rows = [], []
        for row in found:
            standing = self._prioritiser.standing(facts_from(row, stamp))
            if standing.front < row[FACTS + 1]:
                moved.append(Moved(row[FACTS], row[0], standing.front, stamp, standing.priority))
                rows.append((standing.front, stamp, standing.priority, row[0]))
        self._db.write_rows("join_front", rows)
        return moved
