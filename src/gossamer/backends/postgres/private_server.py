"""A private PostgreSQL server in a crawl's directory: for a crawl by several workers on one machine.

`DIR/postgres` has mode 0700 and contains the socket, `data`, `server.log` and three lock files. The server listens on
no port, and trusts every process that can reach its socket. As root it runs as the owner of `DIR/postgres`, at first
`postgres` or `nobody`.

Any number of processes use the server at the same time. The first one starts it, the last one stops it; a user that
is killed has left. Three locks, all of which the system releases when their holders die, however that happens:

- `door.lock`: held while a user enters or leaves, so that one of them at a time starts or stops the server;
- `users.lock`: shared by all users. The keeper (`server_keeper.py`), the parent of the server, waits for it and then
  stops the server. It has it at once when the last user was killed, and never if users leave in order;
- `server.lock`: inherited by the keeper and by all processes of the server. While it is held, there is a server. The
  file contains the process id of the server.

If the keeper is killed, Linux stops the server. A server that has ended while it was in use is started again by
`PrivateServer.start` of any of its users.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from gossamer.backends.postgres.address import PRIVATE
from gossamer.backends.postgres.server_programs import (
    Account,
    Binaries,
    account_for,
    binary_places,
    choose_binaries,
    run_program,
)
from gossamer.clock import sleep
from gossamer.errors import DirectoryError, DirectoryInUse, NotThisCrawl, ServerHangs, StoreFailed

FOLDER: Final = "postgres"
PATIENCE = 600.0
"""Seconds after which a server that neither starts nor stops is taken for hanging, about."""

_PORT = "5432"
_LONGEST_SOCKET = 103
"""Bytes of a socket's path on all systems (Linux: 107)."""
_LARGE_LOG = 10_000_000
_SETTINGS = """
# For a crawl. Changes take effect when the server is started again.
max_connections = 500  # 64 workers with seven each, and readers
shared_buffers = 128MB
log_min_messages = warning
log_checkpoints = off
"""
_FORCED = {
    "listen_addresses": "",
    "port": _PORT,
    "unix_socket_directories": "..",  # as seen from `data`: never too long, and moves with the directory
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
}


def has_private_server(directory: Path) -> bool:
    """Whether the tables of the crawl in `directory` are those of a private server."""
    return (directory / FOLDER / "data").exists()


def private_url(directory: Path) -> str:
    """The URL of the private server in `directory`, whether it runs or not. Changes nothing."""
    return _url(_address(directory.absolute() / FOLDER), PRIVATE)


@contextmanager
def private_server(
    directory: Path,
    *,
    create: bool = True,
    places: Iterable[Path] | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator["PrivateServer"]:
    """The server of the crawl in `directory`, running: started, or shared with its other users.

    `create`: whether a missing one is created, else NotThisCrawl is raised. `places`: folders with binaries, the best
    first; by default those on this machine. `settings` of PostgreSQL take precedence over its configuration file.
    Raises UsageError, DirectoryError or StoreFailed if there can be no server.
    """
    if not create and not has_private_server(directory):
        raise NotThisCrawl(f"{directory} does not contain a PostgreSQL server")
    server = PrivateServer(directory, places=places, settings=settings)
    try:
        server.start()
        yield server
    except ServerHangs:
        server.leave()
        raise
    except BaseException:
        server.close()
        raise
    server.close()


def check_unused(directory: Path) -> None:
    """Raises DirectoryInUse if any process uses the server of the crawl in `directory`."""
    server = PrivateServer(directory)
    try:
        if server.is_running():
            raise DirectoryInUse(f"{server.folder} is in use by another command; wait for it")
    finally:
        server.close()


class PrivateServer:
    """One use of the server of a crawl. Belongs to one thread."""

    def __init__(
        self, directory: Path, *, places: Iterable[Path] | None = None, settings: Mapping[str, str] | None = None
    ) -> None:
        self.folder = directory.absolute() / FOLDER
        self._data = self.folder / "data"
        self._log = self.folder / "server.log"
        self._places = binary_places() if places is None else list(places)
        self._settings = {**(settings or {}), **_FORCED}
        self._account = account_for(self.folder)
        self._address = self.folder
        try:
            self._create_folder()
            self._users = self._open("users.lock")
        except OSError as error:
            raise DirectoryError(f"cannot use {self.folder}: {error.strerror}") from error

    @property
    def url(self) -> str:
        """Of the database for the crawl, for libpq and its drivers. It stays the same when the server is restarted."""
        return self.url_of(PRIVATE)

    def url_of(self, database: str) -> str:
        """Of any database of the server."""
        return _url(self._address, database)

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return int((self.folder / "server.lock").read_text())

    def start(self) -> None:
        """Start the server, or wait until it accepts connections. Does little if it does so already: call it whenever
        the server may have failed. Raises StoreFailed, with what the server has logged."""
        try:
            with self._door():
                _wait_until(lambda: _has_locked(self._users, fcntl.LOCK_SH), f"the server in {self.folder} to stop")
                self._address = self._short_folder()
                if not self.is_running():
                    self._launch()
        except OSError as error:
            raise DirectoryError(f"cannot use {self.folder}: {error.strerror}") from error

    def is_running(self) -> bool:
        """Whether it accepts connections."""
        asked = make_conninfo("", host=str(self._address), port=_PORT, user=PRIVATE, dbname=PRIVATE, connect_timeout=10)
        return PGconn.ping(os.fsencode(asked)) == Ping.OK

    def close(self) -> None:
        """Leave. The last user stops the server and waits for its end; transactions in progress are rolled back."""
        try:
            with self._door():
                if _has_locked(self._users, fcntl.LOCK_EX):
                    self._stop()
                    self._remove_link()
                else:
                    # Others use it; or the keeper, which has found no user a moment ago, holds the lock until the end.
                    _wait_until(lambda: _has_locked(self._users, fcntl.LOCK_SH), "the server to stop")
        finally:
            fcntl.flock(self._users, fcntl.LOCK_UN)  # processes that were forked have the descriptor too
            os.close(self._users)

    def leave(self) -> None:
        """Leave a server that hangs: its keeper stops it when it goes on, if it has no other user. Does not wait."""
        fcntl.flock(self._users, fcntl.LOCK_UN)
        os.close(self._users)

    # --- its processes ----------------------------------------------------------------------------

    def _launch(self) -> None:
        lock = self._open("server.lock")
        try:
            _wait_until(
                lambda: self.is_running() or _has_locked(lock, fcntl.LOCK_EX),
                f"the server in {self.folder} to start or to end",
            )
            if self.is_running():
                return
            self._remove_stale_locks()
            os.ftruncate(lock, 0)
            self._check_reach()
            binaries = choose_binaries(self._places, self._needed_major(), self._account)
            if not self._data.exists():
                self._initialise(binaries)
            said_before = self._start_keeper(binaries, lock)
        finally:
            os.close(lock)
        _wait_until(lambda: self.is_running() or not self._is_alive(), f"the server in {self.folder} to start")
        if not self.is_running():
            with open(self._log, "rb") as log:
                log.seek(said_before)
                said = log.read().decode(errors="replace").strip().splitlines()
            raise StoreFailed(f"PostgreSQL in {self.folder} did not start: {' '.join(said[-5:])} (see {self._log})")

    def _remove_stale_locks(self) -> None:
        """Remove the lock files of a killed server, if it was ours: no process holds `server.lock` any more.
        PostgreSQL would mistake a zombie for it, and after the restart of a container any process with the same id."""
        for stale in (self._data / "postmaster.pid", self.folder / f".s.PGSQL.{_PORT}.lock"):
            with suppress(FileNotFoundError, ValueError):
                if int(stale.read_text().partition("\n")[0]) == self.pid:
                    stale.unlink()

    def _start_keeper(self, binaries: Binaries, lock: int) -> int:
        """Returns the length of the log before."""
        if self._log.exists() and self._log.stat().st_size > _LARGE_LOG:
            self._log.replace(self._log.with_suffix(".log.1"))
        log = self._open("server.log", os.O_APPEND)
        account = self._account or Account(os.geteuid(), os.getegid())
        keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("server_keeper.py"))]
        about = [str(self.folder / "users.lock"), str(lock), str(account.uid), str(account.gid)]
        try:
            before = os.fstat(log).st_size
            subprocess.run(
                [*keeper, *about, str(binaries.folder / "postgres"), "-D", str(self._data), *_options(self._settings)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(lock,),
                check=True,
            )
            return before
        finally:
            os.close(log)

    def _stop(self) -> None:
        told: set[int] = set()

        def has_ended() -> bool:
            if not self._is_alive():
                return True
            with suppress(ValueError):  # the keeper has not noted it yet
                if (pid := self.pid) not in told:
                    told.add(pid)
                    # A fast shutdown. As the server's user, who can write to the file with the process id.
                    self._run("sh", "-c", 'kill -INT "$1"', "sh", str(pid))
            return False

        _wait_until(has_ended, f"the server in {self.folder} to stop")

    def _is_alive(self) -> bool:
        """Whether a process of the server is left, or its keeper."""
        lock = self._open("server.lock")
        try:
            return not _has_locked(lock, fcntl.LOCK_EX)
        finally:
            os.close(lock)

    # --- its files --------------------------------------------------------------------------------

    def _create_folder(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = self.folder.lstat().st_mode
        if stat.S_ISDIR(mode) and mode & 0o077:
            self.folder.chmod(0o700)
        if self._account is not None:  # root changes nothing that a link of another user leads to
            os.chown(self.folder, self._account.uid, self._account.gid, follow_symlinks=False)

    def _open(self, name: str, flags: int = 0) -> int:
        opened = os.open(self.folder / name, flags | os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        if self._account is not None:
            os.fchown(opened, self._account.uid, self._account.gid)
        return opened

    @contextmanager
    def _door(self) -> Iterator[None]:
        door = self._open("door.lock")
        try:
            _wait_until(lambda: _has_locked(door, fcntl.LOCK_EX), f"another user of {self.folder}")
            yield
        finally:
            os.close(door)

    def _needed_major(self) -> int | None:
        with suppress(FileNotFoundError):
            return int((self._data / "PG_VERSION").read_text())
        return None

    def _check_reach(self) -> None:
        if self._account is not None and self._run("sh", "-c", 'cd "$1"', "sh", str(self.folder)) is not None:
            raise DirectoryError(
                f"PostgreSQL does not run as root, and user {self._account} cannot reach {self.folder}: choose a "
                "directory below one that all users may enter, or run this command as another user"
            )

    def _initialise(self, binaries: Binaries) -> None:
        """Create `data` with the database. It appears when it is complete."""
        part = self.folder / "data.new"
        shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
        options = ["--auth=trust", f"--username={PRIVATE}", "--encoding=UTF8", "--locale=C"]
        if self._settings.get("fsync") == "off":
            options.append("--no-sync")
        said = self._run(str(binaries.folder / "initdb"), *options, "-D", str(part))
        if said is None:
            said = self._run("sh", "-c", 'cat >> "$1"', "sh", str(part / "postgresql.conf"), typed=_SETTINGS)
        if said is None:
            options = _options({**self._settings, "exit_on_error": "on"})
            single = ("--single", "-D", str(part), *options, "postgres")
            said = self._run(str(binaries.folder / "postgres"), *single, typed=f"CREATE DATABASE {PRIVATE}\n")
        if said is not None:
            raise StoreFailed(f"cannot create a PostgreSQL server in {self.folder}: {said}")
        part.rename(self._data)
        folder = os.open(self.folder, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _run(self, *command: str, typed: str = "") -> str | None:
        """Run a program as the server's user. Returns None if it succeeds, else what it has said."""
        done = run_program(command, self._account, typed)
        return None if done.returncode == 0 else " ".join(done.stdout.split()) or f"status {done.returncode}"

    # --- its address ------------------------------------------------------------------------------

    def _short_folder(self) -> Path:
        """The folder of the socket for clients. If its path is not fit for that: a link to it among the temporary
        files, one for each user of the system."""
        link = _address(self.folder)
        if link == self.folder:
            return link
        if not _is_fit(link):
            raise DirectoryError(
                f"a socket cannot be in {self.folder}, nor in {link}: choose a shorter path, or TMPDIR"
            )
        try:
            if link.is_symlink() and link.readlink() != self.folder:
                link.unlink()
            if not link.is_symlink():
                link.symlink_to(self.folder)
        except OSError as error:
            raise DirectoryError(f"cannot create the link {link}: {error.strerror}") from error
        if link.lstat().st_uid != os.geteuid():
            raise DirectoryError(f"{link} belongs to another user: remove it, or set TMPDIR")
        return link

    def _remove_link(self) -> None:
        if self._address != self.folder:
            self._address.unlink(missing_ok=True)


def _url(address: Path, database: str) -> str:
    return f"postgresql://{PRIVATE}@/{database}?host={quote(os.fsencode(address))}&port={_PORT}"


def _address(folder: Path) -> Path:
    """What clients know a server's folder by: itself, or a link to it if its path is not fit for that."""
    if _is_fit(folder):
        return folder
    name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"gossamer-{os.geteuid()}-{name}"


def _is_fit(folder: Path) -> bool:
    """Whether a client can connect to a socket in this folder: the system limits the length, libpq takes a comma for
    the beginning of another host, and its driver needs UTF-8."""
    path = str(folder / f".s.PGSQL.{_PORT}")
    return len(os.fsencode(path)) <= _LONGEST_SOCKET and "," not in path and path.isprintable()


def _options(settings: Mapping[str, str]) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]


def _has_locked(lock: int, how: int) -> bool:
    """Whether the lock could be had at once. A lock that was held in another way is lost if not."""
    try:
        fcntl.flock(lock, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_until(condition: Callable[[], bool], what: str) -> None:
    pause, waited = 0.005, 0.0
    while not condition():
        if waited > PATIENCE:
            raise StoreFailed(f"waited in vain for {what}")
        sleep(pause)
        waited += pause
        pause = min(2 * pause, 0.05)
