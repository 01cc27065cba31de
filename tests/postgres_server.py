"""A private PostgreSQL: a server of its own for the tests that need one, which may kill it and start it again.

It is a private server of Gossamer in a folder below the system's temporary folder. Debian's package is installed where
PostgreSQL is missing.
"""

import itertools
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import psycopg

from gossamer.backends.postgres.private_server import PrivateServer
from gossamer.backends.postgres.server_programs import binary_places, choose_binaries
from gossamer.errors import UsageError
from tests.debian import apt, only_one
from tests.integration.crawl_process import wait_until

PATIENCE = 600.0
"""Seconds after which a server is taken for hanging. No test measures time by it."""
SETTINGS = {
    "fsync": "off",  # tests kill the server, not the machine: what it has written survives, and it restarts in 0.1 s
    "max_connections": "100",
    "shared_buffers": "32MB",
    "autovacuum_naptime": "5s",
}


@cache
def binaries() -> Path:
    """The folder of `postgres`, `initdb` and the others: Debian's, since the wheel is what users fall back to. One
    process at a time installs them; the others wait."""
    with suppress(UsageError):
        return _installed()
    with only_one():
        with suppress(UsageError):
            return _installed()
        _install()
    return _installed()


def _installed() -> Path:
    return choose_binaries([place for place in binary_places() if "site-packages" not in place.parts]).folder


def _install() -> None:
    command = ("install", "-y", "--no-install-recommends", "postgresql")
    try:
        try:
            apt(*command)
        except RuntimeError:
            apt("update")  # a new machine knows no packages yet
            apt(*command)
    except RuntimeError as error:
        raise RuntimeError(
            "the tests of the PostgreSQL backend need Debian's postgresql, and apt cannot install it "
            f"(`apt-get install postgresql` by hand will do): {error}"
        ) from error


class PostgresServer:
    """One server with its files."""

    def __init__(self, server: PrivateServer) -> None:
        self.folder = server.folder
        """Of its socket; its files are in `data` below."""
        self._server = server
        self._numbers = itertools.count(1)

    def url(self, database: str = "postgres") -> str:
        """Address of a database, for libpq and its drivers."""
        return self._server.url_of(database)

    def create_database(self) -> str:
        """A new, empty database; returns its address."""
        name = f"crawl_{next(self._numbers)}"
        with psycopg.connect(self.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}".encode())
        return self.url(name)

    def start(self) -> None:
        """Start the server, also after it was killed, and wait until it accepts connections."""
        self._server.start()

    def kill(self) -> None:
        """kill -9 of all its processes, as when the machine fails. Its files stay as they are."""
        kill_server(self._server.pid)

    def log(self) -> str:
        """What the server has logged so far."""
        return (self.folder / "server.log").read_text(errors="replace")


def kill_server(main: int) -> None:
    """kill -9 of all processes of a server, and wait until they are gone."""
    os.kill(main, signal.SIGSTOP)  # so that it starts no further processes meanwhile
    children = [int(child) for child in Path(f"/proc/{main}/task/{main}/children").read_text().split()]
    for each in (*children, main):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, (*children, main))), "the killed server to end", PATIENCE)


def is_running(pid: int) -> bool:
    """Whether a process runs: a zombie does not."""
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def bury_orphans() -> None:
    """Wait for processes that have ended with a session of their own, and whose parents are gone: keepers of servers,
    and workers. They become ours (tests/integration/fork_client.py)."""
    for task in os.listdir("/proc/self/task"):
        for child in map(int, Path(f"/proc/self/task/{task}/children").read_text().split()):
            with suppress(FileNotFoundError, ProcessLookupError, ChildProcessError):
                about = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                if about[0] == "Z" and int(about[3]) == child:  # state, session
                    os.waitpid(child, 0)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder below the system's temporary folder that all users may enter, as the server of root has to. It is
    removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-postgres-"))
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_postgres(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server that runs, with `settings` of postgresql.conf in addition to our own. Nothing is left behind."""
    with open_folder() as folder:
        server = PrivateServer(folder, places=[binaries()], settings={**SETTINGS, **(settings or {})})
        try:
            server.start()
            yield PostgresServer(server)
        finally:
            server.close()
