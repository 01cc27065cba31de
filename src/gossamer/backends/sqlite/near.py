"""Signatures and their bands: what near-duplicates are found by. Hot: benchmarks/bench_neardup.py."""

import sqlite3
from collections.abc import Iterator, Sequence

from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.states import UrlState
from gossamer.store.changes import Settlement


def save_signatures(db: sqlite3.Connection, settlements: Sequence[Settlement]) -> None:
    """The part of a commit that is about near-duplicates. Within one transaction with the rest of it."""
    rows, bands, unsigned = [], [], []
    for s in settlements:
        if s.signature is not None:
            rows.append((s.url_id, s.signature, s.near_duplicate_of, s.distance))
            bands += [(band, s.url_id) for band in s.bands]
        elif s.state is UrlState.STORED:
            unsigned.append((s.url_id,))
    sql = named_queries("near.sql")
    if rows:
        write_rows(db, sql["save_signature"], rows)
        bands.sort()  # neighbours in the table one after the other: fewer pages are looked for
        write_rows(db, sql["save_band"], bands)
    if unsigned:
        write_rows(db, sql["forget_signature"], unsigned)


def originals_by_band(db: sqlite3.Connection, bands: Sequence[int]) -> list[tuple[int, bytes]]:
    """The originals (URL, signature) that stand under any of these bands, each once."""
    sql = named_queries("near.sql")["originals_by_band"]
    found: dict[int, bytes] = {}
    for band in bands:
        found.update(db.execute(sql, (band,)).fetchall())
    return list(found.items())


def latest_originals(db: sqlite3.Connection, most: int) -> list[tuple[int, bytes]]:
    """The originals that were discovered last, the latest first."""
    return db.execute(named_queries("near.sql")["latest_originals"], (most,)).fetchall()


def all_bands(db: sqlite3.Connection, chunk: int) -> Iterator[list[int]]:
    """Every band that an original stands under, a chunk at a time."""
    sql = named_queries("near.sql")["bands_after"]
    last = (-(2**63), -1)
    while rows := db.execute(sql, (*last, chunk)).fetchall():
        last = rows[-1]
        yield [band for band, _ in rows]
