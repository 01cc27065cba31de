"""The rest of a host when its partition, or the address it is on, passes to another worker."""

from dataclasses import dataclass
from enum import Enum

from gossamer.model.units import Instant, Seconds


class Released(Enum):
    """How the last owner of a partition or holder of an address left it."""

    NEW = "new"  # there was none
    GIVEN = "given"  # it had committed everything: the dates of its hosts are right, by its own clock
    DEAD = "dead"  # it may have made contacts that no row knows of, because it died or cut them off
    LOST = "lost"  # the store lost commits: it may still be making such contacts, until its lease ends


@dataclass(frozen=True, slots=True)
class RestPolicy:
    """How long hosts and addresses rest that another worker contacted before."""

    longest_gap: Seconds  # that any contact may require
    ttl: Seconds  # of a lease

    def rest(self, released: Released, gap: Seconds) -> Seconds:
        """Counted from the moment of taking over. `gap` is the delay that an ordinary contact requires."""
        match released:
            case Released.NEW:
                return Seconds(0.0)
            case Released.GIVEN:
                return gap
            case Released.DEAD:
                return max(gap, self.longest_gap)
            case Released.LOST:
                return Seconds(max(gap, self.longest_gap) + self.ttl)


def first_contact(
    policy: RestPolicy, released: Released, *, next_contact: Instant, taken: Instant, gap: Seconds
) -> Instant:
    """The earliest contact of a host by the worker that took it over at `taken`.

    `next_contact` is from the table and by another worker's clock, so by itself it guarantees nothing. After a death,
    the last contact may have been slower than all on record.
    """
    return Instant(max(next_contact, taken + policy.rest(released, gap)))
