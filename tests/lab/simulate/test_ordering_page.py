"""The pages on orderings speak of every order."""

import re
from pathlib import Path

from gossamer.lab.simulate.policies import POLICIES
from gossamer.lab.simulate.replay import SORTED

ROOT = Path(__file__).resolve().parents[3]
PAGES = (ROOT / "docs" / "PRIORITY.md", ROOT / "benchmarks" / "results" / "orderings.md")


def test_every_order_is_explained_and_has_results() -> None:
    words, results = (page.read_text(encoding="utf-8") for page in PAGES)
    table = re.search(r"^\| order \|.*\n\|-.*\n((?:\|.*\n)+)", words, flags=re.MULTILINE)
    assert table is not None

    assert re.findall(r"^\| `([^`]+)`", table[1], flags=re.MULTILINE) == [*POLICIES, SORTED]
    rows = re.findall(r"^\|(?:[^|`]*\|)? `([^`]+)` \| *\d", results, flags=re.MULTILINE)
    assert {*POLICIES, SORTED} - set(rows) <= {"bfs", "importance", "omniscient"}, rows
