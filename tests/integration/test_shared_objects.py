"""Workers share a crawl whose archive is in object storage: orphaned objects are deleted beside them, and a worker that
leaves waits for its spool."""

import argparse
import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from gossamer.backends.objects.reader import ObjectArchive
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.cli import verify
from gossamer.crawl.run.location import CrawlLocation
from gossamer.crawl.run.opener import hold_crawl
from gossamer.lab.simweb.audit import ground_truth
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.failing_storage import FailingStorage
from tests.integration.crawl_checks import check_outcomes, page_requests
from tests.integration.crawl_process import RETRY, Command, Scene, gossamer, scene, small_web, wait_until
from tests.integration.shared_crawls import join, partitions
from tests.integration.test_object_crawl import events_in, objects_in, place_of, spool_of
from tests.integration.test_shared_crawl import TTL, workers
from tests.s3_server import S3Server

pytestmark = pytest.mark.service

TOML = RETRY + TTL + "[objects]\nlinger = 0.05\n"
WEB = small_web(seed=31, duplicate_rate=0.0, hosts=16, pages=240, fault_rate=0.0)
SLOW = ("--delay", 5.0)
"""The crawl takes longer than the test looks at it."""


@contextmanager
def crawl(folder: Path, url: str, blobs: str, others: int) -> Iterator[tuple[Scene, list[Command]]]:
    options: list[object] = [*SLOW, "--store", url, "--unsafe-store", "--blobs", blobs]
    with scene(folder, WEB, options, TOML) as stage, workers(stage, url, others) as running:
        yield stage, running


def epochs(url: str) -> dict[str, int]:
    """Of the living workers, by name."""
    with psycopg.connect(url, autocommit=True) as server:
        found = server.execute("SELECT name, f.epoch FROM workers w JOIN fence f USING (epoch) WHERE alive").fetchall()
    return {str(name): int(epoch) for name, epoch in found}


def test_objects_of_dead_workers_are_deleted_beside_living_ones_and_no_others(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    storage = ObjectStorage(s3.url(place))
    with postgres_databases.one() as url, crawl(tmp_path, url, s3.url(place), 1) as (stage, running):
        wait_until(lambda: len(epochs(url)) == 2 and objects_in(s3, place), "two workers and an object")
        storage.put("77/00000001.warc.gz", b"left by a worker that is dead")
        put = {f"{epoch}/99999999.warc.gz" for epoch in epochs(url).values()}
        for name in put:
            storage.put(name, b"whose transaction is to come")
        kept = {*objects_in(s3, place)} - {"77/00000001.warc.gz"}

        where = ["--store", url, "--dir", stage.dir, "--blobs", s3.url(place)]
        found = gossamer("verify", "--repair", *where, "--json")

        problems = found.report["problems"]
        assert isinstance(problems, dict), found.err
        assert problems["file_unknown"]["examples"] == ["77/00000001.warc.gz: 29 bytes"]
        assert "77/00000001.warc.gz" not in objects_in(s3, place)
        assert kept <= {*objects_in(s3, place)}
        assert all(each.runs for each in running)

        for each in running:
            each.strike(signal.SIGTERM)
        assert [each.ended().status for each in running] == [128 + signal.SIGTERM] * 2
        repaired = gossamer("verify", "--repair", *where)
        assert repaired.status == 0, repaired.out + repaired.err
        assert not put & {*objects_in(s3, place)}
        assert kept - put <= {*objects_in(s3, place)}
        assert gossamer("verify", *where).out.startswith("no problems")


def has_sent(url: str, state: str, heartbeats: set[str], number: int) -> bool:
    """Whether the only worker has sent so many heartbeats in this state since the first call."""
    (only,) = gossamer("workers", "--store", url, "--json").lines
    if only["state"] == state:
        heartbeats.add(str(only["seen_at"]))
    return len(heartbeats) >= number


def test_a_worker_that_leaves_waits_for_its_spool_and_a_second_signal_leaves_that(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    with (
        FailingStorage(s3) as storage,
        postgres_databases.one() as url,
        crawl(tmp_path, url, storage.url(place), 0) as (stage, (only,)),
    ):
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail("cut")
        wait_until(lambda: spool_of(stage), "objects in the spool")
        only.strike(signal.SIGTERM)
        wait_until(lambda: "spool.waiting" in events_in(stage.dir), "the worker to wait for its storage")
        assert only.runs and epochs(url)
        heartbeats = set[str]()
        wait_until(lambda: has_sent(url, "leaving", heartbeats, 8) or not only.runs, "heartbeats")
        only.strike(signal.SIGTERM)
        ended = only.ended()
        left = spool_of(stage)
        assert (ended.status, ended.report["stopped"]) == (128 + signal.SIGTERM, "interrupted")
        assert left and "could not be delivered" in ended.err
        assert epochs(url) == {}
        events = [json.loads(line) for line in (stage.dir / "crawl.log").read_text().splitlines()]
        assert [event["segments"] for event in events if event["event"] == "spool.left"] == [len(left)]

        storage.fail(None)
        with Command(*stage.command) as again:
            wait_until(lambda: {*left} <= {*objects_in(s3, place)}, "what was left to be delivered")
            again.strike(signal.SIGTERM)
            again.ended()
        where = ["--store", url, "--dir", stage.dir, "--blobs", s3.url(place)]
        assert gossamer("verify", *where).out.startswith("no problems")


def test_no_worker_joins_while_a_repair_holds_the_crawl(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url, crawl(tmp_path, url, s3.url(place_of(tmp_path)), 0) as (stage, (only,)):
        wait_until(lambda: len(epochs(url)) == 1, "a worker")
        only.strike(signal.SIGTERM)
        only.ended()

        with hold_crawl(CrawlLocation(stage.dir, s3.url(place_of(tmp_path)), url)):
            refused = join(stage, url, "worker-1").ended()
            assert refused.status == 1 and "is being repaired or changed by another process" in refused.err
            assert epochs(url) == {}
        with join(stage, url, "worker-1") as later:
            wait_until(lambda: "worker-1" in epochs(url) or not later.runs, "it to join")
            assert later.runs, later.ended()


def test_a_repair_deletes_nothing_that_was_committed_or_put_by_a_worker_meanwhile(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(tmp_path)
    storage = ObjectStorage(s3.url(place))
    orphan, committed, to_come = (f"{epoch}/00000001.warc.gz" for epoch in (77, 78, 79))
    with postgres_databases.one() as url, crawl(tmp_path, url, s3.url(place), 0) as (stage, (only,)):
        wait_until(lambda: objects_in(s3, place), "an object")
        only.strike(signal.SIGTERM)
        only.ended()
        storage.put(orphan, b"left by a worker that is dead")
        listed = ObjectArchive.files

        def files(archive: ObjectArchive) -> list[str]:
            """As if a worker had got past the refusal: it commits between the look at the rows and the deletion."""
            for name in (committed, to_come):
                storage.put(name, b"")
            with psycopg.connect(url, autocommit=True) as server:
                server.execute("INSERT INTO warc_files (name, committed) VALUES (%s, 0)", (committed,))
                server.execute("INSERT INTO fence (epoch) VALUES (79)")
                server.execute("INSERT INTO workers (epoch, name, weight, version) VALUES (79, 'late', 1, '')")
            return listed(archive)

        monkeypatch.setattr(ObjectArchive, "files", files)
        words = ["--repair", "--quiet", "--store", url, "--dir", str(stage.dir), "--blobs", s3.url(place)]
        with ExitStack() as uses:
            parser = argparse.ArgumentParser()
            verify.configure(parser)
            assert verify.run(parser.parse_args(words, argparse.Namespace(uses=uses))) == 0

        assert orphan not in storage.names()
        assert {committed, to_come} <= {*storage.names()}


def stop_twice(running: list[Command], stages: list[Path]) -> list[str]:
    """Have workers leave their spools behind. Returns what they print."""
    for each in running:
        each.strike(signal.SIGTERM)
    for each, folder in zip(running, stages, strict=True):
        wait_until(lambda: "spool.waiting" in events_in(folder) or not each.runs, "it to wait")  # noqa: B023
        each.strike(signal.SIGTERM)
    return [each.ended().err for each in running]


def test_spools_of_workers_below_the_directory_are_read_and_others_are_only_given_up_on_request(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    with (
        FailingStorage(s3) as storage,
        postgres_databases.one() as url,
        crawl(tmp_path, url, storage.url(place), 1) as (stage, running),
    ):
        spool = stage.dir / "worker-1" / "spool"
        wait_until(lambda: len(epochs(url)) == 2 and objects_in(s3, place), "two workers and an object")
        storage.fail("cut")
        wait_until(lambda: spool_of(stage) and Spool(spool, 1).entries(), "objects in both spools")
        stop_twice(running, [stage.dir, stage.dir / "worker-1"])
        left = {entry.name for entry in Spool(spool, 1).entries()}
        everywhere = left | {*spool_of(stage)}
        assert left and everywhere - left

        where = ["--store", url, "--dir", stage.dir, "--blobs", s3.url(place)]
        verified = gossamer("verify", *where)
        assert verified.status == 0 and verified.out.startswith("no problems"), verified.out + verified.err
        indexed = gossamer("index", "-o", "-", *where)
        files = {json.loads(line.split(" ", 2)[2])["filename"] for line in indexed.out.splitlines()}
        assert indexed.status == 0 and everywhere <= files
        assert f"{len(everywhere)} objects" in gossamer("status", *where).out

        spool.rename(tmp_path / "elsewhere")
        repaired = gossamer("verify", "--repair", *where)
        assert repaired.status == 1
        assert f"file_spooled ({len(left)})" in repaired.out and "--lost-spools" in repaired.out
        found = gossamer("verify", *where, "--json").report
        with psycopg.connect(url) as server:
            waiting = "SELECT count(*) FROM captures c JOIN warc_files f ON f.id = c.warc_file WHERE f.name = ANY(%s)"
            assert server.execute(waiting, (list(left),)).fetchone() == (found["spooled"],)
        assert isinstance(found["problems"], dict) and list(found["problems"]) == ["file_spooled"]

        given_up = gossamer("verify", "--repair", "--lost-spools", *where)
        assert given_up.status == 0 and "queued again" in given_up.out, given_up.out
        assert gossamer("verify", *where).out.startswith("no problems")

        (tmp_path / "elsewhere").rename(spool)
        storage.fail(None)
        with Command(*stage.command) as first, join(stage, url, "worker-1") as second:
            wait_until(
                lambda: not (left & {entry.name for entry in Spool(spool, 1).entries()}), "the spool to be empty"
            )
            wait_until(lambda: not spool_of(stage) or not first.runs, "what was left to be delivered")
            wait_until(lambda: partitions(url).get("worker-1", 0) > 0 or not second.runs, "the worker to crawl")
            for each in (first, second):
                each.strike(signal.SIGTERM)
                assert each.ended().status == 128 + signal.SIGTERM
        assert not left & {*objects_in(s3, place)}
        assert gossamer("verify", *where).out.startswith("no problems")


def test_what_waits_in_the_spool_of_a_living_worker_elsewhere_is_no_problem(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    with (
        FailingStorage(s3) as storage,
        postgres_databases.one() as url,
        crawl(tmp_path, url, storage.url(place), 0) as (stage, (first,)),
    ):
        elsewhere = ["--store", url, "--dir", tmp_path / "another machine", "--blobs", s3.url(place), "--json"]
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail("cut")
        wait_until(lambda: spool_of(stage), "objects in the spool")
        assert first.runs
        running = gossamer("verify", *elsewhere)
        assert running.status == 0, running.out
        assert running.report["on_the_way"] != 0 and running.report["spooled"] == 0

        first.kill()
        with Command(*stage.command) as second:  # what the first life has left is the next one's to deliver
            wait_until(lambda: events_in(stage.dir).count("crawl.started") == 2 or not second.runs, "it to crawl")
            again = gossamer("verify", *elsewhere)
            assert again.status == 0, again.out
            assert again.report["on_the_way"] != 0
            stop_twice([second], [stage.dir])
        stopped = gossamer("verify", *elsewhere)
        assert stopped.status == 1
        assert stopped.report["on_the_way"] == 0 and stopped.report["spooled"] != 0


@pytest.mark.parametrize("how", ["crawl --workers", "worker", "serve"])
def test_every_command_says_which_spools_it_leaves(
    how: str, tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    with FailingStorage(s3) as storage, postgres_databases.one() as url, ExitStack() as opened:
        options: list[object] = [*SLOW, "--store", url, "--unsafe-store", "--blobs", storage.url(place)]
        stage = opened.enter_context(scene(tmp_path, WEB, options, TOML))
        match how:
            case "serve":
                words = [word for word in stage.command[1:] if word != "--quiet"]
                running, folders = [Command("serve", *words, "--port", 0)], [stage.dir]
            case "worker":
                running = opened.enter_context(workers(stage, url, 1))[1:]
                folders = [stage.dir / "worker-1"]
            case _:
                running = [Command(*stage.command, "--workers", 2)]
                folders = [stage.dir / "worker-1", stage.dir / "worker-2"]
        for each in running:
            opened.enter_context(each)
        wait_until(lambda: objects_in(s3, place), "the first object")
        storage.fail("cut")
        spools = [folder / "spool" for folder in folders]
        wait_until(lambda: all(Spool(spool, 1).entries() for spool in spools), "objects in the spools")
        (process,) = running
        process.strike(signal.SIGTERM)
        for folder in folders:
            wait_until(lambda: "spool.waiting" in events_in(folder) or not process.runs, "it to wait")  # noqa: B023
        process.strike(signal.SIGTERM)

        said = process.ended().err.splitlines()

        with psycopg.connect(url) as server:
            waiting = "SELECT count(*) FROM captures c JOIN warc_files f ON f.id = c.warc_file WHERE f.name = ANY(%s)"
            for spool in spools:
                names = [entry.name for entry in Spool(spool, 1).entries()]
                (captures,) = server.execute(waiting, (names,)).fetchone() or (0,)
                (line,) = [line for line in said if line.endswith(f"they are in {spool}")]
                assert line.startswith(f"gossamer: {captures} capture")


def test_a_repair_on_a_server_has_missing_and_damaged_captures_fetched_again(
    tmp_path: Path, s3: S3Server, postgres_databases: PostgresDatabases
) -> None:
    place = place_of(tmp_path)
    storage = ObjectStorage(s3.url(place))
    with postgres_databases.one() as url:
        options: list[object] = ["--store", url, "--unsafe-store", "--blobs", s3.url(place)]
        with scene(tmp_path, WEB, options, TOML) as stage:
            ended = gossamer(*stage.command)
            assert ended.status == 0, ended.err
            where = ["--store", url, "--dir", stage.dir]
            missing, damaged, *whole = sorted(objects_in(s3, place))
            lost = {str(page["url"]) for page in stage.pages() if page["warc_file"] == missing}
            storage.delete(missing)
            data = storage.get(damaged)
            storage.put(damaged, data[:1000] + bytes(len(data) - 1000))

            found = gossamer("verify", *where, "--json")
            assert found.status == 1
            assert isinstance(found.report["problems"], dict)
            assert {"file_missing", "record_lost", "record_damaged"} <= found.report["problems"].keys()
            repaired = gossamer("verify", "--repair", *where, "--json")
            assert repaired.status == 0, repaired.out
            queued = {str(page["url"]) for page in stage.pages() if page["state"] == "queued"}
            assert lost and lost < queued and len(queued) == repaired.report["queued_again"]
            assert gossamer("verify", *where).out.startswith("no problems")
            with psycopg.connect(url) as server:
                assert server.execute("SELECT generation FROM crawl").fetchone() == (2,)

            again = gossamer(*stage.command)
            assert (again.status, again.report["finished"]) == (0, True), again.err
            assert gossamer("verify", *where).out.startswith("no problems")
            check_outcomes(ground_truth(stage.web.web()), stage.pages())
            assert {*whole} < {*objects_in(s3, place)} and missing not in objects_in(s3, place)
    asked = Counter(f"http://{request.host}{request.target}" for request in page_requests(stage.web.requests()))
    assert all(asked[re.sub(r":[0-9]+/", "/", page)] == 2 for page in queued)
