"""Queues URLs again whose date has come: the next visit of what was visited, within the writer's transactions.

Follows the indexes of dates, so it reads no more rows than it queues or puts off.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gossamer.model.requeue import REFRESHING, DueCursor, DueUrl, RequeueOrder
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, HostId, Instant
from gossamer.store.ports import Database, PlanAnew, Prioritiser, WhenDue
from gossamer.store.row_formats import FACTS, facts_from

LOOK_AHEAD = 1_024
"""URLs that are planned anew in one order: some fifty milliseconds of it."""

_AHEAD = 10 * 365 * DAY  # seconds by which what goes before all others is dated back
_BOOST = 1e9  # added to the score of what does, where the score decides: no score comes near it

Touch = Callable[[HostId, int, float], None]


class RequeueResult(NamedTuple):
    """What came of an order."""

    states: Sequence[tuple[UrlState, int]] = ()  # how many were queued, by the state in which they were
    hosts: Mapping[HostId, int] = MappingProxyType({})  # ... and by host
    postponed: Sequence[tuple[float | None, float | None]] = ()  # as `Committed` has it, and the next ones
    skipped: int = 0
    to: DueCursor | None = None
    replanned_to: DueCursor | None = None


def requeue_due(
    db: Database,
    prioritiser: Prioritiser,
    order: RequeueOrder,
    stamp: float,
    touch: Touch,
    *,
    scheduled: bool = True,
    when_due: WhenDue = lambda page, before, now: None,
    plan_anew: PlanAnew = lambda page: None,
) -> RequeueResult:
    """Queue what is ordered, and tell `touch` of every place.

    What is due waits by the date at which it came due, among what was found since: the longest overdue is the first.
    Without `scheduled` only what was missing is looked at.
    """
    if order.after is not None:
        due = db.fetch_all("due_after", *order.after, order.due_by, order.limit)
    else:
        due = db.fetch_all("due_again", order.due_by, order.limit) if scheduled else []
    if order.include_missing:
        due += db.fetch_all("due_missing", order.due_by, order.limit - len(due))
    to = _place(due[-1]) if order.after is not None and len(due) == order.limit else None
    put_off: list[tuple[float | None, float | None]] = []
    read = len(due)
    if order.max_backlog is not None and due:
        due, doubtful, lines = _with_room(order, due)
        if doubtful and order.after is None:
            admitted, put_off = _in_line(db, prioritiser, order, doubtful, lines, stamp, when_due)
            due += admitted
    left_out = read - len(due) - len(put_off)
    if order.early_after is not None:
        due += _early(db.fetch_all("due_early", order.due_by, order.limit - len(due)), order)
    sooner = _AHEAD if order.at_front else 0.0
    boost = _BOOST if order.at_front and prioritiser.by_score else 0.0
    rows = []
    counts: Counter[UrlState] = Counter()
    hosts: dict[HostId, int] = {}
    for row in due:
        host_id, state, date = row[FACTS:]
        standing = prioritiser.standing(facts_from(row, stamp))
        front = prioritiser.front_until_due(standing.front)
        place = min(date, stamp) - sooner
        rows.append((front, place, min(date, stamp), standing.priority + boost, row[0]))
        counts[UrlState(state)] += 1
        hosts[host_id] = hosts.get(host_id, 0) + 1
        touch(host_id, front, place)
    db.write_rows("count_moves", [(UrlState.QUEUED, False, row[0]) for row in due])
    db.write_rows("ask_again", rows)
    totals = [(state.counter, -n) for state, n in counts.items()]
    totals += [(UrlState.QUEUED.counter, len(rows)), (REFRESHING, counts[UrlState.STORED])]
    db.write_rows("count", [(name, n) for name, n in totals if n])
    walked_to = None
    if order.replan_after is not None:
        gaps, walked_to = _planned_anew(db, prioritiser, order.replan_after, stamp, plan_anew)
        put_off += gaps
    return RequeueResult(list(counts.items()), hosts, put_off, left_out, to, walked_to)


def _with_room(
    order: RequeueOrder, due: list[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], dict[HostId, int]]:
    """What is queued without a question, the others, and the lines that come of it. Of most hosts nothing is asked."""
    lines: dict[HostId, int] = {}
    admitted, doubtful = [], []
    room, dear, waiting = order.max_backlog or 0, order.priced_hosts, order.backlogs
    for row in due:
        host_id = row[FACTS]
        before = lines.get(host_id)
        if before is None:
            before = waiting.get(host_id, 0)
        if before >= room or host_id in dear:
            doubtful.append(row)
        else:
            admitted.append(row)
            lines[host_id] = before + 1
    return admitted, doubtful, lines


def _in_line(
    db: Database,
    prioritiser: Prioritiser,
    order: RequeueOrder,
    doubtful: list[tuple[Any, ...]],
    lines: dict[HostId, int],
    stamp: float,
    when_due: WhenDue,
) -> tuple[list[tuple[Any, ...]], list[tuple[float | None, float | None]]]:
    """What is queued after all; the rest is put off, if `when_due` says so."""
    admitted = []
    rows = []
    put_off: list[tuple[float | None, float | None]] = []
    for row, page in zip(doubtful, _pages(db, prioritiser, doubtful, stamp), strict=True):
        host_id, url_id = page.host_id, page.url_id
        before = lines.get(host_id, order.backlogs.get(host_id, 0))
        answer = when_due(page, before, Instant(order.due_by))
        if answer is None:
            admitted.append(row)
        else:
            rows.append((answer.until, answer.planned_gap, url_id))
            put_off.append((page.planned_gap, answer.planned_gap))
        if answer is None or answer.planned_gap is None:
            lines[host_id] = before + 1
    db.write_rows("postpone", rows)
    return admitted, put_off


def _pages(
    db: Database,
    prioritiser: Prioritiser,
    rows: Sequence[tuple[Any, ...]],
    stamp: float,
) -> Iterator[DueUrl]:
    """What decides of each of them whether it is visited now."""
    known = {row[0]: row for row in db.read_rows("due_there", [(row[0],) for row in rows])}
    for row in rows:
        url_id, host_id, host, url, state, *facts = known[row[0]]
        priority = prioritiser.standing(facts_from(row, stamp)).priority
        yield DueUrl._make((url_id, host_id, host, url, UrlState(state), *facts, priority))


def _early(coming: Iterable[tuple[Any, ...]], order: RequeueOrder) -> list[tuple[Any, ...]]:
    """Of what comes due next, the pages that may be visited already: no sooner than half of their gap allows, and none
    of a dear host before which others stand in line."""
    found = []
    least = order.early_after or 0.0
    for *row, planned in coming:
        passed = (planned or 0.0) - (row[-1] - order.due_by)
        if row[FACTS] in order.priced_hosts and order.backlogs.get(row[FACTS]):
            continue
        if row[-2] == UrlState.STORED and passed >= max((planned or 0.0) / 2, least):
            found.append(tuple(row))
    return found


def _planned_anew(
    db: Database,
    prioritiser: Prioritiser,
    walk: DueCursor,
    stamp: float,
    plan_anew: PlanAnew,
) -> tuple[list[tuple[float | None, float | None]], DueCursor | None]:
    """What comes after `walk` gets the date that it would have at the price of today, if that is sooner. The gaps,
    before and after; and how far was looked, None to the end."""
    coming = db.fetch_all("due_after", *walk, math.inf, LOOK_AHEAD)
    rows = []
    gaps: list[tuple[float | None, float | None]] = []
    for page in _pages(db, prioritiser, coming, stamp):
        answer = plan_anew(page)
        if answer is not None:
            rows.append((answer.until, answer.planned_gap, page.url_id))
            gaps.append((page.planned_gap, answer.planned_gap))
    db.write_rows("postpone", rows)
    return gaps, _place(coming[-1]) if len(coming) == LOOK_AHEAD else None


def _place(row: Sequence[Any]) -> DueCursor:
    return DueCursor(row[-1], row[-2], row[0])


def next_due(db: Database, order: RequeueOrder) -> float:
    """When the next URL comes due; infinity: never."""
    dates = [db.fetch_value("next_again")]
    if order.include_missing:
        dates.append(db.fetch_value("next_missing"))
    return min((date for date in dates if date is not None), default=math.inf)
