"""Set-up that all tests share."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
HOSTILE = TESTS / "hostile"
# One namespace: scripted servers and running crawls are used by tests in other folders too.
FOLDERS = (
    *(TESTS, TESTS / "fetch" / "http", TESTS / "fetch" / "ftp", TESTS / "seed", TESTS / "integration", HOSTILE),
    *(TESTS / "service", TESTS / "cli"),
)
sys.path[:0] = map(str, FOLDERS)


@pytest.fixture(autouse=True)
def rules_of_the_hostile_web(request: pytest.FixtureRequest) -> Iterator[None]:
    """What must hold around every hostile case, whoever wrote it (tests/hostile/survival.py)."""
    if request.path.parent != HOSTILE:
        yield
        return
    from survival import surviving

    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    with surviving(folder):
        yield
