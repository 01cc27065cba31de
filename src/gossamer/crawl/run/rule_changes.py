"""Changed rules, applied to what a crawl knows already. Each works in slices, one per commit, while the crawl runs.

Tightened limits take queued URLs out (`LimitEnforcement`): they leave the frontier at once, and the store excludes
them. Other priority rules move them (`Reordering`). Wider rules bring back what was refused (`Readmission`).

Links that are refused are not stored. Instead, the visit of a page has a mask of the reasons why links of it were
refused (`model.settlement.mask_of`). When a reason no longer holds, the pages with that bit are read again from the
archive, and their links are admitted by the rules in force. So are the `Sitemap:` lines of stored robots.txt files.
URLs that were excluded for such a reason, or that redirect to a URL that was refused for it, are queued again. What
robots.txt forbids stays excluded.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, NamedTuple

from gossamer.config.admission import ADMISSION_KEY, TRAP_CUTS, AdmissionRecord, AdmissionRules
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument, DocumentProcessor
from gossamer.crawl.document.sitemaps import Sitemaps
from gossamer.crawl.observers import CrawlObserver, Observers
from gossamer.crawl.visit.settle import CrawlState
from gossamer.errors import ArchiveError
from gossamer.extract.crawl_page import PageContent
from gossamer.filter.canonical import Canonical
from gossamer.frontier.orderings import Ordering
from gossamer.frontier.orderings.class_rules import PriorityRules
from gossamer.model.batch import Batch, BulkChange, Committed
from gossamer.model.outcome import Response
from gossamer.model.settlement import Document, mask_of
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Origin
from gossamer.observe.snapshot import ReadmissionCounts
from gossamer.store.table.refusals import NamingHost, RefusalReader, RefusedPage, RefusedUrl
from gossamer.store.threads import ReaderThread, WriterThread

LIMIT_REASONS: Final = ("depth_limit", "url_too_long", "excluded_domain")
"""Reasons for exclusion by limits: these URLs are requeued when the limits allow them."""


class LimitEnforcement(CrawlObserver):
    """Keeps URLs that the limits exclude out of the frontier, once limits have changed during a run.

    A URL is excluded either here or by its visit, never by both, or it would be counted twice: every URL in memory is
    removed from the frontier first, and URLs in flight are left to their visits. The store checks the state of a URL
    again when it applies the change. A URL whose exclusion is not committed yet stays out even if other limits, which
    allow it, come into force meanwhile: after the commit it is requeued. Owned by the event loop.
    """

    def __init__(self, state: CrawlState, admission: Admission) -> None:
        self._frontier, self._store = state.frontier, state.store
        self._admission = admission
        self._is_active = False
        self._in_open_batch: set[int] = set()  # URLs that it excludes, and ...
        self._in_commit: set[int] = set()  # ... those that the batch before it excludes
        self.excluded = 0  # URLs excluded since the last change of limits

    def reason_against(self, task: Task, host: HostKey) -> str | None:
        """Which limit excludes a queued URL. Recrawls are left to their visits, which settle more than a state."""
        if task.previous is not None and task.previous.state is not UrlState.QUEUED:
            return None
        reason = self._admission.rules_of(task).may_enter(task.url, host, task.depth)
        return reason if reason in LIMIT_REASONS else None

    def start(self) -> frozenset[int]:
        """The limits have changed. Returns the URLs that must be left to their visits."""
        self._is_active = True
        self.excluded = 0
        self._withdraw(None)
        return frozenset(self._frontier.unfinished())

    def on_host_added(self, host_id: HostId) -> None:
        """URLs of a host were loaded, perhaps from a time before the store excluded them."""
        if self._is_active:
            self._withdraw(host_id)

    def before_commit(self, batch: Batch, now: Instant) -> None:
        self._in_commit, self._in_open_batch = self._in_open_batch, set()

    def committed(self, committed: Committed) -> None:
        self._in_commit = set()
        self.excluded += len(committed.withdrawn)

    def _withdraw(self, host_id: HostId | None) -> None:
        reasons: dict[int, str] = {}

        def is_refused(task: Task, host: HostKey) -> bool:
            if task.url_id in self._in_commit or task.url_id in self._in_open_batch:
                return True
            reason = self.reason_against(task, host)
            if reason is not None:
                reasons[task.url_id] = reason
            return reason is not None

        self._frontier.withdraw(is_refused, host_id)
        if reasons:
            self._in_open_batch |= reasons.keys()
            self._store.batch.bulk_changes += exclusions(reasons.items())
            self._store.nudge()


def exclusions(reasons: Iterable[tuple[int, str]]) -> list[BulkChange]:
    """The changes that exclude queued URLs, from pairs of id and reason."""
    by_reason: defaultdict[str, list[int]] = defaultdict(list)
    for url_id, reason in reasons:
        by_reason[reason].append(url_id)
    return [
        BulkChange(tuple(url_ids), UrlState.QUEUED, UrlState.EXCLUDED, to_reason=reason)
        for reason, url_ids in by_reason.items()
    ]


SETTINGS = "order_settings"
"""The name under which the settings of the order are on record."""
_UNFINISHED = "unfinished"


class Reordering(CrawlObserver):
    """Every commit moves some of the URLs, in the order of their discovery, until all have their new position. After a
    crash in the middle, the next start puts the whole queue in order. Owned by the event loop."""

    def __init__(self, ordering: Ordering, store: WriterThread) -> None:
        self._ordering = ordering
        self._store = store
        self._after: int | None = None  # the last URL that has its position; None: all have
        self._asked = False  # the batch in commit moves URLs by the current rules

    def change_rules(self, rules: PriorityRules) -> None:
        """Apply other rules, to new URLs at once. Rules for an ordering with a single class wait for the next start if
        there were none before, or are none any more."""
        if rules.text != self._ordering.rules.text and self._ordering.use_rules(rules, running=True):
            self._after, self._asked = 0, False
            self._go_on()

    def before_commit(self, batch: Batch, now: Instant) -> None:
        batch.reorder_after = self._after
        self._asked = self._after is not None

    def committed(self, committed: Committed) -> None:
        if self._asked:
            self._after = committed.reordered_to
        if self._asked or self._after is not None:
            self._go_on()
        self._asked = False

    def _go_on(self) -> None:
        """Ask for the next commit; the last one records that the queue is in order."""
        finished = self._after is None
        self._store.batch.facts[SETTINGS] = self._ordering.queue_settings if finished else _UNFINISHED
        self._store.nudge()


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


class _NamedSitemaps(NamedTuple):
    """The `Sitemap:` lines of a robots.txt."""

    host: HostKey
    origin: Origin
    lines: Sequence[str]
    depth: int


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
        until_all_follow: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`record`: for the rules in force. `until_all_follow` waits for other workers, until everything that they have
        refused by former rules is on record."""
        self._store, self._counters = state.store, state.counters
        self._observers = observers
        self._record = record
        self._admission = admission
        self._processor = processor
        self._sitemaps = sitemaps
        self._reader = reader
        self._thread = thread
        self._read_response = read_response
        self._until_all_follow = until_all_follow
        self._problems: list[str] = []
        self._hosts_read: set[HostId] = set()  # whose robots.txt files the pass has read
        self._counts: ReadmissionCounts | None = None
        self._wanted = asyncio.Event()
        self._counted = asyncio.Event()  # the pages to be read are counted
        self._is_left_to_others = False
        if record.reasons:
            self._begin()

    @property
    def rules(self) -> AdmissionRules:
        """Those in force."""
        return self._record.rules[-1]

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
        if self._is_left_to_others:
            self._record = self._record.completed()
            return
        self._save()
        if self._record.reasons:
            self._begin()
        else:
            self._wanted.clear()

    def leave_to_others(self) -> None:
        """Another worker makes the passes from now on, and goes on with one that is under way here."""
        self._is_left_to_others = True
        self._record = self._record.completed()
        self._wanted.clear()

    def take_over(self, stored: str | None) -> None:
        """This worker makes the passes from now on. `stored`: the record of them in the store."""
        if not self._is_left_to_others:
            return
        self._is_left_to_others = False
        rules = self._record.rules[-1]
        known = AdmissionRecord((rules,)) if stored is None else AdmissionRecord.from_text(stored)
        self._record = known.changed_to(rules)
        if self._record is not known:
            self._save()
        if self._record.reasons:
            self._begin()

    def _begin(self) -> None:
        self._problems = []
        self._hosts_read = set()
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
        if self._until_all_follow is not None:
            await self._until_all_follow()
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
            naming = [host for host in window.hosts if host.host_id not in self._hosts_read]
            named = [sitemaps for host in naming for sitemaps in await self._thread.ask(self._read_robots, host)]
            if self._record is not record:
                return  # the rules have changed again: the new pass looks at these pages too
            orders = self._orders(window.urls, record.reasons)
            batch = self._store.batch
            batch.returning += returning
            for each in named:
                batch.returning += self._sitemaps.admit_robots_lines(
                    each.host, each.origin, each.lines, each.depth, Counter()
                )
            self._hosts_read.update(host.host_id for host in naming)
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

    def _read_robots(self, host: NamingHost) -> list[_NamedSitemaps]:
        """Read the robots.txt files of a host, in the reader thread."""
        return [
            _NamedSitemaps(host.host, record.origin, self._sitemaps.named_in(record), host.depth)
            for record in self._reader.robots(host.host_id)
        ]

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
