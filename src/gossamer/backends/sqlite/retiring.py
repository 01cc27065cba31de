"""Hosts that give up their back queues: what the front queues say of them is made true, within the writer's
transaction."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence

from gossamer.backends.sqlite.rows import write_rows
from gossamer.model.units import HostId
from gossamer.store.changes import RetiredHost


def retire(
    db: sqlite3.Connection,
    sql: Mapping[str, str],
    retired: Sequence[RetiredHost],
    stamp: float,
    touch: Callable[[HostId, int, float], None],
    *,
    by_score: bool,
) -> None:
    """One entry per class with queued URLs, due when the first of them is and the host may be contacted; by score, as
    good as the best of them. What is due now queues up at the end, beyond every reader's cursor. The host's clock is
    kept apart from its entries, which a new URL may bring forward."""
    for host_id, not_before in retired:
        truth = db.execute(sql["front_truth"], (host_id,)).fetchall()
        db.execute(sql["leave_fronts"], (host_id,))
        rests = not_before > stamp
        entries = []
        for front, place in truth:
            if by_score and front == 0 and not rests:
                entries.append((host_id, front, place))
            else:  # by score, a host that rests waits for its date, like a URL that does
                entries.append((host_id, 1 if by_score else front, max(place, stamp, not_before)))
        write_rows(db, sql["enter_front"], entries)
        for entry in entries:
            touch(*entry)
        if rests:
            db.execute(sql["rest_host"], (not_before, host_id))
