"""A large crawl directory, made in half a minute: the rows go straight into the schema, without a crawl."""

import hashlib
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from gossamer.backends.sqlite.driver import named_queries, open_for_writing
from gossamer.backends.warc import RecordIds, Warcinfo, WarcWriter
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.clock import VirtualClock
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture
from gossamer.model.states import UrlState
from gossamer.model.task import Via
from gossamer.model.units import Instant, Seconds, Url
from gossamer.seen import fingerprints

KEY = 0x5EED
BIG, STORY = 1, 2  # hosts: one with a tenth of all URLs, and the one of the prepared situations
ROBOTS = b"# rules\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\nCrawl-delay: 4\n"
SEEDS = 10_000

_COLUMNS = (
    *(
        "id",
        "host_id",
        "domain_id",
        "fingerprint",
        "url",
        "state",
        "front",
        "available_at",
        "priority",
        "depth",
        "tries",
    ),
    *("hops", "via", "found_on", "found_at", "reason", "place", "links", "links_from_others", "credit", "visits"),
)
Row = dict[str, object]
_CHUNK = 10_000
_STATES = (*[UrlState.QUEUED] * 5, *[UrlState.STORED] * 3, UrlState.MISSING, UrlState.DUPLICATE)


def host_name(number: int) -> str:
    return f"www.h{number}.test"


def url_of(host: int, path: str) -> str:
    return f"http://{host_name(host)}{path}"


def make_crawl(
    directory: Path, urls: int, hosts: int, now: float, prepared: list[Row], order: str = "mercator"
) -> None:
    """A crawl of so many URLs; `prepared` are rows of its host STORY, from which what they leave out is filled in."""
    directory.mkdir(parents=True)
    db = open_for_writing(directory / "crawl.db")
    db.execute("PRAGMA synchronous = OFF")
    indexes = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").fetchall()
    db.execute("BEGIN")
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    _hosts(db, hosts, now)
    marks = ", ".join("?" * len(_COLUMNS))
    insert = f"INSERT INTO urls ({', '.join(_COLUMNS)}) VALUES ({marks})"
    for rows in _in_chunks(urls, hosts, now):
        db.executemany(insert, rows)
    _prepared(db, insert, urls, now, prepared)
    for _, sql in indexes:
        db.execute(sql)
    db.execute(named_queries("queries.sql")["count_hosts"])
    _rest(db, order, now)
    _archive(db, directory, now)
    db.execute("COMMIT")
    db.close()


def _hosts(db: sqlite3.Connection, hosts: int, now: float) -> None:
    numbers = range(1, hosts + 1)
    db.execute("INSERT INTO suffixes VALUES (1, 'test', 123456)")
    db.executemany(
        "INSERT INTO domains (id, domain, partition, accesses, links, links_from_others, suffix_id)"
        " VALUES (?, ?, 0, ?, ?, ?, 1)",
        [(n, f"h{n}.test", n % 70, n % 900, n % 40) for n in numbers],
    )
    db.executemany(
        "INSERT INTO hosts (id, host, domain_id, next_contact, last_took, address, rest_reason)"
        " VALUES (?, ?, ?, ?, 0.3, ?, ?)",
        [
            (n, host_name(n), n, now + 3600 if n % 50 == 0 else now - n, f"192.0.2.{n % 250}", "Retry-After")
            for n in numbers
        ],
    )
    db.execute(
        "UPDATE hosts SET next_contact = ?, rest_reason = 'robots.txt Crawl-delay' WHERE id = ?", (now + 3000, STORY)
    )
    db.executemany(
        "INSERT INTO robots (origin, host_id, status, fetched_at, expires_at, body) VALUES (?, ?, 200, ?, ?, ?)",
        [(f"http://{host_name(n)}", n, now - 100, now + 80_000, ROBOTS) for n in numbers],
    )
    seeds = ((url_of(n, "/"), url_of(n, "/"), f"seeds.txt, line {n}", now - 9000) for n in range(1, min(SEEDS, hosts)))
    db.executemany("INSERT INTO seeds VALUES (?, ?, ?, ?)", seeds)


def _in_chunks(urls: int, hosts: int, now: float) -> Iterator[list[tuple[object, ...]]]:
    chance = random.Random(1)
    for start in range(1, urls + 1, _CHUNK):
        numbers = range(start, min(start + _CHUNK, urls + 1))
        of = [BIG if n % 10 == 0 else 3 + n % (hosts - 2) for n in numbers]
        texts = [url_of(host, f"/section{n % 7}/page-{n}.html") for n, host in zip(numbers, of, strict=True)]
        rows: list[tuple[object, ...]] = []
        for n, host, text, print_ in zip(numbers, of, texts, fingerprints(texts, KEY), strict=True):
            state = UrlState.QUEUED if host == BIG else chance.choice(_STATES)
            retry = state is UrlState.QUEUED and n % 20 == 3
            at = now + n % 5000 + 900 if retry or state is UrlState.MISSING else now - n % 5000 - 10
            at_or_none = at if state in (UrlState.QUEUED, UrlState.MISSING) else None
            reason = "server_error" if retry else "missing" if state is UrlState.MISSING else None
            stands = (host, host, print_, text, state, n % 3, at_or_none, 0.4, 3, int(retry), 0, Via.LINK, n // 9)
            place = at if state is UrlState.QUEUED else 0.0
            rows.append((n, *stands, now - 7000, reason, place, n % 5, n % 2, 10**8 + n, 0))
        yield rows


def _prepared(db: sqlite3.Connection, insert: str, urls: int, now: float, prepared: list[Row]) -> None:
    usual: Row = dict.fromkeys(_COLUMNS, 0)
    usual.update(host_id=STORY, domain_id=STORY, front=1, available_at=None, priority=0.5, depth=2, via=Via.LINK)
    usual.update(found_on=urls + 1, found_at=now - 5000, reason=None, place=now - 100, links=4, links_from_others=2)
    usual.update(credit=3 * 10**8, visits=1)
    rows = [{**usual, "id": urls + 1 + i, **row} for i, row in enumerate(prepared)]
    prints = fingerprints([str(row["url"]) for row in rows], KEY)
    filled = [{**row, "fingerprint": print_} for row, print_ in zip(rows, prints, strict=True)]
    db.executemany(insert, [tuple(row[column] for column in _COLUMNS) for row in filled])


def _rest(db: sqlite3.Connection, order: str, now: float) -> None:
    """Front queues, totals, visits: what follows from the URLs."""
    db.execute("INSERT INTO fronts SELECT host_id, front, min(place) FROM urls WHERE state = 0 GROUP BY 1, 2")
    for state, number in db.execute("SELECT state, count(*) FROM urls GROUP BY 1").fetchall():
        db.execute("INSERT INTO counters VALUES (?, ?)", (f"state:{UrlState(state).word}", number))
    db.execute("INSERT INTO counters SELECT 'discovered', sum(value) FROM counters")
    facts = {"crawl_id": "0", "fingerprint_key": str(KEY), "created_at": str(now), "order": order}
    db.executemany("INSERT INTO facts VALUES (?, ?)", facts.items())
    db.execute(
        "INSERT INTO visits (url_id, at, status, size, took, mime, digest)"
        " SELECT id, ?, CASE state WHEN 4 THEN 404 WHEN 3 THEN 301 ELSE 200 END, 5000, 0.2, 'text/html', ?"
        " FROM urls WHERE state IN (1, 2, 3, 4)",
        (now - 50, hashlib.sha1(b"document").digest()),
    )


def _archive(db: sqlite3.Connection, directory: Path, now: float) -> None:
    """A real record for every stored URL of the host STORY."""
    ids = RecordIds(random.Random(1))
    (directory / "warc").mkdir()
    info = Warcinfo("gossamer/0", "gossamer/0", "")
    clock = VirtualClock(now)
    captures = WarcCaptures(WarcWriter(directory / "warc", "gossamer", info=info, ids=ids, clock=clock), ids)
    found = db.execute("SELECT id, url FROM urls WHERE state = 1 AND host_id = ?", (STORY,)).fetchall()
    for url_id, url in found:
        body = b"<html>" + b"text " * 1000 + b"</html>"
        headers = {"content-type": "text/html"}
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
        asked = b"GET / HTTP/1.1\r\nHost: www.h2.test\r\n\r\n"
        answer = Response(Url(url), 200, asked, head, body, headers, "192.0.2.2", Instant(now), Seconds(0.2))
        at = captures.append(Capture(answer, hashlib.sha1(body).digest()))
        place = (at.offset, at.length, url_id)
        db.execute("UPDATE visits SET warc_file = 1, warc_offset = ?, warc_length = ? WHERE url_id = ?", place)
    db.executemany("INSERT INTO warc_files VALUES (1, ?, ?)", captures.flush().items())
    captures.committed()
    captures.close()
