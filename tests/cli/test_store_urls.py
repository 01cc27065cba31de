"""`--store` and `--blobs`: a crawl named by URLs."""

import argparse
import asyncio
import json
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.cli.config_options import config_from
from gossamer.cli.main import main
from gossamer.cli.open_crawl import location_of
from gossamer.clock import SteadyClock
from gossamer.config.policies import canonicaliser_for
from gossamer.crawl.run.opener import STORES, CrawlLocation, resolve_urls
from gossamer.crawl.run.session import session
from gossamer.errors import ConfigError
from gossamer.model.units import Instant
from gossamer.observe.display import NoDisplay
from gossamer.seed.lists import read_arguments
from tests.cli.crawl_samples import NOW, small_crawl

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
        open_tables=lambda url, directory: SqliteTables(Path(url.removeprefix("elsewhere:"))),
        in_directory=False,
    )
    monkeypatch.setitem(STORES, "elsewhere", kind)
    store = ("--store", "elsewhere:tables.db", "--dir", "files")
    assert main(["pages", *store]) == 1
    assert "there is no crawl in 'files'" in capsys.readouterr().err

    async def start() -> None:
        config = config_from(argparse.Namespace(option_store=store[1], option_dir=store[3]), None)
        seeds = read_arguments(["http://h.test/"], canonicaliser_for(config).canonicalise)
        async with session(config, seeds, False, NoDisplay()):
            pass

    asyncio.run(start())
    assert main(["pages", *store]) == 0
    assert "http://h.test/" in capsys.readouterr().out
    (small_crawl(tmp_path / "other") / "crawl.db").replace("tables.db")
    assert main(["dead", "requeue", "--json", *store]) == 0
    assert json.loads(capsys.readouterr().out) == {"v": 1, "requeued": 1}
    assert main(["pages", "--json", "--state", "queued", *store]) == 0

    assert len(capsys.readouterr().out.splitlines()) == 2
    assert not (tmp_path / "files" / "crawl.db").exists()


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
        (["--blobs", "s3://bucket", "--dir", "news"], "--blobs: 's3://bucket' is not a URL of the form file:DIR"),
        (["--store", "sqlite:news", "--dir", "old"], "--store: sqlite:news is not in the directory old"),
    ],
)
@pytest.mark.parametrize("command", ["pages", "verify", "crawl", "explain"])
def test_a_url_that_cannot_be_used_is_named(
    command: str, words: list[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    small_crawl(tmp_path / "news")

    assert main([command, *(["http://h.test/"] if command in ("crawl", "explain") else []), *words]) == 2

    assert capsys.readouterr().err.startswith(f"gossamer: error: {message}")


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

    found = location_of(argparse.Namespace(dir=None, store=None, blobs=None))

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
