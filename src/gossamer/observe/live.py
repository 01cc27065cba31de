"""What a running crawl leaves for others to read: `status.json`, made anew every second.

Only what is nowhere else: visits in flight are not in the database, and the load is a matter of this second. The
file is replaced as a whole, so a reader never sees half of one. It says which process wrote it; what a dead process
left is believed by nobody.
"""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot
from gossamer.observe.words import timestamp

FILE = "status.json"
STALE_AFTER = 10.0  # seconds; whoever has not written for so long is stuck

Live = dict[str, object]


def live_state(snapshot: Snapshot, process: int) -> Live:
    """What is told of this moment."""
    return {
        "at": timestamp(snapshot.at),
        "seconds_since_epoch": snapshot.at,
        "process": process,
        "in_flight": snapshot.in_flight,
        "documents_waiting": snapshot.documents_waiting,
        "hosts_ready": snapshot.hosts_ready,
        "hosts_waiting": snapshot.hosts_waiting,
        "hosts_parked": snapshot.hosts_parked,
        "load": snapshot.load,
        "load_reason": snapshot.load_reason,
        "selector_shares": [round(share, 2) for share in snapshot.selector_shares],
        "waiting_for": snapshot.waiting_for,
        "dns_failing": snapshot.dns_failing,
        "proxy_failing": snapshot.proxy_failing,
        "store_failing": snapshot.store_failing,
        "store_slow": snapshot.store_slow,
        "queues": {name: round(fill.saturation, 4) for name, fill in snapshot.queues.items()},
        "paused": snapshot.paused,
        "stopping": snapshot.stopping,
    }


def write_live(directory: Path, live: Live) -> None:
    """Replace the file. A disk that does not take it costs the news, not the crawl."""
    draft = directory / f".{FILE}.new"
    with suppress(OSError):
        draft.write_text(json.dumps(live) + "\n", encoding="ascii")
        os.replace(draft, directory / FILE)


def remove_live(directory: Path) -> None:
    """At the end of a run: nothing is in flight any more."""
    for name in (f".{FILE}.new", FILE):
        with suppress(OSError):
            (directory / name).unlink()


def read_live(directory: Path, process: int, now: Instant) -> Live | None:
    """What process `process` told last; None if it told nothing, or not lately."""
    try:
        found = json.loads((directory / FILE).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("process") != process:
        return None
    written = found.get("seconds_since_epoch")
    return found if isinstance(written, float) and now - written < STALE_AFTER else None


def joined_live(told: Sequence[Live]) -> Live | None:
    """What several workers tell of this second, as far as people are told of it: sums, whatever is amiss with any, and
    the load of the first that is under some. None if nobody tells anything."""
    if len(told) < 2:
        return told[0] if told else None
    found = dict(next((live for live in told if live["load"] != "normal"), told[0]))
    for name, value in found.items():
        values = [live.get(name) for live in told]
        if isinstance(value, bool):
            found[name] = any(values)
        elif isinstance(value, int) and name != "process":
            found[name] = sum(number for number in values if isinstance(number, int))
    shares = [share for live in told if isinstance(share := live["selector_shares"], list) and any(share)]
    if shares:  # who has not had a turn yet has none
        found["selector_shares"] = [round(sum(column) / len(column), 2) for column in zip(*shares, strict=False)]
    return found
