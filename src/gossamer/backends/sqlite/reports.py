"""Reads a crawl's database for people, also while a crawl uses it; and changes its dead letters while none does.

Whatever is long is read a chunk at a time, each chunk in a transaction of its own: the answers come as a stream, a
slow reader keeps nothing from the crawl, and what changes meanwhile may show.
"""

import json
import sqlite3
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gossamer.backends.sqlite.database import translated
from gossamer.backends.sqlite.learnt import facts_from
from gossamer.backends.sqlite.queries import named_queries
from gossamer.errors import StoreFailed
from gossamer.model.facts import Standing, UrlFacts
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.model.written import iso_moment, sha1_text
from gossamer.observe.waits import Waits

URLS_COUNTED = 100_000
"""How far URLs that wait for a date are counted: in an index, some milliseconds."""
HOSTS_COUNTED = 1_000
"""How far hosts that wait are counted: each is looked at, and the disk may have to be asked for it."""

_CHUNK = 500

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFilter:
    """Which pages to show; None: any."""

    state: UrlState | None = None
    host: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadFilter:
    """Which dead letters are meant; None: any."""

    host: str | None = None
    reason: str | None = None


def status(db: sqlite3.Connection) -> Json:
    """The totals of a crawl as committed. The keys are those of `gossamer crawl --json` where they mean the same."""
    sql = named_queries("reports.sql")
    with _our_errors(db):
        totals: dict[str, int] = dict(db.execute(sql["totals"]).fetchall())
        hosts, domains = db.execute(sql["host_counts"]).fetchone()
        warc_files, warc_bytes = db.execute(sql["warc_totals"]).fetchone()
        (seeds,) = db.execute(sql["seed_count"]).fetchone()
        dead_reasons = Counter({reason or "unknown": n for reason, n in db.execute(sql["dead_reasons"])})
    states = {state.word: totals.get("state:" + state.word, 0) for state in UrlState}
    return {
        "pages": states["stored"] + totals.get("refreshing", 0),
        "fetched": totals.get("fetched", 0),
        "bytes": totals.get("bytes", 0),
        "discovered": totals.get("discovered", 0),
        "queued": states["queued"],
        "duplicates": totals.get("duplicates", 0),
        "near_duplicates": totals.get("near_duplicates", 0),
        **{name: totals.get(name, 0) for name in ("refreshed", "not_modified", "unchanged", "changed", "reported")},
        "sitemaps": totals.get("sitemaps", 0),
        "sitemap_urls": totals.get("sitemap_urls", 0),
        "errors": _by_reason(totals, "error"),
        "excluded": _by_reason(totals, "excluded"),
        "dead": states["dead"],
        "hosts": hosts,
        "finished": states["queued"] == 0,
        "states": states,
        "statuses": _by_reason(totals, "status"),
        "dead_by_reason": dict(dead_reasons.most_common()),
        "domains": domains,
        "seeds": seeds,
        "robots_fetched": totals.get("robots_fetched", 0),
        "warc_files": warc_files,
        "warc_bytes": warc_bytes,
    }


def waits(db: sqlite3.Connection, now: Instant) -> Waits:
    """What the crawl waits for, as far as it is on record: nobody stores what is in flight."""
    sql = named_queries("reports.sql")
    urls, hosts = {"now": now, "most": URLS_COUNTED}, {"now": now, "most": HOSTS_COUNTED}
    with _one_moment(db):
        totals: dict[str, int] = dict(db.execute(sql["totals"]).fetchall())
        queued, missing = (totals.get(f"state:{state.word}", 0) for state in (UrlState.QUEUED, UrlState.MISSING))
        ready: set[int] = set()
        for front in range(db.execute(sql["last_front"]).fetchone()[0] + 1):
            ready.update(host_id for (host_id,) in db.execute(sql["ready_hosts"], {**hosts, "front": front}))
        resting, next_contact = db.execute(sql["resting_hosts"], hosts).fetchone()
        retries, next_retry = db.execute(sql["retries"], urls).fetchone()
        recrawls, next_recrawl = db.execute(sql["recrawls"], {"most": URLS_COUNTED}).fetchone()
        (next_missing,) = db.execute(sql["next_missing"]).fetchone()
    return Waits(
        in_flight=None,
        due=queued - retries if retries < URLS_COUNTED else None,
        ready_hosts=min(len(ready), HOSTS_COUNTED),
        resting_hosts=resting,
        next_contact=next_contact,
        retries=retries,
        next_retry=next_retry,
        recrawls=recrawls,
        next_recrawl=next_recrawl,
        missing=missing,
        next_missing=next_missing,
        urls_counted_to=URLS_COUNTED,
        hosts_counted_to=HOSTS_COUNTED,
    )


def pages(db: sqlite3.Connection, wanted: PageFilter) -> Iterator[Json]:
    """Every known page that is wanted, oldest discovery first."""
    return (page for _, page in numbered_pages(db, wanted))


def numbered_pages(db: sqlite3.Connection, wanted: PageFilter) -> Iterator[tuple[int, Json]]:
    """The same with their numbers."""
    sql = named_queries("reports.sql")
    shown = 0
    with _our_errors(db):
        for ids in _page_ids(db, sql, wanted):
            for url_id in ids:
                row = db.execute(sql["pages"], (url_id - 1, url_id, 1)).fetchone()
                if wanted.state is not None and row[2] != wanted.state:
                    continue
                if wanted.limit is not None and shown >= wanted.limit:
                    return
                shown += 1
                yield url_id, page_object(row)


def dead(db: sqlite3.Connection, host: str | None = None, reason: str | None = None) -> Iterator[Json]:
    """The dead letters, oldest discovery first, each with its last failure."""
    return (letter for _, letter in numbered_dead(db, DeadFilter(host=host, reason=reason)))


def numbered_dead(db: sqlite3.Connection, wanted: DeadFilter) -> Iterator[tuple[int, Json]]:
    """The same with their numbers."""
    sql = named_queries("reports.sql")
    with _our_errors(db):
        for ids in _dead_ids(db, sql, wanted):
            for url_id in ids:
                yield url_id, dead_object(db.execute(sql["dead_letter"], (url_id,)).fetchone())


def queue_order(db: sqlite3.Connection) -> str | None:
    """The name of the ordering under which the queue stands; None before a crawl has given it one."""
    sql = named_queries("reports.sql")
    with _our_errors(db):
        row = db.execute(sql["fact"], ("order",)).fetchone()
    return None if row is None else str(row[0])


def remembered_options(db: sqlite3.Connection) -> Json:
    """The options that shaped the crawl when it last started, by key; nothing of a crawl of an older version."""
    sql = named_queries("reports.sql")
    with _our_errors(db):
        row = db.execute(sql["fact"], ("options",)).fetchone()
    found = json.loads(row[0]) if row is not None else {}
    return found if isinstance(found, dict) else {}


def requeue(db: sqlite3.Connection, wanted: DeadFilter, now: Instant, stands: Callable[[UrlFacts], Standing]) -> int:
    """Give dead letters another life: queued, no try used up, due now. Returns how many.

    `stands` says where a URL stands in the order of the queue (`queue_order`). The caller holds the directory's lock.
    All in one transaction; the front queues know of them afterwards.
    """
    sql = named_queries("reports.sql")
    with _transaction(db):
        ids = [url_id for chunk in _dead_ids(db, sql, wanted) for url_id in chunk]
        for url_id in ids:
            host_id, *learnt = db.execute(sql["url_learnt"], (url_id,)).fetchone()
            front, priority, place = stands(facts_from(learnt, now))
            place = now if place is None else place
            db.execute(sql["requeue"], (now, front, place, priority, url_id))
            db.execute(sql["enter_front"], (host_id, front, place))
            db.execute(sql["forgive_host"], (host_id,))
        _count(db, sql, {"state:dead": -len(ids), "state:queued": len(ids)})
    return len(ids)


def drop(db: sqlite3.Connection, wanted: DeadFilter) -> int:
    """Give dead letters up for good: excluded, with the reason `dropped`. Returns how many. As `requeue` otherwise."""
    sql = named_queries("reports.sql")
    with _transaction(db):
        ids = [url_id for chunk in _dead_ids(db, sql, wanted) for url_id in chunk]
        db.executemany(sql["drop"], [(url_id,) for url_id in ids])
        counts = {"state:dead": -len(ids), "state:excluded": len(ids), "excluded:dropped": len(ids)}
        _count(db, sql, counts)
    return len(ids)


def seed_places(db: sqlite3.Connection) -> frozenset[str]:
    """Where the seeds of the crawl stood: files and lines, arguments, queries."""
    with _one_moment(db):
        return frozenset(place for (place,) in db.execute("SELECT DISTINCT source FROM seeds"))


# --- which ones ---------------------------------------------------------------------------------------


def _page_ids(db: sqlite3.Connection, sql: dict[str, str], wanted: PageFilter) -> Iterator[Iterable[int]]:
    if wanted.host is not None:
        # By the index of the host, eight bytes a URL, then in order of discovery.
        host_id = _host_id(db, sql, wanted.host)
        ids = array("q", sorted(row[0] for row in db.execute(sql["host_urls"], (host_id,))))
        yield from (ids[i : i + _CHUNK] for i in range(0, len(ids), _CHUNK))
        return
    last = 0
    while True:
        if wanted.state is None:
            rows = db.execute(sql["page_ids"], (last, _CHUNK)).fetchall()
        else:
            rows = db.execute(sql["page_ids_of_state"], (last, wanted.state, _CHUNK)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
        yield [row[0] for row in rows]


def _dead_ids(db: sqlite3.Connection, sql: dict[str, str], wanted: DeadFilter) -> Iterator[list[int]]:
    host_id = None if wanted.host is None else _host_id(db, sql, wanted.host)
    last = 0
    while True:
        values = {"after": last, "host_id": host_id, "reason": wanted.reason, "most": _CHUNK}
        ids = [row[0] for row in db.execute(sql["dead_ids"], values)]
        if not ids:
            return
        last = ids[-1]
        yield ids


def _host_id(db: sqlite3.Connection, sql: dict[str, str], host: str) -> int:
    """The host's row; of an unknown host a row that no URL has."""
    row = db.execute(sql["host_id"], (host.lower().rstrip("."),)).fetchone()
    return -1 if row is None else int(row[0])


# --- rows as people know them -------------------------------------------------------------------------

_PageRow = tuple[
    str, int | None, int, int, float, int | None, bytes | None, float | None, float | None, str | None, str | None,
    str | None, str, str | None, str | None, str | None, str | None, int, int, str | None, int | None, int | None,
    str | None, int | None, str | None, str | None,
]  # fmt: skip

_WORDS = {int(state): state.word for state in UrlState}


def page_object(row: _PageRow) -> Json:
    """A page as people know it."""
    (
        url, code, state, depth, priority, size, digest, at, available_at, duplicate_of, redirect_to,
        reason, host, mime, title, found_on, truncated, unverified, replaced, file, offset, length,
        near, distance, language, canonical,
    ) = row  # fmt: skip
    return {
        "url": url,
        "status": code,
        "state": _WORDS[state],
        "depth": depth,
        "priority": priority,
        "size": size,
        "digest": None if digest is None else sha1_text(digest),
        "fetched_at": timestamp(at),
        "next_visit": timestamp(available_at),
        "duplicate_of": duplicate_of,
        "redirect_to": redirect_to,
        "reason": reason,
        "near_duplicate_of": near,
        "distance": distance,
        "host": host,
        "mime": mime,
        "title": title,
        "language": language,
        "canonical": canonical,
        "found_on": found_on,
        "truncated": truncated,
        "unverified": bool(unverified),
        "replaced_characters": replaced,
        "warc": None if file is None else {"file": file, "offset": offset, "length": length},
    }


def dead_object(
    row: tuple[str, str, str | None, int, int, float, float | None, int | None, str | None, str | None],
) -> Json:
    """A dead letter as people know it."""
    url, host, reason, tries, depth, priority, at, code, detail, found_on = row
    return {
        "url": url,
        "host": host,
        "reason": reason,
        "tries": tries,
        "depth": depth,
        "priority": priority,
        "failed_at": timestamp(at),
        "status": code,
        "detail": detail,
        "found_on": found_on,
    }


def timestamp(at: float | None) -> str | None:
    """ISO 8601, UTC. None for no date, and for one beyond the calendar."""
    if at is None or not 0 <= at < 253_402_300_800:
        return None
    return iso_moment(at)


def _by_reason(totals: dict[str, int], kind: str) -> dict[str, int]:
    found = Counter({name[len(kind) + 1 :]: n for name, n in totals.items() if name.startswith(kind + ":") and n})
    return dict(found.most_common())


# --- transactions -------------------------------------------------------------------------------------


def _count(db: sqlite3.Connection, sql: dict[str, str], counts: dict[str, int]) -> None:
    db.executemany(sql["count"], [(name, n) for name, n in counts.items() if n])


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of the block or nothing of it. Raises StoreFailed."""
    with _our_errors(db):
        db.execute("BEGIN IMMEDIATE")
        try:
            yield
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise


@contextmanager
def _one_moment(db: sqlite3.Connection) -> Iterator[None]:
    """What is read in the block is of one commit. Short, so that it keeps nothing from the crawl."""
    with _our_errors(db):
        db.execute("BEGIN")
        try:
            yield
        finally:
            with suppress(sqlite3.Error):
                db.execute("COMMIT")


@contextmanager
def _our_errors(db: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(db, error) from error


def _translated(db: sqlite3.Connection, error: sqlite3.Error) -> StoreFailed:
    path = "the database"
    with suppress(sqlite3.Error):
        path = db.execute("PRAGMA database_list").fetchone()[2]
    return translated(error, Path(path))
