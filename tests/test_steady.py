"""`make steady` names every test that failed in any of its runs."""

from pathlib import Path

import pytest

from tests import steady

SUITE = """
import os
from pathlib import Path

def test_passes():
    assert Path(os.environ["TMPDIR"]).is_dir()

def test_fails():
    assert False

@pytest.fixture
def broken():
    raise OSError("no such thing")

def test_cannot_start(broken):
    pass
"""


def test_failures_and_errors_are_listed_with_the_seed_of_their_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "test_suite.py"
    suite.write_text("import pytest\n" + SUITE, encoding="utf-8")

    status = steady.main(["--runs", "1", "--seed", "1", "--tmpfs", "16m", "--processes", "0", str(suite)])

    printed = capfd.readouterr().out
    summary = printed[printed.index("runs: 1, failed: 1") :]
    assert status == 1
    assert "test_suite.py::test_fails: run 1, seed " in summary
    assert "test_suite.py::test_cannot_start: run 1, seed " in summary
    assert "test_passes" not in summary
