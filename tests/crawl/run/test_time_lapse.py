"""Which crawls may be rehearsed, whom they may call, and when their alarm rings."""

import asyncio
from pathlib import Path

import pytest

from gossamer.clock import CLOCK_FILE, Clock, FastClock, SharedClock, SteadyClock
from gossamer.config.load import Config
from gossamer.config.sections import FetchSection, HostSection
from gossamer.crawl.engine import Alarm
from gossamer.crawl.run.directory import CrawlDirectory
from gossamer.crawl.run.time_lapse import clock_for, may_dial_for
from gossamer.errors import ConfigError, DirectoryError

FAST = Config(rehearse=1e6)
DAY = 86_400.0


def clock_in(path: Path, config: Config) -> Clock:
    directory = CrawlDirectory(path)
    try:
        return clock_for(directory, config, is_new=not directory.database.exists())
    finally:
        directory.close()


def test_a_crawl_goes_by_the_world_unless_it_is_rehearsed(tmp_path: Path) -> None:
    assert not isinstance(clock_in(tmp_path / "crawl", Config()), SharedClock)
    assert not (tmp_path / "crawl" / CLOCK_FILE).exists()


def test_a_rehearsal_stays_one(tmp_path: Path) -> None:
    fast = clock_in(tmp_path, FAST)
    (tmp_path / "crawl.db").touch()

    again = clock_in(tmp_path, Config())

    assert isinstance(fast, FastClock)
    assert isinstance(again, SharedClock) and not isinstance(again, FastClock)


def test_a_crawl_of_the_world_is_not_rehearsed_on(tmp_path: Path) -> None:
    (tmp_path / "crawl.db").touch()

    with pytest.raises(ConfigError, match="not a time-lapse crawl"):
        clock_in(tmp_path, FAST)
    assert not (tmp_path / CLOCK_FILE).exists()


@pytest.mark.parametrize(
    "through",
    [
        Config(rehearse=1e6, fetch=FetchSection(proxy="http://127.0.0.1:3128")),
        Config(rehearse=1e6, host={"x.test": HostSection(proxy_env="PROXY")}),
    ],
)
def test_a_rehearsal_goes_through_no_proxy(tmp_path: Path, through: Config) -> None:
    with pytest.raises(ConfigError, match="proxy"):
        clock_in(tmp_path, through)


def test_a_clock_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / CLOCK_FILE).mkdir()

    with pytest.raises(DirectoryError, match=CLOCK_FILE):
        clock_in(tmp_path, FAST)


@pytest.mark.parametrize(
    ("address", "world", "rehearsal"),
    [
        ("127.0.0.1", True, True),
        ("127.9.8.7", True, True),
        ("::1", True, True),
        ("93.184.216.34", True, False),
        ("10.0.0.1", True, False),
        ("2606:2800::1", True, False),
        ("224.0.0.1", False, False),
    ],
)
def test_in_time_lapse_only_this_machine_is_contacted(
    tmp_path: Path, address: str, world: bool, rehearsal: bool
) -> None:
    def permitted(_: str) -> bool:
        return address != "224.0.0.1"

    clock = SharedClock(tmp_path / "clock")

    assert may_dial_for(SteadyClock(), permitted)(address) is world
    assert may_dial_for(clock, permitted)(address) is rehearsal


async def _rung(clock: Clock, wait: float, *, idle: bool, seconds: float) -> bool:
    rung = asyncio.Event()
    alarm = Alarm(clock, rung.set)
    alarm.set(wait, 0.0005, idle=idle)
    try:
        async with asyncio.timeout(seconds):
            await rung.wait()
    except TimeoutError:
        return False
    finally:
        alarm.clear()
    return True


def test_with_nothing_under_way_a_date_comes_soon_and_no_sooner(tmp_path: Path) -> None:
    clock = FastClock(tmp_path / "clock", 1e7)
    start = clock.now()

    assert asyncio.run(_rung(clock, 30 * DAY, idle=True, seconds=60.0))
    assert 30 * DAY - 1 <= clock.now() - start < 31 * DAY


@pytest.mark.parametrize("fast", [True, False])
def test_otherwise_it_comes_when_it_comes(tmp_path: Path, fast: bool) -> None:
    clock: Clock = FastClock(tmp_path / "clock", 1e7) if fast else SteadyClock()
    start = clock.now()

    assert not asyncio.run(_rung(clock, DAY, idle=not fast, seconds=0.05))
    assert clock.now() - start < DAY / 2
