"""The report at the end of a crawl: what came of it, where it lies, what to do next."""

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.observe import formatting
from gossamer.observe.display import Terminal
from gossamer.observe.formatting import Section, is_text, plain_report
from gossamer.observe.snapshot import Snapshot

_REASONS_SHOWN = 12


def print_report(snapshot: Snapshot, directory: Path, stream: TextIO, parts: Sequence[Path] = ()) -> None:
    """Tables in colour on a terminal, plain aligned text elsewhere; the same words in both. `parts`: the directories of
    several workers."""
    console = Terminal(stream)
    sections = report_sections(snapshot, directory, parts)
    if console.is_for_people:
        _print_tables(console, sections, snapshot)
    else:
        stream.write(plain_report(sections) + "\n")
    stream.flush()


def report_sections(snapshot: Snapshot, directory: Path, parts: Sequence[Path] = ()) -> list[Section]:
    """Everything the report says. Parts with nothing to say are left out."""
    sections = [
        Section(_headline(snapshot), tuple(_totals(snapshot))),
        Section("Answers", _reasons(snapshot.statuses)),
        Section("Errors by reason", _reasons(snapshot.errors)),
        Section("Excluded by reason", _reasons(snapshot.excluded)),
        Section("Politeness", tuple(_politeness(snapshot))),
        Section("Files", tuple(_files(directory, parts))),
        Section("What next", tuple(_next(snapshot, directory))),
    ]
    return [section for section in sections if section.rows]


def _headline(snapshot: Snapshot) -> str:
    if snapshot.finished:
        return "Crawl finished: nothing is left to do"
    return f"Crawl stopped: {formatting.count(snapshot.queued)} URLs are still queued"


def _totals(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    elapsed = snapshot.elapsed
    per_second = snapshot.run_pages / elapsed if elapsed > 0 else 0.0
    per_cpu = snapshot.run_pages / snapshot.cpu_seconds if snapshot.cpu_seconds > 0 else 0.0
    this_run = f"{formatting.count(snapshot.run_pages)} in this run, " if snapshot.run_pages != snapshot.pages else ""
    rows = [
        ("pages stored", formatting.count(snapshot.pages), f"{this_run}{formatting.rate(per_second)} a second"),
        ("responses", formatting.count(snapshot.fetched), formatting.size(snapshot.bytes)),
        (
            "URLs discovered",
            formatting.count(snapshot.discovered),
            f"on {formatting.count(snapshot.hosts_known)} hosts",
        ),
        (
            "by sitemaps",
            formatting.count(snapshot.sitemap_urls),
            f"of these, listed in {formatting.count(snapshot.sitemaps)}",
        ),
        ("still queued", formatting.count(snapshot.queued), ""),
        ("duplicates", formatting.count(snapshot.duplicates), "the same document under another URL"),
        ("near-duplicates", formatting.count(snapshot.near_duplicates), ""),
        ("visited again", formatting.count(snapshot.refreshed), _again(snapshot)),
        ("redirects", formatting.count(snapshot.redirects), ""),
        (
            "missing",
            formatting.count(snapshot.missing),
            f"and {formatting.count(snapshot.gone)} gone for good" if snapshot.gone else "",
        ),
        ("dead letters", formatting.count(snapshot.dead), "tries used up"),
    ]
    optional = {
        "visited again",
        "by sitemaps",
        "near-duplicates",
        "redirects",
        "missing",
        "dead letters",
        "duplicates",
        "still queued",
    }
    rows = [row for row in rows if row[1] != "0" or row[0] not in optional]
    cpu = f"{formatting.rate(per_cpu)} pages a CPU-second" if snapshot.run_pages else ""
    return [
        *rows,
        ("elapsed", formatting.clock_time(elapsed), f"{snapshot.cpu_seconds:.1f} s of CPU, {cpu}".rstrip(", ")),
        ("memory", formatting.size(snapshot.max_rss_bytes), "at most"),
    ]


def _again(snapshot: Snapshot) -> str:
    same = formatting.count(snapshot.not_modified + snapshot.unchanged)
    by_304 = formatting.count(snapshot.not_modified)
    told = f"{formatting.count(snapshot.changed)} changed, {same} did not ({by_304} by a 304)"
    fresh = snapshot.freshening.fresh
    return told if fresh is None else f"{told}; {100 * fresh:.0f} % of the pages are fresh"


def _reasons(counts: dict[str, int]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (formatting.printable(name, 40), formatting.count(n), "")
        for name, n in formatting.largest(counts, _REASONS_SHOWN)
    )


def _politeness(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    violations = snapshot.politeness_violations
    remark = "a fault of ours: please report it" if violations else "every gap was kept, by our own audit"
    return [("violations", formatting.count(violations), remark)]


def _files(directory: Path, parts: Sequence[Path]) -> list[tuple[str, str, str]]:
    archives = [file for part in parts or (directory,) for file in part.glob("warc/*.warc.gz")]
    total = sum(file.stat().st_size for file in archives)
    files = "file" if len(archives) == 1 else "files"
    size = f"{formatting.count(len(archives))} {files}, {formatting.size(total)}"
    if parts:
        rows = [
            ("documents", str(part / "warc"), "" if number else f"{size} in all") for number, part in enumerate(parts)
        ]
        rows += [("database", str(part / "crawl.db"), "") for part in parts if (part / "crawl.db").exists()]
    else:
        rows = [("documents", str(directory / "warc"), size)]
    rows += [
        (label, str(directory / name), "")
        for label, name in (("database", "crawl.db"), ("log", "crawl.log"))
        if (directory / name).exists()
    ]
    return [(label, formatting.printable(path), remark) for label, path, remark in rows]


def _next(snapshot: Snapshot, directory: Path) -> list[tuple[str, str, str]]:
    where = _dir_option(directory)
    rows = []
    if not snapshot.finished:
        rows.append(("go on", "run the same command again", "it resumes where it stopped"))
    rows.append(("pages", f"gossamer pages{where}", "a line for each"))
    if snapshot.dead:
        rows.append(("dead letters", f"gossamer dead list{where}", "then requeue or drop them"))
    return rows


def _dir_option(directory: Path) -> str:
    return "" if directory == Path("crawl") else f" --dir {formatting.printable(str(directory))}"


def _print_tables(console: Console, sections: Sequence[Section], snapshot: Snapshot) -> None:
    label = max((len(row[0]) for section in sections for row in section.rows), default=0)
    good = snapshot.finished and not snapshot.politeness_violations
    for i, section in enumerate(sections):
        if i == 0:
            style = "bold green" if good else "bold yellow"
        else:
            style = "bold red" if section.title == "Politeness" and snapshot.politeness_violations else "bold cyan"
        console.print(Text(section.title, style))
        table = Table.grid(padding=(0, 2), pad_edge=False)
        texts = any(is_text(row[1]) for row in section.rows)
        table.add_column(min_width=label + 2, style="dim", no_wrap=True)
        table.add_column(justify="left" if texts else "right", overflow="fold")
        table.add_column(style="dim", overflow="fold")
        for name, value, remark in section.rows:
            table.add_row(Text("  " + name), Text(value), Text(remark))
        console.print(table)
        console.print()
