"""`--store` and `--blobs`: a crawl named by URLs."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from gossamer.backends.postgres.private_server import private_url
from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.cli import worker, workers
from gossamer.cli.config_options import config_from
from gossamer.cli.main import main
from gossamer.cli.open_crawl import location_of
from gossamer.clock import SteadyClock
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.location import STORES, CrawlLocation, resolve_urls, shown_store, take_password
from gossamer.crawl.run.opener import open_crawl
from gossamer.crawl.run.session import session
from gossamer.errors import ArchiveAway, ConfigError, DirectoryInUse, NotThisCrawl
from gossamer.model.units import Instant
from gossamer.observe.display import NoDisplay
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import read_arguments
from gossamer.store.table.metadata import Metadata
from tests.cli.crawl_samples import NOW, change, small_crawl

SOURCE = str(Path(__file__).resolve().parents[2] / "src")
Captured = pytest.CaptureFixture[str]
READING = (
    ["status", "--json"],
    ["pages", "--json"],
    ["hosts", "--json"],
    ["dead", "--json"],
    ["explain", "http://h.test/2", "--json"],
    ["export", "--quiet"],
    ["export", "--quiet", "--what", "graph"],
    ["index", "-o", "-", "--quiet"],
    ["verify", "--quiet"],
)


@pytest.fixture(autouse=True)
def in_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_a_store_url_is_the_same_as_its_directory(
    words: list[str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SteadyClock, "now", lambda clock: Instant(NOW + 100.0))
    monkeypatch.setattr(SteadyClock, "monotonic", lambda clock: 5.0)
    small_crawl(tmp_path / "news")
    by_directory = main([*words, "--dir", "news"]), capsys.readouterr()

    by_url = main([*words, "--store", "sqlite:news"]), capsys.readouterr()

    assert by_url == by_directory


def test_a_store_of_another_scheme_is_run_read_and_changed_by_one_line(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SQLite, but with tables that are in no directory of a crawl."""
    kind = STORES["sqlite"]._replace(
        form="elsewhere:FILE",
        open_tables=lambda url, directory, unsafe: SqliteTables(Path(url.removeprefix("elsewhere:"))),
        in_directory=False,
    )
    monkeypatch.setitem(STORES, "elsewhere", kind)
    store = ("--store", "elsewhere:tables.db", "--dir", "files")
    assert main(["pages", *store]) == 1
    assert "there is no crawl in elsewhere:tables.db" in capsys.readouterr().err

    async def start() -> None:
        config = config_from(argparse.Namespace(option_store=store[1], option_dir=store[3]), None)
        seeds = read_arguments(["http://h.test/"], canonicaliser_for(config).canonicalise)
        async with session(config, seeds, False, NoDisplay()):
            pass

    asyncio.run(start())
    assert main(["pages", *store]) == 0
    assert "http://h.test/" in capsys.readouterr().out
    (small_crawl(tmp_path / "other") / "crawl.db").replace("tables.db")
    assert main(["dead", "requeue", "--json", *store]) == 1  # files of another crawl
    assert "files is not a directory of the crawl in " in capsys.readouterr().err
    with closing(SqliteTables(Path("tables.db")).open_reader()) as db:
        Path("files/crawl.id").write_text(Metadata(db).fact("crawl_id") or "")
    assert main(["dead", "requeue", "--json", *store]) == 0
    assert json.loads(capsys.readouterr().out) == {"v": 1, "requeued": 1}
    assert main(["pages", "--json", "--state", "queued", *store]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not (tmp_path / "files" / "crawl.db").exists()


def test_an_archive_on_another_machine_is_not_taken_for_a_lost_one(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = STORES["sqlite"]._replace(
        form="elsewhere:FILE",
        open_tables=lambda url, directory, unsafe: SqliteTables(Path(url.removeprefix("elsewhere:"))),
        in_directory=False,
    )
    monkeypatch.setitem(STORES, "elsewhere", kind)
    files = small_crawl(tmp_path / "files")
    change(files, "INSERT OR REPLACE INTO facts VALUES ('crawl_id', '7')")
    change(files, "INSERT INTO warc_files VALUES (1, 'gossamer-worker-1-20260101120000-00001.warc.gz', 100)")
    (files / "crawl.db").replace("tables.db")
    (files / "worker-1").mkdir()
    (files / "worker-1" / "crawl.id").write_text("7\n")
    store = ("--store", "elsewhere:tables.db", "--dir")

    for words in (["verify"], ["index", "-o", "-"]):
        assert main([*words, *store, "empty"]) == 1
        assert capsys.readouterr() == (
            "",
            "gossamer: error: the archive of the crawl in elsewhere:tables.db is in local files that are not here: "
            "looked in empty; give --dir of the machine that has them, or --blobs\n",
        )
    with (
        open_crawl(CrawlLocation(Path("empty"), None, "elsewhere:tables.db")) as crawl,
        pytest.raises(ArchiveAway, match="in local files that are not here"),
    ):
        crawl.records.read("a.warc.gz", 0, 100)
    assert main(["verify", "--repair", *store, "empty"]) == 1
    assert "empty has no files of the crawl in elsewhere:tables.db; give" in capsys.readouterr().err
    assert main(["verify", *store, "files"]) == 1
    assert "file_missing (1)" in capsys.readouterr().out


def test_dead_letters_are_changed_in_the_store_that_a_url_names(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "news")

    assert main(["dead", "requeue", "--store", "sqlite:news", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {"v": 1, "requeued": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--store", "mysql:news"], "--store: 'mysql:news' is not a URL of the form sqlite:DIR"),
        (["--store", "news"], "--store: 'news' is not a URL of the form sqlite:DIR"),
        (["--store", "sqlite:"], "--store: 'sqlite:' is not a URL of the form sqlite:DIR"),
        (["--blobs", "ftp://host", "--dir", "news"], "--blobs: 'ftp://host' is not a URL of the form file:DIR"),
        (["--blobs", "s3://", "--dir", "news"], "--blobs: 's3://' is not a URL of the form s3://BUCKET/PREFIX"),
        (["--store", "postgresql://h:abc/news"], "--store: the port must be a number from 1 to 65535, not 'abc'"),
        (
            ["--store", "postgres://h/news?hosst=h"],
            "--store: unknown parameter 'hosst' in the URL. Did you mean 'host'",
        ),
        (
            ["--store", "sqlite:news", "--dir", "old"],
            "--store: sqlite:news and --dir old are two directories; give one of them",
        ),
    ],
)
@pytest.mark.parametrize("command", ["pages", "verify", "crawl", "explain"])
def test_a_url_that_cannot_be_used_is_named(
    command: str, words: list[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    small_crawl(tmp_path / "news")

    assert main([command, *(["http://h.test/"] if command in ("crawl", "explain") else []), *words]) == 2

    assert capsys.readouterr().err.startswith(f"gossamer: error: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cache", "ftp://host"], "--cache: the scheme is unknown"),
        (["--partitions", "7"], "--partitions: only a crawl on PostgreSQL has partitions"),
    ],
)
def test_an_option_of_a_crawl_that_cannot_be_used_is_named(words: list[str], message: str, capsys: Captured) -> None:
    assert main(["crawl", "http://h.test/", "--dir", "new", *words]) == 2

    assert capsys.readouterr().err.startswith(f"gossamer: error: {message}")
    assert not Path("new").exists()


def test_an_option_overrides_the_file_whichever_of_the_two_they_use(tmp_path: Path) -> None:
    Path("gossamer.toml").write_text('store = "sqlite:filed"\n')

    def directory(**options: str) -> str:
        return config_from(argparse.Namespace(**options), None).dir

    assert directory() == "filed"
    assert directory(option_dir="given") == "given"
    assert directory(option_store="sqlite:given") == "given"
    Path("gossamer.toml").write_text('dir = "filed"\n')
    assert directory(option_store="sqlite:given") == "given"


def test_a_command_uses_the_location_of_the_file(tmp_path: Path) -> None:
    small_crawl(tmp_path / "filed")
    Path("gossamer.toml").write_text('store = "sqlite:filed"\nblobs = "file:captures"\n')

    with ExitStack() as uses:
        found = location_of(argparse.Namespace(dir=None, store=None, blobs=None, uses=uses))

    assert found == CrawlLocation(Path("filed"), f"file:{tmp_path / 'captures'}", "sqlite:filed")


def test_urls_are_resolved_in_options_of_the_library_too() -> None:
    assert resolve_urls({"store": "sqlite:/a/b", "max_pages": 3}) == {
        "dir": "/a/b",
        "store": "sqlite:/a/b",
        "max_pages": 3,
    }
    assert resolve_urls({"dir": "a"}) == {"dir": "a", "store": "sqlite:a"}
    assert resolve_urls({"store": "sqlite:a", "dir": "a/"}) == {"dir": "a/", "store": "sqlite:a"}
    assert resolve_urls({}) == {}
    with pytest.raises(ConfigError, match="store: 'nosuch:a'"):
        resolve_urls({"store": "nosuch:a"})


def test_a_password_is_shown_neither_in_messages_nor_in_the_arguments_of_the_process(tmp_path: Path) -> None:
    """The process that opens the store has it in its environment."""
    for url, shown in (
        ("postgresql://me:s%40cret@127.0.0.1:9/news", "postgresql://me@127.0.0.1:9/news"),
        ("postgresql://127.0.0.1:9/news?user=me&password=s%40cret", "postgresql://me@127.0.0.1:9/news"),
    ):
        ended = subprocess.run(
            [sys.executable, "-m", "gossamer", "status", f"--store={url}"], capture_output=True, text=True
        )
        assert ended.returncode == 1
        assert shown in ended.stderr and "cret" not in ended.stderr
    assert take_password("postgresql://me:s%40cret@h/news") == ("postgresql://me@h/news", "s@cret")
    assert take_password("postgres://me:s%40cret@h/news") == ("postgres://me@h/news", "s@cret")
    assert take_password("postgresql:///news?password=s%40cret") == ("postgresql:///news", "s@cret")
    assert take_password("postgresql:///n?host=h&password=x&port=1") == ("postgresql:///n?host=h&port=1", "x")
    assert shown_store("postgresql://me:s%40cret@h/news?password=s%40cret&x=1") == (
        "postgresql://me@h/news?password=***&x=1"
    )
    script = (
        "import os, sys; from gossamer.cli import main\n"
        "password = os.environ.get('PGPASSWORD')\n"
        "if password is not None: print(open('/proc/self/cmdline').read(), password); sys.exit()\n"
        "main.main()\n"
    )
    (tmp_path / "program.py").write_text(script)
    for store in (
        "postgresql://me:s%40cret@127.0.0.1:9/news",
        "postgresql://me@127.0.0.1:9/news?password=s%40cret",
        "postgres://me:s%40cret@127.0.0.1:9/news",
    ):
        words = [sys.executable, str(tmp_path / "program.py"), "status", f"--store={store}"]
        ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE})
        assert (
            ended.stdout.endswith("s@cret\n")
            and f"--store={store.partition(':')[0]}://me@127.0.0.1:9/news\0" in ended.stdout
        )


def test_the_passwords_of_a_cache_are_not_in_the_arguments_of_the_process(tmp_path: Path) -> None:
    script = (
        "import os, sys; from gossamer.cli import main\n"
        "password = os.environ.get('GOSSAMER_CACHE_PASSWORD')\n"
        "if password is not None: print(open('/proc/self/cmdline').read(), password); sys.exit()\n"
        "main.main()\n"
    )
    (tmp_path / "program.py").write_text(script)
    for url, shown in (
        ("redis://:s%40cret@h:9/1", "redis://@h:9/1"),
        ("redis+sentinel://me:s%40cret@s1,s2/main", "redis+sentinel://me@s1,s2/main"),
        ("rediss://:s%40cret@a,redis://:s%40cret@b", "rediss://@a,redis://@b"),
        ("redis://h1,:s%40cret@h2", "redis://h1,@h2"),
        ("redis+sentinel://s1,me:s%40cret@s2:7/main", "redis+sentinel://s1,me@s2:7/main"),
    ):
        words = [sys.executable, str(tmp_path / "program.py"), "crawl", "http://x.test/a,b", f"--cache={url}"]
        ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": SOURCE})
        assert ended.stdout.endswith("s@cret\n"), ended.stderr
        assert f"--cache={shown}\0" in ended.stdout and "http://x.test/a,b" in ended.stdout


def test_without_its_packages_a_store_on_postgresql_names_the_extra() -> None:
    script = "import sys; sys.modules['psycopg'] = None\nfrom gossamer.cli.main import main; sys.exit(main())"

    ended = subprocess.run(
        [sys.executable, "-c", script, "status", "--store", "postgresql:///news"], capture_output=True, text=True
    )

    assert ended.returncode == 2
    assert "a store on PostgreSQL needs psycopg: pip install 'gossamer[cluster]'" in ended.stderr


def test_the_directory_of_a_crawl_is_not_used_for_another_store(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "news")
    directory = CrawlDirectory(tmp_path / "news")
    with pytest.raises(NotThisCrawl, match="is not a directory of the crawl in db but of another one"):
        directory.settle_owner("another", "db")
    directory.close()
    other = CrawlDirectory(tmp_path / "files")
    other.settle_owner("one", "db")
    other.settle_owner("one", "db")
    with pytest.raises(NotThisCrawl, match="is not a directory of the crawl in db"):
        other.settle_owner("two", "db")
    other.close()

    assert main(["crawl", "http://h.test/", "--dir", "files"]) == 1
    assert (
        "files holds the files of a crawl whose store is elsewhere; name that with --store" in capsys.readouterr().err
    )
    for words in (["crawl"], ["status"], ["worker"], ["workers"]):
        assert main([*words, "--dir", "files"]) == 1
        assert "files holds the files of a crawl whose store is elsewhere" in capsys.readouterr().err


def test_a_directory_without_a_crawl_of_several_workers_is_named(tmp_path: Path, capsys: Captured) -> None:
    small_crawl(tmp_path / "news")
    for words, status, message in (
        (["--dir", "nothere"], 1, "there is no crawl in 'nothere'; name the store of a crawl that workers share"),
        (["--store", "sqlite:nothere"], 1, "there is no crawl in 'nothere'; name the store"),
        (["--dir", "news"], 2, "news has one worker: name the store of a crawl that workers share"),
        (["--store", "sqlite:news"], 2, "news has one worker: "),
    ):
        assert main(["worker", *words]) == status
        assert capsys.readouterr().err.startswith(f"gossamer: error: {message}")


def test_a_directory_in_use_is_named_with_the_option_that_has_chosen_it(tmp_path: Path) -> None:
    held = CrawlDirectory(tmp_path / "worker-1")
    with pytest.raises(
        DirectoryInUse, match=r"is in use by process \d+; wait for it, or choose another name with --name"
    ):
        CrawlDirectory(tmp_path / "worker-1", chosen_by="--name")
    with pytest.raises(DirectoryInUse, match="or choose another directory with --dir"):
        CrawlDirectory(tmp_path / "worker-1")
    held.close()


def test_how_to_start_a_worker_depends_on_where_the_tables_are(tmp_path: Path) -> None:
    (tmp_path / "a1" / "postgres" / "data").mkdir(parents=True)
    private = CrawlLocation(Path("a1"), None, private_url(Path("a1")))

    assert workers.start_of(private) == "start the crawl with gossamer crawl --dir a1"
    elsewhere = CrawlLocation(Path("a2"), None, "postgresql://me:secret@db/news")
    assert workers.start_of(elsewhere) == "start one with gossamer worker --store postgresql://me@db/news"


def test_workers_say_why_they_left() -> None:
    last = Snapshot(at=NOW, elapsed=1.0, run_pages=1234, stopped="page_limit")

    assert worker.ended("w1", last, 1) == "worker w1 has left: the page limit is reached; 1,234 pages stored by it"
    assert worker.ended("w", last, 3) == "3 workers have left: the page limit is reached; 1,234 pages stored by them"
