"""The processes that tests fork are like those that a user starts (forker.py)."""

import os
import signal
from pathlib import Path

import pytest

from tests.integration.crawl_process import Command, Ended, gossamer

pytestmark = pytest.mark.service


def fresh(*arguments: object, cwd: Path) -> Ended:
    return gossamer(*arguments, cwd=cwd, preexec=lambda: None)


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["pages"], ["crawl"], ["crawl", "http://a.test/", "--delay", "x"], ["nothing"]],
    ids=" ".join,
)
def test_a_forked_process_says_and_ends_as_a_fresh_one(tmp_path: Path, arguments: list[str]) -> None:
    assert gossamer(*arguments, cwd=tmp_path) == fresh(*arguments, cwd=tmp_path)


def test_it_is_our_child_works_in_the_directory_it_was_given_and_can_be_killed(tmp_path: Path) -> None:
    with Command("simweb", "--hosts", 2, "--pages", 10, "--log", "requests.log", cwd=tmp_path) as command:
        assert command.process.stdout is not None and command.process.stdout.readline()
        place = Path(f"/proc/{command.process.pid}")
        parent = next(line for line in (place / "status").read_text().splitlines() if line.startswith("PPid:"))
        streams = [os.readlink(place / "fd" / str(number)) for number in range(3)]
        command.strike(signal.SIGKILL)
        command.process.wait()

    assert int(parent.split()[1]) == os.getpid()
    assert all(stream.startswith("pipe:") for stream in streams)
    assert (tmp_path / "requests.log").exists()
    assert command.process.returncode == -signal.SIGKILL
