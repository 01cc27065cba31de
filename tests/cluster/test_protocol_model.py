"""The model of the protocol (protocol.pml), checked by spin: no error as it is, and one for each part that is missing.

Part of `make soak`, which sets `GOSSAMER_LIVES`: 3 for two machines, one of which restarts its worker, 15 million
states; 2 without the restart, 2 million. Half a minute of CPU time, and two GB of memory.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.debian import unpacked

MODEL = Path(__file__).with_name("protocol.pml")
LIVES = os.environ.get("GOSSAMER_LIVES")
MISSING = ("NO_FENCE", "NO_COUNT", "NO_LEASE", "TWO_READS", "ONE_STATEMENT")

pytestmark = [
    pytest.mark.skipif(LIVES is None, reason="part of make soak; GOSSAMER_LIVES=2 or 3"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="spin makes a C program of a model, and there is no gcc"),
]


def errors_in(folder: Path, *definitions: str) -> int:
    """How many errors spin finds; it stops at the first."""
    for command in (
        [str(unpacked("spin") / "usr/bin/spin"), "-a", *(f"-D{name}" for name in definitions), str(MODEL)],
        # With -O2 the compiler takes longer than the model.
        ["gcc", "-w", "-O1" if "LIVES=3" in definitions else "-O0", "-DSAFETY", "-DCOLLAPSE", "-o", "pan", "pan.c"],
    ):
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    table = "-w25" if "LIVES=3" in definitions else "-w21"
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
