"""Address gates shared by all workers: a table in shared memory.

One request at a time per address, and the delay after it, hold for the whole crawl, not for one worker. Each worker
consults its own frontier first; this table decides between workers. A worker that dies releases its locks (the kernel
does that), and its addresses are released by the supervisor.
"""

import fcntl
import hashlib
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gossamer.model.units import Instant, Seconds

BUCKETS = 8192
SLOTS = 8  # in a bucket
LEASE = Seconds(900.0)
"""How long a worker may hold an address. No contact takes as long; it is for addresses that were never released."""
ASK_AGAIN = Seconds(0.1)
_SLOT = struct.Struct("<QdQd")  # address, end of its rest, holder (0: none), end of the lease
_BUCKET_BYTES = SLOTS * _SLOT.size


def make_table() -> int:
    """Create a table: a file descriptor to be passed to the workers."""
    table = os.memfd_create("gossamer-gates")
    os.ftruncate(table, BUCKETS * _BUCKET_BYTES)
    return table


class SharedGates:
    """The table as seen by one worker (`frontier.address_gate.OtherWorkers`); number 0 is the supervisor."""

    def __init__(self, table: int, worker: int) -> None:
        self._table = table
        self._worker = worker
        self._memory = mmap.mmap(table, BUCKETS * _BUCKET_BYTES)
        self._held: dict[str, int] = {}  # address -> position of its slot

    def acquire(self, address: str, now: Instant) -> Instant | None:
        """Acquire an address. None: it is ours until `release`. Otherwise it is busy or resting: when to try again."""
        key = _key(address)
        bucket = key % BUCKETS * _BUCKET_BYTES
        with self._locked(bucket):
            at = self._slot_for(bucket, key, now)
            known, rested, holder, lease = _SLOT.unpack_from(self._memory, at)
            if known != key or (holder and holder != self._worker and lease > now):
                return Instant(now + ASK_AGAIN)
            if rested > now:
                return Instant(rested)
            _SLOT.pack_into(self._memory, at, key, rested, self._worker, now + LEASE)
        self._held[address] = at
        return None

    def release(self, address: str, until: Instant) -> None:
        """Release an address; it must not be contacted before `until`."""
        at = self._held.pop(address, None)
        if at is None:
            return
        with self._locked(at - at % _BUCKET_BYTES):
            key, rested, _, _ = _SLOT.unpack_from(self._memory, at)
            _SLOT.pack_into(self._memory, at, key, max(rested, until), 0, 0.0)

    def close_until(self, address: str, until: Instant, now: Instant) -> None:
        """An address must not be contacted before `until`: for contacts made before the worker was started."""
        key = _key(address)
        bucket = key % BUCKETS * _BUCKET_BYTES
        with self._locked(bucket):
            at = self._slot_for(bucket, key, now)
            known, rested, holder, lease = _SLOT.unpack_from(self._memory, at)
            _SLOT.pack_into(self._memory, at, known, max(rested, until), holder, lease)

    def release_worker(self, worker: int, rested: Callable[[Instant], Instant]) -> int:
        """A worker is dead: release its addresses; `rested` gives the end of the rest for a contact that began at a
        given time. Returns how many."""
        found = 0
        for bucket in range(0, BUCKETS * _BUCKET_BYTES, _BUCKET_BYTES):
            if not any(self._memory[bucket : bucket + _BUCKET_BYTES]):
                continue
            with self._locked(bucket):
                for at in range(bucket, bucket + _BUCKET_BYTES, _SLOT.size):
                    key, until, holder, lease = _SLOT.unpack_from(self._memory, at)
                    if holder == worker:
                        until = max(until, rested(Instant(lease - LEASE)))
                        _SLOT.pack_into(self._memory, at, key, until, 0, 0.0)
                        found += 1
        return found

    def close(self) -> None:
        self._memory.close()

    def _slot_for(self, bucket: int, key: int, now: Instant) -> int:
        """The slot of an address, or an unused one. If all are in use, the slot of another address, which has to be
        released first."""
        unused = None
        for at in range(bucket, bucket + _BUCKET_BYTES, _SLOT.size):
            known, rested, holder, lease = _SLOT.unpack_from(self._memory, at)
            if known == key:
                return at
            if unused is None and rested <= now and (not holder or lease <= now):
                unused = at
        if unused is None:
            return bucket + key // BUCKETS % SLOTS * _SLOT.size
        _SLOT.pack_into(self._memory, unused, key, 0.0, 0, 0.0)
        return unused

    @contextmanager
    def _locked(self, bucket: int) -> Iterator[None]:
        fcntl.lockf(self._table, fcntl.LOCK_EX, _BUCKET_BYTES, bucket)
        try:
            yield
        finally:
            fcntl.lockf(self._table, fcntl.LOCK_UN, _BUCKET_BYTES, bucket)


def _key(address: str) -> int:
    """Never 0, which marks an empty slot."""
    return int.from_bytes(hashlib.blake2b(address.encode(), digest_size=8).digest(), "little") or 1
