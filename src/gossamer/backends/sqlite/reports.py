"""Reads a crawl's database for people, also while a crawl uses it."""

import json
import sqlite3
from collections import Counter

from gossamer.backends.sqlite.queries import named_queries
from gossamer.backends.sqlite.reading import fact, one_moment, our_errors
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from gossamer.observe.waits import Waits

URLS_COUNTED = 100_000
"""How far URLs that wait for a date are counted: in an index, some milliseconds."""
HOSTS_COUNTED = 1_000
"""How far hosts that wait are counted: each is looked at, and the disk may have to be asked for it."""

Json = dict[str, object]


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
    """What the crawl waits for, as far as it is on record: nobody stores what is in flight."""
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
    """The name of the ordering under which the queue stands; None before a crawl has given it one."""
    return fact(db, "order")


def remembered_options(db: sqlite3.Connection) -> Json:
    """The options that shaped the crawl when it last started, by key."""
    text = fact(db, "options")
    found = json.loads(text) if text is not None else {}
    return found if isinstance(found, dict) else {}


def seed_places(db: sqlite3.Connection) -> frozenset[str]:
    """Where the seeds of the crawl stood: files and lines, arguments, queries."""
    with one_moment(db):
        return frozenset(place for (place,) in db.execute("SELECT DISTINCT source FROM seeds"))


def _by_reason(totals: dict[str, int], kind: str) -> dict[str, int]:
    found = Counter({name[len(kind) + 1 :]: n for name, n in totals.items() if name.startswith(kind + ":") and n})
    return dict(found.most_common())
