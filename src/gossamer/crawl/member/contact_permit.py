"""Contacts of a worker while it holds its lease: none starts without one, and all are cut off at its end."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from gossamer.clock import boot_time
from gossamer.cluster.lease import Lease
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import Seconds

_LOOK = 0.05
"""Seconds between two looks at the lease by a contact that waits for it."""


class LeasePermit:
    """`crawl.visit.request.ContactPermit`. Owned by the event loop."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._sending: set[asyncio.Task[FetchOutcome]] = set()
        self._cut_off: set[asyncio.Task[FetchOutcome]] = set()

    async def wait_for_permit(self) -> None:
        """Until the lease allows a contact to start."""
        while not self._lease.may_start(boot_time()):  # noqa: ASYNC110 - a thread renews it
            await asyncio.sleep(_LOOK)

    async def send(self, sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
        """Await a request, which is cut off at the end of the lease."""
        began = boot_time()
        task = asyncio.ensure_future(self._send_in_time(sending))
        self._sending.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            if task not in self._cut_off:
                task.cancel()
                raise
            return _cut_off(began)
        finally:
            self._sending.discard(task)
            self._cut_off.discard(task)

    async def _send_in_time(self, sending: Coroutine[Any, Any, FetchOutcome]) -> FetchOutcome:
        """The task of a request begins a turn of the loop after its permit, and the process may have been stopped in
        between."""
        if not self._may_go_on():
            sending.close()
            return _cut_off(boot_time())
        return await sending

    def cut_off_at_end(self) -> None:
        """Cut off all contacts if the lease has ended. Called often."""
        if not self._may_go_on():
            for task in self._sending - self._cut_off:
                self._cut_off.add(task)
                task.cancel()

    def _may_go_on(self) -> bool:
        return boot_time() < self._lease.end()


def _cut_off(began: float) -> Failed:
    """The outcome of a request that would be sent, or answered, after the end of the lease."""
    took = Seconds(boot_time() - began)
    return Failed(Failure.INCOMPLETE_BODY, "cut off: the lease of the worker has ended", took, contacted=True)
