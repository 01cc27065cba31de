"""What an operator has asked for single hosts, through the service: it holds however the crawl is run."""

import json
from typing import Final

from gossamer.model.facts import HostOverrides
from gossamer.model.units import HostId, HostKey, Instant, Seconds

HOST_DROPPED: Final = "host_dropped"
"""The reason of URLs that are given up with their host."""
PAUSED_LOOK: Final = Seconds(2.0)
"""A paused host is looked at again after so long, without being contacted."""
ORDERS: Final = "service"
"""The name under which all orders are kept among the facts of a crawl (`service.overrides` writes them)."""


def is_paused(text: str | None) -> bool:
    """Whether the whole crawl was paused, by what is on record under `ORDERS`. That holds for the service alone."""
    return text is not None and json.loads(text)["paused"] is True


class HostControls(HostOverrides):
    """Hosts that are not contacted for now, hosts whose URLs are excluded when their turn comes, and hosts that are
    left alone for longer than the configuration says. Asked at every visit, so whether there are any is known at
    once."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[HostId, Instant] = {}  # paused hosts that had a turn, and when

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

    def hold(self, host_id: HostId, now: Instant) -> None:
        """A paused host had its turn, and was not contacted."""
        self._held[host_id] = now

    def held(self, now: Instant) -> int:
        """How many hosts would have been contacted lately, were they not paused."""
        self._held = {host: at for host, at in self._held.items() if now - at < 2 * PAUSED_LOOK}
        return len(self._held)
