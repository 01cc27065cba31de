"""Results as tables: plain, Markdown or JSON."""

import json
from collections.abc import Callable, Sequence

from benchmarks.peers.judge import Finding
from benchmarks.peers.match import Result
from benchmarks.peers.rounds import ROUNDS
from benchmarks.peers.trouble import DAMAGES, FAILING, LOOPS, SILENT

Column = tuple[str, Callable[[Result], str]]


def _counted(finding: Finding) -> Callable[[Result], str]:
    return lambda result: str(result.findings[finding])


_COST: tuple[Column, ...] = (
    ("CPU s", lambda r: f"{r.usage.cpu_seconds:.1f}"),
    ("wall s", lambda r: f"{r.usage.seconds:.1f}"),
    ("end", lambda r: r.usage.end.value),
)
_MEMORY: Column = ("memory MB", lambda r: f"{r.usage.peak_bytes / 1e6:.0f}")
_FOUND: tuple[Column, ...] = (
    ("stored", lambda r: f"{r.stored} of {r.documents}"),
    ("fetched again", _counted(Finding.TWICE)),
)
_MANNERS: tuple[Column, ...] = (
    ("robots.txt breached", _counted(Finding.FORBIDDEN)),
    ("before robots.txt", _counted(Finding.BEFORE_ROBOTS)),
    ("too soon", _counted(Finding.TOO_SOON)),
    ("at once", _counted(Finding.AT_ONCE)),
    ("Crawl-delay ignored", _counted(Finding.CRAWL_DELAY)),
    ("Retry-After ignored", _counted(Finding.RETRY_AFTER)),
)
COLUMNS: dict[str, tuple[Column, ...]] = {
    "flat out": (("pages per CPU s", lambda r: f"{r.per_cpu_second:.0f}"), _MEMORY, *_FOUND, *_COST),
    "polite": (*_FOUND[:1], ("shut out", _counted(Finding.SHUT_OUT)), *_FOUND[1:], *_MANNERS, *_COST),
    "trap": (("wasted in traps", _counted(Finding.WASTED)), *_FOUND, *_COST),
    "killed": (*_FOUND, *_MANNERS[2:4], *_COST),
    "trouble": (
        *_FOUND,
        ("texts whole", lambda r: f"{r.whole_texts} of {len(DAMAGES)}"),
        ("asked of 500s", lambda r: str(r.asked[FAILING])),
        ("asked of the silent", lambda r: str(r.asked[SILENT])),
        ("asked of loops", lambda r: str(r.asked[LOOPS])),
        *_COST,
    ),
}


def markdown(results: Sequence[Result]) -> str:
    """A section for each round that was played."""
    parts = []
    for match in ROUNDS:
        rows = [result for result in results if result.round == match.name]
        if rows:
            parts.append(f"### {match.name.capitalize()}\n\n{match.about}.\n\n{_markdown_table(match.name, rows)}")
    return "\n".join(parts)


def plain(results: Sequence[Result]) -> str:
    """A line for each crawler and a column for each figure, aligned."""
    parts = []
    for match in ROUNDS:
        rows = _cells(match.name, [result for result in results if result.round == match.name])
        if len(rows) > 1:
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
            parts.append(f"{match.name}: {match.about}\n" + "\n".join(line.rstrip() for line in lines) + "\n")
    return "\n".join(parts)


def as_json(results: Sequence[Result], versions: dict[str, str], machine: str) -> str:
    return json.dumps(
        {"machine": machine, "versions": versions, "results": [_object(result) for result in results]}, indent=1
    )


def _object(result: Result) -> dict[str, object]:
    return {
        "crawler": result.crawler,
        "round": result.round,
        "cpu_seconds": round(result.usage.cpu_seconds, 3),
        "peak_bytes": result.usage.peak_bytes,
        "seconds": round(result.usage.seconds, 2),
        "end": result.usage.end.name.lower(),
        "requests": result.requests,
        "stored": result.stored,
        "documents": result.documents,
        "pages_per_cpu_second": round(result.per_cpu_second, 1),
        "findings": {finding.name.lower(): result.findings[finding] for finding in Finding},
        "asked": dict(result.asked),
        "whole_texts": result.whole_texts,
    }


def _cells(name: str, rows: Sequence[Result]) -> list[list[str]]:
    columns = COLUMNS[name]
    return [
        ["crawler", *(title for title, _ in columns)],
        *([r.crawler, *(show(r) for _, show in columns)] for r in rows),
    ]


def _markdown_table(name: str, rows: Sequence[Result]) -> str:
    head, *body = _cells(name, rows)
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
