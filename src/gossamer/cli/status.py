"""`gossamer status`: the totals of a crawl, and what it waits for."""

import argparse
import dataclasses
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, TypedDict

from gossamer.cli import argparse_types as given
from gossamer.cli.open_crawl import add_location_options, location_of
from gossamer.clock import clock_of
from gossamer.config.load import Config, known_shape, shape_of
from gossamer.config.overrides import OVERRIDES_KEY, Overrides, merged_overrides
from gossamer.crawl.run.directory import STATUS, holder_of, parts_of, read_layout
from gossamer.crawl.run.opener import open_crawl
from gossamer.model.units import HostKey, Instant
from gossamer.observe import formatter
from gossamer.observe.formatter import Section, plain_report
from gossamer.observe.freshness import FreshnessMetrics, format_budget, format_rates, freshness_object, merge_freshness
from gossamer.observe.snapshot import Snapshot, crawl_state, read_status_file
from gossamer.observe.wait_reasons import Waits, merge_waits, waiting_for
from gossamer.recrawl.freshness import stored_freshness_metrics
from gossamer.reports.all_workers import join_totals
from gossamer.reports.records import MOST_OVERDUE, Json
from gossamer.workers.hub import merge_snapshots

USAGE = "[--dir DIR] [--json]"
DESCRIPTION = """\
Show the totals of a crawl and what it is waiting for. The crawl may be
running."""
EXAMPLE = "  gossamer status\n  gossamer status --dir news --json | jq .waits"

_MOST_NAMED = 5  # hosts of a kind of order

WaitsObject = TypedDict(
    "WaitsObject",
    {
        "for": Annotated[str, "what keeps it from going on, as text"],
        "in_flight": Annotated[int | None, "visits"],
        "unread": Annotated[int, "documents that were fetched and are not stored yet"],
        "due": Annotated[int | None, "queued URLs that are due, including those in flight"],
        "ready_hosts": Annotated[int, "hosts with due URLs that may be contacted now"],
        "resting_hosts": Annotated[int, "hosts with queued URLs that may not be contacted yet"],
        "next_contact": str | None,
        "retries": Annotated[int | None, "queued URLs whose next attempt is due later"],
        "next_retry": str | None,
        "recrawls": Annotated[int, "visited URLs with a date for their next visit"],
        "next_recrawl": str | None,
        "missing": Annotated[int, "URLs that answered 4xx"],
        "next_missing": str | None,
        "urls_counted_to": Annotated[int | None, "counts of retries and recrawls stop here"],
        "hosts_counted_to": Annotated[int | None, "counts of hosts stop here"],
        "dns_failing": bool,
        "proxy_failing": bool,
        "store_failing": bool,
        "store_slow": bool,
        "paused": bool,
    },
)


class OrdersObject(TypedDict):
    paused: bool
    paused_hosts: list[str]
    dropped_hosts: list[str]
    delays: Annotated[dict[str, float], "seconds by host"]


class RecrawlObject(TypedDict):
    refreshed: int
    not_modified: int
    unchanged: int
    changed: int
    reported: int
    freshness: Annotated[float | None, "estimated share of pages that are unchanged since their last visit"]
    price: Annotated[float | None, "the minimum value of a visit"]
    scheduled: Annotated[int, "URLs with a date"]
    visits_a_day: Annotated[float, "visits that these URLs demand"]
    budget: Annotated[float | None, "visits allowed per day"]
    budget_used: Annotated[float | None, "share of the budget in use"]
    refreshes_a_day: float
    discoveries_a_day: float
    refresh_share: Annotated[float | None, "share of visits to known URLs"]
    overdue: Annotated[int, "URLs whose date has passed"]
    waiting: Annotated[int, "pages queued for another visit"]
    dear_hosts: Annotated[int, "hosts with a higher price, because they allow fewer visits than their pages are worth"]


class LoadObject(TypedDict):
    mode: Literal["normal", "high"]
    reason: str
    selector_shares: Annotated[list[float], "percentage of visits by class"]


class StatusObject(TypedDict):
    """`status/1`. Times are ISO 8601 in UTC."""

    v: Literal[1]
    pages: Annotated[int, "documents stored"]
    fetched: Annotated[int, "responses received"]
    bytes: int
    discovered: int
    queued: int
    duplicates: int
    near_duplicates: int
    refreshed: Annotated[int, "visits to URLs visited before"]
    not_modified: int
    unchanged: int
    changed: int
    reported: Annotated[int, "visits brought forward because a sitemap or feed reported a change"]
    sitemaps: int
    sitemap_urls: int
    errors: Annotated[dict[str, int], "by reason"]
    excluded: Annotated[dict[str, int], "by reason"]
    dead: Annotated[int, "dead letters"]
    hosts: int
    finished: Annotated[bool, "nothing is left to do"]
    states: Annotated[dict[str, int], "URLs by state"]
    statuses: Annotated[dict[str, int], "responses by class of status"]
    dead_by_reason: dict[str, int]
    domains: int
    seeds: int
    robots_fetched: int
    warc_files: int
    warc_bytes: int
    dir: str
    running: bool
    state: Annotated[str, "at rest, or the state that the service shows"]
    next_due: Annotated[str | None, "when the next URL may be visited"]
    waits: WaitsObject
    ordered: Annotated[OrdersObject, "settings made through the service"]
    recrawl: RecrawlObject
    load: Annotated[LoadObject | None, "null if it is not running"]
    options: Annotated[dict[str, object], "settings that the directory remembers"]


def configure(parser: argparse.ArgumentParser) -> None:
    add_location_options(parser)
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def run(arguments: argparse.Namespace) -> int:
    location = location_of(arguments)
    directory = location.directory
    holder, holders = holder_of(directory), [holder_of(part) for part in parts_of(directory)]
    now = clock_of(directory).now()
    with open_crawl(location) as crawl:
        readers = [reader.status for reader in crawl.readers]
        totals = [reader.totals() for reader in readers]
        overrides = merged_overrides(reader.fact(OVERRIDES_KEY) for reader in readers)
        layout = read_layout(directory)
        options = known_shape(crawl.reader.status.options() if layout is None else layout[1])
        on_record = [reader.waits(now) for reader in readers]
        freshenings = [stored_freshness_metrics(**reader.recrawl_report(now)._asdict(), now=now) for reader in readers]
        outbox = sum(reader.count_outbox() for reader in readers)
    lives = [
        None if process is None else read_status_file(part / STATUS, process, now)
        for part, process in zip(crawl.parts, holders, strict=True)
    ]
    found = join_totals(totals, outbox)
    figures = merge_freshness([(each, _number(own["pages"])) for each, own in zip(freshenings, totals, strict=True)])
    waits = merge_waits(
        [
            waits_of(each, own, running=process is not None)
            for each, own, process in zip(on_record, lives, holders, strict=True)
        ]
    )
    if outbox and waits.due is not None:  # they are queued as soon as their owners have them
        waits = dataclasses.replace(waits, due=waits.due + outbox)
    known = [own for own in lives if own is not None]
    live = merge_snapshots(known, finished=False) if known else None
    state = "at rest" if holder is None else state_by(live, _number(found["queued"]))
    if given.flag(arguments, "json"):
        about = {
            "dir": str(directory),
            "running": holder is not None,
            "state": state,
            "next_due": formatter.timestamp(next_due(waits, now)),
        }
        told = {
            "waits": waits_object(waits, holder is not None, now),
            "ordered": orders_object(overrides),
            "recrawl": recrawl_object(found, figures),
            "load": None if live is None else load_object(live),
            "options": options,
        }
        print(formatter.json_line({"v": 1, **found, **about, **told}))
        return 0
    by_whom = f" (process {holder})" if holder else ""
    left = ", nothing left to do" if found["finished"] else ""
    title = f"Crawl in {formatter.printable(str(directory))}: {state}{by_whom}{left}"
    pending = f"Waiting for {waited}" if (waited := for_what(waits, holder is not None, now)) else ""
    sections = [
        Section(title, tuple(total_rows(found, live))),
        Section(pending or "Later", waits_rows(waits, now)),
        Section("Ordered through the service", orders_rows(overrides)),
        Section("Recrawls", recrawl_rows(found, figures)),
        *outcome_sections(found),
        Section("Remembered options", option_rows(options)),
    ]
    shown = [Section(section.title, without_zeros(section.rows)) for section in sections]
    sys.stdout.write(plain_report([section for section in shown if section.rows or section.title == pending]))
    return 0


# --- what it waits for -------------------------------------------------------------------------------------


def waits_of(waits: Waits, live: Snapshot | None, *, running: bool) -> Waits:
    """What is on record, with what only the running process knows. Without one nothing is in flight."""
    if not running:
        return dataclasses.replace(waits, in_flight=0)
    if live is None:
        return waits
    # On record a host that is being visited looks as if it might be contacted; its process knows better.
    return dataclasses.replace(
        waits,
        in_flight=live.in_flight,
        unread=live.documents_waiting,
        ready_hosts=live.hosts_ready,
        dns_failing=live.dns_failing,
        proxy_failing=live.proxy_failing,
        store_failing=live.store_failing,
        store_slow=live.store_slow,
        paused=live.paused,
    )


def state_by(live: Snapshot | None, queued: int) -> str:
    """The state of a running crawl, as the service names it; `running` if there is no recent snapshot."""
    if live is None:
        return "running"
    return crawl_state(
        stopping=live.stopping,
        paused=live.paused,
        store_failing=live.store_failing,
        store_slow=live.store_slow,
        busy=queued > 0 or live.in_flight > 0,
    )


def next_due(waits: Waits, now: Instant) -> Instant | None:
    """When the next URL may be visited; None if none is queued."""
    if waits.ready_hosts:
        return now
    return min((when for when in (waits.next_contact, waits.next_retry) if when is not None), default=None)


def for_what(waits: Waits, running: bool, now: Instant) -> str:
    """What keeps the crawl from going on; of one at rest, that somebody starts it."""
    found = waiting_for(waits, now)
    if running or not (found or waits.due):
        return found
    return f"a start of the crawl, then {found}" if found else "a start of the crawl"


def waits_object(waits: Waits, running: bool, now: Instant) -> Json:
    """Numbers, and moments in ISO 8601; null is not known, or not there. See `Waits`."""
    found: Json = {"for": for_what(waits, running, now)}
    for field in dataclasses.fields(waits):
        value = getattr(waits, field.name)
        found[field.name] = formatter.timestamp(value) if field.name.startswith("next_") else value
    return found


def load_object(live: Snapshot) -> Json:
    shares = [round(share, 2) for share in live.selector_shares]
    return {"mode": live.load, "reason": live.load_reason, "selector_shares": shares}


def waits_rows(waits: Waits, now: Instant) -> tuple[tuple[str, str, str], ...]:
    def first(what: str, when: Instant | None) -> str:
        if when is None:
            return ""
        ahead = f" (in {formatter.span(when - now)})" if when > now else ""
        return f"{what} {formatter.timestamp(when)}{ahead}"

    def known(count: int | None, counted_to: int | None = None) -> str:
        return "unknown" if count is None else formatter.or_more(count, counted_to)

    urls, hosts = waits.urls_counted_to, waits.hosts_counted_to
    unread = f"{formatter.number_of(waits.unread, 'document')} to be processed" if waits.unread else ""
    ready = f"{formatter.number_of(waits.ready_hosts, 'host', counted_to=hosts)} ready"
    return (
        ("in flight", known(waits.in_flight), unread),
        ("due now", known(waits.due), ready),
        ("hosts cooling down", known(waits.resting_hosts, hosts), first("first ready", waits.next_contact)),
        ("retries", known(waits.retries, urls), first("next due", waits.next_retry)),
        ("recrawls", known(waits.recrawls, urls), first("next due", waits.next_recrawl)),
        (
            "missing",
            known(waits.missing),
            first("retried by a run after", waits.next_missing),
        ),
    )


# --- what was ordered --------------------------------------------------------------------------------------


def orders_object(overrides: Overrides) -> Json:
    """Whether the whole crawl is paused, and all hosts that are not crawled as any other; delays in seconds."""
    return {
        "paused": overrides.paused,
        "paused_hosts": sorted(overrides.hosts.paused),
        "dropped_hosts": sorted(overrides.hosts.dropped),
        "delays": dict(sorted(overrides.hosts.delays.items())),
    }


def orders_rows(overrides: Overrides) -> tuple[tuple[str, str, str], ...]:
    """A row for each kind of order that was given, with the first hosts that it is about."""
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


def recrawl_object(found: Json, figures: FreshnessMetrics) -> Json:
    """Results and cost of recrawling, and the estimated freshness."""
    counted = {name: found[name] for name in ("refreshed", "not_modified", "unchanged", "changed", "reported")}
    return {**counted, **freshness_object(figures)}


def recrawl_rows(found: Json, figures: FreshnessMetrics) -> tuple[tuple[str, str, str], ...]:
    """Empty before the first visit."""
    if figures.fresh is None or figures.price is None:
        return ()
    dear = (
        f"; higher for {formatter.number_of(figures.dear_hosts, 'host')} with too few allowed visits"
        if figures.dear_hosts
        else ""
    )
    price = f"at a price of {figures.price:.4g}{dear}"
    rows = (
        ("freshness", f"{100 * figures.fresh:.1f} %", "of the pages, estimated"),
        ("scheduled", formatter.count(figures.scheduled), ", ".join(filter(None, (format_budget(figures), price)))),
        ("visits", formatter.count(_number(found["fetched"])), format_rates(figures)),
        (
            "overdue",
            formatter.or_more(figures.overdue, MOST_OVERDUE),
            f"{formatter.count(figures.waiting)} queued",
        ),
        ("visited again", formatter.count(_number(found["refreshed"])), ""),
        ("not modified", formatter.count(_number(found["not_modified"])), "304 responses"),
        ("unchanged", formatter.count(_number(found["unchanged"])), ""),
        ("changed", formatter.count(_number(found["changed"])), ""),
        ("reported", formatter.count(_number(found["reported"])), "changes reported by sitemaps and feeds"),
    )
    return rows if found["refreshed"] else rows[:4]


def without_zeros(rows: tuple[tuple[str, str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """The rows that say something: not those of zeros, but the number of pages in any case."""
    return tuple(row for row in rows if row[1] != "0" or row[0] == "pages stored")


# --- the report --------------------------------------------------------------------------------------------


def total_rows(found: Json, live: Snapshot | None) -> list[tuple[str, str, str]]:
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
    if live is not None:
        shares = " / ".join(f"{share:.0f}" for share in live.selector_shares)
        rows.append(("load", live.load, formatter.printable(f"{live.load_reason}; turns by class: {shares} %")))
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
        Section("Excluded by reason", _rows(_counts(found["excluded"]))),
        Section("Dead letters by reason", _rows(_counts(found["dead_by_reason"]))),
    ]


def _rows(counts: dict[str, int]) -> tuple[tuple[str, str, str], ...]:
    return tuple((formatter.printable(name, 40), formatter.count(n), "") for name, n in formatter.largest(counts, 20))


def _counts(value: object) -> dict[str, int]:
    return {str(name): int(n) for name, n in value.items()} if isinstance(value, dict) else {}


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
