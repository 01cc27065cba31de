"""Workers that share a crawl and a cache: a link that one has sent to its owner is not sent by the others, and whatever
happens to the cache, pages and in-links are those of one worker with SQLite."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest

from gossamer.lab.simweb.run import SimwebProcess
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.integration.crawl_process import RETRY, Command, Scene, answered, gossamer, scene, small_web, wait_until
from tests.integration.shared_crawls import partitions
from tests.integration.test_shared_crawl import OPTIONS, TTL, check_whole, facts, violations, workers
from tests.redis_server import RedisServer, running_redis

pytestmark = pytest.mark.service

OTHERS = 2
PAGES = 240
WAITS = "[cache]\ntimeout = 30.0\n"
"""A busy machine is no reason to do without the cache."""


class Alone(NamedTuple):
    """What one worker with SQLite finds."""

    web: SimwebProcess
    pages: dict[str, tuple[object, ...]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alone]:
    web = small_web(
        seed=15, hosts=16, pages=PAGES, fault_rate=0.0, crawl_delay_seconds=0.0, external_links=0.5, duplicate_rate=0.0
    )
    with scene(tmp_path_factory.mktemp("alone"), web, OPTIONS) as stage:
        assert gossamer(*stage.command).report["finished"] is True
        yield Alone(stage.web, {str(page["url"]): facts(page) for page in stage.pages()})


@contextmanager
def watched_inbox(url: str) -> Iterator[Counter[str]]:
    """How often each URL was sent, after the block."""
    sent: Counter[str] = Counter()
    with psycopg.connect(url, autocommit=True) as server:
        server.execute("CREATE TABLE watched (body bytea)")
        server.execute(
            "CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN INSERT INTO watched VALUES (NEW.body); RETURN NULL; END$$"
        )
        server.execute(
            "CREATE TRIGGER watch AFTER INSERT ON inbox FOR EACH ROW WHEN (NEW.kind = 'urls') EXECUTE FUNCTION watch()"
        )
        yield sent
        for (body,) in server.execute("SELECT body FROM watched"):
            sent.update(str(found[0]) for found in json.loads(body))
        server.execute("DROP TRIGGER watch ON inbox")
        server.execute("DROP FUNCTION watch")
        server.execute("DROP TABLE watched")


def crawl(
    folder: Path, alone: Alone, url: str, server: RedisServer | None, fault: str | None = None
) -> tuple[Scene, Counter[str]]:
    """A whole crawl by several workers, which has the pages and in-links of one worker; and what they have sent."""
    options: list[object] = [*OPTIONS, "--store", url, "--unsafe-store"]
    options += ["--cache", server.url] if server is not None else []
    toml = RETRY + TTL + (WAITS if server is not None and fault is None else "")
    stage = Scene(folder, alone.web, options, toml)
    with watched_inbox(url) as sent, ExitStack() as opened:
        with psycopg.connect(url) as holder:
            # No address can be taken, and so no page be fetched, until every worker has its partitions.
            holder.execute("LOCK TABLE gates IN EXCLUSIVE MODE")
            running = opened.enter_context(workers(stage, url, OTHERS))
            wait_until(lambda: all_own(url) or not running[0].runs, "partitions of all workers")
        if server is not None and fault is not None:
            suffer(fault, server, stage, running[0])
        ended = [each.ended() for each in running]
        assert [each.err[-2000:] for each in ended if each.status] == []
        assert ended[0].report["finished"] is True
    assert {str(page["url"]): facts(page) for page in check_whole(stage)} == alone.pages
    assert violations(stage) == []
    return stage, sent


def all_own(url: str) -> bool:
    owned = partitions(url)
    return len(owned) > OTHERS and min(owned.values()) > 0


def suffer(fault: str, server: RedisServer, stage: Scene, first: Command) -> None:
    """The server is killed and started again, or emptied, several times during the crawl."""
    begun = answered(stage.log)
    for number in range(1, 4):
        wait_until(lambda: answered(stage.log) > begun + 25 * number or not first.runs, "pages")  # noqa: B023
        if fault == "emptied":
            server.client().flushall()
        elif server.runs:
            server.kill()
        else:
            server.start()


def repeats(sent: Counter[str]) -> int:
    return sum(sent.values()) - len(sent)


def test_links_that_another_worker_has_sent_are_not_sent_again(
    tmp_path: Path, alone: Alone, postgres_databases: PostgresDatabases
) -> None:
    with postgres_databases.one() as url:
        _, without = crawl(tmp_path / "without", alone, url, None)
    with running_redis(tmp_path / "redis") as server, postgres_databases.one() as url:
        _, cached = crawl(tmp_path / "cached", alone, url, server)
        keys = [key.split(b":", 4) for key in server.client().scan_iter(b"gossamer:*", count=1000)]
    assert repeats(without) > 20
    assert repeats(cached) < repeats(without)
    keys = [parts for parts in keys if len(parts) == 5]  # without the marker
    scopes = {tuple(parts[1:4]) for parts in keys}
    assert len(scopes) == 1, "one crawl, one generation, the same rules in all workers"
    assert {parts[4][:1] for parts in keys} >= {b"s", b"d"}


def test_the_list_of_workers_shows_what_is_wrong_with_their_cache(
    tmp_path: Path, alone: Alone, postgres_databases: PostgresDatabases
) -> None:
    with running_redis(tmp_path / "redis") as server, postgres_databases.one() as url:
        options = [*OPTIONS, "--store", url, "--unsafe-store", "--cache", server.url, "--delay", 1.0]
        stage = Scene(tmp_path / "shared", alone.web, options, RETRY + TTL)

        def caches() -> set[object]:
            return {each["cache"] for each in gossamer("workers", "--store", url, "--json").lines}

        with workers(stage, url, OTHERS) as running:
            wait_until(lambda: caches() == {"in use"}, "workers with a cache")
            server.client().config_set("maxmemory", 1)
            wait_until(lambda: caches() == {"out_of_memory"} or not running[0].runs, "the fault")
            listed = gossamer("workers", "--store", url).out.splitlines()
            column = slice(listed[0].index("CACHE"), listed[0].index("MACHINE"))
            assert [line[column].strip() for line in listed[1:]] == ["out of memory"] * (1 + OTHERS)
            server.client().config_set("maxmemory", 0)
            wait_until(lambda: caches() == {"in use"} or not running[0].runs, "the end of the fault")
            assert running[0].runs


@pytest.mark.parametrize("fault", ["emptied", "killed"])
def test_workers_find_the_same_whatever_happens_to_their_cache(
    tmp_path: Path, alone: Alone, postgres_databases: PostgresDatabases, fault: str
) -> None:
    with running_redis(tmp_path / "redis") as server, postgres_databases.one() as url:
        crawl(tmp_path / "shared", alone, url, server, fault)
