"""Errands: a visit that has to ask another host than its own (a robots.txt that redirects there).

The other host may have a back queue, a row in the store, or neither; it is owed its gap all the same. While an errand
is out no visit of that host is, and its clock and its address's move as after a visit. Its address has one line, in
which whoever is on an errand stands like everybody else; its own URLs let an errand that waits for it go first, every
other time.
"""

from collections.abc import Mapping
from typing import Protocol

from gossamer.frontier.back_queue import OUT, HostQueue
from gossamer.frontier.decisions import WaitUntil
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Seconds

ASK_AGAIN = Seconds(0.5)
"""After this long whoever waits for a host that is busy asks again."""
PRECEDENCE = Seconds(0.25)
"""For so long a host's own URLs stand back for an errand that was told to come back, and the other way round."""
PATIENCE = Seconds(5.0)
"""A host that has not used its turn for so long has no use for it."""
_SWEEP_AT = 1024


class HostLender(Protocol):
    """What the frontier does for errands."""

    def enter_address(self, visit: Visit, address: str, now: Instant) -> bool: ...

    def leave_address(self, visit: Visit, contact: Contact, now: Instant, home: str | None) -> None:
        """The visit has contacted the address and is to go to `home` next, if that is known."""
        ...

    def reserve(self, host: HostQueue) -> None:
        """Take a host out of its structure; it counts as out until it is given back."""
        ...

    def end_reservation(self, host: HostQueue) -> None: ...

    def yield_until(self, host: HostQueue, until: Instant) -> None:
        """None of the host's own URLs before then."""
        ...

    def is_retiring(self, host_id: HostId) -> bool:
        """Whether the host gave its back queue up and that is not on record yet."""
        ...


class CrossHostRequests:
    """Who is asked by somebody else's visit, and who rests from that. Owned by the frontier."""

    def __init__(self, politeness: PolitenessPolicy, hosts: Mapping[HostId, HostQueue], lender: HostLender) -> None:
        self._politeness = politeness
        self._hosts = hosts
        self._lender = lender
        self._out: dict[HostKey, HostQueue | None] = {}  # hosts that are being asked, with their back queues
        self._rests: dict[HostKey, Instant] = {}  # until the store knows, and for hosts of which it knows nothing
        self._homes: dict[HostId, str | None] = {}  # the own addresses of hosts whose visits are away, or stand in line
        self._last: set[HostId] = set()  # hosts in memory whose last contact was an errand
        self._sweep_at = _SWEEP_AT

    def __len__(self) -> int:
        """How many are out."""
        return len(self._out)

    def begin(
        self, visit: Visit, host: HostKey, host_id: HostId | None, rests_until: Instant, address: str, now: Instant
    ) -> bool | WaitUntil:
        """Ask to contact `host` at `address` for a visit of another host that is out.

        `host_id` and `rests_until` are what the store knows of it, if anything. True: do, and come back through
        `end`. False: the address is busy or resting; the visit has been taken back and comes again when it is free.
        Otherwise the host is busy or resting: nothing has changed, and the caller finishes the visit until then.
        """
        queue = self._queue(host, host_id)
        if host in self._out or (host_id is not None and self._lender.is_retiring(host_id)):
            return WaitUntil(Instant(now + ASK_AGAIN))
        until = max(rests_until, self._rests.get(host, Instant(0.0)))
        if queue is not None:
            busy = queue.state is OUT
            until = max(until, queue.not_before, Instant(now + ASK_AGAIN) if busy else Instant(0.0))
            if queue.host_id not in self._last:
                if until > now:
                    self._lender.yield_until(queue, Instant(until + PRECEDENCE))
            elif queue.has_next() and now < queue.not_before + PATIENCE:
                until = Instant(max(until, now) + PRECEDENCE)  # its own URLs go first this time
        if until > now:
            return WaitUntil(until)
        self._homes.setdefault(visit.host_id, visit.address)
        if not self._lender.enter_address(visit, address, now):
            return False
        if queue is not None:
            self._lender.reserve(queue)
        self._out[host] = queue
        return True

    def end(self, visit: Visit, host: HostKey, contact: Contact, now: Instant) -> Instant:
        """The host has been asked. The visit is still out. Returns the earliest next contact of that host."""
        until = next_contact(self._politeness, contact)
        queue = self._out.pop(host)
        self._rest(host, until, now)
        self._lender.leave_address(visit, contact, now, self._homes.pop(visit.host_id))
        if queue is not None:
            queue.not_before = max(queue.not_before, until)
            queue.last_took = contact.took
            queue.yields_until = Instant(0.0)
            self._last.add(queue.host_id)
            self._lender.end_reservation(queue)
        return until

    def on_host_loaded(self, queue: HostQueue, host: HostKey) -> None:
        """A host has got a back queue, before anything was learnt of it."""
        queue.not_before = max(queue.not_before, self._rests.get(host, Instant(0.0)))
        if host in self._out and self._out[host] is None:
            queue.state = OUT
            self._out[host] = queue

    def on_visit_finished(self, host_id: HostId) -> None:
        """A visit of the host itself has ended."""
        if self._last:
            self._last.discard(host_id)

    def _queue(self, host: HostKey, host_id: HostId | None) -> HostQueue | None:
        if host_id is not None:
            return self._hosts.get(host_id)
        # When the store was asked it had never heard of the host. It may have since; that is seldom.
        return next((queue for queue in self._hosts.values() if queue.host == host), None)

    def _rest(self, host: HostKey, until: Instant, now: Instant) -> None:
        self._rests[host] = until
        if len(self._rests) >= self._sweep_at:
            self._rests = {key: rests for key, rests in self._rests.items() if rests > now}
            self._last &= self._hosts.keys()
            self._homes = {host_id: home for host_id, home in self._homes.items() if host_id in self._hosts}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._rests))
