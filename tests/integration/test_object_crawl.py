"""Crawls whose archive is in object storage, on a real S3 server behind a network that fails."""

import json
import os
import random
import re
import signal
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import gossamer as library
from gossamer.backends.objects.reader import ObjectArchive
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.lab.simweb.audit import ground_truth
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.failing_storage import FailingStorage
from tests.integration.crawl_checks import archived_urls, body_at, check_outcomes, page_requests
from tests.integration.crawl_process import RETRY, Command, Constants, Scene, gossamer, scene, small_web, wait_until
from tests.integration.shared_crawls import is_started, join, partitions
from tests.s3_server import S3Server

pytestmark = pytest.mark.service

FAULTS = int(os.environ.get("GOSSAMER_STORAGE_FAULTS", "4"))
SEED = int(os.environ.get("GOSSAMER_SEED", "9"))
TOML = RETRY + "[objects]\nlinger = 0.05\n"
WEB = small_web(hosts=20, pages=200)


@pytest.fixture
def storage(s3: S3Server) -> Iterator[FailingStorage]:
    with FailingStorage(s3) as made:
        yield made


def place_of(folder: Path) -> str:
    """Of the objects of one test: BUCKET/PREFIX."""
    return f"crawls/{folder.name.replace('[', '-').replace(']', '')}"


def spool_of(scene: Scene) -> list[str]:
    return [entry.name for entry in Spool(scene.dir / "spool", 1).entries()]


def events_of(scene: Scene) -> list[str]:
    return events_in(scene.dir)


def events_in(folder: Path) -> list[str]:
    """What the log of a crawl or a worker says so far."""
    log = folder / "crawl.log"
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [json.loads(line)["event"] for line in lines if line.endswith("\n")]


def objects_in(s3: S3Server, place: str) -> list[str]:
    return [name for name in ObjectStorage(s3.url(place)).names() if name.endswith(".warc.gz")]


def until_more(count: Callable[[], int], command: Command) -> None:
    """Wait until there is more of something, or the crawl has ended."""
    before = count()
    wait_until(lambda: count() > before or not command.runs, f"more than {before}; seed {SEED}")


def check_complete(scene: Scene, s3: S3Server, place: str, *, killed: bool = False) -> None:
    """A finished crawl has every page of the web, each once, in object storage and nowhere else. A crawl `killed`
    between a put and the commit that names the object leaves an object that no row refers to; a repair deletes it."""
    web = scene.web.web()
    pages = scene.pages()
    check_outcomes(ground_truth(web), pages)
    stored = {str(page["url"]): page for page in pages if page["state"] == "stored"}
    archive = ObjectArchive(ObjectStorage(s3.url(place)), Spool(scene.dir / "none", 1))
    for url, page in stored.items():
        at = page["warc"]
        assert isinstance(at, dict)
        record = archive.read(at["file"], at["offset"], at["length"])
        assert (record.kind, record.target_uri, record.http_body) == ("response", url, body_at(web, url))
    exported = scene.dir.parent / "exported"
    where = ["--dir", scene.dir, *scene.location, "--blobs", s3.url(place)]
    assert gossamer("export", "--what", "warc", "-o", exported / "warc", *where).status == 0
    assert archived_urls(exported) == Counter(dict.fromkeys(stored, 1))
    verified = gossamer("verify", *where, "--json")
    if killed and verified.status == 1:
        assert list(json.loads(verified.out)["problems"]) == ["file_unknown"], verified.out
        assert gossamer("verify", "--repair", *where).status == 0
        verified = gossamer("verify", *where, "--json")
    assert verified.status == 0, verified.out
    assert spool_of(scene) == []
    if not scene.location:
        with closing(sqlite3.connect(scene.dir / "crawl.db")) as db:
            assert db.execute("SELECT name FROM spooled_warcs").fetchall() == []


def check_asked_once(scene: Scene) -> None:
    """No page that was stored has been fetched twice."""
    stored = {re.sub(r":[0-9]+/", "/", str(page["url"])) for page in scene.pages() if page["state"] == "stored"}
    answered = [request for request in page_requests(scene.web.requests()) if request.status == 200]
    asked = Counter(f"http://{request.host}{request.target}" for request in answered)
    assert asked.keys() >= stored
    assert {url: n for url, n in asked.items() if n > 1 and url in stored} == {}


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_a_crawl_into_object_storage_has_the_pages_of_the_web(
    store: str, s3: S3Server, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = place_of(tmp_path)
    options: list[object] = ["--blobs", s3.url(place)]
    if store == "postgres":
        options += ["--store", request.getfixturevalue("postgres_server").create_database(), "--unsafe-store"]
    with scene(tmp_path, WEB, options, TOML) as crawl:
        ended = gossamer(*crawl.command)
        assert ended.status == 0, ended.err

        check_complete(crawl, s3, place)
        assert not (crawl.dir / "warc").exists() and not (crawl.dir / "spool").exists()
        assert len(objects_in(s3, place)) > 1

        page = next(page for page in crawl.pages() if page["state"] == "stored")
        explained = gossamer("explain", page["url"], "--dir", crawl.dir, *crawl.location)
        assert "record found, digest correct" in explained.out
        indexed = gossamer("index", "-o", "-", "--dir", crawl.dir, *crawl.location)
        files = {json.loads(line.split(" ", 2)[2])["filename"] for line in indexed.out.splitlines()}
        assert files == set(objects_in(s3, place))
        opened = [crawl.location[1]] if store == "postgres" else [crawl.dir]
        with library.open(str(opened[0]), dir=crawl.dir) as found:
            assert len(list(found.pages())) == sum(page["state"] == "stored" for page in crawl.pages())


def test_rules_that_become_wider_find_refused_links_in_objects(s3: S3Server, tmp_path: Path) -> None:
    place = place_of(tmp_path)
    with scene(tmp_path, WEB, ["--blobs", s3.url(place)], TOML) as crawl:
        assert gossamer(*crawl.command, "--max-depth", 1).status == 0
        narrow = len(crawl.pages())

        ended = gossamer("crawl", *crawl.resume, "--max-depth", 20)

        assert ended.status == 0, ended.err
        assert len(crawl.pages()) > narrow
        check_complete(crawl, s3, place)


@pytest.mark.parametrize("fault", ["cut", "503", "403", "507", "swallow", "half-open"])
def test_a_crawl_goes_on_while_its_storage_fails(
    fault: str, s3: S3Server, storage: FailingStorage, tmp_path: Path
) -> None:
    place = place_of(tmp_path)
    with scene(tmp_path, WEB, ["--blobs", storage.url(place)], TOML) as crawl, Command(*crawl.command) as command:
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail(fault)
        wait_until(lambda: len(spool_of(crawl)) > 1 or not command.runs, "objects in the spool")
        storage.fail(None)
        ended = command.ended()

        assert ended.status == 0, ended.err
        assert ended.report["finished"] is True
        events = events_of(crawl)
        assert events.index("blobs.failing") < events.index("blobs.recovered") < events.index("spool.delivered")
        check_complete(crawl, s3, place)
        check_asked_once(crawl)


def test_what_is_in_the_spool_survives_a_kill(s3: S3Server, storage: FailingStorage, tmp_path: Path) -> None:
    place = place_of(tmp_path)
    with scene(tmp_path, WEB, ["--blobs", storage.url(place)], TOML) as crawl:
        for _ in range(3):
            with Command(*crawl.command) as command:
                wait_until(lambda: objects_in(s3, place), "the first object")
                storage.fail("cut")
                until_more(lambda: len(spool_of(crawl)), command)
                command.kill()
        kept = spool_of(crawl)
        assert kept
        storage.fail(None)
        ended = gossamer(*crawl.command)

        assert ended.status == 0, ended.err
        assert set(kept) & set(objects_in(s3, place))
        check_complete(crawl, s3, place, killed=True)


def test_faults_and_kills_in_any_order_lose_nothing(s3: S3Server, storage: FailingStorage, tmp_path: Path) -> None:
    place, chance = place_of(tmp_path), random.Random(SEED)
    web = small_web(hosts=20, pages=100 + 40 * FAULTS)
    with scene(tmp_path, web, ["--blobs", storage.url(place)], TOML) as crawl:
        command = Command(*crawl.command)
        try:
            for _ in range(FAULTS):
                until_more(lambda: len(objects_in(s3, place)), command)
                storage.fail(chance.choice(["cut", "503", "403", "swallow", "half-open"]))
                until_more(lambda: len(spool_of(crawl)), command)
                if chance.random() < 0.5:
                    command.kill()
                storage.fail(None)
                if not command.runs:
                    command.process.communicate()
                    command = Command(*crawl.command)
            ended = command.ended()
        finally:
            command.kill()
        assert ended.status == 0, ended.err
        check_complete(crawl, s3, place, killed=True)


def test_a_full_spool_stops_fetching_until_the_storage_is_back(
    s3: S3Server, storage: FailingStorage, tmp_path: Path
) -> None:
    place = place_of(tmp_path)
    toml = TOML + "spool_bytes = 100000\n"
    with scene(tmp_path, WEB, ["--blobs", storage.url(place)], toml) as crawl, Command(*crawl.command) as command:
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail("503")
        wait_until(lambda: "store.failing" in events_of(crawl) or not command.runs, "the spool to be full")
        assert sum(entry.length for entry in Spool(crawl.dir / "spool", 1).entries()) <= 100_000
        storage.fail(None)
        ended = command.ended()

        assert ended.status == 0, ended.err
        assert {"spool.full", "store.recovered", "blobs.recovered"} <= set(events_of(crawl))
        check_complete(crawl, s3, place)
        check_asked_once(crawl)


def test_the_first_signal_waits_for_the_storage_and_the_second_leaves_the_spool(
    s3: S3Server, storage: FailingStorage, tmp_path: Path
) -> None:
    place = place_of(tmp_path)
    with scene(tmp_path, WEB, ["--blobs", storage.url(place)], TOML) as crawl:
        with Command(*crawl.command) as command:
            wait_until(lambda: objects_in(s3, place), "the first object")
            storage.fail("cut")
            wait_until(lambda: spool_of(crawl), "objects in the spool")
            command.strike(signal.SIGTERM)
            wait_until(lambda: "spool.waiting" in events_of(crawl), "the crawl to wait for its storage")
            assert command.runs
            command.strike(signal.SIGTERM)
            ended = command.ended()
        left = spool_of(crawl)
        assert ended.status == 128 + signal.SIGTERM
        assert left and f"{len(left)} object" in ended.err and "could not be delivered" in ended.err
        assert "spool.left" in events_of(crawl)
        # What was left can be read, and is no problem.
        assert gossamer("verify", "--dir", crawl.dir, "--blobs", s3.url(place)).status == 0

        storage.fail(None)
        assert gossamer(*crawl.command).status == 0
        assert set(left) <= set(objects_in(s3, place))
        check_complete(crawl, s3, place)


def test_the_second_signal_does_not_wait_for_a_storage_that_never_answers(
    s3: S3Server, storage: FailingStorage, tmp_path: Path
) -> None:
    place = place_of(tmp_path)
    no_end = Constants({"gossamer.backends.objects.delivery.LEAST_DELIVERY_SECONDS": 1e6})
    with (
        scene(tmp_path, WEB, ["--blobs", storage.url(place)], TOML) as crawl,
        Command(no_end, *crawl.command) as command,
    ):
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail("swallow")
        wait_until(lambda: spool_of(crawl), "objects in the spool")
        command.strike(signal.SIGTERM)
        wait_until(lambda: "spool.waiting" in events_of(crawl), "the crawl to wait for its storage")
        command.strike(signal.SIGTERM)

        assert command.ended(patience=120).status == 128 + signal.SIGTERM

        assert spool_of(crawl) and "spool.left" in events_of(crawl)


def test_a_worker_that_waits_for_its_storage_leaves_its_partitions_to_the_others(
    s3: S3Server, storage: FailingStorage, tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    web = small_web(seed=33, hosts=16, pages=240, duplicate_rate=0.0, fault_rate=0.0)
    with postgres_databases.one() as url:
        options = ["--store", url, "--unsafe-store", "--blobs", storage.url(place), "--delay", 0.5]
        with (
            scene(tmp_path, web, options, TOML + "[cluster]\nttl = 2.0\n") as crawl,
            Command(*crawl.command) as first,
        ):
            wait_until(lambda: is_started(crawl) or not first.runs, "the crawl to start")
            with join(crawl, url, "worker-1") as second:
                wait_until(lambda: partitions(url).get("worker-1", 0) > 0 or not first.runs, "a second worker")
                storage.fail("cut")
                spool = Spool(crawl.dir / "worker-1" / "spool", 1)
                wait_until(lambda: spool.entries() or not second.runs, "objects in its spool")
                second.strike(signal.SIGTERM)
                wait_until(lambda: partitions(url).get("worker-1") == 0 or not second.runs, "it to give them up")
                assert second.runs, second.ended()
                storage.fail(None)
                assert second.ended().status == 128 + signal.SIGTERM
            ended = first.ended()
            assert (ended.status, ended.report["finished"]) == (0, True), ended.err
            check_complete(crawl, s3, place)


def test_verify_repairs_what_is_lost_and_deletes_what_nobody_needs(s3: S3Server, tmp_path: Path) -> None:
    place = place_of(tmp_path)
    storage = ObjectStorage(s3.url(place))
    with scene(tmp_path, WEB, ["--blobs", s3.url(place)], TOML) as crawl:
        assert gossamer(*crawl.command).status == 0
        missing, damaged, cut, *_ = sorted(objects_in(s3, place))
        storage.delete(missing)
        storage.put(damaged, bytes(1000) + storage.get(damaged)[1000:])
        storage.put(cut, storage.get(cut)[:-100])
        storage.put("77/00000001.warc.gz", b"left by a worker that is dead")
        storage.put("notes.txt", b"of the operator")

        verify = ["verify", "--dir", crawl.dir, "--json"]
        found = gossamer(*verify)
        assert found.status == 1
        problems = found.report["problems"]
        assert isinstance(problems, dict)
        assert {"file_missing", "file_unknown", "file_short", "record_lost", "record_damaged"} <= problems.keys()
        index = gossamer("index", "-o", "-", "--dir", crawl.dir)
        assert index.status == 1 and index.err.count("skipped: ") == 3
        assert all(name in index.err for name in (missing, damaged, cut))
        files = {json.loads(line.split(" ", 2)[2])["filename"] for line in index.out.splitlines()}
        assert {name for name in objects_in(s3, place) if not name.startswith("77/")} - {damaged, cut} <= files
        assert gossamer(*verify, "--repair").status == 0
        assert "77/00000001.warc.gz" not in objects_in(s3, place)
        assert "notes.txt" in storage.names()
        assert gossamer(*verify).status == 0

        assert gossamer(*crawl.command).status == 0
        assert gossamer(*verify).status == 0
        check_outcomes(ground_truth(crawl.web.web()), crawl.pages())


def test_the_objects_of_another_crawl_are_left_alone(s3: S3Server, tmp_path: Path) -> None:
    place = place_of(tmp_path)
    blobs = ["--blobs", s3.url(place)]
    with scene(tmp_path, WEB, [*blobs, "--max-pages", 5], TOML) as crawl:
        assert gossamer(*crawl.command).status == 0
        objects = objects_in(s3, place)

        with scene(tmp_path / "other", WEB, [*blobs, "--max-pages", 5], TOML) as other:
            refused = gossamer(*other.command)
            assert refused.status == 1 and "objects of another crawl" in refused.err

        elsewhere = gossamer("verify", "--repair", "--dir", crawl.dir, "--blobs", s3.url(place + "-typo"))
        assert elsewhere.status == 1 and "no objects of a crawl" in elsewhere.err
        for moved, problem in (
            (s3.url(place + "-typo"), "no objects of a crawl"),
            (f"file:{tmp_path / 'warc'}", "has its archive in object storage"),
        ):
            refused = gossamer("crawl", "--dir", crawl.dir, "--blobs", moved, "--quiet")
            assert refused.status == 1 and problem in refused.err
        assert objects_in(s3, place) == objects
        assert gossamer("verify", "--dir", crawl.dir).status == 0


def test_a_storage_that_cannot_be_used_is_named_at_the_start(
    storage: FailingStorage, tmp_path: Path, s3: S3Server
) -> None:
    storage.fail("403")
    with scene(tmp_path, WEB, ["--blobs", storage.url("crawls/forbidden")], TOML) as crawl:
        refused = gossamer(*crawl.command)
        assert refused.status == 1 and "cannot use s3://crawls/forbidden" in refused.err
    for blobs, problem in (
        ("s3://", "is not a URL of the form"),
        ("s3://key:secret@bucket/x", "credentials do not belong into the URL"),
        ("s3://bucket/x?secret=1", "'secret' is not a setting of s3:// URLs"),
        ("http://bucket/x", "is not a URL of the form"),
    ):
        refused = gossamer("crawl", "http://x.test/", "--dir", tmp_path / "new", "--blobs", blobs)
        assert refused.status == 2 and problem in refused.err
        assert "secret@" not in refused.err
