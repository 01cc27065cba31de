"""The disk fills up in the middle of a crawl, wherever that may strike: nothing is lost, nothing stored twice."""

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.lab.simweb.audit import Truth, ground_truth
from gossamer.lab.simweb.web import SimWeb
from tests.integration.crawl_checks import check_archive, check_outcomes
from tests.integration.crawl_process import Ended, Json, gossamer, scene, side_by_side, small_web, wait_until

pytestmark = pytest.mark.service

WEB = small_web(
    seed=41,
    hosts=25,
    pages=250,
    mean_bytes=40_000,
    fault_rate=0.0,
    crawl_delay_hosts=0,
    slow_hosts=0,
    max_host_pages=30,
)

# Too little for the tables, for the first batch, for the log of the database, for the archive.
VOLUMES = (64, 400, 1200, 3072)
FILES = (700,)  # a limit on the size of each file fails in other places
KIB = 1024
# A visit that was cut off may have kept its host busy until the restart, which is then owed a multiple of that.
TOML = "[politeness]\nmax_adaptive_delay = 0.3\n"


@dataclass(frozen=True, slots=True)
class Filled:
    """A crawl that ran out of room, and the same command once there was some."""

    full: Ended
    mounted: bool  # a volume was full; otherwise a file had reached the size that files may have
    again: Ended
    dir: Path
    web: SimWeb
    truth: Truth
    pages: list[Json]


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Filled]:
    found: dict[str, Filled] = {}
    folder = tmp_path_factory.mktemp("full")

    def fill(name: str, kib: int, *, volume: bool) -> None:
        with (
            scene(folder / name, WEB, ["--delay", 0.02], TOML) as stage,
            small_volume(stage.dir, kib, wanted=volume) as grow,
        ):
            full = gossamer(*stage.command, preexec=None if grow else lambda: limit_files(kib * KIB))
            if grow:
                grow()
            again = gossamer(*stage.command)
            pages, web = stage.pages(), stage.web.web()
            truth = ground_truth(web)
            # Here, because the volume and all that is in it goes with the block.
            check_archive(stage.dir, web, pages)
        found[name] = Filled(full, grow is not None, again, stage.dir, web, truth, pages)

    jobs = [lambda kib=kib: fill(f"volume-of-{kib}", kib, volume=True) for kib in VOLUMES]
    jobs += [lambda kib=kib: fill(f"files-of-{kib}", kib, volume=False) for kib in FILES]
    side_by_side(*jobs)
    return found


@contextmanager
def small_volume(directory: Path, kib: int, *, wanted: bool) -> Iterator[Callable[[], None] | None]:
    """A volume with little room, mounted on the directory; gives what makes it larger. None if it is not wanted, or if
    we may not mount anything: then a limit on the size of files has to do."""
    directory.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(directory)]
    if not wanted or subprocess.run(mounting, capture_output=True, check=False).returncode != 0:
        yield None
        return

    def grow() -> None:
        subprocess.run(["mount", "-o", "remount,size=64m", str(directory)], check=True)

    try:
        yield grow
    finally:
        # A process that is just being started elsewhere in this test may hold our open files for a moment.
        umount = ["umount", str(directory)]
        wait_until(lambda: subprocess.run(umount, capture_output=True, check=False).returncode == 0, "the volume")


def limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


NAMES = (*(f"volume-of-{kib}" for kib in VOLUMES), *(f"files-of-{kib}" for kib in FILES))


@pytest.fixture(params=NAMES)
def filled(request: pytest.FixtureRequest, crawls: dict[str, Filled]) -> Filled:
    return crawls[request.param]


def test_a_crawl_without_room_fails_and_says_why(filled: Filled) -> None:
    assert filled.full.status == 1, filled.full.err
    [line] = filled.full.err.splitlines()
    assert line.startswith("gossamer: error: ")
    # Of a file that may not grow SQLite says no more than that it could not be written.
    reasons = ("no space left",) if filled.mounted else ("file too large", "no space left", "disk i/o error")
    assert any(reason in line.lower() for reason in reasons)
    assert "Traceback" not in filled.full.err


def test_the_same_command_completes_the_crawl_when_there_is_room(filled: Filled) -> None:
    assert filled.again.status == 0, filled.again.err
    assert filled.again.report["finished"] is True
    assert filled.again.report["pages"] == filled.truth.documents


def test_nothing_is_lost_and_nothing_stored_twice(filled: Filled) -> None:
    check_outcomes(filled.truth, filled.pages)


def test_one_of_them_at_least_was_well_under_way(crawls: dict[str, Filled]) -> None:
    kept = [int(str(crawl.truth.documents)) - int(str(crawl.again.report["run_pages"])) for crawl in crawls.values()]

    assert max(kept) > 20
