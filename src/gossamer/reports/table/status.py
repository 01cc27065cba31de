"""The totals of a crawl, what it waits for, how fresh its pages are, and its hosts; also while a crawl is running."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from gossamer.model.states import UrlState
from gossamer.model.units import Domain, Fingerprint, Instant, Url
from gossamer.model.url_record import RobotsFact
from gossamer.observe.wait_reasons import Waits
from gossamer.reports.records import HOST_SORTS, MOST_OVERDUE, HostFilter, HostRow, Json, RecrawlReport, UrlOutcome
from gossamer.store.ports import Database
from gossamer.store.table.hosts import row_of_host
from gossamer.store.table.metadata import Metadata

SAMPLE = 500
"""URLs that are looked at for the freshness of pages, evenly spread over all that were discovered."""
URLS_COUNTED = 100_000
"""URLs that wait for a date are counted up to this number: some milliseconds, by an index."""
HOSTS_COUNTED = 1_000
"""Waiting hosts are counted up to this number: each may need a read from disk."""
_HOSTS_AT_ONCE = 1_000
SEEDS_AT_ONCE = 1_000


class StatusQueries:
    """`reports.ports.StatusReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def fact(self, name: str) -> str | None:
        return Metadata(self._db).fact(name)

    def worker_facts(self, name: str) -> Sequence[str]:
        return [value for (value,) in self._db.fetch_all("worker_facts", name)]

    def queue_order(self) -> str | None:
        return Metadata(self._db).order()

    def options(self) -> Json:
        text = self.fact("options")
        found = json.loads(text) if text is not None else {}
        return found if isinstance(found, dict) else {}

    def seeds(self) -> Iterator[Url]:
        after = ""
        while rows := self._db.fetch_all("seeds_after", after, SEEDS_AT_ONCE):
            for (url,) in rows:
                yield url
            (after,) = rows[-1]

    def outcome_of(self, domain: Domain, fingerprint: Fingerprint) -> UrlOutcome | None:
        row = self._db.fetch_one("outcome_of", domain, fingerprint)
        return None if row is None else UrlOutcome(UrlState(row[0]), *row[1:])

    def seed_sources(self) -> frozenset[str]:
        return frozenset(source for (source,) in self._db.fetch_all("seed_sources"))

    def recrawl_report(self, now: Instant) -> RecrawlReport:
        return RecrawlReport(
            overdue=self._db.fetch_value("overdue", now, MOST_OVERDUE),
            price=self.fact("recrawl"),
            pace=self.fact("recrawl_pace"),
            waiting=self._db.fetch_value("counter", "refreshing"),
            sample=self._db.fetch_all("copy_sample", SAMPLE),
        )

    def totals(self) -> Json:
        db = self._db
        with db.snapshot():
            totals = self._counters()
            hosts, domains = db.fetch_one("number_of_hosts_and_domains") or (0, 0)
            warc_files, warc_bytes = db.fetch_one("warc_totals") or (0, 0)
            seeds = db.fetch_value("number_of_seeds")
            dead_reasons = Counter({reason or "unknown": n for reason, n in db.fetch_all("dead_reasons")})
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

    def waits(self, now: Instant) -> Waits:
        db = self._db
        with db.snapshot():
            totals = self._counters()
            ready: set[int] = set()
            for front in range(db.fetch_value("last_front") + 1):
                ready.update(host_id for (host_id,) in db.fetch_all("ready_hosts", front, now, HOSTS_COUNTED))
            resting, next_contact = db.fetch_one("resting_hosts", now, HOSTS_COUNTED) or (0, None)
            retries, next_retry = db.fetch_one("retries", now, URLS_COUNTED) or (0, None)
            recrawls, next_recrawl = db.fetch_one("recrawls", URLS_COUNTED) or (0, None)
            next_missing = db.fetch_value("next_missing")
        queued, missing = (totals.get(state.counter, 0) for state in (UrlState.QUEUED, UrlState.MISSING))
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

    def _counters(self) -> dict[str, int]:
        return dict(self._db.fetch_all("counters"))


def _by_reason(totals: dict[str, int], kind: str) -> dict[str, int]:
    found = Counter({name[len(kind) + 1 :]: n for name, n in totals.items() if name.startswith(kind + ":") and n})
    return dict(found.most_common())


class HostQueries:
    """`reports.ports.HostReader`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def rows(self, wanted: HostFilter, sort: str, *, offset: int = 0, limit: int | None = None) -> list[HostRow]:
        if sort not in HOST_SORTS:
            raise ValueError(f"hosts are not sorted by {sort!r}, but by one of {', '.join(HOST_SORTS)}")
        with self._db.snapshot():
            if (name := _exact_name(wanted)) is not None:
                ids = [row_of_host(self._db, name)][offset:][:limit]
            else:
                found = self._db.fetch_all(f"hosts_by_{sort}", *_parts_of_name(wanted), limit, offset)
                ids = [host_id for (host_id,) in found]
            rows: dict[int, HostRow] = {}
            for at in range(0, len(ids), _HOSTS_AT_ONCE):
                rows |= self._rows_of(ids[at : at + _HOSTS_AT_ONCE])
        return [rows[host_id] for host_id in ids if host_id in rows]

    def count(self, wanted: HostFilter) -> int:
        if (name := _exact_name(wanted)) is not None:
            return int(row_of_host(self._db, name) >= 0)
        return int(self._db.fetch_value("number_of_hosts", *_parts_of_name(wanted)))

    def _rows_of(self, ids: list[int]) -> dict[int, HostRow]:
        rows = self._db.fetch_all("host_rows", ids)
        exclusions: dict[int, Counter[str]] = {row[0]: Counter() for row in rows}
        if some := [host_id for host_id, *_, excluded in rows if excluded]:
            for host_id, reason, number in self._db.fetch_all("exclusions_of_hosts", some):
                exclusions[host_id][reason] = number
        robots: dict[int, tuple[RobotsFact, ...]] = {}
        for host_id, status, fetched_at, expires_at, body in self._db.fetch_all("crawl_delays_of_hosts", ids):
            fact = RobotsFact(status=status, fetched_at=fetched_at, expires_at=expires_at, body=body)
            robots[host_id] = (*robots.get(host_id, ()), fact)
        return {row[0]: HostRow._make((*row[1:-1], exclusions[row[0]], robots.get(row[0], ()))) for row in rows}


def _exact_name(wanted: HostFilter) -> str | None:
    """The name of the one host that is meant, if it is one."""
    name = wanted.host
    return None if wanted.contains or name is None or name.startswith("*.") else name


def _parts_of_name(wanted: HostFilter) -> tuple[str | None, str | None]:
    """What the names of the hosts contain, and how they end."""
    if wanted.contains or wanted.host is None:
        return wanted.contains or None, None
    return None, wanted.host.lower().rstrip(".")[1:]
