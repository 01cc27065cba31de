"""Segments of bands made into fewer, a little with each commit.

A question goes through all segments, so their number is bounded: when there are more than `MOST`, the latest ones
become one, back to the first that is larger than all after it together. Each band is thus written anew about as often
as the crawl doubles. What stood for pages that have changed is left out.

The new segment is not listed before it is whole, and those that it replaces are swept away after that. Both take many
commits: a process that ends in between leaves rows of a segment that is not listed, and the next one sweeps them away.
"""

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gossamer.backends.sqlite.band_rows import BANDS_IN_ROW, packed_rows, unpacked
from gossamer.backends.sqlite.rows import write_rows

MOST = 12
"""Segments that are left alone."""

_ROWS = 24  # of each segment that are read at a time: some ten thousand bands together, ten milliseconds
_ENOUGH = _ROWS * BANDS_IN_ROW // 4  # bands of a segment, with which no more are read
_SIGNATURES = 10_000  # that are looked at in a step
_SWEPT = 300  # rows that are deleted in a step
_BEYOND = 1 << 63  # larger than any band


class Source(NamedTuple):
    """A segment: its bands are of the signatures with `after < seq <= last`."""

    segment: int
    after: int
    last: int


def to_be_merged(segments: Sequence[Source], most: int = MOST) -> Sequence[Source]:
    """Which of these, in order, become one; none if they are few enough."""
    if len(segments) <= most:
        return ()
    last = segments[-1].last
    for first, segment in enumerate(segments):
        if segment.last - segment.after < last - segment.last:
            return segments[first:]
    return segments[-2:]


class Merging:
    """Keeps the number of segments down. Used within the writer's transactions, one step in each."""

    def __init__(self, db: sqlite3.Connection, sql: Mapping[str, str], most: int = MOST) -> None:
        self._db = db
        self._sql = sql
        self._most = most
        self._work: Iterator[None] | None = None
        self._idle = False

    def look(self) -> None:
        """A transaction was rolled back: what was begun is begun anew."""
        self._work, self._idle = None, False

    def added(self) -> None:
        """There is a new segment. What is under way goes on."""
        self._idle = False

    def step(self) -> None:
        """Some milliseconds of work, if there is any."""
        if self._idle:
            return
        if self._work is None:
            self._work = self._tidied()
        if next(self._work, self) is self:
            self._work, self._idle = None, True

    def _tidied(self) -> Iterator[None]:
        yield from self._swept()
        while sources := to_be_merged(self._segments(), self._most):
            yield from self._merged(sources)
            yield from self._swept()

    def _segments(self) -> list[Source]:
        found, after = [], 0
        for segment, last in self._db.execute(self._sql["segments"]):
            found.append(Source(segment, after, last))
            after = last
        return found

    def _merged(self, sources: Sequence[Source]) -> Iterator[None]:
        db, sql = self._db, self._sql
        alive = _Alive()
        latest, last = -1, sources[-1].last
        while rows := db.execute(sql["originals_between"], (latest, sources[0].after, last, _SIGNATURES)).fetchall():
            alive.learn(rows)
            latest = rows[-1][0]
            yield
        runs = [_Run(source) for source in sources]
        target = None
        while any(not run.read or run.pairs for run in runs):
            for run in runs:
                run.fill(db, sql, alive)
            upto = min((run.complete_upto for run in runs if not run.read), default=_BEYOND)
            pairs = sorted(pair for run in runs for pair in run.take(upto))
            if pairs:
                target = self._next_number() if target is None else target
                write_rows(db, sql["add_bands"], [(target, *row) for row in packed_rows(pairs)])
            yield
        db.execute(sql["add_segment"], (self._next_number() if target is None else target, last))
        db.executemany(sql["drop_segment"], [(source.segment,) for source in sources])
        yield

    def _next_number(self) -> int:
        number: int = self._db.execute(self._sql["last_segment"]).fetchone()[0]
        return number + 1

    def _swept(self) -> Iterator[None]:
        """Delete the rows of segments that are not listed."""
        db, sql = self._db, self._sql
        for (segment,) in db.execute(sql["unlisted"]).fetchall():
            while (first := db.execute(sql["row_of_segment"], (segment, _SWEPT)).fetchone()) is not None:
                db.execute(sql["sweep_some"], (segment, first[0]))
                yield
            db.execute(sql["sweep_all"], (segment,))
            yield


class _Alive:
    """Which originals there are, and since when; 16 bytes for each."""

    def __init__(self) -> None:
        self._numbers = array("q")
        self._seqs = array("q")

    def learn(self, rows: Sequence[tuple[int, int]]) -> None:
        """URLs and since when, the smallest numbers first."""
        for url_id, seq in rows:
            self._numbers.append(url_id)
            self._seqs.append(seq)

    def of_segment(self, bands: Sequence[int], owners: Sequence[int], source: Source) -> list[tuple[int, int]]:
        """Those whose owners still have the signature that is in this segment."""
        numbers, seqs, most = self._numbers, self._seqs, len(self._numbers)
        _, after, last = source
        found = []
        for pair in zip(bands, owners, strict=True):
            at = bisect_left(numbers, pair[1])
            if at < most and numbers[at] == pair[1] and after < seqs[at] <= last:
                found.append(pair)
        return found


class _Run:
    """What is read of one segment and not written yet."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._from = -_BEYOND  # the first row that is not read yet begins there or later
        self.read = False  # to its end
        self.pairs: list[tuple[int, int]] = []
        self.complete_upto = -_BEYOND

    def fill(self, db: sqlite3.Connection, sql: Mapping[str, str], alive: _Alive) -> None:
        if self.read or len(self.pairs) > _ENOUGH:
            return
        rows = db.execute(sql["rows_from"], (self._source.segment, self._from, _ROWS)).fetchall()
        self.read = len(rows) < _ROWS
        for first_band, packed_bands, packed_owners in rows:
            self._from = first_band + 1
            bands, owners = unpacked(packed_bands), unpacked(packed_owners)
            self.pairs += alive.of_segment(bands, owners, self._source)
            self.complete_upto = bands[-1]

    def take(self, upto: int) -> list[tuple[int, int]]:
        """Those with bands up to this one, which are no longer here then."""
        at = len(self.pairs)
        while at and self.pairs[at - 1][0] > upto:
            at -= 1
        taken, self.pairs = self.pairs[:at], self.pairs[at:]
        return taken
