"""Looks again at waiting URLs of which something was learnt, and moves those that stand elsewhere now."""

import math
import sqlite3
from collections.abc import Iterable, Mapping

from gossamer.backends.sqlite.rows import read_rows, write_rows
from gossamer.model.facts import UrlFacts
from gossamer.store.changes import Moved
from gossamer.store.ports import Prioritiser

FACTS = UrlFacts._fields.index("changes") + 1
"""So many facts of a URL are columns, in this order."""


class Moves:
    """Keeps the queues as the ordering wants them while links are counted."""

    def __init__(self, db: sqlite3.Connection, sql: Mapping[str, str], prioritiser: Prioritiser) -> None:
        self._db = db
        self._sql = sql
        self._prioritiser = prioritiser

    def after(self, keys: Iterable[tuple[int, int]], stamp: float) -> list[Moved]:
        """Some of the URLs with these identities (domain, fingerprint) have got links or credit. The moves are on
        record, in the front queues too."""
        if not self._prioritiser.moved_by_links:
            return []
        moved = self._by_score(list(keys)) if self._prioritiser.by_score else self._by_class(list(keys), stamp)
        write_rows(self._db, self._sql["enter_front"], [(m.host_id, m.front, m.place) for m in moved])
        return moved

    def _by_score(self, keys: list[tuple[int, int]]) -> list[Moved]:
        """The place in front queue 0 follows the score. What waits for a date keeps its place and gets its score."""
        moved, rows = [], []
        for row in read_rows(self._db, self._sql["waiting_of"], keys, 0, math.inf):
            host_id, front, place, priority = row[FACTS:]
            standing = self._prioritiser.standing(UrlFacts(*row[:FACTS]))
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

    def _by_class(self, keys: list[tuple[int, int]], stamp: float) -> list[Moved]:
        """A URL of a better class than it was joins the end of that class's queue, unless it waits for a date."""
        moved, rows = [], []
        for row in read_rows(self._db, self._sql["waiting_of"], keys, 1, stamp):
            standing = self._prioritiser.standing(UrlFacts(*row[:FACTS]))
            if standing.front < row[FACTS + 1]:
                moved.append(Moved(row[FACTS], row[0], standing.front, stamp, standing.priority))
                rows.append((standing.front, stamp, standing.priority, row[0]))
        write_rows(self._db, self._sql["join_front"], rows)
        return moved
