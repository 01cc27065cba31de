"""Addresses that a worker holds, in memory."""

from gossamer.cluster.handover import Released, RestPolicy
from gossamer.cluster.membership import TakenGate
from gossamer.cluster.shared_addresses import SharedAddresses
from gossamer.model.units import Instant, Seconds


def test_an_address_whose_contact_was_cut_off_rests_as_after_a_death() -> None:
    addresses = SharedAddresses(RestPolicy(Seconds(30.0), Seconds(10.0)), Seconds(1.0))
    taken = tuple(TakenGate(address, Released.NEW, Seconds(0.0)) for address in ("10.0.0.1", "10.0.0.2"))
    addresses.adopt(taken, Instant(0.0))
    assert addresses.acquire("10.0.0.1", Instant(1.0)) is None
    assert addresses.acquire("10.0.0.2", Instant(1.0)) is None
    addresses.release("10.0.0.2", Instant(3.0))

    addresses.end_contacts(Instant(2.0))

    assert addresses.rests(Instant(2.0)) == (("10.0.0.1", 30.0), ("10.0.0.2", 1.0))
