"""A crawler as a process, as the comparison runs it: measured with its children, and never left behind."""

import os
import sys
import threading
from pathlib import Path

import pytest

from benchmarks.peers.running import End, Usage, run

BUSY = "import time\nwhile time.process_time() < 0.3: pass\n"


def ran(tmp_path: Path, code: str, *, limit: float = 60.0, stop_at: Path | None = None, kill: bool = False) -> Usage:
    return run(
        [sys.executable, "-c", code],
        hosts=None,
        cwd=tmp_path,
        output=tmp_path / "output.txt",
        environment=dict(os.environ),
        limit=limit,
        until=stop_at.exists if stop_at is not None else None,
        kill=kill,
    )


def test_the_time_of_children_counts(tmp_path: Path) -> None:
    usage = ran(tmp_path, f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\n{BUSY}")

    assert usage.end is End.ITSELF
    assert usage.cpu_seconds >= 0.6


@pytest.mark.parametrize(("kill", "end"), [(True, End.KILLED), (False, End.STOPPED)])
def test_it_can_be_killed_or_asked_to_stop(tmp_path: Path, kill: bool, end: End) -> None:
    code = (
        "import pathlib, time\ntry:\n    pathlib.Path('up').touch()\n    time.sleep(600)\n"
        "except KeyboardInterrupt:\n    pathlib.Path('stopped').touch()"
    )

    assert ran(tmp_path, code, stop_at=tmp_path / "up", kill=kill).end is end
    assert (tmp_path / "stopped").exists() is not kill


def test_what_fails_is_not_taken_for_what_ends(tmp_path: Path) -> None:
    assert ran(tmp_path, "raise SystemExit(3)").end is End.FAILED


def test_what_does_not_end_runs_out_of_time(tmp_path: Path) -> None:
    assert ran(tmp_path, "import time\ntime.sleep(600)", limit=0.3).end is End.TIME


def test_its_children_go_with_it(tmp_path: Path) -> None:
    child = "[sys.executable, '-c', 'import time; time.sleep(600)']"
    code = (
        "import pathlib, subprocess, sys, time\n"
        f"print(subprocess.Popen({child}).pid, flush=True)\npathlib.Path('up').touch()\ntime.sleep(600)"
    )

    ran(tmp_path, code, stop_at=tmp_path / "up", kill=True)

    orphan = int((tmp_path / "output.txt").read_text().split()[0])
    pause = threading.Event()
    assert any(_is_gone(orphan) or pause.wait(0.01) for _ in range(12_000))


def _is_gone(pid: int) -> bool:
    """Ended, whether its new parent has buried it or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
