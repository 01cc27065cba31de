"""Crawls as their database holds them: rows of the real schema, written without a crawl."""

import sqlite3
import struct

from gossamer.model.states import UrlState
from gossamer.model.task import Via

INSERT = (
    "INSERT INTO urls (id, host_id, domain_id, fingerprint, url, state, front, priority, depth, tries, hops, via,"
    " found_on, found_at) VALUES (?, 1, ?, ?, ?, ?, 0, 0, 0, 0, 0, ?, 0, 0)"
)


def domain(db: sqlite3.Connection, number: int, suffix: int) -> None:
    db.execute(
        "INSERT INTO domains (id, domain, partition, suffix_id) VALUES (?, ?, 0, ?)", (number, f"d{number}", suffix)
    )


def url(
    db: sqlite3.Connection, number: int, domain_id: int, state: UrlState = UrlState.STORED, via: Via = Via.LINK
) -> None:
    """URL number n has the fingerprint -1000 n."""
    db.execute(INSERT, (number, domain_id, -1000 * number, f"http://d{domain_id}/{number}", state, via))


def links(db: sqlite3.Connection, number: int, *targets: int) -> None:
    blob = struct.pack(f"<{len(targets)}q", *(-1000 * target for target in targets))
    db.execute("INSERT INTO links (url_id, targets) VALUES (?, ?)", (number, blob))
