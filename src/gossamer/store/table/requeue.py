"""Queues URLs that are due for their next visit, within the writer's transactions.

Follows the indexes of dates, so it reads no more rows than it queues or postpones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gossamer.model.facts import RANK_STEP
from gossamer.model.requeue import REFRESHING, DueCursor, DueUrl, RequeueOrder
from gossamer.model.states import UrlState
from gossamer.model.units import DAY, HostId, Instant
from gossamer.store.ports import Database, Postpone, Prioritiser, Replan
from gossamer.store.row_formats import FACTS, facts_from

LOOK_AHEAD = 1_024
"""URLs that are replanned in one order: about fifty milliseconds."""

_AHEAD = 10 * 365 * DAY  # seconds by which what goes before all others is dated back
_BOOST = 3 * RANK_STEP  # added to the score of what does, where the score decides: ahead of every rule

Touch = Callable[[HostId, int, float], None]


class RequeueResult(NamedTuple):
    """The result of an order."""

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
    postpone: Postpone = lambda page, before, now: None,
    replan: Replan = lambda page: None,
) -> RequeueResult:
    """Queue the URLs of an order; calls `touch` for every place.

    A URL is queued by the date at which it came due, among the URLs found since: the longest overdue is the first.
    """
    if order.after is not None:
        due = db.fetch_all("due_after", *order.after, order.due_by, order.limit)
    else:
        due = [] if order.only_missing else db.fetch_all("due_again", order.due_by, order.limit)
    if order.include_missing or order.only_missing:
        due += db.fetch_all("due_missing", order.due_by, order.limit - len(due))
    to = _place(due[-1]) if order.after is not None and len(due) == order.limit else None
    put_off: list[tuple[float | None, float | None]] = []
    read = len(due)
    if order.max_backlog is not None and due:
        due, doubtful, lines = _with_room(order, due)
        if doubtful and order.after is None:
            admitted, put_off = _postpone_or_admit(db, prioritiser, order, doubtful, lines, stamp, postpone)
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
        gaps, walked_to = _replan_ahead(db, prioritiser, order.replan_after, stamp, replan)
        put_off += gaps
    return RequeueResult(list(counts.items()), hosts, put_off, left_out, to, walked_to)


def _with_room(
    order: RequeueOrder, due: list[tuple[Any, ...]]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]], dict[HostId, int]]:
    """The URLs that are queued at once, the others, and the resulting backlog of each host. Most hosts have room."""
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


def _postpone_or_admit(
    db: Database,
    prioritiser: Prioritiser,
    order: RequeueOrder,
    doubtful: list[tuple[Any, ...]],
    lines: dict[HostId, int],
    stamp: float,
    postpone: Postpone,
) -> tuple[list[tuple[Any, ...]], list[tuple[float | None, float | None]]]:
    """The URLs that are queued after all; the others are postponed."""
    admitted = []
    rows = []
    put_off: list[tuple[float | None, float | None]] = []
    for row, page in zip(doubtful, _pages(db, prioritiser, doubtful, stamp), strict=True):
        host_id, url_id = page.host_id, page.url_id
        before = lines.get(host_id, order.backlogs.get(host_id, 0))
        answer = postpone(page, before, Instant(order.due_by))
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
    """The facts that decide whether each of them is visited now."""
    known = {row[0]: row for row in db.read_rows("due_there", [(row[0],) for row in rows])}
    for row in rows:
        url_id, host_id, host, url, state, *facts = known[row[0]]
        priority = prioritiser.standing(facts_from(row, stamp)).priority
        yield DueUrl._make((url_id, host_id, host, url, UrlState(state), *facts, priority))


def _early(coming: Iterable[tuple[Any, ...]], order: RequeueOrder) -> list[tuple[Any, ...]]:
    """Of what comes due next, the pages that may be visited already: no sooner than half of their gap allows, and none
    of an expensive host that has a backlog."""
    found = []
    least = order.early_after or 0.0
    for *row, planned in coming:
        passed = (planned or 0.0) - (row[-1] - order.due_by)
        if row[FACTS] in order.priced_hosts and order.backlogs.get(row[FACTS]):
            continue
        if row[-2] == UrlState.STORED and passed >= max((planned or 0.0) / 2, least):
            found.append(tuple(row))
    return found


def _replan_ahead(
    db: Database,
    prioritiser: Prioritiser,
    walk: DueCursor,
    stamp: float,
    replan: Replan,
) -> tuple[list[tuple[float | None, float | None]], DueCursor | None]:
    """Give the URLs after `walk` the date that they would have at today's price, if that is sooner. Returns the gaps
    before and after, and the cursor; None at the end."""
    coming = db.fetch_all("due_after", *walk, math.inf, LOOK_AHEAD)
    rows = []
    gaps: list[tuple[float | None, float | None]] = []
    for page in _pages(db, prioritiser, coming, stamp):
        answer = replan(page)
        if answer is not None:
            rows.append((answer.until, answer.planned_gap, page.url_id))
            gaps.append((page.planned_gap, answer.planned_gap))
    db.write_rows("postpone", rows)
    return gaps, _place(coming[-1]) if len(coming) == LOOK_AHEAD else None


def _place(row: Sequence[Any]) -> DueCursor:
    return DueCursor(row[-1], row[-2], row[0])


def next_due(db: Database, order: RequeueOrder) -> float:
    """When the next URL of the kinds that an order concerns comes due; infinity: never."""
    dates = [] if order.only_missing else [db.fetch_value("next_again")]
    if order.include_missing or order.only_missing:
        dates.append(db.fetch_value("next_missing"))
    return min((date for date in dates if date is not None), default=math.inf)
