"""The pages on orderings speak of every order, everywhere."""

import re
from pathlib import Path

from gossamer.lab.simulate.policies import POLICIES
from gossamer.lab.simulate.replay import SORTED

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "benchmarks" / "results"


def tables() -> list[list[str]]:
    """The first cells of each table with the heading `order`, first that of the formulas."""
    pages = (ROOT / "docs" / "PRIORITY.md", RESULTS / "orderings.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    bodies = re.findall(r"^\| order \|.*\n\|-.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return [re.findall(r"^\| `([^`]+)`", body, flags=re.MULTILINE) for body in bodies]


def test_every_order_stands_in_every_table_with_and_without_politeness_on_both_graphs() -> None:
    words, *results, cost = tables()

    assert words == [*POLICIES, SORTED]
    assert results == [words] * 4
    assert cost == list(POLICIES)


def test_both_drawings_have_a_line_for_every_order_in_both_panels() -> None:
    for name in ("cnr-2000", "simweb"):
        drawing = (RESULTS / f"ordering-{name}.svg").read_text(encoding="utf-8")

        for order in (*POLICIES, SORTED):
            assert drawing.count(f">{order}</text>") == 2, (name, order)
