"""Reads what is on record of hosts, for people; also while a crawl runs."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import our_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFilter:
    """Which hosts are meant; None: any."""

    host: str | None = None  # its name, or *. and a domain for all below it
    contains: str | None = None  # a part of the name


class HostRow(NamedTuple):
    """A host as it is on record."""

    host: str
    domain: str
    next_contact: float
    last_took: float
    address: str | None
    rest_reason: str | None
    trouble: str | None
    budget: str | None
    queued: int
    stored: int
    fetched: int  # URLs that were answered at least once
    known: int
    excluded: Counter[str]  # by reason


class HostSort(NamedTuple):
    """What comes first in a list of hosts: in SQL, and of a row; hosts that are equal in it come by name."""

    sql: str
    key: Callable[[HostRow], float | str]


def _reversed(host: str) -> str:
    return ".".join(reversed(host.split(".")))


HOST_SORTS = {
    "queued": HostSort("-coalesce(c.queued, 0)", lambda row: -row.queued),
    "fetched": HostSort("-coalesce(c.answered, 0)", lambda row: -row.fetched),
    "excluded": HostSort("-coalesce(c.excluded, 0)", lambda row: -row.excluded.total()),
    "next": HostSort("next_contact", lambda row: row.next_contact),
    "host": HostSort("reversed(host)", lambda row: _reversed(row.host)),
}


def host_rows(
    db: sqlite3.Connection, wanted: HostFilter, sort: str, *, offset: int = 0, limit: int | None = None
) -> list[HostRow]:
    """The hosts that are wanted, `limit` of them from `offset` on. Raises StoreFailed."""
    where, values = _where(wanted)
    statement = named_queries("host_reports.sql")["hosts"]
    statement = statement.replace("/*where*/", where).replace("/*order*/", HOST_SORTS[sort].sql)
    with our_errors(db):
        db.create_function("reversed", 1, _reversed, deterministic=True)
        rows = db.execute(statement, {**values, "most": -1 if limit is None else limit, "offset": offset}).fetchall()
    return [HostRow._make((*row[:-1], Counter(json.loads(row[-1]) if row[-1] else {}))) for row in rows]


def number_of_hosts(db: sqlite3.Connection, wanted: HostFilter) -> int:
    """How many are wanted. Raises StoreFailed."""
    where, values = _where(wanted)
    with our_errors(db):
        return int(
            db.execute(named_queries("host_reports.sql")["number"].replace("/*where*/", where), values).fetchone()[0]
        )


def _where(wanted: HostFilter) -> tuple[str, dict[str, object]]:
    if wanted.contains:
        return "instr(host, :text) > 0", {"text": wanted.contains}
    if wanted.host is None:
        return "true", {}
    name = wanted.host.lower().rstrip(".")
    if name.startswith("*."):
        return "substr(host, -length(:text)) = :text", {"text": name[1:]}
    return "host = :text", {"text": name}
