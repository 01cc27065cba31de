"""Workers that join a crawl whose last workers were killed, and others that want the name of a living one."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import Command, gossamer, wait_until
from tests.integration.small_server import NOTHING, Answer, SmallServer, links, page

pytestmark = pytest.mark.service

TTL = 1.0
PAGES = [f"/page-{n}" for n in range(1000)]


def site(path: str, before: int) -> Answer:
    if path == "/robots.txt":
        return NOTHING
    return links(*PAGES) if path == "/" else page(path)


class Stage(NamedTuple):
    """A site, and the options of those who crawl it."""

    url: str
    seed: str
    folder: Path
    running: ExitStack
    asked: list[object]

    @property
    def where(self) -> list[object]:
        return ["--store", self.url, "--unsafe-store"]

    def options(self, ttl: float = TTL) -> list[object]:
        settings = self.folder / "gossamer.toml"
        settings.write_text(f"[cluster]\nttl = {ttl}\n[politeness]\nmax_adaptive_delay = 0.0\n")
        return [*self.where, "--config", settings, "--allow-private", "--delay", 0.1, "--json"]

    def begin(self, directory: str, *options: object, ttl: float = TTL) -> Command:
        """A crawl that has fetched pages."""
        command = Command("crawl", self.seed, *self.options(ttl), "--dir", self.folder / directory, *options)
        return self._fetching(self.running.enter_context(command))

    def join(self, directory: str, *options: object) -> Command:
        """A worker that has fetched pages."""
        command = Command("worker", *self.where, "--dir", self.folder / directory, *options)
        return self._fetching(self.running.enter_context(command))

    def _fetching(self, command: Command) -> Command:
        before = len(self.asked)
        wait_until(lambda: len(self.asked) > before + 3 or not command.runs, "pages")
        assert command.runs, command.ended().err
        return command

    def tell(self, statement: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as server:
            server.execute(statement)

    def ask(self, question: str) -> list[Any]:
        with psycopg.connect(self.url) as server:
            return [value for (value,) in server.execute(question).fetchall()]


@contextmanager
def stage(folder: Path, databases: PostgresDatabases) -> Iterator[Stage]:
    with ExitStack() as running, databases.blank() as url:
        server = running.enter_context(SmallServer(site))
        # The commands end before the database goes.
        commands = running.enter_context(ExitStack())
        yield Stage(url, f"{server.base}/", folder, commands, server.asked)  # type: ignore[arg-type]


def test_a_worker_takes_the_name_of_one_that_was_killed_on_another_machine(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first").kill()
        crawl.join("second", "--name", "same").kill()

        again = crawl.join("third", "--name", "same")

        again.process.terminate()
        said = again.ended().err
    assert "waiting for a heartbeat of same, for 1.2 seconds at most" in said


def test_a_worker_takes_the_name_of_one_that_has_left_on_another_machine(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Its files are elsewhere, and are not missed. Nor are those of the second one when the first comes back."""
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first").kill()
        for directory in ("second", "third", "second"):
            worker = crawl.join(directory, "--name", "same", "--quiet")
            worker.process.terminate()
            assert worker.ended().status == 143

        archives = {each: list((tmp_path / each / "warc").glob("gossamer-same-*")) for each in ("second", "third")}
    assert [len(files) for files in archives.values()] == [1, 1]


def test_the_name_of_a_living_worker_is_refused_and_the_message_says_where_it_runs(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first").kill()
        living = crawl.join("second", "--name", "same")

        refused = gossamer("worker", *crawl.where, "--dir", tmp_path / "third", "--name", "same", "--quiet")

        assert refused.status != 0
        assert f"same (process {living.process.pid} on {os.uname().nodename})" in refused.err
        assert crawl.url.rpartition("/")[2].partition("?")[0] in refused.err
        assert "--name" in refused.err
        assert living.runs


def test_a_crawl_whose_workers_were_killed_begins_again_with_another_order(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Also if they had been told to stop: what begins is another run."""
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first").kill()
        crawl.join("second").kill()
        crawl.tell("UPDATE crawl SET state = 'stopped'")

        again = crawl.begin("third", "--order", "bfs")

        refused = gossamer("crawl", crawl.seed, *crawl.options(), "--dir", tmp_path / "fourth", "--order", "dfs")
        assert "the workers of this crawl use bfs" in refused.err
        assert f"(process {again.process.pid} on {os.uname().nodename})" in refused.err


def test_all_workers_have_leases_of_the_same_duration_until_the_crawl_starts_again(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    leases = "SELECT (stats::jsonb ->> 'lease')::float8 FROM workers WHERE state = 'active' AND stats <> '{}'"
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first", ttl=5.0)

        other = crawl.running.enter_context(Command("crawl", *crawl.options(0.5), "--dir", tmp_path / "second"))

        wait_until(lambda: sum(lease > 0.6 for lease in crawl.ask(leases)) == 2 or not other.runs, "two leases")
        other.process.terminate()
        assert "cluster.ttl = 0.5 is ignored: the workers of this crawl use 5" in other.ended().err
        assert crawl.ask("SELECT ttl FROM crawl") == [5.0]


def test_a_worker_is_declared_dead_only_after_the_silence_that_its_crawl_requires(
    tmp_path: Path, postgres_databases: PostgresDatabases
) -> None:
    """Also by a command that changes the crawl, which has no configuration."""
    ttl = 11.0
    with stage(tmp_path, postgres_databases) as crawl:
        crawl.begin("first", ttl=ttl).kill()
        began = time.monotonic()

        done = gossamer("dead", "requeue", *crawl.where[:2], "--dir", tmp_path / "first")

        assert (done.status, crawl.ask("SELECT state FROM workers")) == (0, ["dead"]), done.err
        assert time.monotonic() - began >= 1.2 * ttl
        crawl.begin("first")
        assert crawl.ask("SELECT ttl FROM crawl") == [TTL]
