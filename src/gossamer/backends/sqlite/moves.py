"""Looks again at waiting URLs of which something was learnt, and moves those that stand elsewhere now."""

import math
import sqlite3
from collections.abc import Mapping, Sequence

from gossamer.backends.sqlite.learnt import FACTS, facts_from
from gossamer.backends.sqlite.rows import read_rows, write_rows
from gossamer.store.changes import Moved
from gossamer.store.ports import Prioritiser

Gain = tuple[int, int, int, int, int]
"""(domain, fingerprint, links, links from other domains, credit) of a URL: what it has got."""


class Moves:
    """Keeps the queues as the ordering wants them while links are counted."""

    def __init__(self, db: sqlite3.Connection, sql: Mapping[str, str], prioritiser: Prioritiser) -> None:
        self._db = db
        self._sql = sql
        self._prioritiser = prioritiser

    def after(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """URLs with these identities have got links or credit. The moves are on record, in the front queues too."""
        if not self._prioritiser.moved_by_links:
            return []
        moved = self._by_score(gains, stamp) if self._prioritiser.by_score else self._by_class(gains, stamp)
        write_rows(self._db, self._sql["enter_front"], [(m.host_id, m.front, m.place) for m in moved])
        return moved

    def _by_score(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """The place in front queue 0 follows the score. What waits for a date keeps its place and gets its score."""
        moved, rows = [], []
        for row in read_rows(self._db, self._sql["waiting_of"], [gain[:2] for gain in gains], 0, math.inf):
            host_id, front, place, priority = row[FACTS:]
            standing = self._prioritiser.standing(facts_from(row, stamp))
            if front != standing.front:
                if priority == standing.priority:
                    continue
                new_place = self._db.execute(self._sql["place_of"], row[:1]).fetchone()[0]
            elif place == standing.place or standing.place is None:
                continue
            else:
                new_place = standing.place
            moved.append(Moved(host_id, row[0], front, new_place, standing.priority))
            rows.append((front, new_place, standing.priority, row[0]))
        write_rows(self._db, self._sql["move_url"], rows)
        return moved

    def _by_class(self, gains: Sequence[Gain], stamp: float) -> list[Moved]:
        """A URL of a better class than it was joins the end of that class's queue, unless it waits for a date.

        It is looked at when its links reach 4, 16, 64, 256 and 1024, or those from other domains 1, 2, 4 and so on: a
        class is coarse, and a URL with a thousand links need not be looked at a thousand times."""
        grown = [gain[:4] for gain in gains if gain[2] > 0]
        moved, rows = [], []
        for row in read_rows(self._db, self._sql["grown_of"], grown, stamp):
            standing = self._prioritiser.standing(facts_from(row, stamp))
            if standing.front < row[FACTS + 1]:
                moved.append(Moved(row[FACTS], row[0], standing.front, stamp, standing.priority))
                rows.append((standing.front, stamp, standing.priority, row[0]))
        write_rows(self._db, self._sql["join_front"], rows)
        return moved
