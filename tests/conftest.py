"""Set-up that all tests share."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent
# One namespace: scripted servers and running crawls are used by tests in other folders too.
FOLDERS = (TESTS, TESTS / "fetch" / "http", TESTS / "fetch" / "ftp", TESTS / "seed", TESTS / "integration")
sys.path[:0] = map(str, FOLDERS)
