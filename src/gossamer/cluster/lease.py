"""The lease of a worker: how long it may contact hosts after its last heartbeat."""

from dataclasses import dataclass

from gossamer.model.units import Seconds


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """All periods of the protocol follow from the duration of a lease."""

    ttl: Seconds = Seconds(10.0)
    """How long a lease runs, from before its heartbeat was sent."""

    @property
    def heartbeat(self) -> Seconds:
        """Between two heartbeats. A worker that hangs for longer sends none."""
        return Seconds(self.ttl / 5)

    @property
    def contacts(self) -> Seconds:
        """No contact starts later than this after the heartbeat was sent."""
        return Seconds(self.ttl * 4 / 5)

    @property
    def silence(self) -> Seconds:
        """A worker whose counter has stood still for this long is declared dead. Longer than any lease, since the
        counter was read after the heartbeat had been sent."""
        return Seconds(self.ttl * 6 / 5)

    @property
    def reading(self) -> Seconds:
        """A worker declares another one dead only if it has read its counter at least this often."""
        return Seconds(self.ttl / 2)

    @property
    def waiting(self) -> Seconds:
        """How long the server waits for a client in the middle of a transaction, and a statement for a lock. Shorter
        than the time until a worker is declared dead, which would have to wait for a session that it left open."""
        return Seconds(self.ttl / 2)

    @property
    def long_life(self) -> Seconds:
        """An owner that has lived for this long was not killed by a page of the partition: its deaths are forgotten."""
        return Seconds(self.ttl * 6)

    def waits_after_deaths(self) -> list[Seconds]:
        """How long a partition stays without an owner after the first, second, ... death in a row, and as after the
        last one from then on. Not at all three times. Then one of its pages may be what kills its owners, and would
        kill all workers in turn."""
        return [Seconds(self.ttl * fifths / 5) for fifths in (0, 0, 0, 1, 2, 4, 5)]


class Lease:
    """The lease of this worker, on a clock that also counts the time that the machine is suspended.

    The heartbeat thread renews it, the event loop asks it before every contact. There is none before the first
    heartbeat, and none again after `revoke`.
    """

    def __init__(self, terms: LeaseTerms) -> None:
        self._terms = terms
        self._sent: float | None = None
        self._revoked = False

    def renew(self, sent: float) -> None:
        """A heartbeat sent at this time was answered. Answers may come in any order."""
        if self._sent is None or sent > self._sent:
            self._sent = sent

    def revoke(self) -> None:
        """The worker is dead or leaves: it contacts no host any more."""
        self._revoked = True

    def may_start(self, now: float) -> bool:
        """Whether a contact may start. Never in the last fifth: it would have to be cut off soon."""
        return self._sent is not None and not self._revoked and now < self._sent + self._terms.contacts

    def end(self) -> float:
        """When open contacts are cut off, unless it is renewed before. Before the first heartbeat: minus infinity."""
        return float("-inf") if self._sent is None or self._revoked else self._sent + self._terms.ttl

    def may_renew(self, now: float, turned: float) -> bool:
        """Whether to send a heartbeat, given when the event loop last turned: that of a hung worker runs out."""
        return not self._revoked and now - turned <= self._terms.heartbeat
