"""Signals around a crawl: Ctrl-C once, twice and after the grace period, and SIGHUP."""

import asyncio
import gc
import json
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.config.load import Config, make_config
from gossamer.crawl.run.signals import GRACE_SECONDS, Interrupts, run_crawl
from gossamer.errors import UsageError
from gossamer.filter.canonical import canonicalise
from gossamer.observe.snapshot import Snapshot
from gossamer.seed.lists import read_arguments
from tests.crawl.scripted_crawl import HOME, ScriptedCrawl, html, opened, run_in_step
from tests.crawl.scripted_fetcher import HANG, Step

SITE: dict[str, Step] = {HOME: html("/x"), HOME + "x": html(title="x")}


def interrupted(directory: Path, script: dict[str, Step], *signals_at: float) -> tuple[float, bool, ScriptedCrawl]:
    """Run a crawl that receives Ctrl-C at these times. How long it ran, and whether it was cut off."""

    async def main() -> tuple[float, bool, ScriptedCrawl]:
        async with opened(directory, script) as crawl:
            interrupts = Interrupts(crawl.crawl)
            for at in signals_at:
                asyncio.get_running_loop().call_later(at, interrupts.on_signal)
            await interrupts.run()
            assert interrupts.count == len(signals_at)
            return crawl.clock.now() - crawl.began, interrupts.cut_off, crawl

    return run_in_step(main())


def test_the_first_interrupt_finishes_what_is_under_way_and_starts_nothing_new(tmp_path: Path) -> None:
    ran, cut_off, crawl = interrupted(tmp_path, SITE, 0.5)

    assert not cut_off
    assert ran < GRACE_SECONDS
    assert crawl.requests == []  # robots.txt was fetched before
    assert crawl.states() == {HOME: "queued"}


def test_what_is_still_under_way_after_the_grace_period_is_dropped_and_stays_queued(tmp_path: Path) -> None:
    ran, cut_off, crawl = interrupted(tmp_path, {HOME: HANG}, 3.0)

    assert cut_off
    assert ran == pytest.approx(3.0 + GRACE_SECONDS, abs=0.5)
    assert crawl.requests == [HOME]
    assert crawl.states() == {HOME: "queued"}


def test_the_second_interrupt_ends_the_crawl_at_once(tmp_path: Path) -> None:
    ran, cut_off, crawl = interrupted(tmp_path, {HOME: HANG}, 3.0, 4.0)

    assert cut_off
    assert ran == pytest.approx(4.0, abs=0.5)
    assert crawl.states() == {HOME: "queued"}


def test_an_interrupt_before_the_crawl_runs_does_no_harm(tmp_path: Path) -> None:
    async def main() -> int:
        async with opened(tmp_path, SITE) as crawl:
            interrupts = Interrupts(crawl.crawl)
            interrupts.on_signal()
            interrupts.on_signal()
            return interrupts.count

    assert run_in_step(main()) == 2


# --- a whole run, with real signals -----------------------------------------------------------------


@pytest.fixture
def silent_name_server() -> Iterator[str]:
    """The address of a name server that never answers: a crawl that asks it waits."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


class OneSignal:
    """A display that acts at its first update, when the crawl is running."""

    def __init__(self, act: Callable[[], None] = lambda: None) -> None:
        self._act: Callable[[], None] | None = act
        self.closed = False

    def update(self, snapshot: Snapshot) -> None:
        act, self._act = self._act, None
        if act is not None:
            act()

    def close(self) -> None:
        self.closed = True


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def run(config: Config, display: OneSignal, **options: Any) -> tuple[int, Snapshot]:
    """Run a crawl to its end; signal handlers and the settings of the garbage collector are as before."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    threshold = gc.get_threshold()
    try:
        return run_crawl(config, read_arguments([HOME], canonicalise), display=display, **options)
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)
        for number, handler in before.items():
            signal.signal(number, handler)


def events(directory: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (directory / "crawl.log").read_text().splitlines()]


def test_a_crawl_that_ends_by_itself_exits_with_zero(tmp_path: Path) -> None:
    display = OneSignal()

    status, last = run(make_config({}, {"dir": str(tmp_path), "filter": {"exclude": ["*"]}}), display)

    assert (status, last.finished, last.queued) == (0, True, 0)
    assert not display.closed  # its owner does that: a worker that joins again goes on with it


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_crawl_that_is_interrupted_exits_with_its_own_status(
    tmp_path: Path, silent_name_server: str, number: signal.Signals
) -> None:
    config = make_config({}, {"dir": str(tmp_path), "dns": silent_name_server})

    status, last = run(config, OneSignal(send(number)))

    assert (status, last.stopped, last.finished, last.queued) == (128 + number, "interrupted", False, 1)


def test_a_hangup_takes_over_the_rules_of_the_new_configuration(tmp_path: Path, silent_name_server: str) -> None:
    settings = {"dir": str(tmp_path), "dns": silent_name_server}
    stricter = make_config({}, {**settings, "filter": {"exclude": ["*"]}})

    status, last = run(make_config({}, settings), OneSignal(send(signal.SIGHUP)), reread=lambda: stricter)

    assert (status, last.finished) == (0, True)
    assert last.excluded == {"pattern": 1}
    assert "rules.changed" in events(tmp_path)


def test_a_configuration_that_cannot_be_used_changes_nothing_and_is_logged(
    tmp_path: Path, silent_name_server: str
) -> None:
    def reread() -> Config:
        send(signal.SIGINT)()
        raise UsageError("no such key")

    config = make_config({}, {"dir": str(tmp_path), "dns": silent_name_server})

    status, last = run(config, OneSignal(send(signal.SIGHUP)), reread=reread)

    assert (status, last.queued) == (128 + signal.SIGINT, 1)
    assert "rules.refused" in events(tmp_path)
