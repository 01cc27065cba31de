"""The archive of a crawl in memory."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gossamer.errors import StoreFailed
from gossamer.model.settlement import Capture
from gossamer.store.ports import Location

FILE = "memory"
"""The name of the one file that this archive seems to have."""

Encode = Callable[[Capture], tuple[bytes, ...]]
"""The records of a capture, the one with its document first."""


class _Record(NamedTuple):
    offset: int
    data: bytes


class MemoryCaptures:
    """`CaptureFiles` without files. A record can be read as soon as it is appended."""

    def __init__(self, encode: Encode) -> None:
        self._encode = encode
        self._records: dict[int, _Record] = {}  # by offset, in the order in which they were appended
        self._length = 0
        self._committed = 0

    def append(self, capture: Capture) -> Location:
        records = capture.records or self._encode(capture)
        first = self._length
        for data in records:
            self._records[self._length] = _Record(self._length, data)
            self._length += len(data)
        return Location(FILE, first, len(records[0]))

    def flush(self) -> Mapping[str, int]:
        return {FILE: self._length} if self._length > self._committed else {}

    def committed(self) -> None:
        self._committed = self._length

    def roll_back(self) -> None:
        for offset in [offset for offset in self._records if offset >= self._committed]:
            del self._records[offset]
        self._length = self._committed

    def close(self) -> None:
        """Nothing to give back: what is committed can still be read."""

    def read(self, at: Location) -> bytes:
        """The record at a location. Raises StoreFailed if there is none."""
        record = self._records.get(at.offset)
        if at.file != FILE or record is None or len(record.data) != at.length:
            raise StoreFailed(f"there is no record at {at.file}:{at.offset}, {at.length} bytes long")
        return record.data
