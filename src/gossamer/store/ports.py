"""What the store needs from a backend."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from gossamer.model.facts import Standing, UrlFacts
from gossamer.model.units import Instant
from gossamer.store.changes import Batch, Capture, Committed, Due, PutOff, Reported

WhenReported = Callable[[Reported], Instant | None]
"""When a page is due of which a trusted list says that it has changed; None: as it was planned. Called from the store's
thread."""

PlanAnew = Callable[[Due], PutOff | None]
"""The date of a page that was planned when visits were dearer, at the price of today; None: as it is. Called in the
store's thread."""

WhenDue = Callable[[Due, int, Instant], PutOff | None]
"""Until when a URL is put off whose date has come, and before which so many stand in line; None: it is queued. Called
from the store's thread."""


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


class Prioritiser(Protocol):
    """Says where a URL waits, by what is known of it."""

    @property
    def moved_by_links(self) -> bool:
        """Whether a link that is found later moves a URL that waits."""
        ...

    @property
    def by_score(self) -> bool:
        """Whether the place in a front queue is a score: then links are counted in the commit that brings them."""
        ...

    def standing(self, url: UrlFacts) -> Standing:
        """Where the URL waits when it is due."""
        ...

    def front_until_due(self, front: int) -> int:
        """The front queue in which a URL of queue `front` waits for a date."""
        ...


class BatchWriter(Protocol):
    """Commits batches. Used from the store's thread only."""

    def commit(self, batch: Batch, now: Instant) -> Committed:
        """All of the batch in one transaction. Raises StoreFailed; then nothing of it is on record."""
        ...

    def close(self) -> None: ...
