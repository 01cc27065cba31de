"""A large sitemap is admitted in lots: no commit is large, nothing is blocked, and an interruption loses nothing."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import open_reader, open_writer
from gossamer.clock import SteadyClock
from gossamer.config.sections import SitemapsSection
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument
from gossamer.crawl.document.sitemaps import LOT, STEP, ListRead, Sitemaps
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.crawl.visit.settle import Counters
from gossamer.dedup import payload_digest
from gossamer.extract.sitemaps.reader import SLICE
from gossamer.fetch.http.body import payload
from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.batch import Batch, Committed
from gossamer.model.loads import SitemapFacts
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, Document
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Via, Visit
from gossamer.model.units import Domain, HostId, HostKey, Instant, Origin, Seconds, Url
from gossamer.seen import SeenTest
from gossamer.store.ports import Location
from gossamer.store.table.loader import TableLoader
from gossamer.store.table.writer import TableWriter
from gossamer.store.threads import BatchLimits, WriterThread

HOST = HostKey("h.test")
MAP = Url("http://h.test/map.xml")
MANY = 6_000


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


def domain_of(host: HostKey) -> tuple[Domain, int, str]:
    return Domain(host), 0, "test"


class Stage(CrawlObserver):
    """A store, and somebody who reads sitemaps into it. Each is as in a crawl, with a seen test that knows nothing."""

    def __init__(self, path: Path, settings: SitemapsSection | None = None) -> None:
        self.clock = SteadyClock()
        self.commits: list[Committed] = []
        self.writer = TableWriter(open_writer(path), NoCaptures(), domain_of, ORDERINGS["mercator"](), self.clock)
        self.reading = open_reader(path)
        self.loader = TableLoader(self.reading)
        observers = Observers(self.clock)
        observers.subscribe(self)
        self.store = WriterThread(self.writer, self.clock, observers, BatchLimits(linger=0.001))
        canonicaliser = Canonicaliser()
        self.admission = Admission(
            rules=EntryRules(),
            canonicaliser=canonicaliser,
            resolver=LinkResolver(canonicaliser),
            seen=SeenTest(capacity=100_000),
            key=1,
        )
        self.sitemaps = Sitemaps(
            admission=self.admission,
            store=self.store,
            counters=Counters({}),
            settings=settings or SitemapsSection(),
            agent="gossamer",
            load_facts=self._facts,
        )

    def committed(self, committed: Committed) -> None:
        self.commits.append(committed)

    async def _facts(self, url_id: int, host_id: HostId) -> SitemapFacts:
        return self.loader.sitemap_facts(url_id, host_id)

    def commit(self, batch: Batch) -> None:
        self.writer.commit(batch, self.clock.now())

    def visit(self, url: Url = MAP, sitemap: int = 1) -> Visit:
        """To a URL, which has a row from then on."""
        seed = self.admission.admit_seed(url, HOST)
        self.commit(Batch(candidates=[seed._replace(via=Via.SITEMAP, sitemap=sitemap)]))
        row = self.one("SELECT id, host_id, domain_id FROM urls WHERE url = ?", url)
        task = Task(row[0], seed.fingerprint, url, 0, 0.0, 0.0, 0, 0, 0, sitemap)
        return Visit(HostId(row[1]), HOST, row[2], task, None, 0.0)

    def one(self, sql: str, *values: object) -> tuple[int, ...]:
        row: tuple[int, ...] = self.reading.connection.execute(sql, values).fetchone()
        return row

    async def run(self, job: Callable[[], Awaitable[None]]) -> None:
        """Do something while the store commits; then commit what is left."""
        storing = asyncio.create_task(self.store.run())
        try:
            await job()
        finally:
            self.store.finish()
            await storing

    def close(self) -> None:
        self.loader.close()
        self.store.close()


def opened(visit: Visit, body: bytes) -> DecodedDocument:
    response = Response(
        visit.task.url, 200, b"", b"", body, {"content-type": "text/xml"}, "127.0.0.1", Instant(1e9), Seconds(0.0)
    )
    return DecodedDocument(Document(visit, response, Instant(1e9)), payload(response), payload_digest(body))


def urlset(number: int) -> bytes:
    items = b"".join(b"<url><loc>http://h.test/%d</loc><lastmod>2001-01-01</lastmod></url>" % i for i in range(number))
    return b"<urlset>" + items + b"</urlset>"


def settle(stage: Stage, visit: Visit, found: ListRead) -> None:
    """As the document queue does: the last lot goes with the settlement."""
    stage.store.batch.candidates += found.candidates
    stage.store.nudge()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


def test_everything_that_is_listed_enters_and_no_commit_is_large(path: Path) -> None:
    stage = Stage(path)
    visit = stage.visit()

    async def job() -> None:
        settle(stage, visit, await stage.sitemaps.read(opened(visit, urlset(MANY))))

    asyncio.run(stage.run(job))

    assert stage.one("SELECT count(*), count(modified) FROM urls") == (MANY + 1, MANY)
    assert stage.one("SELECT count(*) FROM hints WHERE listed_in = ?", visit.task.url_id) == (MANY,)
    assert stage.one("SELECT entries FROM sitemaps") == (MANY,)
    assert max(commit.new_urls for commit in stage.commits) < 2 * LOT
    assert len(stage.commits) >= MANY // (2 * LOT)
    stage.close()


@pytest.mark.parametrize("body", [urlset(MANY), b"<urlset>" + b" " * (20 << 20) + b"</urlset>"], ids=["full", "empty"])
def test_the_event_loop_has_a_turn_after_every_slice(path: Path, body: bytes) -> None:
    stage = Stage(path)
    visit = stage.visit()
    turns = 0

    async def other_work() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def job() -> None:
        other = asyncio.create_task(other_work())
        settle(stage, visit, await stage.sitemaps.read(opened(visit, body)))
        other.cancel()

    asyncio.run(stage.run(job))
    stage.close()

    assert turns >= len(body) // SLICE + body.count(b"<loc>") // STEP


def test_a_break_in_the_middle_loses_nothing(path: Path) -> None:
    stage = Stage(path)
    visit = stage.visit()

    async def broken_off() -> None:
        reading = asyncio.create_task(stage.sitemaps.read(opened(visit, urlset(MANY))))
        async with asyncio.timeout(60):
            while len(stage.commits) < 3:
                await stage.store.until_committed()
                await asyncio.sleep(0.001)
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading

    asyncio.run(stage.run(broken_off))
    (before,) = stage.one("SELECT count(*) FROM urls")
    assert LOT < before < MANY
    assert stage.one("SELECT state FROM urls WHERE id = ?", visit.task.url_id) == (UrlState.QUEUED,)
    assert stage.one("SELECT count(*) FROM sitemaps") == (0,)
    stage.close()

    again = Stage(path)

    async def job() -> None:
        settle(again, visit, await again.sitemaps.read(opened(visit, urlset(MANY))))

    asyncio.run(again.run(job))

    assert again.one("SELECT count(*), count(DISTINCT url) FROM urls") == (MANY + 1, MANY + 1)
    again.close()


def test_a_sitemap_of_another_host_is_believed_only_if_robots_txt_names_it(path: Path) -> None:
    stage = Stage(path)
    other = HostKey("other.test")
    body = b"<urlset><url><loc>http://other.test/a</loc><priority>1.0</priority></url></urlset>"

    async def job() -> None:
        visit = stage.visit()
        settle(stage, visit, await stage.sitemaps.read(opened(visit, body)))
        await stage.store.until_committed()
        assert stage.one("SELECT count(*) FROM hints") == (0,)

        stage.sitemaps.on_robots_lines(
            visit._replace(host=other), Origin("http://other.test"), ["http://h.test/map.xml"]
        )
        await stage.store.until_committed()
        settle(stage, visit, await stage.sitemaps.read(opened(visit, body)))

    asyncio.run(stage.run(job))

    assert stage.one("SELECT count(*) FROM urls WHERE url = 'http://other.test/a'") == (1,)
    assert stage.one("SELECT count(*), max(priority) FROM hints") == (1, 1.0)
    stage.close()


def test_hosts_that_name_an_index_vouch_for_what_it_lists(path: Path) -> None:
    stage = Stage(path)

    async def job() -> None:
        visit = stage.visit()
        stage.sitemaps.on_robots_lines(visit, Origin("http://h.test"), [MAP])
        await stage.store.until_committed()
        index = b"<sitemapindex><sitemap><loc>/deeper/a.xml.gz</loc></sitemap></sitemapindex>"
        settle(stage, visit, await stage.sitemaps.read(opened(visit, index)))

    asyncio.run(stage.run(job))

    found = stage.one("SELECT id, sitemap, depth FROM urls WHERE url = 'http://h.test/deeper/a.xml.gz'")
    assert found[1:] == (2, 0)
    assert stage.loader.sitemap_facts(found[0], HostId(1)).named_by == (HOST,)
    stage.close()


@pytest.mark.parametrize(
    ("status", "sitemap", "content_type", "is_list"),
    [
        (200, 1, "text/html", True),
        (404, 1, "text/xml", False),
        (200, 0, "text/xml", True),
        (200, 0, "text/html", False),
        (200, 0, "application/xhtml+xml", False),
    ],
)
def test_what_is_read_as_a_list(path: Path, status: int, sitemap: int, content_type: str, is_list: bool) -> None:
    stage = Stage(path)
    visit = stage.visit(sitemap=sitemap)
    body = b"<html>" if "html" in content_type else urlset(1)
    response = Response(
        MAP, status, b"", b"", body, {"content-type": content_type}, "127.0.0.1", Instant(1e9), Seconds(0.0)
    )

    assert (
        stage.sitemaps.is_list(DecodedDocument(Document(visit, response, Instant(1e9)), payload(response), b""))
        is is_list
    )
    stage.close()
