"""The rest of a host when its partition, or the address it is on, passes to another worker."""

from collections.abc import Sequence
from enum import Enum

from gossamer.model.units import Instant, Seconds


class Released(Enum):
    """How the last owner of a partition or holder of an address left it."""

    NEW = "new"  # there was none
    GIVEN = "given"  # it had committed everything: the dates of its hosts are right, by its own clock
    DEAD = "dead"  # it may have made contacts that no row knows of


def first_contact(
    released: Released, *, next_contact: Instant, taken: Instant, gap: Seconds, longest_gap: Seconds
) -> Instant:
    """The earliest contact of a host by the worker that took it over at `taken`.

    `next_contact` is from the table and by another worker's clock, so by itself it guarantees nothing. `gap` is the
    delay that the host requires after an ordinary contact, `longest_gap` the longest one that any contact may require:
    after a death, the last contact may have been slower than all on record.
    """
    match released:
        case Released.NEW:
            return next_contact
        case Released.GIVEN:
            rest = gap
        case Released.DEAD:
            rest = max(gap, longest_gap)
    return Instant(max(next_contact, taken + rest))


FREE_DEATHS = 3
"""A partition whose owners have died this many times in a row is free at once. After that it waits: one of its pages
may be what kills them, and would kill all workers in turn."""
LONGEST_WAIT = Seconds(10.0)


def waits_after_deaths() -> Sequence[Seconds]:
    """How long a partition stays without an owner after the first, second, ... death in a row; as the last one from
    then on."""
    waits = [Seconds(0.0)] * FREE_DEATHS
    while waits[-1] < LONGEST_WAIT:
        waits.append(Seconds(min(2 * waits[-1] or 2.0, LONGEST_WAIT)))
    return waits
