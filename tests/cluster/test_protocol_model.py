"""The model of the protocol (protocol.pml), checked by spin: without an error as it is, and with one for each part that is
missing. `GOSSAMER_MODEL` has all states of the whole model checked, which takes a minute of CPU time and several GB of memory."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.debian import unpacked

MODEL = Path(__file__).with_name("protocol.pml")
WHOLE = bool(os.environ.get("GOSSAMER_MODEL"))
MISSING = ("NO_FENCE", "NO_COUNT", "NO_LEASE", "TWO_READS", "ONE_STATEMENT")
