"""The model of the protocol (protocol.pml), checked by spin: no error as it is, and one for each part that is missing.

By default two workers live once each: two million states. `GOSSAMER_LIVES=3` lets one of them be restarted.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.debian import unpacked

MODEL = Path(__file__).with_name("protocol.pml")
LIVES = int(os.environ.get("GOSSAMER_LIVES", "2"))
MISSING = ("NO_FENCE", "NO_COUNT", "NO_LEASE", "TWO_READS", "ONE_STATEMENT")

pytestmark = pytest.mark.skipif(
    shutil.which("gcc") is None, reason="spin makes a C program of a model; there is no gcc"
)


def errors_in(folder: Path, *definitions: str) -> int:
    """How many errors spin finds; it stops at the first."""
    for command in (
        [str(unpacked("spin") / "usr/bin/spin"), "-a", *(f"-D{name}" for name in definitions), str(MODEL)],
        ["gcc", "-w", "-O2", "-DSAFETY", "-DHC4", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    table = "-w27" if "LIVES=3" in definitions else "-w21"
    done = subprocess.run(["./pan", "-E", "-m100000", table], cwd=folder, check=True, capture_output=True, text=True)
    assert "truncated" not in done.stdout, done.stdout
    found = re.search(r"errors: (\d+)", done.stdout)
    assert found is not None, done.stdout
    print(*re.findall(r".*(?:assertion violated|states, stored).*", done.stdout), sep="\n")
    return int(found[1])


def test_no_state_of_the_protocol_is_wrong(tmp_path: Path) -> None:
    assert errors_in(tmp_path, f"LIVES={LIVES}") == 0


def test_spin_finds_every_missing_part(tmp_path: Path) -> None:
    assert {part: errors_in(tmp_path, "LIVES=2", part) for part in MISSING} == dict.fromkeys(MISSING, 1)
