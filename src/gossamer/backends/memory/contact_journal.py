"""The contact journal in memory: it outlives a crawl that is closed in the middle, but not its process."""

from typing import NamedTuple

from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, Instant


class _Contact(NamedTuple):
    host_id: HostId
    is_open: bool
    time: Instant  # when it started if it is open, else of the next contact
    took: float
    address: str


class MemoryContactJournal:
    """`ContactJournal` without files."""

    def __init__(self) -> None:
        self._older: list[_Contact] = []
        self._current: list[_Contact] = []

    def last_contacts(self) -> dict[HostId, LastContact]:
        found: dict[HostId, LastContact] = {}
        for host_id, is_open, time, took, address in (*self._older, *self._current):
            before = found.get(host_id)
            next_contact = before.next_contact if before else Instant(0.0)
            if is_open:
                found[host_id] = LastContact(time, next_contact, took, address)
            else:
                found[host_id] = LastContact(None, max(next_contact, time), took, address)
        return found

    def begin(self) -> None:
        self.clear()

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        self._current.append(_Contact(host_id, True, at, last_took, address))

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        self._current.append(_Contact(host_id, False, next_contact, took, address))

    def turn_over(self, still_open: list[tuple[HostId, Instant, float, str]]) -> None:
        self._older, self._current = self._current, []
        for contact in still_open:
            self.started(*contact)

    def forget(self) -> None:
        self._older = []

    def close(self) -> None:
        """Nothing to give back."""

    def clear(self) -> None:
        self._older, self._current = [], []
