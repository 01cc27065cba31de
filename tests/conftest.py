"""Set-up that all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.s3_keys import KEYS

if TYPE_CHECKING:
    from tests.backends.postgres.postgres_databases import PostgresDatabases
    from tests.postgres_server import PostgresServer
    from tests.s3_server import S3Server

TESTS = Path(__file__).parent
HOSTILE = TESTS / "hostile"

os.environ |= KEYS  # here, so that every process of the tests has them

# The same examples in every run, and none is judged by how long it takes. `make soak` looks for others.
settings.register_profile("fixed", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("searching", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fixed")

# Files are given to workers one by one, in order. Those that take longest begin first, so that no worker is left alone
# with one at the end (`make test`); then other whole crawls, which mostly wait; then what only computes.
LONGEST = (
    *(
        "test_dashboard_browser",
        "test_private_crawl",
        "test_generated_calls",
        "test_slow_stages",
    ),
    *("test_dashboard_health_browser", "test_dns_outage", "test_hostile_robots", "test_hostile_redirects"),
    *("test_full_disk", "test_trap_crawl", "test_politeness", "test_real_graph", "test_keep_fresh"),
    *("test_slow_surroundings", "test_dashboard_lists_browser", "test_wrong_use"),
    *("test_tutorial", "test_verify", "test_extras", "test_layering", "test_widening", "test_serve_overrides"),
    *("test_policy_orders", "test_proxy_outage", "test_kill_nine", "test_limits", "test_whole_orders"),
    *("test_postgres_crawl", "test_shared_crawl", "test_faults", "test_object_crawl", "test_cache_outage"),
    *("test_hostile_rate", "test_changing_rules", "test_host_sections", "test_service_load", "test_orderings"),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.has_plugin("randomly"):
        return  # any order will do
    places = {name: place for place, name in enumerate(LONGEST)}
    crawls = {item.path for item in items if item.get_closest_marker("service")}

    def place(item: pytest.Item) -> int:
        return places.get(item.path.stem, len(LONGEST) + (item.path not in crawls))

    items.sort(key=place)


@pytest.fixture(scope="session")
def postgres_databases(postgres_server: "PostgresServer") -> "Iterator[PostgresDatabases]":
    """Databases with the tables of a new crawl, on the server that the tests of a process share."""
    from gossamer.backends.postgres import address
    from tests.backends.postgres.postgres_databases import PostgresDatabases

    address.IDLE_SECONDS = 120.0  # of this process: a busy machine may keep a test waiting
    made = PostgresDatabases(postgres_server)
    yield made
    made.close()


@pytest.fixture
def server_path(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As `tmp_path`, for crawls with a private server: one of root can reach it, and its programs are on the PATH."""
    from tests.postgres_server import binaries, bury_orphans, open_folder

    monkeypatch.setenv("PATH", f"{binaries()}{os.pathsep}{os.environ['PATH']}")
    with open_folder() as folder:
        yield folder
    bury_orphans()


@pytest.fixture(scope="session")
def s3() -> "Iterator[S3Server]":
    """An S3 server that the tests of a process share."""
    from tests.s3_server import s3_server

    with s3_server() as server:
        yield server


@pytest.fixture(autouse=True)
def rules_of_the_hostile_web(request: pytest.FixtureRequest) -> Iterator[None]:
    """What must hold around every hostile case, whoever wrote it (tests/hostile/survival.py)."""
    if request.path.parent != HOSTILE:
        yield
        return
    from tests.hostile.survival import surviving

    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    with surviving(folder):
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Iterator["PostgresServer"]:
    """A PostgreSQL for all tests of this process, each of which creates its own database. Not to be killed."""
    from tests.postgres_server import running_postgres

    with running_postgres() as server:
        yield server
