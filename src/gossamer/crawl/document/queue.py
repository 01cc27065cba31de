"""The queue of fetched documents, bounded, and their processing in small batches. Hot: benchmarks/bench_crawl.py.

Each step is done for all documents of a batch before the next: the code and tables of the step then stay in the caches
of the CPU. Large documents are parsed in another process, and bodies that take long to decode are decoded in slices, so
that neither blocks the event loop.
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
from gossamer.dedup import Known, Unknown
from gossamer.extract.crawl_page import PageContent
from gossamer.fetch.http.body import decodes_slowly
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.settlement import Document, ProcessedDocument, Settlement
from gossamer.model.task import Visit
from gossamer.sketch import Durations

_ASK = Unknown.ASK  # looking up a member costs as much as a call

T = TypeVar("T")

BATCH_DOCUMENTS = 32  # documents in a batch, and ...
BATCH_BYTES = 800_000  # ... bytes as received, unless it is one document: some 20 ms of the event loop
BATCH_DECODED_BYTES = 1_200_000  # bytes after decoding at which a batch is full
MAX_LONG = 2  # bodies that take long, at a time: one is parsed while the next is decoded


@dataclass(frozen=True, slots=True)
class DocumentQueueLimits:
    max_documents: int = 256
    max_bytes: int = 64 * 1024 * 1024


class DocumentQueue:
    """Owns the documents between fetch and store.

    `settle` is called for each document; `find_owners` queries the store for the URLs that own documents with these
    digests.
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
        self.times = Durations()  # of extraction, including the wait for the other process
        self._waiting: deque[Document] = deque()
        self._bytes = 0  # as received
        self._decoded_bytes = 0  # of large documents and lists, which wait decoded
        self._in_progress = 0
        self._ready = asyncio.Event()
        self._aside: set[asyncio.Task[None]] = set()  # processing what would delay a batch
        self._finished_aside = False  # one of these has ended ...
        self._failure: BaseException | None = None  # ... with this
        self._long = asyncio.Semaphore(MAX_LONG)
        self._decoding = asyncio.Lock()

    def __len__(self) -> int:
        """Documents that are not settled yet."""
        return len(self._waiting) + self._in_progress

    @property
    def saturation(self) -> float:
        return max(len(self) / self._limits.max_documents, (self._bytes + self._decoded_bytes) / self._limits.max_bytes)

    @property
    def fill(self) -> QueueDepth:
        return QueueDepth(
            len(self), self._limits.max_documents, self._bytes + self._decoded_bytes, self._limits.max_bytes
        )

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
                    if self._decoded_bytes > self._limits.max_bytes:  # decode no more until some are parsed
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
        room = BATCH_BYTES - len(documents[0].response.wire_body)
        while self._waiting and len(documents) < BATCH_DOCUMENTS and len(self._waiting[0].response.wire_body) <= room:
            documents.append(self._waiting.popleft())
            room -= len(documents[-1].response.wire_body)
        return documents

    async def _process_batch(self) -> None:
        documents = self._take_batch()
        self._in_progress += len(documents)
        processor = self._processor
        decoded: list[DecodedDocument] = []
        room = BATCH_DECODED_BYTES
        while documents and room > 0:
            document = documents.popleft()
            if decodes_slowly(document.response):
                self._set_aside(self._process_long, document)
            else:
                decoded.append(processor.decode(document))
                room -= len(decoded[-1].payload.body)
        if documents:  # well compressed: the rest waits for the next batch
            self._in_progress -= len(documents)
            self._waiting.extendleft(reversed(documents))
        owners = [processor.find_owner(each) for each in decoded]
        unknown = [each.digest for each, owner in zip(decoded, owners, strict=True) if owner is _ASK]
        stored_as = dict(zip(unknown, await self._find_owners(unknown), strict=True)) if unknown else {}
        small = []
        for each, owner in zip(decoded, owners, strict=True):
            if each.document.visit.task.previous is not None and processor.is_unchanged(each):
                self._settle_processed(each, processor.as_unchanged(each))
            elif _has_other_owner(each, owner, stored_as.get(each.digest)):
                self._finish(each, None, stored_as.get(each.digest))
            elif self._sitemaps is not None and self._sitemaps.is_list(each):
                self._set_aside(self._process_list, each)
            elif processor.is_large(each):
                self._set_aside(self._process_large, each)
            else:
                small.append(each)
        for each, page in zip(small, self._extract_all(small), strict=True):
            self._finish(each, page, None)

    def _extract_all(self, documents: list[DecodedDocument]) -> list[PageContent | None]:
        extract, monotonic, note = self._processor.extract, self._clock.monotonic, self.times.note
        pages = []
        begun = monotonic()
        for decoded in documents:
            page = extract(decoded)
            ended = monotonic()
            if page is not None:
                note(int((ended - begun) * 1e6))
            begun = ended
            pages.append(page)
        return pages

    def _finish(
        self, decoded: DecodedDocument, page: PageContent | None, owner: int | None, listed: ListRead | None = None
    ) -> None:
        """Settle the document as new or as a duplicate. Memory is checked again, because the same document may have
        been in this batch. `owner` is the answer of the store, if it was queried."""
        known = self._processor.find_owner(decoded)
        if isinstance(known, Known):
            owner = known.owner
        if owner is None or owner == decoded.document.visit.task.url_id:
            read = self._processor.as_new(decoded, page)
        else:
            read = self._processor.as_duplicate(decoded, owner)
        if listed is not None:
            read = listed.add_to(read)
        self._settle_processed(decoded, read)

    def _settle_processed(self, decoded: DecodedDocument, read: ProcessedDocument) -> None:
        self._in_progress -= 1
        self._bytes -= len(decoded.document.response.wire_body)
        self._settle(decoded.document.visit, read.settlement, read)

    async def _process_list(self, decoded: DecodedDocument) -> None:
        assert self._sitemaps is not None
        with self._count_decoded(decoded):
            listed = await self._sitemaps.read(decoded)
        self._finish(decoded, None, None, listed=listed)

    async def _process_large(self, decoded: DecodedDocument) -> None:
        """Parse it in another process, one document after the other."""
        with self._count_decoded(decoded):
            begun = self._clock.monotonic()
            decoded, page = await self._processor.extract_in_process(decoded)
            self.times.note_seconds(self._clock.monotonic() - begun)
        self._finish(decoded, page, None)

    @contextmanager
    def _count_decoded(self, decoded: DecodedDocument) -> Iterator[None]:
        """Count the decoded size of a document while it waits."""
        size = len(decoded.payload.body)
        self._decoded_bytes += size
        try:
            yield
        finally:
            self._decoded_bytes -= size

    async def _process_long(self, document: Document) -> None:
        """All steps for one document whose body takes long to decode; others wait undecoded."""
        processor = self._processor
        async with self._long:
            async with self._decoding:
                decoded = await processor.decode_in_slices(document, self._clock)
            owner = processor.find_owner(decoded)
            stored_as = (await self._find_owners([decoded.digest]))[0] if owner is Unknown.ASK else None
            if document.visit.task.previous is not None and processor.is_unchanged(decoded):
                self._settle_processed(decoded, processor.as_unchanged(decoded))
            elif _has_other_owner(decoded, owner, stored_as):
                self._finish(decoded, None, stored_as)
            elif self._sitemaps is not None and self._sitemaps.is_list(decoded):
                await self._process_list(decoded)
            elif processor.is_large(decoded):
                await self._process_large(decoded)
            else:
                self._finish(decoded, self._extract_all([decoded])[0], None)

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


def _has_other_owner(decoded: DecodedDocument, known: Known[int] | Unknown, stored_as: int | None) -> bool:
    """Whether another URL has this document. One that the URL itself had before is processed like a new one."""
    owner = known.owner if isinstance(known, Known) else stored_as
    return owner is not None and owner != decoded.document.visit.task.url_id
