"""Exchanges addresses with other workers (`cluster.shared_addresses`), on a connection that no commit delays."""

import asyncio
from contextlib import suppress

from gossamer.clock import Clock
from gossamer.cluster.ports import Session
from gossamer.cluster.shared_addresses import GateAnswer, GatePlan, SharedAddresses, exchange
from gossamer.errors import StoreFailed
from gossamer.model.units import Epoch, Instant

GATES = 0.02
"""Seconds between two exchanges of addresses, if there is anything to exchange."""


class AddressExchange:
    """Takes the addresses that the frontier asks for, and gives up those that others want or that are unused. Owned by
    the event loop."""

    def __init__(self, session: Session, epoch: Epoch, addresses: SharedAddresses) -> None:
        self._session, self._epoch = session, epoch
        self._addresses = addresses

    async def run(self, clock: Clock) -> None:
        """Until cancelled. Raises WorkerEnded."""
        addresses = self._addresses
        while True:
            plan = addresses.plan(clock.now())
            if plan is not None:
                with suppress(StoreFailed):  # what it was to give up stays closed, and the next plan repeats it
                    addresses.apply(await self._run(plan), clock.now())
            busy = plan is not None and (plan.take or plan.release)
            await asyncio.sleep(GATES if busy or addresses.has_requests else 5 * GATES)

    async def _run(self, plan: GatePlan) -> GateAnswer:
        """Run a plan. If this is cancelled, it ends with the plan: `leave` uses the same connection."""
        running = asyncio.ensure_future(asyncio.to_thread(exchange, self._session, self._epoch, plan))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.gather(running, return_exceptions=True)
            raise

    def give_all(self, now: Instant) -> None:
        """Give up all addresses, after the last contact; if the store does not answer, others wait. Raises
        WorkerEnded."""
        held = GatePlan((), self._addresses.rests(now))
        with suppress(StoreFailed):
            exchange(self._session, self._epoch, held)
