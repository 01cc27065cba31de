"""What supervisor and workers tell each other, each a tuple that begins with one of these."""

from enum import Enum
from typing import Final, NamedTuple

from gossamer.config import Config
from gossamer.model.part import Part
from gossamer.seed.lists import Seed

# Both ways; the hub puts the sender in the place of the receiver.
URLS: Final = "urls"  # worker, URLs: found for it
HAS: Final = "has"  # worker, number: what it has found up to this one is on record at its owner

# From the supervisor.
BEGIN: Final = "begin"  # Begin: open your part
GO: Final = "go"  # every worker has opened its part: contact hosts
ALLOW: Final = "allow"  # pages or None: store no more than that
BACK: Final = "back"  # worker: it was started anew
RULES: Final = "rules"  # Config: take the rules of entry from it
STOP: Final = "stop"  # finish what is in flight; told again, leave it

# From a worker.
OPEN: Final = "open"  # pages: its part is open, with so many pages
STATE: Final = "state"  # Doing, pages
KEPT: Final = "kept"  # pages: at most so many will be stored, after ALLOW
SHOWN: Final = "shown"  # Snapshot, four times a second
ENDED: Final = "ended"  # Snapshot: the last; everything is committed
FAILED: Final = "failed"  # the error that it cannot go on for, and how that is told


class Doing(Enum):
    """What keeps a worker."""

    WORKING = "working"
    RESTING = "resting"  # nothing is left to do, and its outbox is empty
    FULL = "full"  # it has stored as many pages as it may


class Begin(NamedTuple):
    """How a worker begins."""

    config: Config
    seeds: list[Seed]
    part: Part
    add_seeds: bool
