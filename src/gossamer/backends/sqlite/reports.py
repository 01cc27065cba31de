"""The totals of a crawl, what it waits for, how fresh its pages are, and its hosts; also while a crawl is running."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator

from gossamer.backends.sqlite.database import fact, last_url, named_queries, one_moment, our_errors
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.observe.wait_reasons import Waits
from gossamer.reports.records import MOST_OVERDUE, HostFilter, HostRow, Json, RecrawlReport, reversed_name

SAMPLE = 500
"""Pages in the sample, evenly spread over all that were discovered."""


def recrawl_report(db: sqlite3.Connection, now: Instant) -> RecrawlReport:
    """Takes the same time for every size of crawl."""
    sql = named_queries("reports.sql")
    with our_errors(db):
        (overdue,) = db.execute(sql["overdue"], {"now": now, "most": MOST_OVERDUE}).fetchone()
        (waiting,) = db.execute(sql["refreshing"]).fetchone()
        rows = [db.execute(sql["visited"], (url_id,)).fetchone() for url_id in _spread(last_url(db))]
    sample = [row for row in rows if row]
    return RecrawlReport(overdue, fact(db, "recrawl"), fact(db, "recrawl_pace"), waiting, sample)


def _spread(last: int) -> Iterator[int]:
    step = max(1.0, last / SAMPLE)
    number = min(last, SAMPLE)
    return (1 + int(each * step) for each in range(number))


URLS_COUNTED = 100_000
"""URLs that wait for a date are counted up to this number: some milliseconds, by an index."""
HOSTS_COUNTED = 1_000
"""Waiting hosts are counted up to this number: each may need a read from disk."""


def status(db: sqlite3.Connection) -> Json:
    """The totals of a crawl as committed. The keys are those of `gossamer crawl --json` where they mean the same."""
    sql, queries = named_queries("reports.sql"), named_queries("queries.sql")
    with our_errors(db):
        totals: dict[str, int] = dict(db.execute(queries["counters"]).fetchall())
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
    """What the crawl is waiting for, as far as it is on record. What is in flight is not."""
    sql, queries = named_queries("reports.sql"), named_queries("queries.sql")
    urls, hosts = {"now": now, "most": URLS_COUNTED}, {"now": now, "most": HOSTS_COUNTED}
    with one_moment(db):
        totals: dict[str, int] = dict(db.execute(queries["counters"]).fetchall())
        queued, missing = (totals.get(f"state:{state.word}", 0) for state in (UrlState.QUEUED, UrlState.MISSING))
        ready: set[int] = set()
        for front in range(db.execute(sql["last_front"]).fetchone()[0] + 1):
            ready.update(host_id for (host_id,) in db.execute(sql["ready_hosts"], {**hosts, "front": front}))
        resting, next_contact = db.execute(sql["resting_hosts"], hosts).fetchone()
        retries, next_retry = db.execute(sql["retries"], urls).fetchone()
        recrawls, next_recrawl = db.execute(sql["recrawls"], {"most": URLS_COUNTED}).fetchone()
        (next_missing,) = db.execute(queries["next_missing"]).fetchone()
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


def queue_order(db: sqlite3.Connection) -> str | None:
    """The ordering by which the queue is sorted; None before the first start has sorted it."""
    return fact(db, "order")


def remembered_options(db: sqlite3.Connection) -> Json:
    """The options that shaped the crawl when it last started, by key."""
    text = fact(db, "options")
    found = json.loads(text) if text is not None else {}
    return found if isinstance(found, dict) else {}


def seed_sources(db: sqlite3.Connection) -> frozenset[str]:
    """Where the seeds came from: files and lines, arguments, queries."""
    with one_moment(db):
        return frozenset(place for (place,) in db.execute("SELECT DISTINCT source FROM seeds"))


def count_outbox(db: sqlite3.Connection) -> int:
    """URLs that this worker has found and that are not yet in the store of the worker that owns them."""
    with our_errors(db):
        return int(db.execute(named_queries("reports.sql")["under_way"]).fetchone()[0])


def _by_reason(totals: dict[str, int], kind: str) -> dict[str, int]:
    found = Counter({name[len(kind) + 1 :]: n for name, n in totals.items() if name.startswith(kind + ":") and n})
    return dict(found.most_common())


_SORTS = {
    "queued": "-coalesce(c.queued, 0)",
    "fetched": "-coalesce(c.answered, 0)",
    "excluded": "-coalesce(c.excluded, 0)",
    "next": "next_contact",
    "host": "reversed(host)",
}
"""Expressions for `HOST_SORTS`."""


def host_rows(
    db: sqlite3.Connection, wanted: HostFilter, sort: str, *, offset: int = 0, limit: int | None = None
) -> list[HostRow]:
    """The hosts that match, `limit` of them from `offset` on. Raises StoreFailed."""
    where, values = _where(wanted)
    statement = named_queries("host_reports.sql")["hosts"]
    statement = statement.replace("/*where*/", where).replace("/*order*/", _SORTS[sort])
    with our_errors(db):
        db.create_function("reversed", 1, reversed_name, deterministic=True)
        rows = db.execute(statement, {**values, "most": -1 if limit is None else limit, "offset": offset}).fetchall()
    return [HostRow._make((*row[:-1], Counter(json.loads(row[-1]) if row[-1] else {}))) for row in rows]


def number_of_hosts(db: sqlite3.Connection, wanted: HostFilter) -> int:
    """How many hosts match. Raises StoreFailed."""
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
