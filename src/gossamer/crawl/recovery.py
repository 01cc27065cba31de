"""Starting where the last process stopped, however it stopped. A start runs the same code as a restart."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gossamer.crawl.ports import LastContact
from gossamer.frontier.politeness import PolitenessPolicy, after_unknown_outcome
from gossamer.model.units import HostId, Instant, Seconds
from gossamer.store.changes import HostClock


class Rested(NamedTuple):
    """How polite we still have to be."""

    clocks: list[HostClock]
    addresses: dict[str, Instant]


def contacts_before_the_crash(
    last_contacts: Mapping[HostId, LastContact],
    policy: PolitenessPolicy,
    now: Instant,
    known: Callable[[HostId], tuple[Instant, Seconds | None]],
) -> Rested:
    """The clocks of hosts that were contacted after the last commit, as the contact journal has
    them (`last_contacts`).

    `known` tells what the database says of a host: next contact and Crawl-delay.
    """
    clocks = []
    addresses: dict[str, Instant] = {}
    for host_id, last in last_contacts.items():
        next_contact, delay = known(host_id)
        until = max(_until(last, policy, now, delay), next_contact)
        clocks.append(HostClock(host_id, until, last.took, last.address, "a contact before a crash"))
        addresses[last.address] = max(addresses.get(last.address, Instant(0.0)), until)
    return Rested(clocks, addresses)


def _until(last: LastContact, policy: PolitenessPolicy, now: Instant, crawl_delay: Seconds | None) -> Instant:
    if last.started is None:
        return last.next_contact
    unknown = after_unknown_outcome(
        policy, started=last.started, now=now, last_took=Seconds(last.took), crawl_delay=crawl_delay
    )
    return max(unknown, last.next_contact)
