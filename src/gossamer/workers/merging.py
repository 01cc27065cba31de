"""The figures of all workers as those of one crawl."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from itertools import zip_longest

from gossamer.model.fill import Fill
from gossamer.observe.freshening import joined_freshening
from gossamer.observe.snapshot import Snapshot
from gossamer.observe.workings import Workings

_LARGEST = ("at", "elapsed", "loop_lag", "worst_loop_lag", "store_saturation")
_MOST_SLOW = 5


def merged(moments: Sequence[Snapshot], *, finished: bool) -> Snapshot:
    """One moment of the whole crawl: sums, but for what is largest or true of any. There is at least one worker."""
    found: dict[str, object] = {}
    for name in (field.name for field in fields(Snapshot)):
        values = [getattr(moment, name) for moment in moments]
        if name in _LARGEST:
            found[name] = max(values)
        elif isinstance(values[0], bool):
            found[name] = any(values)
        elif isinstance(values[0], int | float):
            found[name] = sum(values)
    high = next((moment for moment in moments if moment.load != "normal"), moments[0])
    drawn = _added(moment.drawn for moment in moments)
    found |= {
        "statuses": _counted(moment.statuses for moment in moments),
        "errors": _counted(moment.errors for moment in moments),
        "excluded": _counted(moment.excluded for moment in moments),
        "urls_by_front": _added(moment.urls_by_front for moment in moments),
        "drawn": drawn,
        "selector_shares": tuple(100.0 * n / sum(drawn) if sum(drawn) else 0.0 for n in drawn),
        "load": high.load,
        "load_reason": high.load_reason,
        "waiting_for": _waits(moments),
        "slowest": tuple(sorted((s for m in moments for s in m.slowest), key=lambda s: -s[1])[:_MOST_SLOW]),
        "queues": _filled([moment.queues for moment in moments]),
        "freshening": joined_freshening([(moment.freshening, moment.pages) for moment in moments]),
        "workings": Workings(),
        "finished": finished,
    }
    return Snapshot(**found)  # type: ignore[arg-type]


def _counted(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total.most_common())


def _added(rows: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip_longest(*rows, fillvalue=0))


def _waits(moments: Sequence[Snapshot]) -> str:
    """What the crawl waits for: nothing, as long as any of its workers has something to do."""
    said = [moment.waiting_for for moment in moments]
    return "; ".join(dict.fromkeys(said)) if all(said) else ""


def _filled(queues: Sequence[Mapping[str, Fill]]) -> dict[str, Fill]:
    found: dict[str, Fill] = {}
    for one in queues:
        for name, fill in one.items():
            found[name] = Fill(*map(sum, zip(found.get(name, Fill(0)), fill, strict=True)))
    return found
