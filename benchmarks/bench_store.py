"""What the store costs for a page: the writer's batches, beside one transaction a page, and the reader's loads.

`python -m benchmarks.bench_store` from the root of the repository. CPU time, fixed seed, a database on disk. A page
brings 12 new links on a few hosts and 4 that are known after all (the URL-seen test lets few of those through), is
settled as stored, moves its host's clock and now and then retires its host. Later, as in the middle of a crawl, it
brings one new link and one that is known. Records are not written: bench_warc measures those.

Commits are measured on SQLite and on a private PostgreSQL server, with the same pages: CPU time of this process, that
part of it which is spent in the driver (SQLite is a library: all of it), CPU time of all processes of the server, and
bytes of its write-ahead log.

"Links" is what counting links adds to a page, alone: 20 links, of which 16 lead to URLs in the table. Twelve of those
are the menu of the page's host, the same on all its pages and fetched already; three are pages of the host, some more
often than others, half of them fetched; one is on another host. Two of the rest are on the host, two on hosts that the
crawl does not know. Pages come from so many hosts in turn. "Put off" is the way of orderings by class, without and with
a look at the URLs that wait; "at once" that of orderings by score, where every URL that waits moves.

"Rows" compares one statement of many rows with `executemany`, alone and beside a thread that keeps the interpreter
busy as an event loop does. There the wall time counts too: it is how long a commit takes.
"""

import argparse
import gc
import os
import platform
import random
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.postgres import Cost, MeasuredServer, postgres
from gossamer.backends.sqlite.driver import named_queries, open_for_writing, open_reader, open_writer, write_rows
from gossamer.clock import VirtualClock
from gossamer.frontier.orderings.mercator import Mercator
from gossamer.frontier.orderings.ordering import Novelty, Ordering
from gossamer.model.batch import Batch, HostClock, RetiredHost
from gossamer.model.loads import HostRequest, LoadRequest
from gossamer.model.partition import DEFAULT_PARTITIONS, ID_BITS
from gossamer.model.settlement import Capture, PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.store.ports import Database, Location
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter

_HOSTS = 2000


class _Links(NamedTuple):
    """What a page brings."""

    new: int
    known: int


_BEGINNING, _MIDDLE = _Links(12, 4), _Links(1, 1)
_Write = Callable[[sqlite3.Connection, list[tuple[object, ...]]], object]


class _NoFiles:
    """`CaptureFiles` that is never asked for a record."""

    def append(self, capture: Capture) -> Location:
        raise AssertionError("no record is written here")

    def flush(self) -> Mapping[str, int]:
        return {}

    def committed(self) -> None: ...

    def moves(self) -> dict[str, bool]:
        return {}

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


class _Crawl:
    """Makes batches as a crawl would; never lists the same URL as new twice. Knows the ids that the writer gives to
    hosts and URLs, in so many partitions."""

    def __init__(self, seed: int, partitions: int) -> None:
        self._chance = random.Random(seed)
        self._partitions = partitions
        self._last_ids: Counter[int] = Counter()  # of URLs, by partition
        self._last_hosts: Counter[int] = Counter()
        self._hosts: dict[int, HostId] = {}
        self._found: list[tuple[int, int]] = []  # (fingerprint, host) of every URL
        self._waiting: list[tuple[int, HostId]] = []  # (id, host's id) of those that were not visited yet

    def domain_of(self, host: HostKey) -> tuple[Domain, int, str]:
        return Domain(host), int(host[len("www.site") : -len(".example")]) % self._partitions, "example"

    def _candidate(self, fingerprint: int, host: int) -> Candidate:
        url = Url(f"http://www.site{host}.example/section/{fingerprint & 0xFFFF}/page-about-things-{fingerprint}.html")
        key = HostKey(f"www.site{host}.example")
        return Candidate(url, key, Fingerprint(fingerprint), 2, 0, Via.LINK, 1)

    def _next_id(self, host: int) -> int:
        """Of a URL: also one that turns out to be known takes one."""
        partition = host % self._partitions
        self._last_ids[partition] += 1
        return partition << ID_BITS | self._last_ids[partition]

    def _host_id(self, host: int) -> HostId:
        """Hosts, and their domains, are numbered as they are met."""
        known = self._hosts.get(host)
        if known is None:
            partition = host % self._partitions
            self._last_hosts[partition] += 1
            known = self._hosts[host] = HostId(partition << ID_BITS | self._last_hosts[partition])
        return known

    def _page(self, batch: Batch, links: _Links, now: Instant) -> None:
        chance = self._chance
        home = chance.randrange(_HOSTS)
        known = len(self._found)
        for n in range(links.new):
            host = home if 4 * n < 3 * links.new else chance.randrange(_HOSTS)
            self._found.append((chance.getrandbits(63), host))
            batch.candidates.append(self._candidate(*self._found[-1]))
            self._waiting.append((self._next_id(host), self._host_id(host)))
        for _ in range(links.known if known else 0):
            fingerprint, host = self._found[chance.randrange(known)]
            batch.candidates.append(self._candidate(fingerprint, host))
            self._next_id(host)

    def _visit(self, batch: Batch, now: Instant) -> None:
        chance, waiting = self._chance, self._waiting
        place = chance.randrange(len(waiting))
        waiting[place], waiting[-1] = waiting[-1], waiting[place]
        url_id, host_id = waiting.pop()
        batch.settle(
            Settlement(
                host_id,
                url_id,
                0,
                UrlState.STORED,
                now,
                status=200,
                size=20_000,
                took=0.1,
                mime="text/html",
                digest=chance.randbytes(20),
                title="A page about things",
            )
        )
        batch.hosts[host_id] = HostClock(host_id, Instant(now + 1), 0.1, "192.0.2.1")
        batch.page_requests[host_id] += 1
        if chance.random() < 0.05:
            batch.retired.append(RetiredHost(host_id, Instant(now + 1)))

    def batch(self, pages: int, links: _Links, now: Instant) -> Batch:
        batch = Batch()
        for _ in range(min(pages, len(self._waiting))):
            self._visit(batch, now)
        for _ in range(pages):
            self._page(batch, links, now)
        batch.counters["fetched"] += pages
        return batch


class _Timed:
    """A `Database` that adds up the CPU time which this thread spends in another one."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.seconds = 0.0

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.thread_time()
        yield
        self.seconds += time.thread_time() - start

    @contextmanager
    def transaction(self) -> Iterator[None]:
        block = self._db.transaction()
        with self._timed():
            block.__enter__()
        yield
        with self._timed():
            block.__exit__(None, None, None)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        with self._db.snapshot():
            yield

    def execute(self, name: str, *values: object) -> int:
        with self._timed():
            return self._db.execute(name, *values)

    def insert(self, name: str, *values: object) -> int:
        with self._timed():
            return self._db.insert(name, *values)

    def fetch_value(self, name: str, *values: object) -> Any:
        with self._timed():
            return self._db.fetch_value(name, *values)

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None:
        with self._timed():
            return self._db.fetch_one(name, *values)

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]:
        with self._timed():
            return self._db.fetch_all(name, *values)

    def fetch_each(self, name: str, rows: Sequence[tuple[object, ...]]) -> list[list[tuple[Any, ...]]]:
        with self._timed():
            return self._db.fetch_each(name, rows)

    def write_rows(self, name: str, rows: Sequence[tuple[object, ...]]) -> int:
        with self._timed():
            return self._db.write_rows(name, rows)

    def read_rows(self, name: str, rows: Sequence[tuple[object, ...]], *after: object) -> list[Any]:
        with self._timed():
            return self._db.read_rows(name, rows, *after)

    def close(self) -> None:
        self._db.close()


def _microseconds(work: Callable[[], object], count: int) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6 / count


def _writer(directory: str, name: str, clock: VirtualClock, ordering: Ordering | None = None) -> TableWriter:
    return TableWriter(open_writer(Path(directory, name)), _NoFiles(), _domain_of, ordering or Mercator(), clock)


def _domain_of(host: HostKey) -> tuple[Domain, int, str]:
    return Domain(host), 0, "example"


class _Spent(NamedTuple):
    """For a page: microseconds of CPU time, and bytes."""

    client: float
    driver: float  # of the client's
    server: float = 0.0
    log: float = 0.0
    growth: float = 1.0  # of the client's, from the first to the last half

    def row(self, title: str, beside: "_Spent | None" = None) -> str:
        ratio = "" if beside is None else f"  client x{self.client / beside.client:.2f}"
        server = f" {self.server:7.0f} {self.log / 1000:8.1f}" if self.server else " " * 17
        return f"{title:24} {self.client:7.0f} {self.driver:8.0f}{server}{ratio}"


def _commits(db: Database, pages: int, per_batch: int, server: MeasuredServer | None = None) -> list[_Spent]:
    """What a page costs at the beginning of a crawl, and then in its middle, half as many pages."""
    clock = VirtualClock()
    crawl = _Crawl(1, 1 if server is None else DEFAULT_PARTITIONS)
    timed = _Timed(db)
    found = []
    with closing(TableWriter(timed, _NoFiles(), crawl.domain_of, Mercator(), clock)) as writer:
        for links, number in ((_BEGINNING, pages), (_MIDDLE, pages // 2)):
            batches = max(2, number // per_batch)
            halves = [0.0, 0.0]
            timed.seconds = 0.0
            before = server.cost() if server is not None else Cost(0.0, 0)
            for n in range(batches):
                batch = crawl.batch(per_batch, links, clock.now())
                halves[2 * n // batches] += _microseconds(partial(writer.commit, batch, clock.now()), per_batch)
                clock.advance(Seconds(0.2))
            spent = server.cost().since(before) if server is not None else before
            each = batches * per_batch
            early, late = halves[0] / (batches // 2), halves[1] / (batches - batches // 2)
            found.append(
                _Spent(
                    sum(halves) / batches,
                    1e6 * timed.seconds / each,
                    1e6 * spent.cpu / each,
                    spent.log / each,
                    late / early,
                )
            )
    return found


def _compare_commits(directory: str, pages: int, per_batch: int) -> None:
    """Tell what a page costs on both stores."""
    from gossamer.backends.postgres.tables import PostgresTables  # not part of every installation

    on_file = _commits(open_writer(Path(directory, "pages.db")), pages, per_batch)
    with postgres() as server:
        on_server = _commits(PostgresTables(server.create_database()).open_writer(), pages, per_batch, server)
    print(f"{'commit, us a page':24} {'client':>7} {'driver':>8} {'server':>7} {'log, kB':>8}")
    for links, file, other in zip((_BEGINNING, _MIDDLE), on_file, on_server, strict=True):
        print(file.row(f"{links.new} new, SQLite"))
        print(other.row(f"{links.new} new, PostgreSQL", file))
    print(f"growth        x{on_file[0].growth:.2f} from the first to the last half of {_BEGINNING.new * pages} URLs, "
          f"on a server x{on_server[0].growth:.2f}")  # fmt: skip


_MENU = 12


class _Sites:
    """Makes pages with links as sites have them, on so many hosts in turn."""

    def __init__(self, hosts: int, urls: int) -> None:
        self._chance = random.Random(5)
        self._keys = [HostKey(f"www.site{n}.example") for n in range(hosts)]
        self._stranger = HostKey("www.nobody.example")
        self._known = [[self._chance.getrandbits(63) for _ in range(urls)] for _ in range(hosts)]
        self._urls = urls
        self._ids: dict[int, int] = {}
        self._domains: dict[HostKey, int] = {}
        self._pages = 0

    def candidates(self) -> list[Candidate]:
        """All URLs, mixed as those of many hosts are in a crawl."""
        found = [(fp, key) for key, prints in zip(self._keys, self._known, strict=True) for fp in prints]
        self._chance.shuffle(found)
        self._ids = {fp: number for number, (fp, _) in enumerate(found, 1)}
        for _, key in found:  # hosts and domains are numbered as they are met
            self._domains.setdefault(key, len(self._domains) + 1)
        return [
            Candidate(Url(f"http://{key}/section/{fp & 255}/page-about-things-{fp}.html"), key, Fingerprint(fp), 2, 0,
                      Via.LINK, 1)
            for fp, key in found
        ]  # fmt: skip

    def fetched(self, now: Instant) -> list[Settlement]:
        fetched = [fp for prints in self._known for fp in (*prints[:_MENU], *prints[_MENU::2])]
        return [Settlement(HostId(1), self._ids[fp], 0, UrlState.DUPLICATE, now) for fp in fetched]

    def page(self) -> PageLinks:
        chance, urls = self._chance, self._urls
        turn, home = divmod(self._pages, len(self._keys))
        self._pages += 1
        here = self._known[home]
        popular = {here[_MENU + int((urls - _MENU) * chance.random() ** 3)] for _ in range(3)}
        prints = here[:_MENU] + list(popular) + [chance.getrandbits(63) for _ in range(7 - len(popular))]
        other = chance.randrange(len(self._keys))
        prints.append(self._known[other][chance.randrange(urls)])
        keys = [self._keys[home]] * 17 + [self._stranger] * 2 + [self._keys[other]]
        url_id = self._ids[here[_MENU + turn % (urls - _MENU)]]
        return PageLinks(url_id, self._domains[self._keys[home]], [Fingerprint(fp) for fp in prints], keys)


def _links(directory: str, ordering: Ordering, hosts: int, pages: int, per_batch: int) -> float:
    """CPU microseconds that the links of a page add to its commit."""
    clock = VirtualClock()
    with closing(_writer(directory, f"links-{ordering.name}-{hosts}.db", clock, ordering)) as writer:
        sites = _Sites(hosts, _MENU + max(60, pages // hosts))
        writer.commit(Batch(candidates=sites.candidates()), clock.now())
        writer.commit(Batch(settlements=sites.fetched(clock.now())), clock.now())
        batches = [
            Batch(links=[sites.page() for _ in range(per_batch)], counters=Counter(fetched=1))
            for _ in range(pages // per_batch)
        ]
        spent = _microseconds(lambda: [writer.commit(batch, clock.now()) for batch in batches], pages)
        empty = [Batch(counters=Counter(fetched=1)) for _ in batches]
        return spent - _microseconds(lambda: [writer.commit(batch, clock.now()) for batch in empty], pages)


def _loads(directory: str) -> tuple[float, float]:
    """CPU microseconds for each host of a load: newly met, and for its next URLs."""
    loader = TableLoader(open_reader(Path(directory, "pages.db")))
    now = Instant(2e9)
    start = (-1.0, 0)
    first = [HostRequest(HostId(h), True, ((0, start, 4), (1, start, 4), (2, start, 4)), now) for h in range(1, 1001)]
    after = [HostRequest(HostId(h), False, ((0, (1.0, 0), 32),), now) for h in range(1, 1001)]
    chunks = [LoadRequest((), tuple(part[at : at + 250])) for part in (first, after) for at in range(0, 1000, 250)]
    met = _microseconds(lambda: [loader.load(order) for order in chunks[:4]], 1000)
    fed = _microseconds(lambda: [loader.load(order) for order in chunks[4:]], 1000)
    loader.close()
    return met, fed


def _rows(directory: str, name: str, write: _Write) -> tuple[float, float]:
    """Microseconds a row of a small table, CPU of this thread and wall; 4 transactions of 2500 rows."""
    with closing(open_for_writing(Path(directory, name))) as db:
        chance = random.Random(3)
        cpu = wall = 0.0
        for _ in range(4):
            rows: list[tuple[object, ...]] = [(chance.randbytes(20), n, 1, n) for n in range(2500)]
            began, start = time.perf_counter(), time.thread_time()
            db.execute("BEGIN IMMEDIATE")
            write(db, rows)
            wall += time.perf_counter() - began
            db.execute("COMMIT")  # its fsync is the same for both, and noisy
            cpu += time.thread_time() - start
        return cpu * 1e6 / 10_000, wall * 1e6 / 10_000


def _write_many(sql: str, db: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    write_rows(db, sql, rows)


def _write_each(sql: str, db: sqlite3.Connection, rows: list[tuple[object, ...]]) -> None:
    db.executemany(sql, rows)


def _beside_a_busy_thread(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    over = threading.Event()

    def spin() -> None:
        while not over.is_set():
            sum(range(1000))

    spinner = threading.Thread(target=spin)
    spinner.start()
    try:
        return measure()
    finally:
        over.set()
        spinner.join()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=20_000)
    arguments.add_argument("--batch", type=int, default=200)
    arguments.add_argument("--only-commits", action="store_true", help="compare the stores, and nothing else")
    asked = arguments.parse_args()
    # As a crawl has it (crawl/run/signals.py). Collecting as often as Python does by default costs a sixth of a commit.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)

    sql = named_queries("queries.sql")["own_content"]
    plain = sql.replace("(/*rows*/)", "")
    print(f"python {platform.python_version()}, SQLite {sqlite3.sqlite_version} on {platform.machine()}")
    with tempfile.TemporaryDirectory(dir=os.environ.get("GOSSAMER_BENCH_DIR")) as directory:
        _compare_commits(directory, asked.pages, asked.batch)
        if asked.only_commits:
            return
        single, fresh = (
            _commits(open_writer(Path(directory, f"pages-{size}.db")), min(asked.pages, 2000), size)[0].client
            for size in (1, asked.batch // 2)
        )
        print(f"one by one    {single:.0f} us a page; in batches of {asked.batch // 2} at that size {fresh:.0f} "
              f"(ratio {single / fresh:.1f})")  # fmt: skip
        met, fed = _loads(directory)
        print(f"load          {met:.0f} us a host newly met, {fed:.0f} us a host for its next 32 URLs")
        for hosts in (100, 1000):
            still, moving, at_once = (
                _links(directory, ordering, hosts, asked.pages, asked.batch)
                for ordering in (Ordering(), Mercator(), Novelty())
            )
            print(f"links         {still:.0f} us a page put off, {moving:.0f} with a look at what waits, "
                  f"{at_once:.0f} at once; {hosts} hosts")  # fmt: skip
        by_many: _Write = partial(_write_many, sql)
        by_each: _Write = partial(_write_each, plain)
        many, _ = _rows(directory, "many.db", by_many)
        each, _ = _rows(directory, "each.db", by_each)
        print(f"rows          {many:.1f} us CPU a row in statements of many, executemany x{each / many:.1f}")
        many, wall = _beside_a_busy_thread(lambda: _rows(directory, "many2.db", by_many))
        each, long = _beside_a_busy_thread(lambda: _rows(directory, "each2.db", by_each))
        print(
            f"rows, busy    {many:.1f} us CPU and {wall:.1f} us wall a row in statements of many, "
            f"executemany x{each / many:.1f} and x{long / wall:.1f}"
        )


if __name__ == "__main__":
    main()
