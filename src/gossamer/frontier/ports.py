"""What the frontier needs from outside: the address gates of other workers."""

from typing import Protocol

from gossamer.model.units import Instant


class OtherWorkers(Protocol):
    """The other workers that contact the same addresses. Never waits."""

    def acquire(self, address: str, now: Instant) -> Instant | None:
        """Acquire an address. None: it is ours until `release`. Otherwise it is busy or at rest: when to try again."""
        ...

    def release(self, address: str, until: Instant) -> None:
        """Give the address back; no worker may contact it before `until`."""
        ...

    def close_until(self, address: str, until: Instant, now: Instant) -> None:
        """No worker may contact an address before `until`."""
        ...
