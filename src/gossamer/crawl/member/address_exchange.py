"""Exchanges addresses with other workers (`cluster.shared_addresses`), on a connection that no commit delays."""

import asyncio
from contextlib import suppress

from gossamer.clock import Clock
from gossamer.cluster.ports import Session
from gossamer.cluster.shared_addresses import GatePlan, SharedAddresses, exchange
from gossamer.errors import StoreFailed
from gossamer.model.units import Epoch, Instant

GATES = 0.02
"""Seconds between two exchanges of addresses, if there is anything to exchange."""


class AddressExchange:
    """Takes the addresses that the frontier asks for, and gives up those that others want or nobody uses. Owned by the
    event loop."""

    def __init__(self, session: Session, epoch: Epoch, addresses: SharedAddresses) -> None:
        self._session, self._epoch = session, epoch
        self._addresses = addresses

    async def run(self, clock: Clock) -> None:
        """Until cancelled. Raises LeaseLost."""
        addresses = self._addresses
        while True:
            plan = addresses.plan(clock.now())
            if plan is not None:
                with suppress(StoreFailed):  # what it was to give up stays closed, and the next plan repeats it
                    answer = await asyncio.to_thread(exchange, self._session, self._epoch, plan)
                    addresses.apply(answer, clock.now())
            busy = plan is not None and (plan.take or plan.release)
            await asyncio.sleep(GATES if busy or addresses.has_requests else 5 * GATES)

    def give_all(self, now: Instant) -> None:
        """Give up all addresses, after the last contact; if the store does not answer, others wait. Raises
        LeaseLost."""
        held = GatePlan((), self._addresses.rests(now))
        with suppress(StoreFailed):
            exchange(self._session, self._epoch, held)
