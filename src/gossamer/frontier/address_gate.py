"""Address gates: hosts that share an IP address share its politeness delay, across workers too.

The hosts of a domain share a gate in the same way if the configuration says so; its key is `domain:` and the domain.
"""

from collections import deque
from dataclasses import dataclass, field

from gossamer.frontier.ports import OtherWorkers
from gossamer.model.units import HostId, Instant

_OWN = ("domain:", "proxy:")
"""Beginnings of keys that stand for no address: all hosts of such a gate belong to one worker."""


@dataclass(slots=True)
class AddressGate:
    """Lets one host at a time contact an address.

    Invariants: `busy_with` is the only host with a request to the address; `not_before` only moves forward; a host in
    `parked` is in no other structure of the frontier.
    """

    not_before: Instant = Instant(0.0)
    busy_with: HostId | None = None
    parked: deque[HostId] = field(default_factory=deque)

    def is_open(self, now: Instant) -> bool:
        return self.busy_with is None and self.not_before <= now


class AddressGates:
    """All gates in use. Gates that are open and have no parked hosts are dropped."""

    def __init__(self) -> None:
        self._gates: dict[str, AddressGate] = {}
        self._sweep_at = 1024
        self.others: OtherWorkers | None = None

    def share_with(self, others: OtherWorkers, now: Instant) -> None:
        """Share the gates with other workers, beginning with the delays known so far."""
        self.others = others
        for address, gate in self._gates.items():
            others.close_until(address, gate.not_before, now)

    def enter(self, address: str, host_id: HostId, now: Instant) -> bool:
        """Enter the gate if it is open. If another worker holds the address or has just used it, the gate is closed for
        a while."""
        gate = self.for_address(address, now)
        if not gate.is_open(now):
            return False
        if (
            self.others is not None
            and not address.startswith(_OWN)
            and (until := self.others.acquire(address, now)) is not None
        ):
            gate.not_before = max(gate.not_before, until)
            return False
        gate.busy_with = host_id
        return True

    def leave(self, gate: AddressGate, address: str) -> None:
        gate.busy_with = None
        if self.others is not None and not address.startswith(_OWN):
            self.others.release(address, gate.not_before)

    def __len__(self) -> int:
        return len(self._gates)

    def for_address(self, address: str, now: Instant) -> AddressGate:
        gate = self._gates.get(address)
        if gate is None:
            if len(self._gates) >= self._sweep_at:
                self._sweep(now)
            gate = self._gates[address] = AddressGate()
        return gate

    def close_until(self, address: str, until: Instant) -> None:
        """Close the gate until then, for contacts made before a restart."""
        gate = self._gates.setdefault(address, AddressGate())
        gate.not_before = max(gate.not_before, until)

    def _sweep(self, now: Instant) -> None:
        """Drop gates that carry no information. Amortised O(1): the next sweep happens when the number has doubled."""
        self._gates = {a: g for a, g in self._gates.items() if g.parked or not g.is_open(now)}
        self._sweep_at = max(1024, 2 * len(self._gates))
