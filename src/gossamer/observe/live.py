"""What a running crawl leaves for others to read: `status.json`, its last snapshot, written every second.

Visits in flight are not in the database, and the load is a matter of this second. The file is replaced as a whole, so
a reader never sees half of one. It names the process that wrote it: what a dead process left is not believed, and
neither is a file of another form.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot

FILE = "status.json"
STALE_AFTER = 10.0  # seconds; a process that has not written for longer is stuck


@dataclass(frozen=True, slots=True)
class Status:
    """The content of the file."""

    process: int
    snapshot: Snapshot


def write_live(directory: Path, status: Status) -> None:
    """Replace the file. A disk that does not take it costs the news, not the crawl."""
    draft = directory / f".{FILE}.new"
    with suppress(OSError):
        draft.write_bytes(msgspec.json.encode(status) + b"\n")
        os.replace(draft, directory / FILE)


def remove_live(directory: Path) -> None:
    """At the end of a run: nothing is in flight any more."""
    for name in (f".{FILE}.new", FILE):
        with suppress(OSError):
            (directory / name).unlink()


def read_live(directory: Path, process: int, now: Instant) -> Snapshot | None:
    """The last snapshot that process `process` wrote; None if there is none, or no recent one."""
    try:
        status = msgspec.json.decode((directory / FILE).read_bytes(), type=Status)
    except (OSError, ValueError, RecursionError, msgspec.MsgspecError):
        return None
    is_good = status.process == process and now - status.snapshot.at < STALE_AFTER
    return status.snapshot if is_good else None
