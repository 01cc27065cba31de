"""The report at the end of a crawl: results, where the files are, and what to do next."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gossamer.observe import formatter
from gossamer.observe.display import Terminal
from gossamer.observe.formatter import Section, is_text, plain_report
from gossamer.observe.snapshot import Snapshot

_REASONS_SHOWN = 12


class CrawlFiles(NamedTuple):
    """Where a crawl stores its results; with several workers, each has an archive and a database."""

    archives: Sequence[Path | str]  # a URL if it is in object storage
    databases: Sequence[str]
    log: Path
    archive_files: int = 0
    archive_bytes: int = 0
    store: str | None = None  # the URL of a store that is not in the directory, without its password


def print_report(
    snapshot: Snapshot,
    directory: Path,
    stream: TextIO,
    files: CrawlFiles,
    *,
    max_pages: int | None = None,
    more: int | None = None,
    program: str = "gossamer",
    steps: Sequence[tuple[str, str, str]] = (),
) -> None:
    """Coloured tables on a terminal, the same text in aligned columns elsewhere. `max_pages` is the page limit of the
    crawl, of which this run added `more` (None: all of it). `program` is how to call Gossamer here, and `steps` are
    further rows of "Next steps"."""
    console = Terminal(stream)
    sections = report_sections(snapshot, directory, files, max_pages=max_pages, more=more, program=program, steps=steps)
    if console.is_interactive_terminal:
        _print_tables(console, sections, snapshot)
    else:
        stream.write(plain_report(sections) + "\n")
    stream.flush()


def report_sections(
    snapshot: Snapshot,
    directory: Path,
    files: CrawlFiles,
    *,
    max_pages: int | None = None,
    more: int | None = None,
    program: str = "gossamer",
    steps: Sequence[tuple[str, str, str]] = (),
) -> list[Section]:
    """The content of the report, without empty sections."""
    sections = [
        Section(headline(snapshot, max_pages), tuple(_totals(snapshot))),
        Section("Status codes", _reasons(snapshot.statuses)),
        Section("Errors by reason", _reasons(snapshot.errors)),
        Section("Refused links and excluded URLs, by reason", _reasons(snapshot.excluded)),
        Section("Politeness", tuple(_politeness(snapshot))),
        Section("Files", tuple(_files(files))),
        Section(
            "Next steps", (*_next(snapshot, _options_of(directory, files.store), more or max_pages, program), *steps)
        ),
    ]
    return [section for section in sections if section.rows]


def headline(snapshot: Snapshot, max_pages: int | None) -> str:
    """How a crawl ended. `max_pages` is its page limit."""
    urls = formatter.number_of(snapshot.queued, "URL")
    match snapshot.stopped:
        case "finished":
            return (
                "Finished: nothing left to crawl" if snapshot.pages else f"Finished: no page could be {_why(snapshot)}"
            )
        case "page_limit" if max_pages is not None:
            return f"Stopped: page limit ({formatter.count(max_pages)}) reached; {urls} queued"
        case "interrupted":
            return f"Interrupted; {urls} queued"
        case "paused_hosts":
            return f"Stopped: only paused hosts are left ({formatter.number_of(snapshot.hosts_held, 'host')}, {urls})"
    return f"Stopped: {urls} queued"


_IN_WORDS = {"conn_refused": "connection refused", "dns_nxdomain": "unknown host name"}


def _why(snapshot: Snapshot) -> str:
    """Why there is no page: 'fetched (2 seeds: 1 connection refused, 1 blocked address)'."""
    seeds = snapshot.seeds
    if seeds is None or not seeds.failed:
        return "fetched"
    reasons = ", ".join(
        f"{formatter.count(n)} {_IN_WORDS.get(name, name.replace('_', ' '))}"
        for name, n in formatter.largest(dict(seeds.failed), _REASONS_SHOWN)
    )
    return f"fetched ({formatter.number_of(seeds.given, 'seed')}: {reasons})"


def _totals(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    elapsed = snapshot.elapsed
    per_second = snapshot.run_pages / elapsed if elapsed > 0 else 0.0
    per_cpu = snapshot.run_pages / snapshot.cpu_seconds if snapshot.cpu_seconds > 0 else 0.0
    this_run = f"{formatter.count(snapshot.run_pages)} in this run, " if snapshot.run_pages != snapshot.pages else ""
    rows = [
        ("pages stored", formatter.count(snapshot.pages), f"{this_run}{formatter.rate(per_second)}/s"),
        ("responses", formatter.count(snapshot.fetched), _responses(snapshot)),
        (
            "URLs discovered",
            formatter.count(snapshot.discovered),
            f"on {formatter.number_of(snapshot.hosts_known, 'host')}",
        ),
        (
            "from sitemaps",
            formatter.count(snapshot.sitemap_urls),
            f"in {formatter.number_of(snapshot.sitemaps, 'sitemap')}",
        ),
        ("queued", formatter.count(snapshot.queued), ""),
        ("duplicates", formatter.count(snapshot.duplicates), "same document at another URL"),
        ("near-duplicates", formatter.count(snapshot.near_duplicates), ""),
        ("recrawled", formatter.count(snapshot.refreshed), _recrawled(snapshot)),
        ("redirects", formatter.count(snapshot.redirects), ""),
        (
            "missing",
            formatter.count(snapshot.missing),
            _missing(snapshot),
        ),
        ("dead letters", formatter.count(snapshot.dead), "retries exhausted"),
    ]
    required = {"pages stored", "responses", "URLs discovered"}
    rows = [row for row in rows if row[1] != "0" or row[0] in required]
    cpu = f"{formatter.rate(per_cpu)} pages per CPU second" if snapshot.run_pages else ""
    return [
        *rows,
        ("elapsed", formatter.clock_time(elapsed), f"{snapshot.cpu_seconds:.1f} s of CPU time, {cpu}".rstrip(", ")),
        ("peak memory", formatter.size(snapshot.max_rss_bytes), ""),
    ]


def _missing(snapshot: Snapshot) -> str:
    parts = []
    if snapshot.next_missing is not None:
        parts.append(f"next retry {formatter.date_time(snapshot.next_missing)}, by the next run or with --keep-fresh")
    if snapshot.gone:
        parts.append(f"plus {formatter.count(snapshot.gone)} gone permanently")
    return "; ".join(parts)


def _responses(snapshot: Snapshot) -> str:
    violations = formatter.number_of(snapshot.politeness_violations, "politeness violation")
    return f"{formatter.size(snapshot.bytes)}, {violations}"


def _recrawled(snapshot: Snapshot) -> str:
    unchanged = formatter.count(snapshot.not_modified + snapshot.unchanged)
    changes = f"{formatter.count(snapshot.changed)} changed, {unchanged} unchanged"
    if snapshot.not_modified:
        changes += f" ({formatter.count(snapshot.not_modified)} answered 304)"
    fresh = snapshot.freshness.fresh
    return changes if fresh is None else f"{changes}; estimated freshness {100 * fresh:.0f} %"


def _reasons(counts: dict[str, int]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (formatter.printable(name, 40), formatter.count(n), "") for name, n in formatter.largest(counts, _REASONS_SHOWN)
    )


def _politeness(snapshot: Snapshot) -> list[tuple[str, str, str]]:
    """Only if there were violations."""
    violations = snapshot.politeness_violations
    return [("violations", formatter.count(violations), "a bug: please report it")] if violations else []


def _files(files: CrawlFiles) -> list[tuple[str, str, str]]:
    size = f"{formatter.number_of(files.archive_files, 'file')}, {formatter.size(files.archive_bytes)}"
    total = f"{size} in total" if len(files.archives) > 1 else size
    rows: list[tuple[str, Path | str, str]] = [
        ("documents", folder, "" if number else total) for number, folder in enumerate(files.archives)
    ]
    rows += [("database", place, "") for place in files.databases]
    rows += [("log", files.log, "")] if files.log.exists() else []
    return [(label, formatter.printable(str(path)), remark) for label, path, remark in rows]


def _next(snapshot: Snapshot, where: str, limit: int | None, program: str) -> list[tuple[str, str, str]]:
    rows = []
    if not snapshot.finished:
        more = f" --more {limit}" if limit is not None and snapshot.stopped == "page_limit" else ""
        rows.append(("resume", f"{program} crawl{where}{more}", "continues where it stopped"))
    rows.append(("pages", f"{program} pages{where}", "list all URLs"))
    if snapshot.dead:
        rows.append(("dead letters", f"{program} dead list{where}", "then requeue or drop them"))
    return rows


def _options_of(directory: Path, store: str | None) -> str:
    """The options that name the crawl."""
    named = "" if store is None else f" --store {formatter.printable(store)}"
    return named if directory == Path("crawl") else f"{named} --dir {formatter.printable(str(directory))}"


def _print_tables(console: Console, sections: Sequence[Section], snapshot: Snapshot) -> None:
    label = max((len(row[0]) for section in sections for row in section.rows), default=0)
    good = snapshot.finished and not snapshot.politeness_violations
    for i, section in enumerate(sections):
        if i == 0:
            style = "bold green" if good else "bold yellow"
        else:
            style = "bold red" if section.title == "Politeness" and snapshot.politeness_violations else "bold cyan"
        console.print(Text(formatter.printable(section.title), style))
        table = Table.grid(padding=(0, 2), pad_edge=False)
        texts = any(is_text(row[1]) for row in section.rows)
        table.add_column(min_width=label + 2, style="dim", no_wrap=True)
        table.add_column(justify="left" if texts else "right", overflow="fold")
        table.add_column(style="dim", overflow="fold")
        for name, value, remark in section.rows:
            table.add_row(*(Text(formatter.printable(text)) for text in (f"  {name}", value, remark)))
        console.print(table)
        console.print()
