"""What an operator has asked for single hosts while the crawl runs."""

from typing import Final

from gossamer.model.units import HostKey, Seconds

HOST_DROPPED: Final = "host_dropped"
"""The reason of URLs that are given up with their host."""
PAUSED_LOOK: Final = Seconds(2.0)
"""A paused host is looked at again after so long, without being contacted."""


class HostControls:
    """Hosts that are not contacted for now, and hosts whose URLs are excluded when their turn comes. Asked at every
    visit, so whether there are any is known at once."""

    def __init__(self) -> None:
        self.paused: set[HostKey] = set()
        self.dropped: set[HostKey] = set()

    def __bool__(self) -> bool:
        return bool(self.paused or self.dropped)

    def pause(self, host: HostKey) -> None:
        self.paused.add(host)

    def drop(self, host: HostKey) -> None:
        self.paused.discard(host)
        self.dropped.add(host)

    def resume(self, host: HostKey) -> bool:
        """Crawl the host as any other. Whether it had been dropped: its URLs are to be given back."""
        self.paused.discard(host)
        dropped = host in self.dropped
        self.dropped.discard(host)
        return dropped
