"""The captures that duplicates and unchanged pages refer to."""

import sqlite3
from collections.abc import Mapping, Sequence

from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Url
from gossamer.store.changes import Capture, Original, Settlement


class Originals:
    """Finds the first capture of a document: among the settlements of this commit, then in the database."""

    def __init__(self, db: sqlite3.Connection, sql: Mapping[str, str], settlements: Sequence[Settlement]) -> None:
        self._db = db
        self._sql = sql
        self._settlements = settlements
        self._fresh: dict[bytes, Original] | None = None  # made when it is asked for: few commits have duplicates

    def revisit(self, capture: Capture, digest: bytes | None) -> Capture | None:
        """The capture of a duplicate with its original; None if that was stored by a version that did not note it."""
        original = None if digest is None else self._of_content(digest)
        return None if original is None else capture._replace(original=original)

    def _of_content(self, digest: bytes) -> Original | None:
        if self._fresh is None:
            self._fresh = {
                s.digest: Original(s.capture.response.url, s.capture.response.started, s.capture.payload_digest)
                for s in self._settlements
                if s.state is UrlState.STORED and s.digest is not None and s.capture is not None
            }
        # What the database has is older, and so it is the owner.
        row = self._db.execute(self._sql["original_of_content"], (digest,)).fetchone()
        return _original(row) or self._fresh.get(digest)


def original_of(db: sqlite3.Connection, sql: Mapping[str, str], url_id: int) -> Original | None:
    """What a page that did not change refers to: the capture that has its document."""
    return _original(db.execute(sql["original_of_url"], (url_id,)).fetchone())


def _original(row: tuple[str, float, bytes] | None) -> Original | None:
    return None if row is None else Original(Url(row[0]), Instant(row[1]), row[2])
