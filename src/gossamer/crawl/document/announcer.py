"""Announces stored documents to other programs, after their commit."""

from typing import NamedTuple

from gossamer.crawl.observers import CrawlObserver
from gossamer.extract.content_types import is_html
from gossamer.extract.crawl_page import is_large
from gossamer.extract.full_page import Wanted, read_page
from gossamer.fetch.http.body import decodes_slowly, payload
from gossamer.model.announcement import Announcement
from gossamer.model.batch import Batch, Committed
from gossamer.model.outcome import Response
from gossamer.model.settlement import ProcessedDocument, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Visit
from gossamer.model.units import Instant
from gossamer.store.ports import DocumentLog

_STORED = UrlState.STORED  # looking up a member costs as much as a call


POSITION_KEY = "announced"
"""The name under which the position in the document stream is stored."""


class _Stored(NamedTuple):
    """A document of a batch."""

    settlement: Settlement
    text: str | None = None
    is_announced: bool = True


class DocumentAnnouncer(CrawlObserver):
    """Announces every document that a commit has stored, in the order in which they were settled. Holds the documents
    of the open batch and of the one that is being committed."""

    def __init__(self, log: DocumentLog, *, texts: bool = False) -> None:
        """`texts`: with the main text of HTML pages. Large pages have none: extracting it would hold up the crawl."""
        self._log = log
        self._texts = texts
        self._settled: list[_Stored] = []  # in the open batch
        self._in_commit: list[_Stored] = []

    def settled(
        self, visit: Visit, settlement: Settlement, document: ProcessedDocument | None, requested: bool
    ) -> None:
        if settlement.state is _STORED and settlement.capture is not None and not settlement.kept:
            # Here and not after the commit: few documents are processed at a time, and further ones wait in their
            # queue meanwhile. A commit has hundreds.
            self._settled.append(_with_text(settlement) if self._texts else _Stored(settlement))

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self._in_commit, self._settled = self._settled, []
        if self._in_commit:
            batch.facts[POSITION_KEY] = self._log.position_after(len(self._in_commit))

    def committed(self, committed: Committed) -> None:
        in_commit, self._in_commit = self._in_commit, []
        if not in_commit:
            return
        places = {place[0]: place for place in committed.captured}
        found: list[Announcement | None] = []
        for settled, text, is_announced in in_commit:
            if not is_announced:
                found.append(None)
                continue
            assert settled.capture is not None and settled.digest is not None
            _, file, offset, length = places[settled.url_id]
            response = settled.capture.response
            found.append(
                Announcement(
                    *(response.url, settled.digest, file, offset, length),
                    *(response.status, response.started, settled.title, text),
                )
            )
        self._log.announce(committed.number, found)


def _with_text(settlement: Settlement) -> _Stored:
    assert settlement.capture is not None
    try:
        return _Stored(settlement, _text_of(settlement.capture.response))
    except Exception:  # a page that the extraction cannot handle: readers see a gap, and the crawl goes on
        return _Stored(settlement, is_announced=False)


def _text_of(response: Response) -> str | None:
    """The main text of an HTML page that is not large."""
    if decodes_slowly(response):
        return None
    body = payload(response).body
    content_type = response.headers.get("content-type")
    if not is_html(content_type, body[:1024]) or is_large(body):
        return None
    return read_page(body, content_type, response.url, want=Wanted(anchor_text=False)).text
