"""docs/HOSTILE.md: every hostile case with its result and the tests that show it.

Made from `hostile_cases` and the names of the tests; `make docs` writes it.
"""

import ast
import re
from functools import cache
from pathlib import Path

from hostile_cases import DIFFERENCES, GROUPS, NOT_YET

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "HOSTILE.md"
_KINDS = {case[:2].lower() for group in GROUPS for case in group.cases}

_INTRODUCTION = """# The hostile web

What servers, name servers and TLS peers do to a crawler, and what becomes of it here. Every case is a test against a
real socket that misbehaves as said, named by the case's id; whole crawls run as processes of their own. `make test`
runs all of them, so a row that no longer holds fails the build. This page is made by `make docs` from
`tests/hostile/hostile_cases.py` and the names of the tests.

## Rules around every case

`tests/hostile/survival.py` holds every case to these, in one place, whoever wrote the test:

| rule | how it is checked |
|---|---|
"""
_RULES = (
    (
        "nothing of ours fails, no worker is lost (G1)",
        "no exception in a callback, thread or forgotten task; a crawl ends with status 0, without "
        "`crawl.failed` in its log",
    ),
    (
        "the event loop is never held (G2)",
        "a heartbeat; at most 250 ms of the loop's own CPU time between two beats",
    ),
    (
        "memory is bounded (G3)",
        "resident memory grows by at most 64 MiB, or less where a case says so; a crawl stays below 400 MiB",
    ),
    (
        "everything ends (G4)",
        "every case has deadlines scaled down, and comes to its end within them",
    ),
    (
        "others are served meanwhile (G5)",
        "a healthy host is fetched from all through a case, and crawled completely beside a hostile one; "
        "the [mixed crawl](#the-mixed-crawl)",
    ),
    (
        "every URL is in one state, and the counts add up (G6)",
        "the tables of every crawl's database, counted row by row",
    ),
    (
        "only permitted addresses are dialled (G7)",
        "listeners at forbidden addresses that must see nobody",
    ),
    (
        "a spoilt connection is not used again (G8)",
        "connections as the server counts them",
    ),
    (
        "files, sockets and processes are given back (G9)",
        "counted before and after",
    ),
    (
        "logs are clean (G10)",
        "every line of every crawl's log: one JSON object, ASCII, below 1 KB; a planted secret is in no "
        "log, database or archive header",
    ),
    (
        "politeness holds (G11)",
        "the crawl's own audit finds nothing; the times at which servers were asked",
    ),
    (
        "work is linear in its input (G12)",
        "CPU time; the fuzzing targets of `tests/fuzz`",
    ),
    (
        "what was confirmed survives a kill (G13)",
        "`tests/integration/test_kill_nine.py`",
    ),
    (
        "only http and https are opened (G14)",
        "refused schemes, counted; nothing else is ever dialled",
    ),
)
_MIXED = """
Labels of metrics (G15) come with the interface that serves them.

## The mixed crawl

200 healthy hosts among a hundred that are silent, drip, reset, never end, unpack to a gigabyte, redirect in circles,
speak no HTTP, fail at robots.txt, show expired certificates, refuse connections or have no name that answers:
`tests/integration/test_mixed_crawl.py` shows that the healthy ones are crawled completely and that no hostile host ever
holds more than one slot. `python -m benchmarks mixed` measures the rate of the healthy ones, alone and in this company.
"""


def ids_in(name: str) -> list[str]:
    """The cases that the name of a test carries: `test_bd_01_and_02_…` gives BD-01 and BD-02."""
    found = []
    kind = ""
    words = name.removeprefix("test_").split("_")
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in _KINDS and re.fullmatch(r"\d\d", following):
            kind = word.upper()
        elif kind and re.fullmatch(r"\d\d", word):
            found.append(f"{kind}-{word}")
        elif word != "and" or not found:
            break
    return found


@cache
def evidence() -> dict[str, list[tuple[str, str]]]:
    """Id -> file and name of every test that carries it, those of this folder first."""
    found: dict[str, list[tuple[str, str]]] = {}
    paths = sorted((ROOT / "tests").rglob("test_*.py"), key=lambda path: (path.parent.name != "hostile", path))
    for path in paths:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for case in ids_in(node.name):
                    found.setdefault(case, []).append((path.relative_to(ROOT).as_posix(), node.name))
    return found


def page() -> str:
    """The whole of docs/HOSTILE.md."""
    tests = evidence()
    parts = [_INTRODUCTION + "".join(f"| {rule} | {check} |\n" for rule, check in _RULES) + _MIXED]
    for group in GROUPS:
        parts.append(f"## {group.title}\n\n| id | what the other side does | result | tests |\n|---|---|---|---|")
        for case, behaviour in group.cases.items():
            shown = "<br>".join(f"`{name}`" for _, name in tests.get(case, []))
            parts[-1] += f"\n| {case} | {behaviour} | {_result(case, shown)} | {shown} |"
        parts[-1] += "\n"
    return "\n".join(parts)


def _result(case: str, tests: str) -> str:
    if not tests:
        return f"not yet. {NOT_YET.get(case, '')}".rstrip()
    return f"passes, with a difference. {DIFFERENCES[case]}" if case in DIFFERENCES else "passes"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
