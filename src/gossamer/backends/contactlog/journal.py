"""Append-only, fixed-size records in two files that take turns."""

import os
import struct
from pathlib import Path
from typing import NamedTuple

from gossamer.model.units import HostId, Instant

_RECORD = struct.Struct("<QddB46s")  # host id, a time, seconds, kind, address
_BEGIN, _STARTED, _FINISHED = 0, 1, 2


class LastContact(NamedTuple):
    """What the journal knows of a host's last contact."""

    started: Instant | None  # a request was sent then and we do not know what came of it
    next_contact: Instant  # of the last contact that was seen to its end; 0 if there was none
    took: float  # how long that one took; for an open one, how long the host took the time before
    address: str


class ContactJournal:
    """Notes contacts as they happen. `turn_over` at the start of a batch, `forget` when it is committed."""

    def __init__(self, directory: Path) -> None:
        self._files = (directory / "contacts.0", directory / "contacts.1")
        self._turns = 0
        self._fd = self._open()

    def _open(self) -> int:
        """Begin a file afresh; its first record says which of the two is the newer."""
        path = self._files[self._turns % 2]
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
        os.write(fd, _RECORD.pack(self._turns, 0.0, 0.0, _BEGIN, b""))
        return fd

    def started(self, host_id: HostId, at: Instant, last_took: float, address: str) -> None:
        """About to contact the host. After this returns, a crash cannot make us forget it."""
        os.write(self._fd, _RECORD.pack(host_id, at, last_took, _STARTED, address.encode()))

    def finished(self, host_id: HostId, next_contact: Instant, took: float, address: str) -> None:
        """The contact is over; the host may be contacted again at `next_contact`."""
        os.write(self._fd, _RECORD.pack(host_id, next_contact, took, _FINISHED, address.encode()))

    def turn_over(self, still_open: list[tuple[HostId, Instant, float, str]]) -> None:
        """Write to the other file from now on, beginning with the contacts that are still open: the batch
        about to be committed knows of all finished ones in this file."""
        os.close(self._fd)
        self._turns += 1
        self._fd = self._open()
        for host_id, at, last_took, address in still_open:
            self.started(host_id, at, last_took, address)

    def forget(self) -> None:
        """The batch is committed: the file before the last `turn_over` says nothing any more."""
        self._files[(self._turns + 1) % 2].unlink(missing_ok=True)

    def close(self) -> None:
        os.close(self._fd)


def replay(directory: Path) -> dict[HostId, LastContact]:
    """What the journals in the directory know, by host. A torn last record is ignored: its contact did not begin,
    because the request is sent only after its record was written."""
    found: dict[HostId, LastContact] = {}
    for records in sorted(_read(path) for path in (directory / "contacts.0", directory / "contacts.1")):
        for host, time, took, kind, raw in records:
            host_id = HostId(host)
            address = raw.rstrip(b"\0").decode("ascii", "replace")
            before = found.get(host_id)
            next_contact = before.next_contact if before else Instant(0.0)
            if kind == _STARTED:
                found[host_id] = LastContact(Instant(time), next_contact, took, address)
            elif kind == _FINISHED:
                found[host_id] = LastContact(None, max(next_contact, Instant(time)), took, address)
    return found


def _read(path: Path) -> list[tuple[int, float, float, int, bytes]]:
    """The whole records of a file. The first is the number of its turn, so that lists sort by age."""
    if not path.exists():
        return []
    data = path.read_bytes()
    usable = len(data) - len(data) % _RECORD.size
    return list(_RECORD.iter_unpack(data[:usable]))


def clear(directory: Path) -> None:
    """Drop the journals: what they knew is committed."""
    for path in (directory / "contacts.0", directory / "contacts.1"):
        path.unlink(missing_ok=True)
