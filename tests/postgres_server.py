"""A private PostgreSQL: a server of its own for the tests that need one, which may kill it and start it again.

It listens on a Unix socket in its own folder below the system's temporary folder, to which only its user has access,
and on no port. PostgreSQL refuses to run as root; then it runs as `postgres` or `nobody`. It ends with the test
process, however that ends. Debian's package is installed where PostgreSQL is missing.
"""

import ctypes
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from tests.debian import apt, only_one
from tests.integration.crawl_process import wait_until

OLDEST = 15
"""The oldest major version that a crawl can use."""
PATIENCE = 600.0
"""Seconds after which a server is taken for hanging. No test measures time by it."""
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # tests kill the server, not the machine: what it has written survives, and it restarts in 0.1 s
    "max_connections": "100",
    "shared_buffers": "32MB",
    "autovacuum_naptime": "5s",
    "log_min_messages": "warning",
    "lc_messages": "C",
}
_PR_SET_PDEATHSIG = 1


@cache
def binaries() -> Path:
    """The folder of `postgres`, `initdb` and the others. One process at a time installs them; the others wait."""
    if _installed() is None:
        with only_one():
            if _installed() is None:
                _install()
    if (found := _installed()) is None:
        raise RuntimeError(f"apt has installed postgresql, but there is no PostgreSQL {OLDEST} or newer")
    return found


def _installed() -> Path | None:
    """The newest of Debian's versions, else the one on the path."""
    versions = Path("/usr/lib/postgresql")
    found = [place for place in versions.glob("*/bin") if (place / "postgres").exists() and _major(place) >= OLDEST]
    if found:
        return max(found, key=_major)
    program = shutil.which("postgres")
    return None if program is None else Path(program).resolve().parent


def _major(place: Path) -> int:
    return int(place.parent.name) if place.parent.name.isdigit() else 0


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


def _user() -> pwd.struct_passwd | None:
    """As whom the server runs; None: as the user of the tests."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise RuntimeError("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


class PostgresServer:
    """One server with its files. `start`, `kill` and `stop` are called from one thread, which outlives the server."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.folder = folder
        """Of its socket; its files are in `data` below."""
        self._settings = {**_SETTINGS, **settings, "unix_socket_directories": str(folder)}
        self._user = _user()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        if self._user is not None:
            os.chown(folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "--no-sync", "--auth=trust", "--username=gossamer", "--encoding=UTF8", "--locale=C", "data")

    def url(self, database: str = "postgres") -> str:
        """Address of a database, for libpq and its drivers."""
        return f"postgresql://gossamer@/{database}?host={self.folder}"

    def create_database(self) -> str:
        """A new, empty database; returns its address."""
        name = f"crawl_{next(self._numbers)}"
        self._run("createdb", "--host", str(self.folder), "--username=gossamer", name)
        return self.url(name)

    def start(self) -> None:
        """Start the server, also after it was killed, and wait until it accepts connections."""
        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "server.log", "ab") as log:
            self._process = self._child("postgres", "-D", "data", *settings, log=log.fileno())
        wait_until(self._is_ready, "the server to accept connections", PATIENCE)

    def _is_ready(self) -> bool:
        """As `pg_ctl` does: the eighth line of its lock file says so, and the first whose it is."""
        assert self._process is not None
        if (ended := self._process.poll()) is not None:
            raise RuntimeError(f"postgres has ended with {ended}:\n{self.log()[-2000:]}")
        with suppress(FileNotFoundError):
            lines = (self.folder / "data" / "postmaster.pid").read_text().splitlines()
            return lines[:1] == [str(self._process.pid)] and [line.strip() for line in lines[7:8]] == ["ready"]
        return False

    def kill(self) -> None:
        """kill -9 of all its processes, as when the machine fails. Its files stay as they are."""
        assert self._process is not None
        main = self._process.pid
        os.kill(main, signal.SIGSTOP)  # so that it starts no further processes meanwhile
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
        os.kill(main, signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._process = None
        # Until the last of them is gone, the memory that they share is in use, and no server starts.
        wait_until(lambda: not any(_is_running(child) for child in children), "the killed server to end", PATIENCE)

    def stop(self) -> None:
        """End the server at once: sessions are cut off, transactions in progress are lost."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(PATIENCE)
            self._process = None

    def log(self) -> str:
        """What the server has logged so far."""
        return (self.folder / "server.log").read_text(errors="replace")

    def _run(self, program: str, *words: str) -> None:
        done = self._child(program, *words, log=subprocess.PIPE)
        said, _ = done.communicate(timeout=PATIENCE)
        if done.returncode:
            raise RuntimeError(f"{program}: {said.decode(errors='replace').strip()}")

    def _child(self, program: str, *words: str, log: int) -> subprocess.Popen[bytes]:
        user = self._user
        return subprocess.Popen(
            [str(binaries() / program), *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=_end_with_parent,
            user=None if user is None else user.pw_uid,
            group=None if user is None else user.pw_gid,
            extra_groups=None if user is None else [],
        )


def _is_running(pid: str) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    return False


def _end_with_parent() -> None:
    """In the child: Linux sends it SIGQUIT, an immediate shutdown, when the thread ends that has started it."""
    os.setpgid(0, 0)  # a key pressed in the terminal is for the tests
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


@contextmanager
def running_postgres(settings: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server that runs, with `settings` of postgresql.conf in addition to our own. Nothing is left behind."""
    folder = Path(tempfile.mkdtemp(prefix="gossamer-postgres-"))
    try:
        server = PostgresServer(folder, settings or {})
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
