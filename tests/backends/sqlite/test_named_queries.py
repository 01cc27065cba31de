"""The files of SQL: every statement has a name, and no name has two."""

from pathlib import Path

import pytest

import gossamer.backends.sqlite
from gossamer.backends.sqlite.database import named_queries

FOLDER = Path(gossamer.backends.sqlite.__file__).parent


@pytest.mark.parametrize("file", sorted(path.name for path in FOLDER.glob("*.sql")))
def test_no_name_has_two_statements(file: str) -> None:
    names = [line for line in (FOLDER / file).read_text().splitlines() if line.startswith("-- name: ")]

    assert len(names) == len(set(names)) == len(named_queries(file))
