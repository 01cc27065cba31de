"""The documents on recrawl policies cover every policy, and the results reach the goals."""

import re
from pathlib import Path

import pytest

from gossamer.lab.simulate.recrawl_compare import KNOWN
from gossamer.model.units import Instant, Seconds
from gossamer.recrawl.policies import RECRAWL_POLICIES, RecrawlPolicy
from gossamer.recrawl.policy import EMPTY_MEMORY, Terms, Visited

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results"
POLICIES = [*RECRAWL_POLICIES, KNOWN]
GOALS = {
    "recrawl-drawn.svg": 99.0,
    "recrawl-capped.svg": 96.5,
    "recrawl-drifting.svg": 95.0,
    "recrawl-recorded.svg": 99.0,
}


def tables() -> list[list[list[str]]]:
    """The cells of each table that begins with the heading `policy`."""
    pages = (DOCS / "RECRAWL.md", RESULTS / "recrawl.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    bodies = re.findall(r"^\| policy \|.*\n\|-.*\n((?:\|.*\n)+)", text, flags=re.MULTILINE)
    return [[[cell.strip(" `*") for cell in row.split("|")[1:-1]] for row in body.splitlines()] for body in bodies]


def test_every_policy_is_in_every_table() -> None:
    words, *results = tables()

    assert [row[0] for row in words] == POLICIES
    assert [[row[0] for row in table] for table in results] == [["optimum", *POLICIES]] * len(GOALS)


def test_the_goals_are_reached_and_no_other_rule_reaches_them() -> None:
    _, *results = tables()

    for table, goal in zip(results, GOALS.values(), strict=True):
        of_optimum = {row[0]: float(row[2]) for row in table}
        assert of_optimum["optimal"] >= goal
        assert all(of_optimum[peer] < goal for peer in RECRAWL_POLICIES if peer != "optimal")


@pytest.mark.parametrize("name", GOALS)
def test_every_drawing_has_a_line_for_every_policy_by_importance_and_by_page(name: str) -> None:
    drawing = (RESULTS / name).read_text(encoding="utf-8")

    for policy in ("optimum", *POLICIES):
        assert drawing.count(f">{policy}</text>") == 2, policy


def test_the_example_of_a_policy_does_what_it_says() -> None:
    page = (DOCS / "EXTENDING.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", page.partition("## A recrawl policy")[2], flags=re.DOTALL)[0]
    made: dict[str, type[RecrawlPolicy]] = {}
    exec(code, made)
    policy, memory, gaps = made["Doubling"](), EMPTY_MEMORY, []
    for changed in (False, False, False, True):
        plan = policy.after(Visited(Instant(0.0), Seconds(1.0), changed), memory, Terms(shortest=Seconds(600.0)))
        memory = plan.memory
        gaps.append(plan.next_visit)

    assert gaps == [1200.0, 2400.0, 4800.0, 600.0]
