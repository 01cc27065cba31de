"""Ids carry their partition, and whatever reads over many partitions answers as a store without them does."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.backends.postgres.tables import PostgresTables
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.filter.domains import domain_of
from gossamer.model.batch import Batch, RobotsRecord
from gossamer.model.loads import FrontRequest, LoadRequest
from gossamer.model.partition import ID_BITS
from gossamer.model.requeue import RequeueOrder
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, Instant, Origin
from gossamer.reports.records import PageFilter
from gossamer.reports.table.reader import TableReader
from gossamer.store.table.refusals import RefusalReader
from gossamer.store.table.windows import url_windows
from gossamer.store.table.writer import TableWriter
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.table_store import Store, candidate, links_of, settlement

HOSTS = [f"www.site{n}.test" for n in range(40)]
URLS = 400


class Pair:
    """The same crawl in a store without partitions and in one with them."""

    def __init__(self, *stores: Store) -> None:
        self.stores = stores
        self.ids: list[dict[str, int]] = []
        for store in stores:
            store.writer = TableWriter(store.database, store.captures, domain_of, store.ordering, store.clock)
        self._crawl()

    def _crawl(self) -> None:
        for store in self.stores:
            found = [candidate(HOSTS[n * 7 % 40], n, n % 3) for n in range(URLS)]
            for start in range(0, URLS, 100):  # the second batch adds to partitions that the first has begun
                store.writer.commit(Batch(candidates=found[start : start + 100]), store.now)
            rows = {url: (int(url_id), int(host_id)) for url_id, host_id, url in self._urls(store)}
            self.ids.append({url: url_id for url, (url_id, _) in rows.items()})
            batch = Batch()
            for number, each in enumerate(found[:300]):
                url_id, host_id = rows[str(each.url)]
                state = tuple(UrlState)[number % 8]
                done = settlement(url_id, state, host_id, number % 3, body=b"%d" % number)
                batch.settle(done._replace(available_at=Instant(store.now + number), reason="robots", refused=1))
                if number < 10:
                    body = b"SITEMAP: /\xff.xml" if number % 2 else b"Disallow: /\xff"
                    origin = Origin(f"http://{each.host}")
                    batch.robots.append(RobotsRecord(origin, HostId(host_id), 200, store.now, store.now, body))
            first = rows[str(found[0].url)][0]
            batch.links.append(
                links_of(first, self._domain_of(store, first), *((c.host, c.fingerprint) for c in found))
            )
            store.writer.commit(batch, store.now)

    def _urls(self, store: Store) -> list[tuple[int, int, str]]:
        return [(int(str(a)), int(str(b)), str(c)) for a, b, c in store.rows("SELECT id, host_id, url FROM urls")]

    def _domain_of(self, store: Store, url_id: int) -> int:
        return int(str(store.value("SELECT domain_id FROM urls WHERE id = ?", url_id)))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, postgres_databases: PostgresDatabases) -> Iterator[Pair]:
    path: Path = tmp_path_factory.mktemp("pair") / "crawl.db"
    with postgres_databases.one() as url:
        pair = Pair(Store(SqliteTables(path)), Store(PostgresTables(url, unsafe=True)))
        yield pair
        for store in pair.stores:
            store.close()


def test_ids_are_numbered_within_the_partition_of_their_domain(pair: Pair) -> None:
    _, store = pair.stores
    rows = store.rows(
        "SELECT d.domain, d.id, h.id, u.id FROM urls u JOIN hosts h ON h.id = u.host_id "
        "JOIN domains d ON d.id = u.domain_id"
    )
    parts = set()
    for domain, *ids in rows:
        _, partition, _ = domain_of(domain)  # type: ignore[arg-type]
        parts.add(partition)
        assert {int(str(each)) >> ID_BITS for each in ids} == {partition}
    assert len(parts) > 20
    numbers = sorted(int(str(url_id)) for *_, url_id in rows)
    assert numbers[-1] < 2**53
    for partition in parts:
        own = [n & ((1 << ID_BITS) - 1) for n in numbers if n >> ID_BITS == partition]
        assert own == list(range(1, len(own) + 1))


def test_front_queues_are_read_in_order_over_all_partitions(pair: Pair) -> None:
    read = []
    for store in pair.stores:
        names: dict[object, object] = dict(store.db.execute("SELECT id, host FROM hosts"))
        found: list[tuple[int, float, object]] = []
        for front in range(3):
            cursor = (-math.inf, 0)
            while True:
                wanted = FrontRequest(front, cursor, 7, Instant(math.inf))
                entries = store.loader.load(LoadRequest((wanted,), ())).fronts[0].entries
                if not entries:
                    break
                assert len(entries) <= 7
                found += [(front, place, names[host_id]) for place, host_id in entries]
                cursor = (entries[-1][0], entries[-1][1])
        assert [entry[:2] for entry in found] == sorted(entry[:2] for entry in found)
        read.append(found)
    assert sorted(map(repr, read[0])) == sorted(map(repr, read[1]))


def test_windows_of_urls_cover_all_of_them_once(pair: Pair) -> None:
    for store, ids in zip(pair.stores, pair.ids, strict=True):
        last = store.reading.fetch_value("last_url")
        windows = list(url_windows(store.reading, 30, last))
        assert [after for after, _ in windows[1:]] == [upto for _, upto in windows[:-1]]
        inside = [sum(after < each <= upto for each in ids.values()) for after, upto in windows]
        assert sum(inside) == URLS and max(inside) == 30
        reader = TableReader(store.reading)
        assert {row.url for row in reader.pages.stream(PageFilter())} == set(ids)
        assert len(list(reader.links.names())) == URLS
        assert [number for chunk in store.loader.fingerprints(chunk=33) for number in sorted(chunk)]


def test_reports_say_the_same(pair: Pair) -> None:
    totals, waits, samples, refused = [], [], [], []
    for store in pair.stores:
        reader = TableReader(store.reading)
        totals.append(reader.status.totals())
        waits.append(reader.status.waits(Instant(store.now + 50)))
        samples.append(len(reader.status.recrawl_report(Instant(store.now + 50)).sample))
        refusals = RefusalReader(store.reading)
        window = refusals.window(1, ["robots"], 0, refusals.last_id(), 1000)
        naming = {(host.host, host.depth) for host in window.hosts}
        refused.append(
            (refusals.count_pages(1), {page.url for page in window.pages}, {u.url for u in window.urls}, naming)
        )
        assert reader.audit.wrong_counters() == [] and reader.audit.hosts_counted_wrong() == 0
    assert totals[0] == totals[1] and totals[1]["hosts"] == 40 and totals[1]["domains"] == 40
    assert waits[0] == waits[1] and (waits[1].recrawls or 0) > 100 and waits[1].retries
    assert samples[0] == samples[1] > 50
    assert refused[0] == refused[1] and len(refused[1][3]) == 5


def test_what_is_due_is_queued_by_its_date_over_all_partitions(pair: Pair) -> None:
    queued = []
    for store in pair.stores:
        order = RequeueOrder(Instant(store.now + 200), 40, include_missing=True)
        committed = store.writer.commit(Batch(requeue=order), store.now)
        again = store.rows("SELECT url FROM urls WHERE state = 0 AND was IS NOT NULL")
        assert len(again) == 40
        queued.append((dict(committed.requeued), committed.next_due, set(again)))
    assert queued[0] == queued[1]
