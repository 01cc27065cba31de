import json
from pathlib import Path

import pytest

from gossamer.cli.demo import MARK, demo_config, demo_web, location_of_demo, next_steps, prepare
from gossamer.cli.main import main
from gossamer.config.load import Config
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.errors import DirectoryError, DirectoryInUse, UsageError


def test_a_directory_of_an_earlier_demo_is_made_anew(tmp_path: Path) -> None:
    directory = tmp_path / "demo-crawl"
    prepare(directory)
    (directory / "crawl.db").write_text("old")

    prepare(directory)

    assert [entry.name for entry in directory.iterdir()] == [MARK]


def test_what_no_demo_made_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep me")

    with pytest.raises(DirectoryError, match="was not made by a demo"):
        prepare(tmp_path)

    assert (tmp_path / "precious").read_text() == "keep me"


def test_a_link_to_a_demos_directory_is_not_followed(tmp_path: Path) -> None:
    prepare(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(DirectoryError):
        prepare(tmp_path / "link")

    assert (tmp_path / "real" / MARK).exists()


def test_a_demo_that_is_running_is_left_alone(tmp_path: Path) -> None:
    prepare(tmp_path / "demo-crawl")
    held = CrawlDirectory(tmp_path / "demo-crawl")

    with pytest.raises(DirectoryInUse):
        prepare(tmp_path / "demo-crawl")

    held.close()
    assert (tmp_path / "demo-crawl" / MARK).exists()


def test_the_crawl_accepts_the_directory_with_the_mark_in_it(tmp_path: Path) -> None:
    prepare(tmp_path / "demo-crawl")

    CrawlDirectory(tmp_path / "demo-crawl").close()


def test_the_demo_asks_robots_as_gossamer_and_stays_in_the_simulated_web() -> None:
    config = demo_config(Path("d"), dns="127.0.0.1:5300", delay=0.1, json=True, quiet=False)

    assert config.robots_agent == "gossamer"
    assert config.scope == "tld:test"
    assert config.dns == "127.0.0.1:5300"


def test_an_impossible_delay_is_refused() -> None:
    with pytest.raises(UsageError, match="--delay"):
        demo_config(Path("d"), dns="127.0.0.1:5300", delay=-1.0, json=False, quiet=False)


@pytest.mark.parametrize(("pages", "hosts"), [(4000, 150), (1, 1), (100, 100), (50_000, 10)])
def test_any_size_of_web_can_be_had(pages: int, hosts: int) -> None:
    web = demo_web(pages, hosts)

    assert (web.pages, web.hosts) == (pages, hosts)


@pytest.mark.service
def test_the_demo_crawls_its_web_to_the_end_and_is_polite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    code = main(["demo", "--pages", "120", "--hosts", "12", "--delay", "0.02", "--json"])

    out, err = capfd.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert code == 0
    assert result["finished"] is True
    assert result["queued"] == 0
    assert result["pages"] > 60
    assert result["politeness_violations"] == 0
    assert "gossamer pages --dir demo-crawl" in err
    pages = [json.loads(line) for line in pages_of(tmp_path / "demo-crawl", capfd)]
    assert sum(page["state"] == "stored" for page in pages) == result["pages"]
    assert len(pages) == result["discovered"]


@pytest.mark.service
def test_a_demo_in_memory_leaves_no_store_and_suggests_no_command_that_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["demo", "--pages", "12", "--hosts", "3", "--delay", "0.02", "--store", "memory:"]) == 0

    out, err = capfd.readouterr()
    assert "pages" in out
    assert "gossamer status" not in out + err and "warc" not in out
    assert {path.name for path in (tmp_path / "demo-crawl").iterdir()} == {MARK, "crawl.lock", "crawl.log"}


def test_a_demo_is_in_the_directory_that_its_store_names() -> None:
    assert location_of_demo(None, None) == (Path("demo-crawl"), None)
    assert location_of_demo(None, "sqlite:other") == (Path("other"), "sqlite:other")
    assert location_of_demo("other", "memory:") == (Path("other"), "memory:")
    with pytest.raises(UsageError, match="--store: 'nosuch:other' is not a URL"):
        location_of_demo(None, "nosuch:other")


def pages_of(directory: Path, capfd: pytest.CaptureFixture[str]) -> list[str]:
    main(["pages", "--json", "--dir", str(directory)])
    return capfd.readouterr().out.splitlines()


def test_the_next_steps_name_the_directory() -> None:
    commands = [command for _, command, _ in next_steps(Config(dir="somewhere"))]
    assert "gossamer status --dir somewhere" in commands
