"""docs/REQUIREMENTS.md is complete, and its modules and tests exist."""

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
    """The errors in one row of the page, as far as a program can find them."""
    found = []
    if requirement.status not in STATUSES:
        found.append(f"unknown status {requirement.status!r}")
    if requirement.status != "open" and not (requirement.modules and requirement.tests):
        found.append(f"{requirement.status}, but a module or a test is missing")
    if requirement.status == "open" and (requirement.modules or requirement.tests):
        found.append("open, but has modules or tests")
    if requirement.status == "partly" and not requirement.missing:
        found.append("partly, but nothing is listed as missing")
    if requirement.status == "works" and requirement.missing:
        found.append("works, but something is listed as missing")
    found += [f"no module {name}" for name in requirement.modules if not (root / "src" / "gossamer" / name).is_file()]
    found += [f"no test {name}" for name in requirement.tests if not is_a_test(name, root)]
    return found


def is_a_test(name: str, root: Path) -> bool:
    """Whether `path::function` is a test function under tests/."""
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
def test_every_row_is_correct(requirement: Requirement) -> None:
    assert problems(requirement, ROOT) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("| F9 | the end | works | `crawl/engine.py` |  |  |", "a module or a test is missing"),
        (
            "| F9 | the end | works |  | `test_requirements.py::test_every_id_is_listed_exactly_once` |  |",
            "a module or a test is missing",
        ),
        (
            "| F9 | the end | works | `crawl/nowhere.py` | `test_requirements.py::test_x` |  |",
            "no module crawl/nowhere.py",
        ),
        ("| F9 | the end | works | `cli/main.py` | `test_requirements.py::test_x` |  |", "no test"),
        ("| F9 | the end | works | `cli/main.py` | `test_requirements.py::problems` |  |", "no test"),
        ("| F9 | the end | works | `cli/main.py` | `nowhere/test_x.py::test_x` |  |", "no test"),
        ("| F9 | the end | partly | `cli/main.py` | `test_x.py::test_x` |  |", "nothing is listed as missing"),
        ("| F9 | the end | works | `cli/main.py` | `test_x.py::test_x` | a lot |", "something is listed as missing"),
        ("| F9 | the end | open | `cli/main.py` |  |  |", "open, but has modules or tests"),
        ("| F9 | the end | nearly |  |  |  |", "unknown status"),
    ],
)
def test_every_kind_of_error_is_found(line: str, problem: str) -> None:
    (requirement,) = read_page(line)

    assert any(problem in found for found in problems(requirement, ROOT))
