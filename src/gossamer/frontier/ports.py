"""What the frontier needs from outside: the address gates of other workers."""

from typing import Protocol

from gossamer.model.units import Instant


class OtherWorkers(Protocol):
    """The other workers that contact the same addresses. Never waits."""

    def take(self, address: str, now: Instant) -> Instant | None:
        """Take an address. None: it is ours until `leave`. Otherwise it is busy or at rest: when to try again."""
        ...

    def leave(self, address: str, until: Instant) -> None:
        """Give the address back; no worker may contact it before `until`."""
        ...

    def rest(self, address: str, until: Instant, now: Instant) -> None:
        """No worker may contact an address before `until`."""
        ...
