"""Cross-host requests: a visit has to contact a host other than its own (a robots.txt that redirects there).

The other host may have a back queue, a row in the store, or neither; it gets its politeness delay in any case. While
the request is in flight there is no visit to that host, and its delay and its address's are updated as after a visit.
At an address gate such a request queues like any other visit; on the host itself, its own URLs and waiting cross-host
requests take turns.
"""

from collections.abc import Collection, Mapping
from typing import Protocol

from gossamer.frontier.back_queue import OUT, HostQueue
from gossamer.frontier.decisions import WaitUntil
from gossamer.frontier.politeness import Contact, PolitenessPolicy, next_contact
from gossamer.model.task import Visit
from gossamer.model.units import HostId, HostKey, Instant, Seconds

ASK_AGAIN = Seconds(0.5)
"""A visit that waits for a busy host tries again after this delay."""
PRECEDENCE = Seconds(0.25)
"""How long a host's own URLs wait for a pending cross-host request, and the other way round."""
PATIENCE = Seconds(5.0)
"""A host that has not used its turn for this long has lost it."""
_SWEEP_AT = 1024


class HostLender(Protocol):
    """What the frontier does for cross-host requests."""

    def enter_address(self, visit: Visit, address: str, now: Instant) -> bool: ...

    def leave_address(self, visit: Visit, contact: Contact, now: Instant, home: str | None) -> None:
        """The visit has contacted the address and continues at `home`, if that is known."""
        ...

    def enter_domain(self, visit: Visit, other: HostKey, now: Instant) -> Instant | None: ...

    def leave_domain(self, visit: Visit, other: HostKey, until: Instant | None, now: Instant) -> None: ...

    def reserve(self, host: HostQueue) -> None:
        """Take a host out of its structure; it counts as in flight until `end_reservation`."""
        ...

    def end_reservation(self, host: HostQueue) -> None: ...

    def yield_until(self, host: HostQueue, until: Instant) -> None:
        """Do not visit the host's own URLs before then."""
        ...

    def domain_wait(self, host: HostKey, now: Instant) -> Instant | None:
        """Until when the domain of a host is busy or rests, if it is or does."""
        ...

    def rest_domain(self, host: HostKey, until: Instant) -> None: ...

    def is_retiring(self, host_id: HostId) -> bool:
        """Whether the host gave up its back queue and that is not committed yet."""
        ...


class CrossHostRequests:
    """Hosts that are contacted by a visit of another host, and their delays after that. Owned by the frontier.

    Knows no visits, only the hosts reserved for them, which need not have a back queue.
    """

    def __init__(self, politeness: PolitenessPolicy, hosts: Mapping[HostId, HostQueue], lender: HostLender) -> None:
        self._politeness = politeness
        self._hosts = hosts
        self._lender = lender
        self._reserved: dict[HostKey, HostQueue | None] = {}  # hosts being contacted, with their back queues
        self._rests: dict[HostKey, Instant] = {}  # delays not in the store yet, or of hosts it does not know
        self._homes: dict[HostId, str | None] = {}  # the hosts' own addresses, while their visits are elsewhere
        self._last: set[HostId] = set()  # hosts whose last contact was a cross-host request
        self._sweep_at = _SWEEP_AT

    def __len__(self) -> int:
        """Requests in flight."""
        return len(self._reserved)

    @property
    def reserved(self) -> int:
        """The number of hosts with a back queue that are being contacted. Looks at every request in flight."""
        return sum([queue is not None for queue in self._reserved.values()])

    def begin(
        self, visit: Visit, host: HostKey, host_id: HostId | None, rests_until: Instant, address: str, now: Instant
    ) -> bool | WaitUntil:
        """Ask to contact `host` at `address` for a visit of another host that is in flight.

        `host_id` and `rests_until` are what the store knows about it, if anything. True: go ahead and call `end`
        afterwards. False: the address is busy or resting; the visit has been taken back and is handed out again when
        the address is free. Otherwise the host is busy or resting: nothing has changed, and the caller finishes the
        visit until then.
        """
        queue = self._queue(host, host_id)
        if host in self._reserved or (host_id is not None and self._lender.is_retiring(host_id)):
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
        if (again := self._lender.enter_domain(visit, host, now)) is not None:
            return WaitUntil(again)
        self._homes.setdefault(visit.host_id, visit.address)
        if not self._lender.enter_address(visit, address, now):
            self._lender.leave_domain(visit, host, None, now)
            return False
        if queue is not None:
            self._lender.reserve(queue)
        self._reserved[host] = queue
        return True

    def end(self, visit: Visit, host: HostKey, contact: Contact, now: Instant) -> Instant:
        """The host has been contacted. The visit is still in flight. Returns the host's earliest next contact."""
        until = next_contact(self._politeness, contact)
        queue = self._reserved.pop(host)
        self._rest(host, until, now)
        self._lender.leave_address(visit, contact, now, self._homes.pop(visit.host_id))
        self._lender.leave_domain(visit, host, until, now)
        if queue is not None:
            queue.not_before = max(queue.not_before, until)
            queue.last_took = contact.took
            queue.yields_until = Instant(0.0)
            self._last.add(queue.host_id)
            self._lender.end_reservation(queue)
        return until

    def reserved_hosts(self) -> Collection[HostKey]:
        """The hosts that are being contacted."""
        return self._reserved.keys()

    # --- hosts that another worker contacts ----------------------------------------------------------

    def lend(self, host: HostKey, host_id: HostId | None, rests_until: Instant, now: Instant) -> bool:
        """Reserve a host for a contact by another worker, if it is idle and has rested; then call `end_lending`. Its
        own URLs wait for a moment if it has not. `host_id` and `rests_until` are as for `begin`."""
        queue = self._queue(host, host_id)
        if host in self._reserved or (host_id is not None and self._lender.is_retiring(host_id)):
            return False
        until = max(rests_until, self._rests.get(host, Instant(0.0)))
        if queue is not None:
            until = max(until, queue.not_before, Instant(now + ASK_AGAIN) if queue.state is OUT else Instant(0.0))
            if until > now:
                self._lender.yield_until(queue, Instant(until + PRECEDENCE))
        if until > now or self._lender.domain_wait(host, now) is not None:
            return False
        if queue is not None:
            self._lender.reserve(queue)
        self._reserved[host] = queue
        return True

    def end_lending(self, host: HostKey, until: Instant, now: Instant) -> None:
        """The other worker may contact the host; this one does not before `until`."""
        queue = self._reserved.pop(host)
        self._rest(host, until, now)
        self._lender.rest_domain(host, until)
        if queue is not None:
            queue.not_before = max(queue.not_before, until)
            queue.yields_until = Instant(0.0)
            self._last.add(queue.host_id)
            self._lender.end_reservation(queue)

    def take_back(self, host: HostKey, held_until: Instant, until: Instant) -> None:
        """The contact by the other worker has ended: the host, which was held, rests `until` then."""
        if self._rests.get(host) == held_until:
            self._rests[host] = until
        queue = self._queue(host, None)
        if queue is not None and queue.state is not OUT and queue.not_before == held_until:
            self._lender.reserve(queue)
            queue.not_before = until
            self._lender.end_reservation(queue)

    def on_host_loaded(self, queue: HostQueue, host: HostKey) -> None:
        """A host got a back queue; its record has not been read yet."""
        queue.not_before = max(queue.not_before, self._rests.get(host, Instant(0.0)))
        if host in self._reserved and self._reserved[host] is None:
            queue.state = OUT
            self._reserved[host] = queue

    def on_visit_finished(self, host_id: HostId) -> None:
        """A visit to the host itself has ended."""
        if self._last:
            self._last.discard(host_id)

    def _queue(self, host: HostKey, host_id: HostId | None) -> HostQueue | None:
        if host_id is not None:
            return self._hosts.get(host_id)
        # The store did not know the host when it was queried. It may by now, but rarely.
        return next((queue for queue in self._hosts.values() if queue.host == host), None)

    def _rest(self, host: HostKey, until: Instant, now: Instant) -> None:
        self._rests[host] = until
        if len(self._rests) >= self._sweep_at:
            self._rests = {key: rests for key, rests in self._rests.items() if rests > now}
            self._last &= self._hosts.keys()
            self._homes = {host_id: home for host_id, home in self._homes.items() if host_id in self._hosts}
            self._sweep_at = max(_SWEEP_AT, 2 * len(self._rests))
