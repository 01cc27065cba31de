"""Announcements of documents to other programs."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from gossamer.model.units import Instant, Url


class Announcement(NamedTuple):
    """A document that has just been committed."""

    url: Url
    digest: bytes  # SHA-1 of the decoded document
    file: str  # where its WARC record is, ...
    offset: int
    length: int
    status: int
    at: Instant  # of the request
    title: str | None
    text: str | None = None  # if texts are announced


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedDocument:
    """A document as the stream of a crawl announces it to programs."""

    url: str
    digest: str
    """SHA-1 of the decoded document, as in `gossamer pages --json`."""
    file: str
    """The WARC file that has its record, ..."""
    offset: int
    length: int
    status: int
    fetched_at: datetime
    title: str | None
    text: str | None
    """The main text, if the crawl announces texts and the document has one."""
    epoch: int
    """The life of the worker that has stored it: a random number."""
    serial: int
    """The number of the document in this epoch, from 1 on, whether or not those before were announced."""
    commit: int
    index: int
    """The commit that has stored it, and its number within that commit, from 0 on."""
    gap: int = 0
    """Documents directly before it that the group will not receive, because Redis was away or has lost them: of this
    epoch or, with the first of an epoch, at the end of the worker's last one. They are in the crawl
    (`gossamer.open`)."""
    deliveries: int = 1
    """How often the group has received it, this time included."""

    @property
    def repeat(self) -> bool:
        """Whether a consumer of the group may have processed it already."""
        return self.deliveries > 1
