"""What the store needs from a backend."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from gossamer.model.units import Instant
from gossamer.store.changes import Batch, Capture, Committed


class Location(NamedTuple):
    """Where a record lies."""

    file: str
    offset: int
    length: int


class CaptureFiles(Protocol):
    """Append-only files of captures. Used from the store's thread only."""

    def append(self, capture: Capture) -> Location:
        """Write one document (request and response). Raises DiskFull; then nothing of it is in the file."""
        ...

    def flush(self) -> Mapping[str, int]:
        """Make everything appended durable; the length of each file that has grown since `committed`."""
        ...

    def committed(self) -> None:
        """What `flush` reported is on record."""
        ...

    def roll_back(self) -> None:
        """Forget everything appended since `committed`."""
        ...

    def close(self) -> None: ...


class BatchWriter(Protocol):
    """Commits batches. Used from the store's thread only."""

    def commit(self, batch: Batch, now: Instant) -> Committed:
        """All of the batch in one transaction. Raises StoreFailed; then nothing of it is on record."""
        ...

    def close(self) -> None: ...
