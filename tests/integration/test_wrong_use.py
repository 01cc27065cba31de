"""What goes wrong before and around a crawl: one line that says so, the right exit status, and nothing harmed."""

import ctypes
import os
import sqlite3
import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import open_for_writing
from tests.integration.crawl_process import Command, Ended, gossamer, scene, small_web, wait_for_requests, wait_until
from tests.integration.small_server import Answer, SmallServer, links, page

pytestmark = pytest.mark.service

TINY = small_web(seed=52, hosts=4, pages=20, fault_rate=0.0, slow_hosts=0, crawl_delay_hosts=0)


def complaint(ended: Ended, status: int) -> str:
    """The one line in which a command says what is wrong."""
    assert ended.status == status, ended.err
    [line] = ended.err.splitlines()
    assert line.startswith("gossamer: error: ")
    return line


def contents(directory: Path) -> dict[str, bytes]:
    """Every file below the directory."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


# --- seeds and configuration --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", ["ftp://files.test/", "http://", "http://x.test:99999/", "ht!tp://bad url"])
def test_a_bad_seed_is_named_and_nothing_is_made(tmp_path: Path, seed: str) -> None:
    ended = gossamer("crawl", "http://good.test/", seed, "--dir", tmp_path / "crawl", cwd=tmp_path)

    assert seed in complaint(ended, 2)
    assert contents(tmp_path) == {}
    assert not (tmp_path / "crawl").exists()


def test_a_seeds_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in ("absent.txt", "."):
        ended = gossamer("crawl", "--seeds", tmp_path / name, "--dir", tmp_path / "crawl")

        assert str(tmp_path / name) in complaint(ended, 2)
    assert not (tmp_path / "crawl").exists()


def test_a_seeds_file_without_a_url_is_named(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("# none yet\n\n")

    ended = gossamer("crawl", "--seeds", "seeds.txt", "--dir", tmp_path / "crawl", cwd=tmp_path)

    assert complaint(ended, 2) == "gossamer: error: seeds.txt holds no URL"
    assert not (tmp_path / "crawl").exists()


def test_a_bad_line_of_a_seeds_file_is_named_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.test/\n# a remark\n\nnews://b.test/\n")

    ended = gossamer("crawl", "--seeds", tmp_path / "seeds.txt", "--dir", tmp_path / "crawl")

    line = complaint(ended, 2)
    assert "news://b.test/" in line
    assert "seeds.txt" in line and "4" in line


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ("max-pagse = 5\n", "max_pagse"),
        ("[retry]\ntries = 3\n", "retry.tries"),
        ("[politeness]\nmax_crawl_delay = 'long'\n", "politeness.max_crawl_delay"),
        ("delay = -1.0\n", "delay"),
        ("order = 'best'\n", "order"),
        ("scope = 'everywhere'\n", "scope"),
    ],
)
def test_a_wrong_key_of_the_configuration_file_is_named(tmp_path: Path, toml: str, key: str) -> None:
    (tmp_path / "gossamer.toml").write_text(toml)

    ended = gossamer("crawl", "http://a.test/", cwd=tmp_path)

    assert key in complaint(ended, 2)
    assert contents(tmp_path).keys() == {"gossamer.toml"}


def test_without_seeds_there_must_be_a_crawl_to_resume(tmp_path: Path) -> None:
    assert "nothing to crawl" in complaint(gossamer("crawl", "--dir", tmp_path / "crawl"), 2)
    assert not (tmp_path / "crawl").exists()


def test_a_crawl_that_was_killed_before_it_had_its_seeds_is_not_taken_for_finished(tmp_path: Path) -> None:
    open_for_writing(tmp_path / "crawl.db").close()

    ended = gossamer("crawl", "--dir", tmp_path)

    assert str(tmp_path) in complaint(ended, 1)


# --- the directory ------------------------------------------------------------------------------------


def test_a_directory_in_use_is_refused_at_once_and_the_crawl_in_it_goes_on(tmp_path: Path) -> None:
    directory, go_on = tmp_path / "crawl", threading.Event()

    def site(path: str, _: int) -> Answer:
        if path == "/held":
            go_on.wait()
        return links("/held", "/other") if path == "/" else page(path)

    with ExitStack() as stack:
        server = stack.enter_context(SmallServer(site))
        command = ["crawl", f"{server.base}/", "--dir", directory, "--allow-private", "--delay", 0.02, "--json"]
        first = stack.enter_context(Command(*command, "--quiet"))
        stack.callback(go_on.set)
        wait_until(lambda: "/held" in server.paths() or not first.runs, "the page that is held")
        again = gossamer(*command)
        requeue = gossamer("dead", "requeue", "--dir", directory)
        status = gossamer("status", "--dir", directory, "--json")
        assert first.runs
        go_on.set()
        ended = first.ended()

    for refused in (again, requeue):
        line = complaint(refused, 1)
        assert str(directory) in line and "in use" in line and str(first.process.pid) in line
        assert refused.out == ""
    assert status.report["running"] is True
    assert (ended.report["finished"], ended.report["pages"]) == (True, 3)


def test_a_crawl_that_was_killed_does_not_hold_its_directory(tmp_path: Path) -> None:
    with scene(tmp_path / "web", TINY) as stage:
        with Command(*stage.command) as first:
            wait_for_requests(stage, first, 0)
        ended = gossamer(*stage.command)

    assert first.process.returncode == -9
    assert ended.report["finished"] is True


def test_a_database_that_is_not_ours_is_left_as_it_is(tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    directory.mkdir()
    with closing(sqlite3.connect(directory / "crawl.db")) as db:
        db.execute("CREATE TABLE accounts (name TEXT)")
        db.execute("INSERT INTO accounts VALUES ('important')")
        db.commit()
    before = contents(directory)

    ended = gossamer("crawl", "http://a.test/", "--dir", directory)

    assert str(directory / "crawl.db") in complaint(ended, 1)
    assert contents(directory)["crawl.db"] == before["crawl.db"]


@pytest.mark.parametrize("what", [b"not a database at all\n" * 500, b"SQLite format 3\0" + bytes(4096)])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, what: bytes) -> None:
    (tmp_path / "crawl.db").write_bytes(what)

    for command in (["crawl", "http://a.test/"], ["pages"], ["status"], ["dead", "requeue"]):
        ended = gossamer(*command, "--dir", tmp_path)

        assert str(tmp_path / "crawl.db") in complaint(ended, 1)
        assert (tmp_path / "crawl.db").read_bytes() == what


def test_a_directory_with_other_files_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")

    ended = gossamer("crawl", "http://a.test/", "--dir", tmp_path)

    line = complaint(ended, 1)
    assert str(tmp_path) in line and "thesis.tex" in line
    assert contents(tmp_path) == {"thesis.tex": b"years of work"}


def test_a_file_in_the_place_of_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "crawl").write_text("a file")

    ended = gossamer("crawl", "http://a.test/", "--dir", tmp_path / "crawl")

    assert str(tmp_path / "crawl") in complaint(ended, 1)
    assert (tmp_path / "crawl").read_text() == "a file"


def test_seeds_of_another_crawl_are_refused_unless_they_are_to_be_added(tmp_path: Path) -> None:
    with scene(tmp_path / "web", TINY, ["--scope", "host"]) as stage:
        one, *others = stage.web.seeds
        first = gossamer("crawl", one, *stage.resume)
        before = stage.pages()
        refused = gossamer("crawl", *others, *stage.resume)
        unchanged = stage.pages()
        added = gossamer("crawl", *others, "--add-seeds", *stage.resume)
        after = stage.pages()

    assert first.report["finished"] is True
    line = complaint(refused, 1)
    assert str(stage.dir) in line and others[0] in line and "--add-seeds" in line
    assert unchanged == before
    assert added.status == 0, added.err
    assert {page["host"] for page in before} == {"portal.test"}
    assert len({page["host"] for page in after}) == len(stage.web.seeds)
    assert {str(page["url"]) for page in before} < {str(page["url"]) for page in after}


def test_a_directory_that_may_not_be_written_to_is_refused(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)

    made = gossamer("crawl", "http://a.test/", "--dir", closed, preexec=obey_permissions)
    below = gossamer("crawl", "http://a.test/", "--dir", closed / "crawl", preexec=obey_permissions)

    assert str(closed) in complaint(made, 1)
    assert str(closed / "crawl") in complaint(below, 1)
    assert contents(closed) == {}


def obey_permissions() -> None:
    """Make the process that is about to be started subject to file permissions, also when it runs as root."""
    drop_from_bounding_set, dac_override, dac_read_search = 24, 1, 2
    if os.geteuid() == 0:
        for capability in (dac_override, dac_read_search):
            if ctypes.CDLL(None, use_errno=True).prctl(drop_from_bounding_set, capability, 0, 0, 0) != 0:
                raise OSError(ctypes.get_errno(), "cannot give up the privilege to ignore permissions")
