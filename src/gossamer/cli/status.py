"""`gossamer status`: the totals of a crawl, and what it waits for."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import add_location_options, location_of
from gossamer.config.load import Config, shape_of
from gossamer.config.overrides import Overrides
from gossamer.crawl.run.opener import open_crawl, shown_crawl, spooled_in
from gossamer.library.crawl_status import read_status, status_object
from gossamer.model.units import HostKey, Instant
from gossamer.observe import formatter
from gossamer.observe.formatter import Section, plain_report
from gossamer.observe.freshness import FreshnessMetrics, format_budget, format_rates
from gossamer.observe.snapshot import Snapshot
from gossamer.observe.wait_reasons import Waits, waiting_for
from gossamer.observe.workers import WorkerStatus, describe_worker
from gossamer.reports.records import MOST_OVERDUE, Json

USAGE = "[--dir DIR] [--json]"
DESCRIPTION = """\
Show the totals of a crawl and what it is waiting for. The crawl may be
running."""
EXAMPLE = "  gossamer status\n  gossamer status --dir news --json | jq .waits"

_MOST_NAMED = 5  # hosts for each kind of override


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    with open_crawl(location) as crawl:
        status = read_status(location, crawl)
    if given.flag(arguments, "json"):
        print(formatter.json_line(status_object(status)))
        return 0
    found, waits, now, running = status.totals, status.waits, status.now, status.running
    by_whom = f" (process {status.holder})" if status.holder else ""
    if status.workers:
        workers = formatter.number_of(len(status.workers), "worker")
        by_whom = f" ({workers})" if running else f" (no heartbeat of {workers})"
    left = ", nothing left to do" if found["finished"] else ""
    title = f"Crawl in {formatter.printable(shown_crawl(location))}: {status.state}{by_whom}{left}"
    pending = pending_title(waits, running, now)
    sections = [
        Section(
            title,
            tuple(
                total_rows(
                    found, status.live, [entry.length for entry in chain.from_iterable(spooled_in(location).values())]
                )
            ),
        ),
        Section("Workers", worker_rows(status.workers or ())),
        Section(pending or "Scheduled", waits_rows(waits, now)),
        Section("Overrides set through the service", override_rows(status.overrides)),
        Section("Recrawls", recrawl_rows(found, status.freshness)),
        *outcome_sections(found),
        Section("Stored settings", option_rows(status.options)),
    ]
    shown = [Section(section.title, without_zeros(section.rows)) for section in sections]
    sys.stdout.write(plain_report([section for section in shown if section.rows or section.title == pending]))
    return 0


# --- workers -----------------------------------------------------------------------------------------------


def worker_rows(workers: Iterable[WorkerStatus]) -> tuple[tuple[str, str, str], ...]:
    """Of a crawl that workers share: a row for each one that is alive."""
    return tuple((formatter.printable(worker.name, 40), worker.state, describe_worker(worker)) for worker in workers)


# --- what it waits for -------------------------------------------------------------------------------------


def pending_title(waits: Waits, running: bool, now: Instant) -> str:
    """What a running crawl is waiting for, or what a stopped one would have to do; empty if it is nothing."""
    waited = waiting_for(waits, now)
    if running:
        return f"Waiting for {waited}" if waited else ""
    if waited:
        return f"Not running; next: {waited}"
    return "Not running" if waits.due else ""


def waits_rows(waits: Waits, now: Instant) -> tuple[tuple[str, str, str], ...]:
    def first(what: str, when: Instant | None) -> str:
        if when is None:
            return ""
        ahead = f" (in {formatter.span(when - now)})" if when > now else ""
        return f"{what} {formatter.date_time(when)}{ahead}"

    def known(count: int | None, counted_to: int | None = None) -> str:
        return "unknown" if count is None else formatter.or_more(count, counted_to)

    urls, hosts = waits.urls_counted_to, waits.hosts_counted_to
    unread = f"{formatter.number_of(waits.unread, 'document')} to be processed" if waits.unread else ""
    ready = f"{formatter.number_of(waits.ready_hosts, 'host', counted_to=hosts)} ready"
    return (
        ("in flight", known(waits.in_flight), unread),
        ("due now", known(waits.due), ready),
        ("hosts waiting", known(waits.resting_hosts, hosts), first("first ready", waits.next_contact)),
        ("retries", known(waits.retries, urls), first("next due", waits.next_retry)),
        ("recrawls", known(waits.recrawls, urls), first("next due", waits.next_recrawl)),
        (
            "missing",
            known(waits.missing),
            first("next retry", waits.next_missing),
        ),
    )


# --- overrides ---------------------------------------------------------------------------------------------


def override_rows(overrides: Overrides) -> tuple[tuple[str, str, str], ...]:
    """A row for each kind of override, with the first hosts that it applies to."""
    hosts = overrides.hosts

    def named(which: Iterable[HostKey]) -> str:
        first = sorted(which)
        more = " …" if len(first) > _MOST_NAMED else ""
        return ", ".join(formatter.printable(host) + after(host) for host in first[:_MOST_NAMED]) + more

    def after(host: HostKey) -> str:
        return f" ({formatter.seconds(hosts.delays[host])})" if host in hosts.delays else ""

    kinds = (("paused hosts", hosts.paused), ("dropped hosts", hosts.dropped), ("slowed hosts", hosts.delays))
    crawl = (("the crawl", "paused", "the service starts no visits until it is resumed"),) if overrides.paused else ()
    return crawl + tuple((kind, formatter.count(len(which)), named(which)) for kind, which in kinds if which)


# --- visiting again ----------------------------------------------------------------------------------------


def recrawl_rows(found: Json, figures: FreshnessMetrics) -> tuple[tuple[str, str, str], ...]:
    """Empty before the first visit."""
    if figures.fresh is None or figures.price is None:
        return ()
    rates = format_rates(figures)
    rows = (
        ("freshness", f"{100 * figures.fresh:.1f} %", "of the pages, estimated"),
        ("scheduled", formatter.count(figures.scheduled), format_budget(figures)),
        *([("requests", formatter.count(_number(found["fetched"])), rates)] if rates else []),
        (
            "overdue",
            formatter.or_more(figures.overdue, MOST_OVERDUE),
            f"{formatter.count(figures.waiting)} queued",
        ),
    )
    if not found["refreshed"]:
        return rows
    return (
        *rows,
        ("visited again", formatter.count(_number(found["refreshed"])), ""),
        ("not modified", formatter.count(_number(found["not_modified"])), "304 responses"),
        ("unchanged", formatter.count(_number(found["unchanged"])), ""),
        ("changed", formatter.count(_number(found["changed"])), ""),
        ("reported", formatter.count(_number(found["reported"])), "changes reported by sitemaps and feeds"),
    )


def without_zeros(rows: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """The rows that say something: not those of zeros, but the number of pages in any case."""
    return tuple(row for row in rows if row[1] != "0" or row[0] == "pages stored")


# --- the report --------------------------------------------------------------------------------------------


def total_rows(found: Json, live: Snapshot | None, spooled: Sequence[int] = ()) -> list[tuple[str, str, str]]:
    states = _counts(found["states"])
    rows = [
        (
            "pages stored",
            formatter.count(_number(found["pages"])),
            f"{formatter.size(_number(found['warc_bytes']))} of WARC files",
        ),
        ("responses", formatter.count(_number(found["fetched"])), formatter.size(_number(found["bytes"]))),
        (
            "URLs discovered",
            formatter.count(_number(found["discovered"])),
            f"from {formatter.number_of(_number(found['seeds']), 'seed')}",
        ),
        (
            "from sitemaps",
            formatter.count(_number(found["sitemap_urls"])),
            f"in {formatter.number_of(_number(found['sitemaps']), 'sitemap')}",
        ),
        (
            "hosts",
            formatter.count(_number(found["hosts"])),
            f"in {formatter.number_of(_number(found['domains']), 'domain')}",
        ),
        ("queued", formatter.count(states["queued"]), ""),
    ]
    if spooled:
        failing = ", which is failing" if live is not None and live.blobs_failing else ""
        waiting = f"{formatter.size(sum(spooled))} waiting for object storage{failing}"
        rows.append(("in the spool", formatter.number_of(len(spooled), "object"), waiting))
    if live is not None:
        shares = " / ".join(f"{share:.0f}" for share in live.selector_shares)
        if live.cache_fault is not None:
            rows.append(("cache", live.cache_fault.replace("_", " "), "the crawl goes on without it"))
        rows.append(("load", live.load, formatter.printable(f"{live.load_reason}; visits by group: {shares} %")))
    return rows


def option_rows(options: Mapping[str, object]) -> tuple[tuple[str, str, str], ...]:
    """The options that differ from the defaults, which a resume uses unless others are given."""
    usual = shape_of(Config())
    rows = []
    for key, value in options.items():
        if isinstance(value, dict):
            before = usual.get(key)
            rows += [(f"{key}.{name}", own) for name, own in value.items() if own != _of(before, name)]
        elif value != usual.get(key):
            rows.append((key, value))
    return tuple((name, formatter.printable(_shown(value), 60), "") for name, value in rows)


def _of(section: object, name: str) -> object:
    return section.get(name) if isinstance(section, dict) else None


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def outcome_sections(found: Json) -> list[Section]:
    others = {word: n for word, n in _counts(found["states"]).items() if word not in ("stored", "queued", "missing")}
    return [
        Section("Other outcomes", _rows(others)),
        Section("Status codes", _rows(_counts(found["statuses"]))),
        Section("Errors by reason", _rows(_counts(found["errors"]))),
        Section("Refused links and excluded URLs, by reason", _rows(_counts(found["excluded"]))),
        Section("Dead letters by reason", _rows(_counts(found["dead_by_reason"]))),
    ]


def _rows(counts: dict[str, int]) -> tuple[tuple[str, str, str], ...]:
    return tuple((formatter.printable(name, 40), formatter.count(n), "") for name, n in formatter.largest(counts, 20))


def _counts(value: object) -> dict[str, int]:
    return {str(name): int(n) for name, n in value.items()} if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
