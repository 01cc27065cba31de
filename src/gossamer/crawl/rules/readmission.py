"""Brings back what was refused, after rules have become wider.

Links that are refused are not stored. Instead, the visit of a page has a mask of the reasons why links of it were
refused (`model.refusals`). When a reason no longer holds, the pages with that bit are read again from the archive, and
their links are admitted by the rules in force. URLs that were excluded for such a reason, or that redirect to a URL
that was refused for it, are queued again. What robots.txt forbids stays excluded.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple

from gossamer.config.widening import ADMISSION_KEY, TRAP_CUTS, AdmissionRecord, AdmissionRules
from gossamer.crawl.counters import CrawlState
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument, DocumentProcessor
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.observers import Observers
from gossamer.errors import ArchiveError
from gossamer.extract.crawl_page import PageContent
from gossamer.filter.canonical import Canonical
from gossamer.model.batch import BulkChange
from gossamer.model.document import Document
from gossamer.model.outcome import Response
from gossamer.model.refusals import mask_of
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Task, Visit
from gossamer.model.units import Fingerprint
from gossamer.observe.snapshot import ReadmissionCounts
from gossamer.store.table.refusals import RefusalReader, RefusedPage, RefusedUrl
from gossamer.store.threads import ReaderThread

PAGES_AT_ONCE: Final = 200
"""Pages of one transaction, which moves the cursor."""
_READ_AT_ONCE = 8  # pages for one question to the reader thread, so that other questions need not wait long
_MOST_NAMED = 5  # files that cannot be read
_ONLY_A_VISIT_TELLS = ("domain_limit", "unwanted_type", "blocked_address", "redirect_bad_scheme")

ReadResponse = Callable[[str, int, int], Response | None]
"""The response at a location of the archive; None for a revisit. Raises ArchiveError."""


class _PageRead(NamedTuple):
    page: RefusedPage
    visit: Visit
    decoded: DecodedDocument | None  # None: it has no document of its own, or cannot be read
    content: PageContent | None = None  # of a page, unless it is large
    problem: str | None = None


class Readmission:
    """The passes of one crawl, one at a time. The cursor is stored with what the pass has found, so a crash loses
    nothing; the next start goes on from there. Owned by the event loop."""

    def __init__(
        self,
        state: CrawlState,
        record: AdmissionRecord,
        observers: Observers,
        *,
        admission: Admission,
        processor: DocumentProcessor,
        sitemaps: Sitemaps,
        reader: RefusalReader,
        thread: ReaderThread,
        read_response: ReadResponse,
    ) -> None:
        """`record`: for the rules in force."""
        self._store, self._counters = state.store, state.counters
        self._observers = observers
        self._record = record
        self._admission = admission
        self._processor = processor
        self._sitemaps = sitemaps
        self._reader = reader
        self._thread = thread
        self._read_response = read_response
        self._problems: list[str] = []
        self._counts: ReadmissionCounts | None = None
        self._wanted = asyncio.Event()
        self._counted = asyncio.Event()  # the pages to be read are counted
        if record.reasons:
            self._begin()

    @property
    def is_pending(self) -> bool:
        """Whether a pass is not complete: until then the crawl is not finished."""
        return self._wanted.is_set()

    @property
    def counts(self) -> ReadmissionCounts | None:
        """Of the pass that is running, or else of the last one of this run; None before its pages are counted."""
        return self._counts

    async def until_counted(self) -> None:
        """Wait until it is known how many pages the pass has to read, if there is one."""
        if self.is_pending:
            await self._counted.wait()

    def change_rules(self, rules: AdmissionRules) -> None:
        """The rules have changed just now. If they admit more, a pass begins, instead of one that is running."""
        before = self._record
        self._record = before.changed_to(rules.with_running(before.rules[-1]))
        if self._record is before:
            return
        self._save()
        if self._record.reasons:
            self._begin()
        else:
            self._wanted.clear()

    def _begin(self) -> None:
        self._problems = []
        self._wanted.set()
        self._counted.clear()
        self._update_counts()

    async def run(self, on_progress: Callable[[], None]) -> None:
        """Make passes whenever rules become wider, until cancelled. Raises StoreFailed."""
        while True:
            await self._wanted.wait()
            await self._pass()
            on_progress()

    async def _pass(self) -> None:
        await self._store.until_committed()  # with all that the former rules refused
        record = self._record
        mask = mask_of(record.reasons)
        if record.pages is None:
            pages = await self._thread.ask(self._reader.count_pages, mask) if mask else 0
            if not self._advance(record, pages=pages):
                return
        self._counted.set()
        self._observers.readmission_changed(self.counts)
        last = await self._thread.ask(self._reader.last_id)
        while (record := self._record).reasons and record.cursor < last:
            most = PAGES_AT_ONCE if mask else 0
            window = await self._thread.ask(
                self._reader.window, mask_of(record.reasons), record.reasons, record.cursor, last, most
            )
            returning: list[Candidate] = []
            refused: list[tuple[int, int, int]] = []
            unreadable = 0
            for at in range(0, len(window.pages), _READ_AT_ONCE):
                for read in await self._thread.ask(self._read_pages, window.pages[at : at + _READ_AT_ONCE]):
                    if read.problem is not None:
                        unreadable += 1
                        self._problems.append(read.problem)
                        continue
                    candidates, excluded = await self._admit(read)
                    returning += candidates
                    refused.append((mask_of(excluded), read.page.url_id, read.page.warc_offset))
                    await asyncio.sleep(0)
            if self._record is not record:
                return  # the rules have changed again: the new pass looks at these pages too
            orders = self._orders(window.urls, record.reasons)
            batch = self._store.batch
            batch.returning += returning
            batch.refused += refused
            batch.bulk_changes += orders
            done, unreadable = record.done + len(window.pages), record.unreadable + unreadable
            self._record = progressed = record.advanced(cursor=window.upto, done=done, unreadable=unreadable)
            self._save()
            self._store.hasten()
            committed = await self._store.until_commit()
            returned = committed.returned + sum(order.changed for order in orders)
            if not self._advance(progressed, returned=progressed.returned + returned):
                return
        if self._record.reasons:
            self._update_counts(complete=True)
            self._observers.readmission_changed(self.counts)
            self._record = self._record.completed()
            self._save()
            await self._store.until_committed()
            if not self._record.reasons:
                self._wanted.clear()

    def _advance(self, record: AdmissionRecord, **changes: int) -> bool:
        """Record the progress, unless the rules have changed meanwhile. Returns whether it did."""
        if self._record is not record:
            return False
        self._record = record.advanced(**changes)
        self._save()
        self._update_counts()
        return True

    def _save(self) -> None:
        self._store.batch.facts[ADMISSION_KEY] = self._record.to_text()
        self._store.nudge()

    def _update_counts(self, *, complete: bool = False) -> None:
        record = self._record
        if record.pages is None:
            self._counts = None
            return
        self._counts = ReadmissionCounts(
            record.changes,
            record.pages,
            record.done,
            record.returned,
            record.unreadable,
            tuple(dict.fromkeys(self._problems))[:_MOST_NAMED],
            complete,
        )

    # --- pages -----------------------------------------------------------------------------------------

    def _read_pages(self, pages: list[RefusedPage]) -> list[_PageRead]:
        """Read pages from the archive, in the reader thread."""
        return [self._read_page(page) for page in pages]

    def _read_page(self, page: RefusedPage) -> _PageRead:
        task = Task(
            page.url_id, Fingerprint(page.fingerprint), page.url, 0, 0.0, 0.0, page.depth, 0, 0, sitemap=page.sitemap
        )
        visit = Visit(page.host_id, page.host, page.domain_id, task, None, 0.0)
        try:
            response = self._read_response(page.warc_file, page.warc_offset, page.warc_length)
        except ArchiveError as error:
            return _PageRead(page, visit, None, problem=str(error))
        if response is None:
            return _PageRead(page, visit, None)
        decoded = self._processor.decode(Document(visit, response, page.at))
        if self._sitemaps.is_list(decoded) or self._processor.is_large(decoded):
            return _PageRead(page, visit, decoded)
        return _PageRead(page, visit, decoded, self._processor.extract(decoded))

    async def _admit(self, read: _PageRead) -> tuple[list[Candidate], Counter[str]]:
        """The candidates among the links of a page, and what is refused now."""
        excluded: Counter[str] = Counter()
        decoded, content = read.decoded, read.content
        if decoded is None:
            return [], excluded
        if self._sitemaps.is_list(decoded):
            found = await self._sitemaps.read(decoded)
            if read.page.sitemap or found.links is None:
                self._counters.count(self._store.batch, "sitemaps", -1)  # it was counted when it was fetched
            return found.candidates, found.excluded
        if content is None and self._processor.is_large(decoded):
            _, content = await self._processor.extract_in_process(decoded)
        if content is None or content.nofollow:
            return [], excluded
        candidates, _ = self._admission.admit_links(read.visit, content, excluded, again=True)
        return candidates, excluded

    # --- URLs ------------------------------------------------------------------------------------------

    def _orders(self, urls: list[RefusedUrl], reasons: tuple[str, ...]) -> list[BulkChange]:
        """The changes that queue URLs again whose reason no longer holds."""
        found: dict[UrlState, list[int]] = {}
        for url in urls:
            if self._may_return(url):
                found.setdefault(url.state, []).append(url.url_id)
        return [BulkChange(tuple(ids), state, UrlState.QUEUED, reasons) for state, ids in found.items()]

    def _may_return(self, url: RefusedUrl) -> bool:
        if url.reason in _ONLY_A_VISIT_TELLS:
            return True
        target, host = url.url, url.host
        if url.state is UrlState.REDIRECT:
            said = self._admission.canonical(url.redirect_to or "", url.url)
            if not isinstance(said, Canonical) or url.reason == "url_too_long":  # of a long target only the beginning
                return True  # is on record
            target, host = said.url, said.host
        rules = self._admission.file_rules if url.sitemap else self._admission.rules
        if url.reason in TRAP_CUTS and rules.may_be_cut(host):
            return False
        return rules.may_enter(target, host, url.depth) is None

    def close(self) -> None:
        self._reader.close()
