"""Tables of an older schema: nobody uses them until `gossamer migrate` has brought them up to date."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from gossamer.backends.postgres.tables import PostgresTables
from gossamer.errors import DirectoryInUse, OldSchema
from gossamer.model.units import Seconds
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import gossamer

pytestmark = pytest.mark.service

TO_SCHEMA_2 = """
ALTER TABLE crawl ADD COLUMN kept_open boolean NOT NULL DEFAULT false;
ALTER TABLE crawl DROP COLUMN kept_open_until;
ALTER TABLE workers DROP COLUMN rules_version;
ALTER TABLE crawl DROP COLUMN ttl;
UPDATE schema_version SET version = 2
"""
COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'public' ORDER BY table_name, column_name
"""


def test_an_older_schema_is_refused_until_it_is_migrated_and_then_equals_a_new_one(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url, postgres_databases.one() as new:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(TO_SCHEMA_2)

        joined = gossamer("worker", "--store", url, "--unsafe-store", "--dir", tmp_path)
        assert joined.status == 1
        assert "has schema 2, of an older Gossamer, and this one uses schema 4" in joined.err
        assert "run gossamer migrate --store postgresql://" in joined.err
        checked = gossamer("migrate", "--store", url, "--check")
        assert (
            checked.status,
            checked.out.endswith("has schema 2, and this Gossamer uses schema 4: 2 migrations to run\n"),
        ) == (
            1,
            True,
        )

        migrated = gossamer("migrate", "--store", url)
        assert (migrated.status, "is migrated from schema 2 to 4" in migrated.out) == (0, True), migrated.err
        again = gossamer("migrate", "--store", url, "--check")
        assert (again.status, "nothing to do" in again.out) == (0, True)
        with psycopg.connect(url) as one, psycopg.connect(new) as other:
            assert one.execute(COLUMNS).fetchall() == other.execute(COLUMNS).fetchall()


def test_the_duration_of_leases_is_taken_from_the_configuration_of_the_crawl(
    postgres_databases: PostgresDatabases,
) -> None:
    with postgres_databases.one() as url, psycopg.connect(url, autocommit=True) as db:
        db.execute(TO_SCHEMA_2)
        db.execute("""INSERT INTO facts (name, value) VALUES ('config', '{"cluster": {"ttl": 7.5}}')""")
        session = PostgresTables(url, unsafe=True).open_session(Seconds(5.0))
        with closing(session):
            assert session.fetch_value("lease_time_of_any_schema") == 7.5

        PostgresTables(url, unsafe=True).migrate()

        assert db.execute("SELECT ttl FROM crawl").fetchall() == [(7.5,)]


def test_nothing_is_migrated_while_a_worker_is_alive(postgres_databases: PostgresDatabases) -> None:
    with postgres_databases.one() as url:
        tables = PostgresTables(url, unsafe=True)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(TO_SCHEMA_2)
            db.execute("INSERT INTO fence (epoch) VALUES (1)")
            db.execute("INSERT INTO workers (epoch, name, weight, version) VALUES (1, 'w1', 1, '0')")
            with pytest.raises(DirectoryInUse, match=r"in use by workers \(w1\); stop them first"):
                tables.migrate()
            with pytest.raises(OldSchema):
                tables.open_reader()
            db.execute("UPDATE fence SET alive = false")
            assert tables.migrate() == [3, 4]
        tables.open_reader().close()
