"""Backup and restore of a crawl on PostgreSQL and object storage, by the steps in docs/CLUSTER.md."""

import re
import subprocess
from pathlib import Path

import psycopg
import pytest

from gossamer.backends.objects.storage import ObjectStorage
from tests.integration.crawl_checks import page_requests
from tests.integration.crawl_process import RETRY, Scene, gossamer, now, scene, small_web, wait_until
from tests.integration.shared_crawls import join, partitions
from tests.integration.test_object_crawl import check_complete
from tests.integration.test_shared_crawl import OPTIONS, TTL, workers
from tests.postgres_server import PostgresServer, binaries
from tests.s3_server import S3Server

pytestmark = pytest.mark.service

TOML = RETRY + TTL + "[objects]\nlinger = 0.05\n"


def copy_objects(source: ObjectStorage, target: ObjectStorage) -> None:
    """As `aws s3 sync` does."""
    for name in source.names():
        target.put(name, source.get(name))


def run_program(name: str, *arguments: object) -> None:
    """Run one of PostgreSQL's programs. Whatever it complains of fails the test."""
    done = subprocess.run([binaries() / name, *map(str, arguments)], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def stored(stage: Scene) -> set[str]:
    """URLs, without the port."""
    return {re.sub(r":[0-9]+/", "/", str(page["url"])) for page in stage.pages() if page["state"] == "stored"}


def test_a_crawl_that_is_backed_up_while_it_runs_continues_and_verifies_elsewhere(
    tmp_path: Path, postgres_server: PostgresServer, s3: S3Server
) -> None:
    web = small_web(seed=31, duplicate_rate=0.0, hosts=16, pages=200, fault_rate=0.0)
    url, objects, dump = postgres_server.create_database(), ObjectStorage(s3.url("crawls/lost")), tmp_path / "dump"
    saved = ObjectStorage(s3.url("crawls/saved"))
    slowly = ("--delay", 1, "--delay-factor", 0)  # so that it is not over before it is backed up
    options = [*slowly, "--store", url, "--unsafe-store", "--blobs", s3.url("crawls/lost")]
    with scene(tmp_path, web, options, TOML) as lost:
        with workers(lost, url, 1) as running:
            wait_until(lambda: partitions(url).get("worker-1", 0) > 0 or not running[0].runs, "a second worker")
            wait_until(lambda: len([*objects.names()]) > 10 or not running[0].runs, "objects")
            run_program("pg_dump", "--format=custom", f"--file={dump}", url)
            copy_objects(objects, saved)
            assert all(worker.runs for worker in running)
        with psycopg.connect(postgres_server.url(), autocommit=True) as server:
            server.execute(f"DROP DATABASE {psycopg.conninfo.conninfo_to_dict(url)['dbname']} WITH (FORCE)".encode())
        for name in [*objects.names()]:
            objects.delete(name)
        began = now()

        url = postgres_server.create_database()
        run_program("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={url}", dump)
        copy_objects(saved, ObjectStorage(s3.url("crawls/restored")))
        options = [*OPTIONS, "--store", url, "--unsafe-store", "--blobs", s3.url("crawls/restored")]
        restored = Scene(tmp_path / "elsewhere", lost.web, options, TOML)
        where = ["--store", url, "--blobs", s3.url("crawls/restored"), "--dir", restored.dir]
        found = gossamer("verify", "--json", *where).report["problems"]
        assert isinstance(found, dict) and found.keys() <= {"file_unknown"}  # objects that are newer than the dump
        had = stored(restored)
        assert had
        with workers(restored, url, 0) as (first,), join(restored, url, "worker-2") as second:
            ended = [first.ended(), second.ended()]

        assert [each.err for each in ended if each.status] == []
        assert ended[0].report["finished"] is True
        assert gossamer("verify", "--repair", *where).status == 0
        check_complete(restored, s3, "crawls/restored")
        later = [request for request in page_requests(lost.web.requests()) if request.read_at > began]
        asked = {f"http://{request.host}{request.target}" for request in later}
        assert asked and not asked & had
