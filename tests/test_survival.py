"""The rules around every hostile case notice what they are there for."""

import asyncio
import contextlib
import json
import os
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gossamer.model.states import UrlState
from tests.hostile.survival import (
    LARGEST_GROWTH,
    LONGEST_HOLD,
    MIB,
    SECRET,
    Vitals,
    check_log,
    check_memory,
    check_no_secret,
    check_states,
    on_a_loop,
    surviving,
    under_watch,
)

Fault = Callable[[Vitals], Awaitable[None]]


async def hold_the_loop(_: Vitals) -> None:
    await asyncio.sleep(0.02)
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass


async def raise_where_nobody_looks(_: Vitals) -> None:
    def stray() -> None:
        raise ValueError("stray")

    asyncio.get_running_loop().call_soon(stray)
    await asyncio.sleep(0)


async def grow(vitals: Vitals) -> None:
    blocks = []
    for _ in range(20):  # what earlier tests have left may be given back meanwhile
        blocks.append(bytearray(os.urandom(MIB)) * 100)
        beats = vitals.beats
        while vitals.beats == beats:  # noqa: ASYNC110 - until it was looked at, however late
            await asyncio.sleep(0.001)
        if vitals.peak - vitals.start > LARGEST_GROWTH:
            return


@pytest.mark.parametrize(
    ("fault", "said"), [(hold_the_loop, "held for"), (raise_where_nobody_looks, "stray"), (grow, "grew by")]
)
def test_a_fault_on_the_loop_is_found(fault: Fault, said: str) -> None:
    async def case(work: Fault) -> None:
        async with under_watch(longest_hold=LONGEST_HOLD) as vitals:
            await work(vitals)

    with pytest.raises(AssertionError, match=said):
        on_a_loop(case(fault))


def test_files_that_stay_open_are_found() -> None:
    def case(left_open: contextlib.ExitStack) -> None:
        with surviving(None, patience=0.1):
            for _ in range(10):
                left_open.callback(os.close, os.open(os.devnull, os.O_RDONLY))

    with contextlib.ExitStack() as left_open, pytest.raises(AssertionError):
        case(left_open)


def test_an_exception_in_a_thread_is_found() -> None:
    def stray() -> None:
        raise ValueError("stray")

    def case() -> None:
        thread = threading.Thread(target=stray)
        thread.start()
        thread.join()

    with pytest.raises(AssertionError, match="stray"), surviving(None):
        case()


def test_a_task_that_failed_unnoticed_is_found() -> None:
    async def fails() -> None:
        raise ValueError("stray")

    async def main() -> None:
        task = asyncio.create_task(fails())
        await asyncio.sleep(0)
        del task

    with pytest.raises(AssertionError, match="never retrieved"), surviving(None):
        asyncio.run(main())


GOOD_LINE = json.dumps({"at": "now", "event": "crawl.started"}).encode() + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        b'{"event":"x","url":"' + b"a" * 1024 + b'"}\n',
        b'{"event":"x","url":"\x1b[31m"}\n',
        b'{"event":"x","url":"\xc2\x85"}\n',
        b'{"event":"crawl.failed"}\n',
        b'{"event":"politeness.violated"}\n',
        b"Traceback (most recent call last):\n",
    ],
)
def test_a_line_that_must_not_be_logged_is_found(tmp_path: Path, line: bytes) -> None:
    log = tmp_path / "crawl.log"
    log.write_bytes(GOOD_LINE)
    assert not check_log(tmp_path)

    log.write_bytes(GOOD_LINE + line)

    with pytest.raises((AssertionError, json.JSONDecodeError)):
        check_log(tmp_path)


def test_a_crawl_that_has_grown_is_found() -> None:
    check_memory({"max_rss_bytes": 60 * MIB})

    with pytest.raises(AssertionError, match="200 MiB"):
        check_memory({"max_rss_bytes": 200 * MIB})


def test_a_secret_that_was_written_down_is_found(tmp_path: Path) -> None:
    (tmp_path / "crawl.db-wal").write_bytes(b"x" * 100)
    check_no_secret(tmp_path)

    (tmp_path / "crawl.db-wal").write_bytes(f"http://a:{SECRET}@h.test/".encode())

    with pytest.raises(AssertionError):
        check_no_secret(tmp_path)


@pytest.mark.parametrize(
    "fault",
    [
        "INSERT INTO urls VALUES (9, 0, NULL)",
        "INSERT INTO urls VALUES (9, 6, NULL)",
        "DELETE FROM urls WHERE state = 7",
        "UPDATE urls SET state = 0 WHERE state = 7",
        "DELETE FROM visits",
        "UPDATE counters SET value = 5 WHERE name = 'discovered'",
    ],
)
def test_states_that_do_not_add_up_are_found(tmp_path: Path, fault: str) -> None:
    database = tmp_path / "crawl.db"
    with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript(
            "CREATE TABLE urls (id, state, reason); CREATE TABLE visits (url_id, warc_file);"
            "CREATE TABLE counters (name, value);"
            "INSERT INTO urls VALUES (1, 1, NULL), (2, 7, 'x'); INSERT INTO visits VALUES (1, 1);"
            "INSERT INTO counters VALUES ('discovered', 2), ('state:stored', 1), ('state:dead', 1);"
        )
        assert {UrlState.STORED, UrlState.DEAD} == {1, 7}
        check_states(database, ended=True)

        db.execute(fault)

        with pytest.raises(AssertionError):
            check_states(database, ended=True)
