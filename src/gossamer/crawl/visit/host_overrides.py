"""Per-host operator overrides, set through the service; they also apply to `gossamer crawl`."""

import json
from typing import Final

from gossamer.model.facts import HostOverrides
from gossamer.model.units import HostId, HostKey, Instant, Seconds

HOST_DROPPED: Final = "host_dropped"
"""The reason of URLs that are excluded because their host was dropped."""
PAUSED_LOOK: Final = Seconds(2.0)
"""Seconds after which a paused host is checked again, without a contact."""
ORDERS: Final = "service"
"""The metadata key of all overrides (`service.overrides` writes it)."""


def is_paused(text: str | None) -> bool:
    """Whether the whole crawl is paused, by the stored overrides. Only the service obeys this."""
    return text is not None and json.loads(text)["paused"] is True


class HostControls(HostOverrides):
    """Paused hosts, dropped hosts (their URLs are excluded when their turn comes) and delays that replace the
    configured ones. Checked at every visit, so an empty table is false."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[HostId, Instant] = {}  # paused hosts, and when their turn came last

    def __bool__(self) -> bool:
        return bool(self.paused or self.dropped)

    def pause(self, host: HostKey) -> None:
        self.paused.add(host)

    def drop(self, host: HostKey) -> None:
        self.paused.discard(host)
        self.dropped.add(host)

    def resume(self, host: HostKey) -> bool:
        """Remove the overrides of a host. Returns whether it was dropped; then its URLs are to be requeued."""
        self.paused.discard(host)
        dropped = host in self.dropped
        self.dropped.discard(host)
        return dropped

    def hold(self, host_id: HostId, now: Instant) -> None:
        """The turn of a paused host came, and it was not contacted."""
        self._held[host_id] = now

    def held(self, now: Instant) -> int:
        """The number of hosts whose turn came lately while they were paused."""
        self._held = {host: at for host, at in self._held.items() if now - at < 2 * PAUSED_LOOK}
        return len(self._held)
