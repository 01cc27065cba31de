"""Every queue has a gauge and a row in the table of docs/ARCHITECTURE.md, with its limit and what it slows down."""

import re
from pathlib import Path

from gossamer.crawl.status import QUEUES

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "ARCHITECTURE.md"


def rows() -> list[list[str]]:
    section = DOCUMENT.read_text(encoding="utf-8").partition("\n## Queues\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_queues_and_the_gauges_are_the_same() -> None:
    told = {name for row in rows() for name in re.findall(r"`(\w+)`", row[3])}

    assert told == set(QUEUES)


def test_every_queue_has_a_bound_and_something_that_slows() -> None:
    assert rows() and all(len(row) == 5 and all(row) for row in rows())
