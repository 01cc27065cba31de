"""Other processes read the documents of a crawl: each at least once, and repeats can be told (C1)."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from gossamer.lab.simweb.run import SimwebProcess
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import (
    PATIENCE,
    RETRY,
    Command,
    Ended,
    Json,
    Scene,
    gossamer,
    small_web,
    wait_until,
)
from tests.integration.shared_crawls import is_started, join
from tests.integration.test_shared_crawl import TTL
from tests.library.test_library_crawl import example
from tests.redis_server import RedisServer, running_redis

pytestmark = pytest.mark.service

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CONFIGURATION = "[retry]\ndelay = 1.0\n[cache]\ndocuments = 100000\ntext = true\n"

READER = """
import json, sys
import gossamer

url, name, stops_after = sys.argv[1], sys.argv[2], int(sys.argv[3])
received = 0
for document in gossamer.stream(url, group="readers", consumer=name, crawl=sys.argv[4], claim_after=1.0):
    line = [document.url, document.epoch, document.serial, document.commit, document.index, document.deliveries]
    print(json.dumps([*line, document.gap]), flush=True)
    received += 1
    if received == stops_after:
        sys.stdin.read()  # hangs in the middle of a document
"""


@pytest.fixture(scope="module")
def web() -> Iterator[SimwebProcess]:
    with SimwebProcess(small_web(seed=5, hosts=10, pages=200, fault_rate=0.0, slow_seconds=0.0)) as served:
        yield served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with running_redis(tmp_path / "redis") as started:
        yield started


def command(folder: Path, web: SimwebProcess, server: RedisServer) -> list[object]:
    (folder / "gossamer.toml").write_text(CONFIGURATION)
    fixed = ["--dir", folder / "crawl", "--config", folder / "gossamer.toml", "--dns", web.dns_address]
    fixed += ["--allow-private", "--scope", "tld:test", "--json", "--quiet", "--delay", 0.05, "--delay-factor", 0]
    return ["crawl", *web.seeds, *fixed, "--cache", server.url]


def crawls_on(server: RedisServer) -> list[str]:
    """The ids of the crawls that have announced documents."""
    return [word.decode() for word in server.client().smembers("gossamer:crawls") if isinstance(word, bytes)]


def stored_urls(folder: Path) -> dict[str, Json]:
    lines = gossamer("pages", "--dir", folder / "crawl", "--json", "--state", "stored").lines
    return {str(page["url"]): page for page in lines}


def announced(ended: Ended) -> tuple[int, int]:
    """How many documents a crawl has announced, and of how many that is not certain: on a busy machine, an answer of
    Redis may come too late."""
    return int(str(ended.report["announced"])), int(str(ended.report["unannounced"]))


class Reader:
    """A process that reads as a consumer of the group, and prints what it receives."""

    def __init__(self, server: RedisServer, folder: Path, name: str, crawl: str, stops_after: int = 0) -> None:
        self._file = folder / f"{name}.jsonl"
        with self._file.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", READER, server.url, name, str(stops_after), crawl],
                stdin=subprocess.PIPE,
                stdout=out,
            )

    def received(self) -> list[list[object]]:
        return [json.loads(line) for line in self._file.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def end(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        assert self.process.stdin is not None
        self.process.stdin.close()


def test_two_processes_read_as_one_group_while_one_is_killed(
    web: SimwebProcess, server: RedisServer, tmp_path: Path
) -> None:
    with Command(*command(tmp_path, web, server)) as crawler:
        wait_until(lambda: crawls_on(server) or not crawler.runs, "documents")
        (crawl,) = crawls_on(server)
        first = Reader(server, tmp_path, "first", crawl, stops_after=5)
        second = Reader(server, tmp_path, "second", crawl)
        try:
            wait_until(lambda: len(first.received()) == 5, "the first reader to hang in a document")
            first.end()
            ended = crawler.ended()
            assert ended.status == 0, ended.err
            number, unsure = announced(ended)

            def everything() -> bool:
                return len({line[2] for line in [*first.received(), *second.received()]}) >= number

            wait_until(everything, "every document to be received")
            received = [*first.received(), *second.received()]
        finally:
            second.end()
            if first.process.poll() is None:
                first.end()

    absent = stored_urls(tmp_path).keys() - {line[0] for line in received}
    assert sum(int(str(line[6])) for line in received if line[5] == 1) <= len(absent) <= unsure
    first_time = Counter(line[2] for line in received if line[5] == 1)
    assert set(first_time.values()) == {1}  # what comes again says so
    repeated = {line[2] for line in received if line[5] != 1}
    assert first.received()[-1][2] in repeated  # that one was never acknowledged


def test_a_group_reads_what_several_workers_announce_while_one_of_each_is_killed(
    web: SimwebProcess, server: RedisServer, tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    import gossamer as library

    with postgres_databases.one() as url, ExitStack() as running:
        options = ["--delay", 0.1, "--delay-factor", 0, "--store", url, "--unsafe-store", "--cache", server.url]
        stage = Scene(tmp_path / "shared", web, options, RETRY + TTL + "[cache]\ndocuments = 100000\n")
        crawler = running.enter_context(Command(*stage.command))
        wait_until(lambda: is_started(stage) or not crawler.runs, "the crawl to start")
        others = [running.enter_context(join(stage, url, name)) for name in ("worker-1", "worker-2")]
        wait_until(lambda: crawls_on(server) or not crawler.runs, "documents")
        (crawl,) = crawls_on(server)
        first, second = Reader(server, tmp_path, "first", crawl, 5), Reader(server, tmp_path, "second", crawl)
        running.callback(second.end)
        wait_until(lambda: len({line[1] for line in second.received()}) == 3 or not crawler.runs, "all workers")
        others[0].process.kill()
        wait_until(lambda: len(first.received()) == 5, "the first reader to hang in a document")
        first.end()
        assert [each.ended().status for each in (crawler, others[1])] == [0, 0]

        def received() -> list[list[object]]:
            return [*first.received(), *second.received()]

        def missing() -> int:
            with library.open(url, dir=stage.dir) as stored:
                return stored.missing_in_stream(server.url, group="readers")

        def is_all_read() -> bool:
            (group,) = server.client().xinfo_groups(f"gossamer:{crawl}:documents")
            return bool(group["lag"] == 0 and group["pending"] <= 1)  # the last one is not acknowledged

        wait_until(is_all_read, "everything to be read, with what the dead reader held")
        stored = {page["url"] for page in stage.pages("--state", "stored")}
        gaps = {(line[1], line[2]): int(str(line[6])) for line in received()}
        absent = stored - {line[0] for line in received()}

        # A document that was stored just before the kill, and not announced, is counted; so is a second visit.
        assert len(absent) <= sum(gaps.values()) + missing() <= len(absent) + 5
        assert {line[0] for line in received()} <= stored
        first_time = Counter((line[1], line[2]) for line in received() if line[5] == 1)
        assert set(first_time.values()) == {1}


def test_announcements_name_the_records_of_the_archive(
    web: SimwebProcess, server: RedisServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import gossamer as library

    ended = gossamer(*command(tmp_path, web, server))
    assert ended.status == 0, ended.err
    found = {document.url: document for document in library.stream(server.url, group="g", patience=0.5)}

    stored = stored_urls(tmp_path)
    assert found.keys() <= stored.keys() and len(stored) - len(found) <= announced(ended)[1]
    for url, document in found.items():
        page = stored[url]
        assert page["warc"] == {"file": document.file, "offset": document.offset, "length": document.length}
        assert (page["digest"], page["status"]) == (document.digest, document.status)
    with library.open(tmp_path / "crawl") as crawl:
        texts = {page.url: page.text for page in crawl.pages() if page.url in found}
    assert {url: document.text for url, document in found.items()} == texts

    example(4)["follow"](server.url, patience=0.5)  # of docs/EXTENDING.md
    assert {line.split()[0] for line in capsys.readouterr().out.splitlines() if "://" in line.split()[0]} == (
        found.keys()
    )


def test_documents_that_a_crawl_stored_while_redis_was_away_show_when_it_is_resumed(
    web: SimwebProcess, server: RedisServer, tmp_path: Path
) -> None:
    import gossamer as library

    start = command(tmp_path, web, server)
    first = gossamer(*start, "--max-pages", 40)
    server.kill()
    second = gossamer(*start, "--more", 30)
    server.start()
    third = gossamer(*start, "--more", 20)

    assert [(each.status, sum(announced(each))) for each in (first, second, third)] == [(0, 40), (0, 30), (0, 20)]
    assert announced(second) == (0, 30)
    found = list(library.stream(server.url, group="g", patience=0.5))
    # The server came back empty, so the first reader of it has missed those of the first two runs.
    assert found[0].gap >= 70 and len(found) >= announced(third)[0] > 0
    with library.open(tmp_path / "crawl") as crawl:
        missing = crawl.missing_in_stream(server.url, group="g")
    assert len(found) + sum(document.gap for document in found) + missing == 90


def test_documents_of_the_end_of_a_crawl_that_were_not_announced_can_be_counted(
    web: SimwebProcess, server: RedisServer, tmp_path: Path
) -> None:
    import gossamer as library

    start = command(tmp_path, web, server)
    first = gossamer(*start, "--max-pages", 30)
    received = list(library.stream(server.url, group="g", patience=0.5))
    server.hang()
    second, third = gossamer(*start, "--more", 20), gossamer(*start, "--more", 10)
    server.wake()

    assert [each.status for each in (first, second, third)] == [0, 0, 0]
    assert len(received) >= announced(first)[0] > 0
    assert list(library.stream(server.url, group="g", patience=0.5)) == []
    with library.open(tmp_path / "crawl") as crawl:
        missing = crawl.missing_in_stream(server.url, group="g")
    assert missing + sum(document.gap for document in received) == 60 - len(received)


def test_the_example_feeds_a_full_text_index(web: SimwebProcess, server: RedisServer, tmp_path: Path) -> None:
    ended = gossamer(*command(tmp_path, web, server))
    assert ended.status == 0, ended.err
    code = (EXAMPLES / "full_text_index.py").read_text()
    named = '"redis://localhost:6379/0", group="full-text index"'
    assert code.count(named) == 1
    code = code.replace(named, f'{server.url!r}, group="full-text index", patience=0.5')

    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr

    with closing(sqlite3.connect(tmp_path / "index.db")) as index:
        indexed = {url for (url,) in index.execute("SELECT url FROM pages")}
        assert indexed <= stored_urls(tmp_path).keys() and len(indexed) >= announced(ended)[0] > 0
        title = next(str(stored_urls(tmp_path)[url]["title"]) for url in indexed if stored_urls(tmp_path)[url]["title"])
        word = title.split()[0]
        query = "SELECT p.title FROM texts t JOIN pages p ON p.id = t.rowid WHERE texts MATCH ?"
        assert title in {found for (found,) in index.execute(query, (f'"{word}"',))}
