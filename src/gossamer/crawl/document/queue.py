"""The reading desk: fetched documents wait here, bounded, and are read a few at a time. Hot: benchmarks/bench_crawl.py.

Each step is done for all documents of a handful before the next step is: the code and tables of a step then stay
in the processor's caches. Large documents are read in another process, and bodies that take long to unpack are unpacked
a slice at a time: neither holds anybody up.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from gossamer.clock import Clock
from gossamer.crawl.document.processor import DecodedDocument, DocumentProcessor
from gossamer.crawl.document.sitemaps import ListRead, Sitemaps
from gossamer.dedup.exact import Known, Unknown
from gossamer.dedup.near import NearDuplicates
from gossamer.extract.crawl_page import PageContent
from gossamer.fetch.http.body import decodes_slowly
from gossamer.model.document import Document, ProcessedDocument
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import Settlement
from gossamer.model.task import Visit
from gossamer.sketch.durations import Durations

_ASK = Unknown.ASK  # to look a member up costs as much as a call

T = TypeVar("T")

BATCH_DOCUMENTS = 32  # documents at a time, and ...
HANDFUL_BYTES = 800_000  # ... no more than this, unless it is one document: some 20 ms of the event loop
HANDFUL_UNPACKED = 1_200_000  # bytes of documents without their codings, after which a handful is full
LONG_IN_HAND = 2  # bodies that take long: while one is read the next is unpacked, and no more lie unpacked in memory


@dataclass(frozen=True, slots=True)
class DocumentQueueLimits:
    max_documents: int = 256
    max_bytes: int = 64 * 1024 * 1024


class DocumentQueue:
    """Owns the documents between fetch and store.

    `settle` is called with each, `on_pause` that a handful is done; `find_owners` asks the store which URLs own
    documents with these digests.
    """

    def __init__(
        self,
        processor: DocumentProcessor,
        clock: Clock,
        *,
        limits: DocumentQueueLimits,
        settle: Callable[[Visit, Settlement, ProcessedDocument], None],
        find_owners: Callable[[list[bytes]], Awaitable[list[int | None]]],
        sitemaps: Sitemaps | None = None,
    ) -> None:
        self._processor = processor
        self._clock = clock
        self._limits = limits
        self._settle = settle
        self._find_owners = find_owners
        self._sitemaps = sitemaps
        self.times = Durations()  # of extracting, the wait for the other process included
        self._waiting: deque[Document] = deque()
        self._bytes = 0  # as they came
        self._unpacked = 0  # of large documents and lists, which lie open until it is their turn
        self._in_hand = 0
        self._ready = asyncio.Event()
        self._aside: set[asyncio.Task[None]] = set()  # reading what would hold up a handful
        self._finished_aside = False  # one of these has ended ...
        self._failure: BaseException | None = None  # ... with this
        self._long = asyncio.Semaphore(LONG_IN_HAND)
        self._unpacking = asyncio.Lock()

    @property
    def near(self) -> NearDuplicates | None:
        """Where near-duplicates are found, if they are looked for."""
        return self._processor.near

    def __len__(self) -> int:
        """Documents that were put down and are not read yet."""
        return len(self._waiting) + self._in_hand

    @property
    def saturation(self) -> float:
        return max(len(self) / self._limits.max_documents, (self._bytes + self._unpacked) / self._limits.max_bytes)

    @property
    def fill(self) -> QueueDepth:
        return QueueDepth(len(self), self._limits.max_documents, self._bytes + self._unpacked, self._limits.max_bytes)

    def put(self, document: Document) -> None:
        self._waiting.append(document)
        self._bytes += len(document.response.wire_body)
        self._ready.set()

    async def run(self, on_batch: Callable[[], None], first: Awaitable[None] | None = None) -> None:
        """Wait for `first`, then process documents until cancelled. `on_batch` is called after each batch, and after
        documents that were processed outside of one. Raises what any of these failed with."""
        try:
            if first is not None:
                await first
            while True:
                await self._ready.wait()
                self._ready.clear()
                if self._failure is not None:
                    raise self._failure
                if self._finished_aside:
                    self._finished_aside = False
                    on_batch()
                while self._waiting:
                    if self._unpacked > self._limits.max_bytes:  # what is packed stays so until some of it is read
                        await asyncio.sleep(0.05)
                        continue
                    await self._process_batch()
                    on_batch()
                    await asyncio.sleep(0)
        finally:
            for task in self._aside:
                task.cancel()
            await asyncio.gather(*self._aside, return_exceptions=True)

    def _take_batch(self) -> deque[Document]:
        documents = deque([self._waiting.popleft()])
        room = HANDFUL_BYTES - len(documents[0].response.wire_body)
        while self._waiting and len(documents) < BATCH_DOCUMENTS and len(self._waiting[0].response.wire_body) <= room:
            documents.append(self._waiting.popleft())
            room -= len(documents[-1].response.wire_body)
        return documents

    async def _process_batch(self) -> None:
        documents = self._take_batch()
        self._in_hand += len(documents)
        processor = self._processor
        opened: list[DecodedDocument] = []
        room = HANDFUL_UNPACKED
        while documents and room > 0:
            document = documents.popleft()
            if decodes_slowly(document.response):
                self._set_aside(self._read_long, document)
            else:
                opened.append(processor.open(document))
                room -= len(opened[-1].payload.body)
        if documents:  # little to carry and much to unpack: the rest of the handful waits for the next
            self._in_hand -= len(documents)
            self._waiting.extendleft(reversed(documents))
        owners = [processor.owner_of(each) for each in opened]
        unproven = [each.digest for each, owner in zip(opened, owners, strict=True) if owner is _ASK]
        stored_as = dict(zip(unproven, await self._find_owners(unproven), strict=True)) if unproven else {}
        small = []
        for each, owner in zip(opened, owners, strict=True):
            if each.document.visit.task.previous is not None and processor.is_unchanged(each):
                self._done(each, processor.unchanged(each))
            elif _is_anothers(each, owner, stored_as.get(each.digest)):
                self._finish(each, None, stored_as.get(each.digest))
            elif self._sitemaps is not None and self._sitemaps.is_list(each):
                self._set_aside(self._read_list, each)
            elif processor.is_large(each):
                self._set_aside(self._read_large, each)
            else:
                small.append(each)
        for each, page in zip(small, self._extracted(small), strict=True):
            self._finish(each, page, None)

    def _extracted(self, documents: list[DecodedDocument]) -> list[PageContent | None]:
        extract, monotonic, note = self._processor.extract, self._clock.monotonic, self.times.note
        pages = []
        begun = monotonic()
        for opened in documents:
            page = extract(opened)
            ended = monotonic()
            if page is not None:
                note(int((ended - begun) * 1e6))
            begun = ended
            pages.append(page)
        return pages

    def _finish(
        self, opened: DecodedDocument, page: PageContent | None, owner: int | None, listed: ListRead | None = None
    ) -> None:
        """Store the document, or find that it is stored: asked at the last moment, since its twin may have been in
        the same handful. `owner` is what the store knows, if it was asked."""
        known = self._processor.owner_of(opened)
        if isinstance(known, Known):
            owner = known.owner
        if owner is None or owner == opened.document.visit.task.url_id:
            read = self._processor.stored(opened, page)
        else:
            read = self._processor.duplicate(opened, owner)
        if listed is not None:
            read = listed.added_to(read)
        self._done(opened, read)

    def _done(self, opened: DecodedDocument, read: ProcessedDocument) -> None:
        self._in_hand -= 1
        self._bytes -= len(opened.document.response.wire_body)
        self._settle(opened.document.visit, read.settlement, read)

    async def _read_list(self, opened: DecodedDocument) -> None:
        assert self._sitemaps is not None
        with self._lying_open(opened):
            listed = await self._sitemaps.read(opened)
        self._finish(opened, None, None, listed=listed)

    async def _read_large(self, opened: DecodedDocument) -> None:
        """In another process, one after the other."""
        with self._lying_open(opened):
            begun = self._clock.monotonic()
            opened, page = await self._processor.extract_elsewhere(opened)
            self.times.note_seconds(self._clock.monotonic() - begun)
        self._finish(opened, page, None)

    @contextmanager
    def _lying_open(self, opened: DecodedDocument) -> Iterator[None]:
        """What waits for its turn lies here unpacked, and counts by that."""
        size = len(opened.payload.body)
        self._unpacked += size
        try:
            yield
        finally:
            self._unpacked -= size

    async def _read_long(self, document: Document) -> None:
        """Everything for one document whose body takes long to unpack; the others wait their turn packed."""
        processor = self._processor
        async with self._long:
            async with self._unpacking:
                opened = await processor.open_in_slices(document, self._clock)
            owner = processor.owner_of(opened)
            stored_as = (await self._find_owners([opened.digest]))[0] if owner is Unknown.ASK else None
            if document.visit.task.previous is not None and processor.is_unchanged(opened):
                self._done(opened, processor.unchanged(opened))
            elif _is_anothers(opened, owner, stored_as):
                self._finish(opened, None, stored_as)
            elif self._sitemaps is not None and self._sitemaps.is_list(opened):
                await self._read_list(opened)
            elif processor.is_large(opened):
                await self._read_large(opened)
            else:
                self._finish(opened, self._extracted([opened])[0], None)

    def _set_aside(self, read: Callable[[T], Coroutine[None, None, None]], what: T) -> None:
        task = asyncio.create_task(self._guarded(read, what))
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)

    async def _guarded(self, read: Callable[[T], Coroutine[None, None, None]], what: T) -> None:
        try:
            await read(what)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a bug: the crawl must stop, not lose a document
            self._failure = error
        self._finished_aside = True
        self._ready.set()


def _is_anothers(opened: DecodedDocument, known: Known[int] | Unknown, stored_as: int | None) -> bool:
    """Whether another URL has this document. What a URL once had itself, and has again, is read like a new one."""
    owner = known.owner if isinstance(known, Known) else stored_as
    return owner is not None and owner != opened.document.visit.task.url_id
