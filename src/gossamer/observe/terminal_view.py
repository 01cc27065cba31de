"""The live view on a terminal: a snapshot rendered as lines of text for a given width and height. Pure.

Each line is built once with its final width; rich only turns styles into colours. The view has two columns from 76
characters on and one below. Blocks that do not fit the height are left out, the least important first.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text

from gossamer.observe import formatter
from gossamer.observe.freshness import format_budget, format_rates
from gossamer.observe.snapshot import Rates, Snapshot, sparkline

GROUP_NAMES = ("high", "medium", "low")
_TWO_COLUMNS = 76
_WIDEST = 120
_GUTTER = 4

_TITLE = "bold cyan"
_LABEL = "dim"
_GOOD = "green"
_WARN = "yellow"
_BAD = "bold red"


@dataclass(frozen=True, slots=True)
class Shares:
    """Target shares of the selector by group, under normal and under high load."""

    normal: tuple[float, ...]
    high: tuple[float, ...]

    def percent(self, load: str) -> tuple[float, ...]:
        shares = self.high if load == "high" else self.normal
        total = sum(shares) or 1.0
        return tuple(100.0 * share / total for share in shares)


Cell = tuple[str, str]  # text and style


def draw(snapshot: Snapshot, rates: Rates, shares: Shares, width: int, height: int) -> list[Text]:
    """The lines, each at most `width` characters; at most `height` of them."""
    width = max(min(width, _WIDEST), 20)
    two = width >= _TWO_COLUMNS
    column = (width - _GUTTER) // 2 if two else width
    top = [*_head(snapshot, rates, width), *_speed(snapshot, rates, width)]
    bottom = _foot(snapshot, width)
    queue, hosts = _queue(snapshot, shares, column), _hosts(snapshot, column)
    responses, outcomes = _responses(snapshot, column), _outcomes(snapshot, column)
    recrawl, fresh = ([], []) if not snapshot.refreshed else (_recrawl(snapshot, column), _freshness(snapshot, column))
    if not two:
        blocks = [queue, hosts, responses, outcomes, *([recrawl, fresh] if recrawl else [])]
        return _stacked(top, blocks, bottom, height)
    # Blocks of equal height side by side, a blank line above each pair.
    fixed = len(top) + len(bottom) + 3 + max(len(queue), len(hosts)) + max(len(responses), len(outcomes))
    fixed += max(len(recrawl), len(fresh)) + bool(recrawl)
    rows = max(min(height - fixed - 2, 10), 0)  # a title, and a blank line below
    errors, slowest = _errors(snapshot, column, rows), _slowest(snapshot, column, rows)
    lines = list(top)
    pairs = [(queue, hosts), (responses, outcomes), (errors, slowest)]
    if recrawl:
        pairs.insert(2, (recrawl, fresh))
    for left, right in pairs:
        lines += [Text(), *_side_by_side(left, right, column)]
    room = height - len(bottom) - 1
    return [*lines[:room], Text(), *bottom][:height]


def _stacked(top: list[Text], blocks: list[list[Text]], bottom: list[Text], height: int) -> list[Text]:
    lines = list(top)
    for block in blocks:
        if len(lines) + 1 + len(block) + 1 + len(bottom) > height:
            break
        lines += [Text(), *block]
    return [*lines, Text(), *bottom][:height]


def _side_by_side(left: Sequence[Text], right: Sequence[Text], column: int) -> list[Text]:
    lines = []
    for i in range(max(len(left), len(right))):
        line = left[i].copy() if i < len(left) else Text()
        if i < len(right):
            line.append(" " * (column + _GUTTER - line.cell_len))
            line.append_text(right[i])
        lines.append(line)
    return lines


def _line(width: int, *cells: Cell) -> Text:
    line = Text(no_wrap=True, overflow="crop")
    for text, style in cells:
        line.append(formatter.printable(text), style)
    if line.cell_len > width:
        line.truncate(width)
    return line


def _row(width: int, label: str, value: str, style: str = "", note: str = "") -> Text:
    """Label on the left, value right-aligned in the middle, note after it."""
    name = formatter.printable(label, max(width - 12, 8)) if not note else label
    room = max(min(24, width - 1) - len(name), len(value) + 1)
    return _line(width, (name, _LABEL), (value.rjust(room), style), (f"  {note}" if note else "", _LABEL))


def _title(width: int, title: str, note: str = "") -> Text:
    return _line(width, (title, _TITLE), (f"  {note}" if note else "", _LABEL))


# --- blocks -----------------------------------------------------------------------------------------


def _head(snapshot: Snapshot, rates: Rates, width: int) -> list[Text]:
    if snapshot.delivering:
        state, style = "waiting for " + formatter.printable(snapshot.waiting_for), _WARN
    elif snapshot.stopping:
        state, style = "stopping: finishing visits in flight (Ctrl-C again to stop at once)", _WARN
    elif snapshot.finished:
        state, style = "finished", _GOOD
    elif snapshot.waiting_for and rates.pages_now < 1.0:  # a faster crawl would flicker between the two states
        state, style = "waiting for " + formatter.printable(snapshot.waiting_for), _WARN
    elif snapshot.failing:
        state, style = f"crawling (failing: {', '.join(snapshot.failing)})", _WARN
    else:
        state, style = "crawling", _GOOD
    if snapshot.workers_wanted:
        state = f"{running_workers(snapshot)}, {state}"
    elapsed = formatter.clock_time(snapshot.elapsed)
    state = formatter.printable(state, width - len(elapsed) - 12)
    gap = " " * max(width - len("gossamer  ") - len(state) - len(elapsed), 1)
    return [_line(width, ("gossamer", "bold"), ("  ", ""), (state, style), (gap, ""), (elapsed, "bold")), Text()]


def running_workers(snapshot: Snapshot) -> str:
    """How many workers are running."""
    of = (
        f"{formatter.count(snapshot.workers_running)} of " if snapshot.workers_running < snapshot.workers_wanted else ""
    )
    return of + formatter.number_of(snapshot.workers_wanted, "worker")


def _speed(snapshot: Snapshot, rates: Rates, width: int) -> list[Text]:
    pages = formatter.count(snapshot.pages)
    now, mean = formatter.rate(rates.pages_now), formatter.rate(rates.pages_mean)
    total, speed = formatter.size(snapshot.bytes), formatter.size(rates.bytes_now)
    by_whom = "/s by this worker" if snapshot.is_of_one_of_several else "/s now"
    first: list[Cell] = [("pages", _LABEL), (pages.rjust(14), "bold"), (now.rjust(10), "bold"), (by_whom, _LABEL)]
    first += [(mean.rjust(9), ""), ("/s mean", _LABEL)]
    left = width - sum(len(text) for text, _ in first) - 3
    if left >= 8:
        first.append(("   " + sparkline(rates.history(), min(left, 60)), "cyan"))
    second: list[Cell] = [("bytes", _LABEL), (total.rjust(14), ""), (speed.rjust(10), ""), ("/s now", _LABEL)]
    second += [(formatter.size(rates.bytes_mean).rjust(9), ""), ("/s mean", _LABEL)]
    return [_line(width, *first), _line(width, *second)]


def _queue(snapshot: Snapshot, shares: Shares, width: int) -> list[Text]:
    total = sum(snapshot.drawn)
    targets = shares.percent(snapshot.load)
    if snapshot.urls_by_front and len(snapshot.urls_by_front) != len(targets):
        targets = ()  # the ordering has other groups than the shares are configured for
    number = formatter.short_count if snapshot.load == "high" else formatter.count
    known = f"{number(snapshot.queued)} of {number(snapshot.discovered)} known"
    lines = [_title(width, "Queue", known)]
    if snapshot.load == "high":
        lines[0].append(", high load", _WARN)
    for i, in_memory in enumerate(snapshot.urls_by_front or (0,) * len(targets)):
        name = GROUP_NAMES[i] if i < len(targets) and i < len(GROUP_NAMES) else f"class {i}"
        observed = f"{100.0 * snapshot.drawn[i] / total:.0f} %" if total and i < len(snapshot.drawn) else "-"
        target = f" of {targets[i]:.0f} %" if i < len(targets) else ""
        lines.append(
            _line(
                width,
                (f"{name:<8}", _LABEL),
                (formatter.short_count(in_memory).rjust(7), ""),
                (" loaded", _LABEL),
                (observed.rjust(6), ""),
                (target, _LABEL),
            )
        )
    return lines


def _hosts(snapshot: Snapshot, width: int) -> list[Text]:
    known = f"{formatter.count(snapshot.hosts_known)} known, {formatter.count(snapshot.hosts_in_memory)} loaded"
    return [
        _title(width, "Hosts", known),
        _row(width, "in flight", formatter.count(snapshot.in_flight), "bold"),
        _row(width, "ready", formatter.count(snapshot.hosts_ready)),
        _row(width, "waiting", formatter.count(snapshot.hosts_waiting), note=_parked(snapshot)),
    ]


def _parked(snapshot: Snapshot) -> str:
    return f"{formatter.count(snapshot.hosts_parked)} parked"


def _responses(snapshot: Snapshot, width: int) -> list[Text]:
    styles = {"2": _GOOD, "3": "", "4": _WARN, "5": _BAD}
    names = sorted(set(snapshot.statuses) | {"2xx", "3xx", "4xx", "5xx"})
    lines = [_title(width, "Responses", f"{formatter.count(snapshot.fetched)} received")]
    for name in [n for n in names if n[:1] in styles]:
        number = snapshot.statuses.get(name, 0)
        lines.append(_row(width, name, formatter.count(number), styles[name[:1]] if number else _LABEL))
    return lines


def _outcomes(snapshot: Snapshot, width: int) -> list[Text]:
    excluded = sum(snapshot.excluded.values())
    duplicates = f"{formatter.count(snapshot.near_duplicates)} near" if snapshot.near_duplicates else ""
    missing = f"{formatter.count(snapshot.gone)} gone" if snapshot.gone else ""
    return [
        _title(width, "Outcomes", formatter.number_of(snapshot.redirects, "redirect")),
        _row(width, "duplicates", formatter.count(snapshot.duplicates), note=duplicates),
        _row(width, "missing", formatter.count(snapshot.missing), note=missing),
        _row(width, "refused, excluded", formatter.count(excluded)),
        _row(width, "dead letters", formatter.count(snapshot.dead), _WARN if snapshot.dead else ""),
    ]


def _recrawl(snapshot: Snapshot, width: int) -> list[Text]:
    """Results of visits to URLs that were visited before."""
    reported = f"{formatter.count(snapshot.reported)} reported" if snapshot.reported else ""
    return [
        _title(width, "Recrawled", formatter.count(snapshot.refreshed)),
        _row(width, "changed", formatter.count(snapshot.changed), _GOOD, note=reported),
        _row(width, "unchanged", formatter.count(snapshot.unchanged)),
        _row(width, "not modified", formatter.count(snapshot.not_modified)),
    ]


def _freshness(snapshot: Snapshot, width: int) -> list[Text]:
    """Estimated freshness of the copies and its cost."""
    metrics = snapshot.freshness
    fresh = "unknown" if metrics.fresh is None else f"{100 * metrics.fresh:.1f} % of pages"
    due = metrics.overdue + metrics.waiting
    return [
        _title(width, "Estimated freshness", fresh),
        _row(width, "scheduled", formatter.count(metrics.scheduled), note=format_budget(metrics)),
        _row(
            width,
            "due",
            formatter.count(due),
            _WARN if metrics.overdue else "",
            f"{formatter.count(metrics.waiting)} queued",
        ),
        _line(width, (format_rates(metrics), _LABEL)),
    ]


def _errors(snapshot: Snapshot, width: int, rows: int) -> list[Text]:
    if rows < 1:
        return []
    total = sum(snapshot.errors.values())
    lines = [_title(width, "Errors", formatter.count(total) if total else "none")]
    lines += [_row(width, name, formatter.count(n), _WARN) for name, n in formatter.largest(snapshot.errors, rows)]
    return lines


def _slowest(snapshot: Snapshot, width: int, rows: int) -> list[Text]:
    if rows < 1:
        return []
    lines = [_title(width, "Slowest hosts")]
    names = [formatter.printable(host, width - 9) for host, _ in snapshot.slowest[:rows]]
    column = max((len(name) for name in names), default=0)
    for name, (_, took) in zip(names, snapshot.slowest, strict=False):
        lines.append(_line(width, (name.ljust(max(column, 15)), _LABEL), (formatter.seconds(took).rjust(9), "")))
    return lines


def _foot(snapshot: Snapshot, width: int) -> list[Text]:
    each = snapshot.commit_seconds / snapshot.commits if snapshot.commits else 0.0
    full = min(max(snapshot.store_saturation, 0.0), 1.0)
    busy = 100.0 * snapshot.cpu_seconds / snapshot.elapsed if snapshot.elapsed > 0 else 0.0
    violations = snapshot.politeness_violations
    store: list[Cell] = [
        ("store ", _LABEL),
        (f"{100 * full:.0f} %", _WARN if full >= 0.8 else ""),
        (" full, ", _LABEL),
        (formatter.number_of(snapshot.commits, "commit"), ""),
        (", ", _LABEL),
        (formatter.seconds(each), ""),
        (" each, ", _LABEL),
        (formatter.count(snapshot.documents_waiting), ""),
        (" unprocessed", _LABEL),
    ]
    machine: list[Cell] = [
        ("cpu ", _LABEL),
        (f"{busy:.0f} %", ""),
        (", peak memory ", _LABEL),
        (formatter.size(snapshot.max_rss_bytes), ""),
        (", lag ", _LABEL),
        (formatter.seconds(snapshot.loop_lag), _WARN if snapshot.loop_lag > 0.25 else ""),
        (", ", _LABEL),
        (formatter.number_of(violations, "politeness violation"), _BAD if violations else _GOOD),
    ]
    return [_line(width, *store), _line(width, *machine)]
