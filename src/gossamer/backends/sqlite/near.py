"""Signatures and their bands: what near-duplicates are found by. Hot: benchmarks/bench_neardup.py.

A row for each page is cheap; eight rows for its bands, each somewhere else in a large table, are not: 300 pages would
touch 2,400 places, and each place is a page of the file to be written. So bands are written a segment at a time, of
`SEGMENT` originals, sorted, some dozens to a row: one piece at the end of the table. Until then their originals are in
memory (`dedup.near`), where a restart puts them again. Segments are merged in time (`near_merging`).
"""

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from gossamer.backends.sqlite.band_rows import BANDS_IN_ROW, packed_rows, unpacked
from gossamer.backends.sqlite.near_merging import MOST, Merging
from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.states import UrlState
from gossamer.sketch.bands import bands_of
from gossamer.store.changes import Settlement

SEGMENT = 20_000
"""Originals in a segment. Who remembers half as many again forgets none that is not in one."""


class Signatures:
    """Writes signatures, and segments when there are enough. Used within the writer's transactions."""

    def __init__(self, db: sqlite3.Connection, segment: int = SEGMENT, most: int = MOST) -> None:
        self._db = db
        self._segment = segment
        self._sql = named_queries("near.sql")
        self._merging = Merging(db, self._sql, most)
        self._waiting: int | None = None  # originals that are in no segment; None: to be counted

    def save(self, settlements: Sequence[Settlement]) -> None:
        """The part of a commit that is about near-duplicates."""
        rows, unsigned = [], []
        originals = 0
        for s in settlements:
            if s.signature is not None:
                rows.append((s.url_id, s.signature, s.near_duplicate_of, s.distance))
                originals += s.near_duplicate_of is None
            elif s.state is UrlState.STORED and not s.kept:
                unsigned.append((s.url_id,))
        if unsigned:
            write_rows(self._db, self._sql["forget_signature"], unsigned)
        if not rows:
            return
        write_rows(self._db, self._sql["save_signature"], rows)
        if self._waiting is None:
            self._waiting = len(originals_since_segments(self._db))
        else:
            self._waiting += originals
        if self._waiting >= self._segment:
            self._add_segment()
            self._merging.added()
        else:
            self._merging.step()

    def look(self) -> None:
        """A transaction was rolled back: count anew."""
        self._waiting = None
        self._merging.look()

    def _add_segment(self) -> None:
        number, after = self._db.execute(self._sql["last_segment"]).fetchone()
        originals = self._db.execute(self._sql["originals_since"], (after,)).fetchall()
        pairs = sorted((band, url_id) for _, url_id, signature in originals for band in bands_of(signature))
        self._db.execute(self._sql["add_segment"], (number + 1, originals[-1][0]))
        write_rows(self._db, self._sql["add_bands"], [(number + 1, *row) for row in packed_rows(pairs)])
        self._waiting = 0


def originals_by_band(db: sqlite3.Connection, bands: Sequence[int]) -> list[tuple[int, bytes]]:
    """The originals (URL, signature) that stand under any of these bands in a segment, each once."""
    sql = named_queries("near.sql")
    owners: set[int] = set()
    for band in bands:
        for packed_bands, packed_owners in db.execute(sql["rows_of_band"], (band,)).fetchall():
            there = unpacked(packed_bands)
            first = bisect_left(there, band)
            if first < len(there) and there[first] == band:
                owners.update(unpacked(packed_owners)[first : bisect_right(there, band, first)])
    found = [(owner, db.execute(sql["original"], (owner,)).fetchone()) for owner in owners]
    return [(owner, row[0]) for owner, row in found if row is not None]


def originals_since_segments(db: sqlite3.Connection) -> list[tuple[int, bytes]]:
    """The originals that are in no segment yet, the oldest first."""
    sql = named_queries("near.sql")
    _, after = db.execute(sql["last_segment"]).fetchone()
    return [(url_id, signature) for _, url_id, signature in db.execute(sql["originals_since"], (after,))]


def bands_in_segments(db: sqlite3.Connection, chunk: int) -> Iterator[list[int]]:
    """Every band in a segment, about a chunk at a time."""
    sql = named_queries("near.sql")["bands_after"]
    last = (0, 0)
    while rows := db.execute(sql, (*last, max(1, chunk // BANDS_IN_ROW))).fetchall():
        last = rows[-1][:2]
        yield [band for _, _, bands in rows for band in unpacked(bands)]
