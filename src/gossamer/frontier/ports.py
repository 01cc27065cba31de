"""What the frontier needs from outside: the address gates of other workers."""

from typing import Protocol

from gossamer.model.units import Instant


class OtherWorkers(Protocol):
    """The other workers that contact the same addresses: of all of them, one at a time contacts an address, and none
    before its rest is over.

    Called on the event loop, at most once at a time for an address. Never waits and never fails: what cannot be decided
    now is refused, to be asked again. An address whose holder has died is free again after the longest rest that its
    last contact may require. A worker that can no longer be sure of what it holds refuses everything.
    """

    def acquire(self, address: str, now: Instant) -> Instant | None:
        """Acquire an address. None: it is ours until `release`. Otherwise, when to try again, which is later than
        `now`: the address is busy or at rest, or has been requested and is not ours yet."""
        ...

    def release(self, address: str, until: Instant) -> None:
        """Our contact is over; no worker may contact the address before `until`. Nothing happens to an address that is
        not ours. It may stay with this worker until another one wants it."""
        ...

    def close_until(self, address: str, until: Instant, now: Instant) -> None:
        """No worker may contact an address before `until`, because of contacts before this worker was started. An
        earlier time than the one known changes nothing."""
        ...
