"""docs/REQUIREMENTS.md is complete, shows every requirement from outside, and its commands, modules and tests exist."""

import ast
import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from gossamer.cli import COMMANDS
from tests.reference import parser_of

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "REQUIREMENTS.md"
MISSION = ROOT.parent / "shared" / "MISSION.md"

LAST_NUMBERS = {"S": 3, "L": 7, "N": 3, "F": 10, "D": 6, "C": 4, "R": 3, "A": 6, "X": 6, "Z": 3, "B": 10}
STATUSES = ("works", "partly", "open")
OUTSIDE = ("integration/", "hostile/", "service/", "cli/", "workers/", "library/", "test_deploy.py")
"""Where tests see no more than a user, an operator or a server does."""
CALLS = {
    f"{method.upper()} {path}"
    for path, methods in json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))["paths"].items()
    for method in methods
}


class Requirement(NamedTuple):
    id: str
    status: str
    shown: list[str]  # commands, API calls and tests from outside
    tests: list[str]
    modules: list[str]
    missing: str


def read_page(text: str) -> list[Requirement]:
    found = []
    for line in text.splitlines():
        if re.match(r"\| [A-Z]\d+ \|", line):
            number, _, status, *named, missing = (cell.strip() for cell in line.strip()[1:-1].split("|"))
            shown, tests, modules = (re.findall(r"`([^`]+)`", cell) for cell in named)
            found.append(Requirement(number, status, shown, tests, modules, missing))
    return found


def problems(requirement: Requirement, root: Path) -> list[str]:
    """The errors in one row of the page, as far as a program can find them."""
    found = []
    if requirement.status not in STATUSES:
        found.append(f"unknown status {requirement.status!r}")
    outside = [name for name in requirement.shown if "::" in name]
    if requirement.status != "open" and not (requirement.modules and outside):
        found.append(f"{requirement.status}, but a module or a test from outside is missing")
    if requirement.status == "open" and (requirement.modules or requirement.tests or requirement.shown):
        found.append("open, but has modules or tests")
    if requirement.status == "partly" and not requirement.missing:
        found.append("partly, but nothing is listed as missing")
    if requirement.status == "works" and requirement.missing:
        found.append("works, but something is listed as missing")
    found += [f"no module {name}" for name in requirement.modules if not (root / "src" / "gossamer" / name).is_file()]
    found += [f"no test {name}" for name in requirement.tests + outside if not is_a_test(name, root)]
    found += [f"not from outside: {name}" for name in outside if not name.startswith(OUTSIDE)]
    found += [f"no command or call {name}" for name in requirement.shown if "::" not in name and not is_offered(name)]
    return found


def is_offered(name: str) -> bool:
    """Whether a command has all the options that are given, or the service has a call."""
    if not name.startswith("gossamer "):
        return name in CALLS
    _, command, *words = shlex.split(name)
    if command not in COMMANDS:
        return False
    options = {option for action in parser_of(command)._actions for option in action.option_strings}
    return all(word in options for word in words if word.startswith("--"))


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


def test_every_row_is_correct() -> None:
    wrong = {requirement.id: problems(requirement, ROOT) for requirement in REQUIREMENTS}

    assert {number: found for number, found in wrong.items() if found} == {}


def test_every_kind_of_error_is_found() -> None:
    real, unit = "cli/test_command_line.py::test_pages_as_json_can_be_filtered", "test_docs.py::test_x"
    cases = [
        ("| F9 | the end | works |  |  | `crawl/engine.py` |  |", "a test from outside is missing"),
        ("| F9 | the end | works | `gossamer status` |  | `crawl/engine.py` |  |", "a test from outside is missing"),
        (f"| F9 | the end | works | `{real}` |  |  |  |", "a module or a test"),
        (f"| F9 | the end | works | `{real}` |  | `crawl/nowhere.py` |  |", "no module crawl/nowhere.py"),
        (f"| F9 | the end | works | `{real}` | `test_docs.py::test_x` | `cli/main.py` |  |", "no test test_docs.py"),
        (f"| F9 | the end | works | `{real}` | `nowhere/test_x.py::test_x` | `cli/main.py` |  |", "no test nowhere"),
        (f"| F9 | the end | works | `{real}` | `test_docs.py::rows` | `cli/main.py` |  |", "no test test_docs.py"),
        (f"| F9 | the end | works | `{unit}` |  | `cli/main.py` |  |", "not from outside"),
        (f"| F9 | the end | works | `gossamer fly`<br>`{real}` |  | `cli/main.py` |  |", "no command"),
        (f"| F9 | the end | works | `gossamer status --fly`<br>`{real}` |  | `cli/main.py` |  |", "no command"),
        (f"| F9 | the end | works | `GET /fly`<br>`{real}` |  | `cli/main.py` |  |", "no command or call GET /fly"),
        (f"| F9 | the end | partly | `{real}` |  | `cli/main.py` |  |", "nothing is listed as missing"),
        (f"| F9 | the end | works | `{real}` |  | `cli/main.py` | a lot |", "something is listed as missing"),
        ("| F9 | the end | open |  |  | `cli/main.py` |  |", "open, but has modules or tests"),
        ("| F9 | the end | nearly |  |  |  |  |", "unknown status"),
    ]
    for line, problem in cases:
        (requirement,) = read_page(line)
        assert any(problem in found for found in problems(requirement, ROOT)), line
