"""docs/HOSTILE.md: every hostile case with its result and the tests that show it.

Made from `hostile_cases` and the names of the tests; `make docs` writes it.
"""

import ast
import re
from functools import cache
from pathlib import Path

from tests.hostile.hostile_cases import DIFFERENCES, GROUPS, NOT_YET

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "HOSTILE.md"

_INTRODUCTION = """# The hostile web

What servers, name servers and TLS peers do to a crawler, and what becomes of it here. Every case is a test against a
real socket that misbehaves as said, named by the case's id; whole crawls run as processes of their own. `make test`
runs all of them, so a row that no longer holds fails the build. This page is made by `make docs` from
`tests/hostile/hostile_cases.py` and the names of the tests.

## Rules around every case

`tests/hostile/survival.py` holds all cases to these, in one place; on the test's own event loop (loop) or as a whole
crawl (crawl):

| rule | how it is checked |
|---|---|
"""
_RULES = (
    ("nothing of ours fails (G1)", "no exception in a callback, thread or forgotten task; no `crawl.failed` in a log"),
    ("the loop is never held (G2; loop)", "a heartbeat: at most 250 ms of the loop's own CPU time between two beats"),
    ("memory is bounded (G3)", "resident memory grows by at most 64 MiB, or less where a case says so"),
    ("everything ends (G4; loop)", "within a minute, with deadlines scaled down"),
    ("counts add up (G6; crawl)", "every URL in one state, with a reason where it is not stored, row by row"),
    ("all is given back (G9)", "open files, sockets and processes before and after"),
    ("logs are clean (G10; crawl)", "every line one JSON object, ASCII, below 1 KB; a planted secret is in no file"),
    ("politeness holds (G11; crawl)", "the crawl's own audit finds nothing"),
)
_MIXED = """
The others are shown where they can be:

| rule | where |
|---|---|
| others are served meanwhile (G5) | framing, bodies, TLS: a healthy host is fetched from all through each case, and \
crawled beside each hostile one; DN-03; the mixed crawl below |
| only permitted addresses are dialled (G7) | listeners at forbidden addresses that see nobody: DN-07 to DN-09, \
UR-09, RD-07 |
| a spoilt connection is not used again (G8) | HTTP framing, by the connections that the server counts |
| politeness, as servers see it (G11) | rate and refusal, RD-16; one request at a time in the mixed crawl |
| work is linear in its input (G12) | CPU time in single cases; `tests/fuzz` |
| what was confirmed survives a kill (G13) | `tests/integration/test_kill_nine.py`, RT-07 |
| only http and https are opened (G14) | UR-01, RD-05, RD-06 |

Labels of metrics come from fixed lists (G15): `tests/service/test_metrics.py`. The control interface is tested as a
process of its own, in `tests/service`, and there the rules above are not checked around every case.

## The mixed crawl

200 healthy hosts among a hundred that are silent, drip, reset, never end, unpack to a gigabyte, redirect in circles,
speak no HTTP, fail at robots.txt, show expired certificates, refuse connections or have no name that answers:
`tests/integration/test_mixed_crawl.py` shows that the healthy ones are crawled completely and that no hostile host ever
holds more than one slot. `python -m benchmarks mixed` measures their rate, alone and in this company (at the time of
writing 0.96 of it), and that of 50 healthy hosts among 160 that are all silent, twice as many as there are slots
(0.97): visits that are late step aside (ADR 12).
"""
_KINDS = {case[:2].lower() for group in GROUPS for case in group.cases}


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
