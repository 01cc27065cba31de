"""What it costs a crawl to know when to come again: the decision after a visit, and finding what is due.

`python -m benchmarks.bench_due` makes tables of 1 and 5 million scheduled URLs on disk (some two minutes of CPU, 2 GB,
removed again) and asks both for what is due. `--quick` makes them a tenth of that. CPU time, fixed seeds.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path

from gossamer.backends.sqlite.driver import named_queries, open_for_writing, open_writer
from gossamer.clock import VirtualClock
from gossamer.config.policies import recrawl_rules_for
from gossamer.config.sections import RecrawlSection
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.model.batch import Batch
from gossamer.model.facts import DomainFacts
from gossamer.model.outcome import Response
from gossamer.model.requeue import RequeueOrder
from gossamer.model.settlement import Capture
from gossamer.model.states import UrlState
from gossamer.model.task import HostRecord, PreviousVisit, Task, Visit
from gossamer.model.units import DAY, Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.recrawl.change_hints import HostChangeHistory, HostTrust
from gossamer.recrawl.estimate import USUAL, HostRates
from gossamer.recrawl.planner import RecrawlPlanner
from gossamer.recrawl.policies import RECRAWL_POLICIES
from gossamer.recrawl.price import price_from, value
from gossamer.store.ports import Location
from gossamer.store.table.writer import TableWriter

NOW = Instant(1.8e9)
SIZES = (1_000_000, 5_000_000)
MOST_US, MOST_GROWTH = 30.0, 1.2  # of a decision; from the small table to the large one
AT_ONCE, ROUNDS = 1_024, 24
PAGES, HOSTS = 5_000, 50
DATE = 1_704_103_200.0  # Mon, 01 Jan 2024 10:00:00 GMT
COMMIT, DECISION_ROUNDS = 100, 15  # visits; of each hundred


class NoCaptures:
    """Nothing is archived here."""

    def append(self, capture: Capture) -> Location:
        raise AssertionError("nothing is to be archived")

    def flush(self) -> dict[str, int]:
        return {}

    def committed(self) -> None: ...

    def moves(self) -> dict[str, bool]:
        return {}

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


def host_rows(host: HostKey) -> tuple[Domain, int, str]:
    return Domain(host), 0, "test"


# --- the decision ---------------------------------------------------------------------------------------------


def crawling(*, reporting: bool) -> tuple[RecrawlPlanner, list[Visit]]:
    """A crawl with a budget, and pages that were visited before; `reporting`: in sitemaps that are believed."""
    wishes = RecrawlSection(budget=1_000.0)
    price = price_from(None, wishes, value(USUAL, 1.0, 14.0), NOW)
    plans = RecrawlPlanner(wishes, RECRAWL_POLICIES["optimal"](), recrawl_rules_for(wishes), price)
    trust = HostTrust(50, 0, 40, 40, 50, 40) if reporting else HostTrust()
    for n in range(HOSTS):
        host = HostKey(f"h{n}.test")
        text = HostChangeHistory(HostRates(100, 10.0), trust).to_text()
        plans.host_loaded(HostRecord(HostId(n), host, n, DomainFacts(), 1, NOW, 0.1, None, change_history=text))
    chance = random.Random(1)
    visits = []
    for n in range(PAGES):
        gap = 10 ** chance.uniform(-1, 2) * DAY
        one, two = chance.uniform(0.5, 8), 10 ** chance.uniform(0, 3)
        before = PreviousVisit(5, 2, UrlState.STORED, None, Instant(NOW - gap), b"d" * 20, "text/html", '"e"', date(n))
        before = before._replace(planned_gap=gap, rate_shape=one, rate_span=two)
        modified = Instant(NOW - 2 * gap) if reporting else None
        task = Task(n, Fingerprint(n), Url(f"http://h.test/{n}"), 0, 0.0, 0.2, 1, 0, 0, 0, before, modified)
        visits.append(Visit(HostId(n % HOSTS), HostKey(f"h{n % HOSTS}.test"), 1, task, None, 0.1))
    return plans, visits


def per_decision(
    act: Callable[[RecrawlPlanner, Visit, Response], object],
    status: int,
    *,
    reporting: bool,
    rounds: int = DECISION_ROUNDS,
) -> tuple[float, float]:
    """CPU microseconds with the share of a commit for every hundred visits: the best for each hundred of some rounds,
    and the median. How far the two are apart tells how busy the machine was."""
    plans, visits = crawling(reporting=reporting)
    asked = [(visit, answer(status, n)) for n, visit in enumerate(visits)]
    hundreds = [asked[first : first + COMMIT] for first in range(0, len(asked), COMMIT)]
    took: list[list[float]] = [[] for _ in hundreds]
    now = NOW
    for _ in range(rounds):
        for hundred, times in zip(hundreds, took, strict=True):
            start = time.process_time()
            for visit, response in hundred:
                act(plans, visit, response)
            now = Instant(now + 10.0)
            plans.before_commit(Batch(), now, 0)
            times.append((time.process_time() - start) / COMMIT * 1e6)
    return statistics.mean(map(min, took)), statistics.mean(map(statistics.median, took))


def date(page: int) -> str:
    """Hardly any two pages have one date, as on the web."""
    return formatdate(DATE - page % 1_000 * DAY + page, usegmt=True)


def answer(status: int, page: int) -> Response:
    # What has changed is dated back, so that the date is of no use: this is the dearest case.
    fields = {"etag": '"e"', "last-modified": date(page if status == 304 else page + 1)}
    return Response(Url("http://h.test/"), status, b"", b"", b"", fields, "127.0.0.1", NOW, Seconds(0.1))


def after_unchanged(plans: RecrawlPlanner, visit: Visit, response: Response) -> object:
    return plans.settle_not_modified(visit, response, NOW, False)


def after_change(plans: RecrawlPlanner, visit: Visit, response: Response) -> object:
    return plans.plan_document(visit, response, NOW, "text/html", b"y" * 20, None)


def decisions() -> list[tuple[str, tuple[float, float]]]:
    return [
        ("after a 304", per_decision(after_unchanged, 304, reporting=False)),
        ("after a change", per_decision(after_change, 200, reporting=False)),
        ("after a change, where sitemaps are believed", per_decision(after_change, 200, reporting=True)),
    ]


# --- finding what is due --------------------------------------------------------------------------------------

_MAKE = """
WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < :urls)
INSERT INTO urls (id, host_id, domain_id, fingerprint, url, state, front, available_at, priority, depth, tries, hops,
    via, found_on, found_at, place, visits, changes, planned, memory_one, memory_two)
SELECT id, 1 + id % 5000, 1 + id % 5000, (id * 2654435761) & 0xffffffffffff,
    'http://www.h' || (1 + id % 5000) || '.test/section/page-' || id || '.html', 1, 1,
    :now - :due * 60.0 + (((id * 2654435761) & 0xffffffff) * :urls / 4294967296) * 60.0,
    0.3, 3, 0, 0, 1, id / 9, :now - 9e6, 0.0, 4, 1, 1209600.0, 1.5, 20.0
FROM n
"""
"""Dates are a minute apart, in no order of rows; so many are due in every table, whatever its size."""


def make_table(path: Path, urls: int, due: int) -> None:
    db = open_for_writing(path)
    db.execute("PRAGMA synchronous = OFF")
    indexes = db.execute("SELECT name, sql FROM sqlite_master WHERE tbl_name = 'urls' AND type = 'index'").fetchall()
    db.execute("BEGIN")
    for name, _ in indexes:
        db.execute(f"DROP INDEX {name}")
    hosts = [(n, f"www.h{n}.test") for n in range(1, 5_001)]
    db.executemany("INSERT INTO domains (id, domain, partition, suffix_id) VALUES (?, ?, 0, 1)", hosts)
    db.executemany("INSERT INTO hosts (id, host, domain_id) VALUES (?1, ?2, ?1)", hosts)
    db.execute(_MAKE, {"urls": urls, "now": NOW, "due": due})
    for _, sql in indexes:
        db.execute(sql)
    db.execute("INSERT INTO counters VALUES ('state:stored', ?)", (urls,))
    db.execute("INSERT INTO facts VALUES ('order', 'mercator')")
    db.execute("COMMIT")
    db.close()


class Table:
    """A table of scheduled URLs, and what it costs to find and to queue one of those that are due."""

    def __init__(self, path: Path, urls: int) -> None:
        make_table(path, urls, due=AT_ONCE * (ROUNDS + 1))
        self.urls = urls
        self.found: list[float] = []  # CPU microseconds for a URL
        self.queued: list[float] = []
        self._sql = named_queries("queries.sql")["due_again"]
        self._writer = TableWriter(open_writer(path), NoCaptures(), host_rows, Mercator(), VirtualClock(NOW))
        self._db = open_for_writing(path)

    def plan(self) -> str:
        """How the database looks for them."""
        rows = self._db.execute("EXPLAIN QUERY PLAN " + self._sql, (NOW, AT_ONCE))
        return "; ".join(str(row[3]) for row in rows)

    def measure(self) -> None:
        start = time.process_time()
        found = self._db.execute(self._sql, (NOW, AT_ONCE)).fetchall()
        found_at = time.process_time()
        committed = self._writer.commit(Batch(requeue=RequeueOrder(NOW, AT_ONCE)), NOW)
        queued = sum(n for _, n in committed.requeued)
        if not queued == len(found) == AT_ONCE:
            raise RuntimeError(f"{len(found)} found and {queued} queued of {AT_ONCE}")
        self.found.append((found_at - start) / AT_ONCE * 1e6)
        self.queued.append((time.process_time() - found_at) / AT_ONCE * 1e6)

    def medians(self) -> tuple[float, float]:
        return statistics.median(self.found), statistics.median(self.queued)

    def close(self) -> None:
        self._db.close()
        self._writer.close()


def tables(sizes: tuple[int, ...]) -> None:
    """In turns, since the machine's own speed wanders."""
    print(f"\n{'scheduled URLs':>15} {'to find one':>14} {'to queue it too':>16}")
    with tempfile.TemporaryDirectory(prefix="bench-due-") as folder:
        made = [Table(Path(folder) / f"{urls}.db", urls) for urls in sizes]
        for _ in range(ROUNDS):
            for table in made:
                table.measure()
        plan = made[-1].plan()
        for table in made:
            table.close()
    figures = [table.medians() for table in made]
    for table, (finds, queues) in zip(made, figures, strict=True):
        print(f"{table.urls:>15,} {finds:>11.2f} us {queues:>13.2f} us")
    growth = [later / first for first, later in zip(figures[0], figures[-1], strict=True)]
    print(f"{'growth':>15} {growth[0]:>13.2f}x {growth[1]:>15.2f}x   (goal: at most {MOST_GROWTH}x)")
    print(f"by {plan}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables")
    parser.add_argument("--decisions", action="store_true", help="no tables at all")
    asked = parser.parse_args()
    print(f"{f'the decision after a visit (goal: at most {MOST_US:g} us)':<47} {'best':>6} {'median':>9}")
    for what, (best, median) in decisions():
        print(f"  {what:<45} {best:6.1f} {median:6.1f} us")
    if not asked.decisions:
        tables(tuple(size // 10 for size in SIZES) if asked.quick else SIZES)


if __name__ == "__main__":
    main()
