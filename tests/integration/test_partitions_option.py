"""`--partitions N`: fixed when a crawl on PostgreSQL is created."""

from pathlib import Path

import psycopg
import pytest

from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import RETRY, gossamer, scene, small_web
from tests.integration.test_shared_crawl import OPTIONS, TTL, check_whole, workers

pytestmark = pytest.mark.service


def test_the_number_of_partitions_is_fixed_when_a_crawl_is_created(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    web = small_web(seed=41, duplicate_rate=0.0, hosts=12, pages=120, fault_rate=0.0)
    with postgres_databases.one() as url:
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        options = [*OPTIONS, "--store", url, "--unsafe-store", "--partitions"]
        with scene(tmp_path, web, [*options, 1000], RETRY + TTL) as stage:
            with workers(stage, url, 1) as running:
                assert [each.ended().status for each in running] == [0, 0]
            check_whole(stage)
            with psycopg.connect(url) as server:
                counted = server.execute("SELECT count(*), max(part) FROM partitions").fetchone()
                used = server.execute("SELECT count(DISTINCT id >> 40), max(id >> 40) > 255 FROM domains").fetchone()
            assert counted == (1000, 999)
            assert used is not None and used[0] > 5 and used[1] is True
            other = gossamer(*stage.command, "--partitions", 64)
            assert other.status == 1
            assert "has a crawl with 1000 partitions" in other.err
            again = gossamer("crawl", *stage.resume)
            assert (again.status, again.report["finished"]) == (0, True), again.err
            odd = gossamer(*stage.command, "--partitions", 9000)
            assert odd.status == 2
            assert "--partitions: must be from 1 to 8192" in odd.err
