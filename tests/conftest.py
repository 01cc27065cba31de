"""Set-up that all tests share."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent
# One namespace: scripted servers and running crawls are used by tests in other folders too.
sys.path[:0] = [str(TESTS), str(TESTS / "fetch" / "http"), str(TESTS / "integration")]
