"""docs/REQUIREMENTS.md is complete and names only what exists."""

import ast
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "REQUIREMENTS.md"
MISSION = ROOT.parent / "shared" / "MISSION.md"

LAST_NUMBERS = {"S": 3, "L": 7, "N": 3, "F": 10, "D": 6, "C": 4, "R": 3, "A": 6, "X": 6, "Z": 3, "B": 10}
STATUSES = ("works", "partly", "open")


class Requirement(NamedTuple):
    id: str
    status: str
    modules: list[str]
    tests: list[str]
    missing: str


def read_page(text: str) -> list[Requirement]:
    found = []
    for line in text.splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            number, _, status, modules, tests, missing = (cell.strip() for cell in line.strip("|").split("|"))
            named = re.findall(r"`([^`]+)`", modules), re.findall(r"`([^`]+)`", tests)
            found.append(Requirement(number, status, *named, missing))
    return found


def problems(requirement: Requirement, root: Path) -> list[str]:
    """What is untrue about one line of the page, as far as a program can tell."""
    found = []
    if requirement.status not in STATUSES:
        found.append(f"{requirement.status!r} is no status")
    if requirement.status != "open" and not (requirement.modules and requirement.tests):
        found.append(f"{requirement.status}, but by which module and held by which test?")
    if requirement.status == "open" and (requirement.modules or requirement.tests):
        found.append("open, but there is something")
    if requirement.status == "partly" and not requirement.missing:
        found.append("partly, but what is missing?")
    if requirement.status == "works" and requirement.missing:
        found.append("works, but something is missing")
    found += [f"no module {name}" for name in requirement.modules if not (root / "src" / "gossamer" / name).is_file()]
    found += [f"no test {name}" for name in requirement.tests if not is_a_test(name, root)]
    return found


def is_a_test(name: str, root: Path) -> bool:
    """Whether `path::function` is a test function of a file under tests/."""
    path, _, function = name.partition("::")
    file = root / "tests" / path
    if not (function.startswith("test_") and file.name.startswith("test_") and file.is_file()):
        return False
    body = ast.parse(file.read_text(encoding="utf-8")).body
    return any(isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name == function for n in body)


REQUIREMENTS = read_page(PAGE.read_text(encoding="utf-8"))


def test_every_id_is_listed_exactly_once() -> None:
    expected = [f"{letter}{n}" for letter, last in LAST_NUMBERS.items() for n in range(1, last + 1)]
    if MISSION.exists():
        assert re.findall(r"^\| ([A-Z]\d+) \|", MISSION.read_text(encoding="utf-8"), flags=re.MULTILINE) == expected

    assert Counter(requirement.id for requirement in REQUIREMENTS) == Counter(expected)


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.id)
def test_what_is_said_of_a_requirement_is_true(requirement: Requirement) -> None:
    assert problems(requirement, ROOT) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("| F9 | the end | works | `crawl/engine.py` |  |  |", "held by which test"),
        (
            "| F9 | the end | works |  | `test_requirements.py::test_every_id_is_listed_exactly_once` |  |",
            "which module",
        ),
        (
            "| F9 | the end | works | `crawl/nowhere.py` | `test_requirements.py::test_x` |  |",
            "no module crawl/nowhere.py",
        ),
        ("| F9 | the end | works | `cli/main.py` | `test_requirements.py::test_x` |  |", "no test"),
        ("| F9 | the end | works | `cli/main.py` | `test_requirements.py::problems` |  |", "no test"),
        ("| F9 | the end | works | `cli/main.py` | `nowhere/test_x.py::test_x` |  |", "no test"),
        ("| F9 | the end | partly | `cli/main.py` | `test_x.py::test_x` |  |", "what is missing"),
        ("| F9 | the end | works | `cli/main.py` | `test_x.py::test_x` | a lot |", "something is missing"),
        ("| F9 | the end | open | `cli/main.py` |  |  |", "there is something"),
        ("| F9 | the end | nearly |  |  |  |", "no status"),
    ],
)
def test_an_untrue_line_is_found(line: str, problem: str) -> None:
    (requirement,) = read_page(line)

    assert any(problem in found for found in problems(requirement, ROOT))
