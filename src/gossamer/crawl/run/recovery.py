"""Recovery: continues where the last process stopped, however it ended. A first start runs the same code.

Politeness clocks are restored from the contact journal, and the in-memory filters are filled from the store.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from gossamer.dedup import ContentSeen, NearDuplicates
from gossamer.frontier.politeness import GapReason, PolitenessPolicy, after_unknown_outcome
from gossamer.model.batch import HostClock
from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, HostKey, Instant, Seconds
from gossamer.seen import SeenTest
from gossamer.store.ports import TaskSource
from gossamer.store.threads import StoreQueries

AFTER_CRASH: Final = "a contact before a crash"
"""The reason for which a host rests that was contacted after the last commit."""
_GAPS: Final = frozenset({*(reason.value for reason in GapReason), AFTER_CRASH})


class RecoveredContacts(NamedTuple):
    """Until when hosts and addresses rest that were contacted after the last commit."""

    clocks: list[HostClock]
    addresses: dict[str, Instant]


def recover_contacts(
    last_contacts: Mapping[HostId, LastContact],
    policy: PolitenessPolicy,
    now: Instant,
    known: Callable[[HostId], tuple[Instant, Seconds | None]],
) -> RecoveredContacts:
    """The clocks of hosts that were contacted after the last commit, from the contact journal (`last_contacts`).

    `known` returns the next contact and the Crawl-delay of a host from the database.
    """
    clocks = []
    addresses: dict[str, Instant] = {}
    for host_id, last in last_contacts.items():
        next_contact, delay = known(host_id)
        until = max(_until(last, policy, now, delay), next_contact)
        clocks.append(HostClock(host_id, until, last.took, last.address, AFTER_CRASH))
        addresses[last.address] = max(addresses.get(last.address, Instant(0.0)), until)
    return RecoveredContacts(clocks, addresses)


def domain_rests(
    resting: Iterable[tuple[HostKey, Instant, str | None]], policy: PolitenessPolicy, now: Instant
) -> list[tuple[HostKey, Instant]]:
    """Of hosts that rest, with the date and the reason: until when their domains rest, if domains have a gap.

    A host may rest for longer because it fails. That does not hold for its domain.
    """
    longest = Instant(now + max(policy.min_delay, policy.max_adaptive_delay))
    return [(host, until if reason in _GAPS else min(until, longest)) for host, until, reason in resting]


def _until(last: LastContact, policy: PolitenessPolicy, now: Instant, crawl_delay: Seconds | None) -> Instant:
    if last.started is None:
        return last.next_contact
    unknown = after_unknown_outcome(
        policy, started=last.started, now=now, last_took=Seconds(last.took), crawl_delay=crawl_delay
    )
    return max(unknown, last.next_contact)


_CHUNK = 4000  # a few milliseconds of the event loop
_ORIGINALS = 1000  # likewise


async def load_filters(
    loader: TaskSource,
    query: Callable[..., Awaitable[Any]],
    contents: ContentSeen[int] | None,
    seen: SeenTest,
) -> None:
    """Load all digests and fingerprints."""
    if contents is not None:
        digests = loader.digests(_CHUNK)
        while chunk := await query(next, digests, []):
            contents.warm(chunk)
        contents.finish_warming()
    prints = loader.fingerprints(_CHUNK)
    while numbers := await query(next, prints, []):
        seen.warm(numbers)
    seen.finish_warming()


async def load_originals(loader: TaskSource, query: Callable[..., Awaitable[Any]], near: NearDuplicates | None) -> None:
    """Load the latest originals, the window in which near-duplicates are found."""
    if near is None:
        return
    originals = loader.latest_originals(near.window, _ORIGINALS)
    while chunk := await query(next, originals, []):
        for url_id, signature in chunk:
            near.add(url_id, signature)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Fills the filters of a crawl from its store, in the background. Until then the store is queried instead."""

    queries: StoreQueries
    contents: ContentSeen[int]
    seen: SeenTest
    near: NearDuplicates | None
    is_shared: bool = False  # with other workers: they store documents that this one has not seen

    async def load_filters(self) -> None:
        """The URL-seen and the content-seen test."""
        contents = None if self.is_shared else self.contents  # without them, the store is asked about each document
        await load_filters(self.queries.source, self.queries.thread.ask, contents, self.seen)

    async def load_originals(self) -> None:
        """The window of documents that near-duplicates are found by."""
        await load_originals(self.queries.source, self.queries.thread.ask, self.near)
