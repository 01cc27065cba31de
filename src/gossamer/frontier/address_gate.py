"""Hosts that share an address share a gap: the gate of one address. Where several workers crawl, so do theirs."""

from collections import deque
from dataclasses import dataclass, field

from gossamer.frontier.ports import OtherWorkers
from gossamer.model.units import HostId, Instant


@dataclass(slots=True)
class AddressGate:
    """Lets one host at a time contact an address.

    Invariants: `busy_with` is the only host with a request on the address; `not_before` only moves forward;
    a host in `parked` is in no other structure of the frontier.
    """

    not_before: Instant = Instant(0.0)
    busy_with: HostId | None = None
    parked: deque[HostId] = field(default_factory=deque)

    def is_open(self, now: Instant) -> bool:
        return self.busy_with is None and self.not_before <= now


class AddressGates:
    """All gates in use. A gate that is idle, at rest no longer and empty is forgotten."""

    def __init__(self) -> None:
        self._gates: dict[str, AddressGate] = {}
        self._sweep_at = 1024
        self.others: OtherWorkers | None = None

    def share_with(self, others: OtherWorkers, now: Instant) -> None:
        """Contact no address while another worker does, or while it rests from that; tell what we know of rests."""
        self.others = others
        for address, gate in self._gates.items():
            others.close_until(address, gate.not_before, now)

    def enter(self, address: str, host_id: HostId, now: Instant) -> bool:
        """Go through the gate if it is open. Where another worker is or has just been, it is closed for a while."""
        gate = self.for_address(address, now)
        if not gate.is_open(now):
            return False
        if self.others is not None and (until := self.others.acquire(address, now)) is not None:
            gate.not_before = max(gate.not_before, until)
            return False
        gate.busy_with = host_id
        return True

    def leave(self, gate: AddressGate, address: str) -> None:
        gate.busy_with = None
        if self.others is not None:
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
        """Close the gate until then: what a restart knows of the last contact."""
        gate = self._gates.setdefault(address, AddressGate())
        gate.not_before = max(gate.not_before, until)

    def _sweep(self, now: Instant) -> None:
        """Drop what says nothing any more. Amortised O(1): the next sweep waits until the rest has doubled."""
        self._gates = {a: g for a, g in self._gates.items() if g.parked or not g.is_open(now)}
        self._sweep_at = max(1024, 2 * len(self._gates))
