"""What sitemaps say of URLs, and who vouches for them: rows of the writer's transactions."""

import sqlite3
from collections.abc import Mapping

from gossamer.backends.sqlite.hosts import HostRows
from gossamer.backends.sqlite.rows import read_rows, write_rows
from gossamer.store.changes import Batch, Reported
from gossamer.store.ports import WhenReported


def save_sitemaps(db: sqlite3.Connection, sql: Mapping[str, str], hosts: HostRows, batch: Batch) -> None:
    """After the URLs of the batch have entered: what is said of them is said of rows that are there. Of a URL without
    a row nothing is kept."""
    if batch.hints:
        rows = [
            (hosts.ids_of(hint.host)[1], hint.fingerprint, hint.listed_in, hint.changefreq, hint.priority)
            for hint in batch.hints
        ]
        write_rows(db, sql["save_hints"], rows)
        dated = [
            (hosts.ids_of(hint.host)[1], hint.fingerprint, hint.modified)
            for hint in batch.hints
            if hint.modified is not None
        ]
        write_rows(db, sql["save_modified"], dated)
    if batch.sitemap_names:
        named = [(hosts.ids_of(n.host)[1], n.fingerprint, n.named_by) for n in batch.sitemap_names]
        write_rows(db, sql["name_sitemaps"], named)
    if batch.sitemaps:
        write_rows(db, sql["save_sitemaps"], batch.sitemaps)


def bring_forward(
    db: sqlite3.Connection,
    sql: Mapping[str, str],
    hosts: HostRows,
    batch: Batch,
    when: WhenReported,
    stamp: float,
) -> int:
    """Pages that trusted lists say have changed since our visit are due when `when` says. Returns how many."""
    told = [
        (hosts.ids_of(hint.host)[1], hint.fingerprint, hint.modified, hint.believed)
        for hint in batch.hints
        if hint.believed is not False and hint.modified is not None and hint.modified <= stamp
    ]
    rows = []
    for planned, *row in read_rows(db, sql["reported"], told, stamp):
        page = Reported(*row)
        date = when(page)
        if date is not None and date < planned:
            rows.append((date, page.url_id))
    write_rows(db, sql["bring_forward"], rows)
    return len(rows)
