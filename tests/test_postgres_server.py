"""The private PostgreSQL of the tests."""

import subprocess
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer, binaries, running_postgres

pytestmark = pytest.mark.service


def ask(url: str, statement: str) -> str:
    command = [str(binaries() / "psql"), "-X", "-A", "-t", "-d", url, "-c", statement]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd="/").stdout.strip()


def test_a_killed_server_starts_again_with_all_that_was_committed_and_leaves_nothing_behind() -> None:
    with running_postgres() as server:
        url = server.create_database()
        ask(url, "CREATE TABLE pages (id int)")
        for page in range(2):
            ask(url, f"INSERT INTO pages VALUES ({page})")
            server.kill()
            server.start()

        assert ask(url, "SELECT count(*) FROM pages") == "2"
        assert ask(url, "SHOW listen_addresses") == ""
        folder = server.folder

    assert not folder.exists()
    assert not Path(f"{folder}/.s.PGSQL.5432").exists()


def test_every_database_is_new(postgres_server: PostgresServer) -> None:
    first, second = postgres_server.create_database(), postgres_server.create_database()

    ask(first, "CREATE TABLE pages (id int)")

    assert ask(second, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0"
