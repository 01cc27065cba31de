"""The reading desk: fetched documents wait here, bounded, and are read a few at a time. Hot: benchmarks/bench_crawl.py.

Each step is done for all documents of a handful before the next step is: the code and tables of a step then stay
in the processor's caches. Large documents are read in another process and hold nobody up.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gossamer.crawl.reading import Document, DocumentReader, Opened, Read
from gossamer.dedup.exact import Known, Unknown
from gossamer.extract.links import PageContent

HANDFUL = 8  # documents at a time, and ...
HANDFUL_BYTES = 200_000  # ... no more bytes than this, unless it is one document: a few milliseconds of the event loop


@dataclass(frozen=True, slots=True)
class DeskLimits:
    max_documents: int = 256
    max_bytes: int = 64 * 1024 * 1024


class ReadingDesk:
    """Owns the documents between fetch and store.

    `on_read` is told what each came to, `on_pause` that a handful is done; `ask_owners` asks the store which URLs own
    documents with these digests.
    """

    def __init__(
        self,
        reader: DocumentReader,
        *,
        limits: DeskLimits,
        on_read: Callable[[Read], None],
        on_pause: Callable[[], None],
        ask_owners: Callable[[list[bytes]], Awaitable[list[int | None]]],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self._reader = reader
        self._limits = limits
        self._on_read = on_read
        self._on_pause = on_pause
        self._ask_owners = ask_owners
        self._on_failure = on_failure
        self._waiting: deque[Document] = deque()
        self._bytes = 0
        self._in_hand = 0
        self._ready = asyncio.Event()
        self._large: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Documents that were put down and are not read yet."""
        return len(self._waiting) + self._in_hand

    @property
    def saturation(self) -> float:
        return max(len(self) / self._limits.max_documents, self._bytes / self._limits.max_bytes)

    def put(self, document: Document) -> None:
        self._waiting.append(document)
        self._bytes += len(document.response.wire_body)
        self._ready.set()

    async def run(self) -> None:
        """Read for ever; cancel to stop."""
        try:
            while True:
                await self._ready.wait()
                self._ready.clear()
                while self._waiting:
                    await self._read_handful()
                    self._on_pause()
                    await asyncio.sleep(0)
        finally:
            for task in self._large:
                task.cancel()
            await asyncio.gather(*self._large, return_exceptions=True)

    def _take_handful(self) -> list[Document]:
        documents = [self._waiting.popleft()]
        room = HANDFUL_BYTES - len(documents[0].response.wire_body)
        while self._waiting and len(documents) < HANDFUL and len(self._waiting[0].response.wire_body) <= room:
            documents.append(self._waiting.popleft())
            room -= len(documents[-1].response.wire_body)
        return documents

    async def _read_handful(self) -> None:
        documents = self._take_handful()
        self._in_hand += len(documents)
        reader = self._reader
        opened = [reader.open(document) for document in documents]
        owners = [reader.owner_of(each) for each in opened]
        doubtful = [each.digest for each, owner in zip(opened, owners, strict=True) if owner is Unknown.ASK]
        stored_as = dict(zip(doubtful, await self._ask_owners(doubtful), strict=True)) if doubtful else {}
        small = []
        for each, owner in zip(opened, owners, strict=True):
            if isinstance(owner, Known) or stored_as.get(each.digest) is not None:
                self._finish(each, None, stored_as.get(each.digest))
            elif reader.is_large(each):
                task = asyncio.create_task(self._read_large(each))
                self._large.add(task)
                task.add_done_callback(self._large.discard)
            else:
                small.append(each)
        for each, page in zip(small, [reader.extract(each) for each in small], strict=True):
            self._finish(each, page, None)

    def _finish(self, opened: Opened, page: PageContent | None, owner: int | None) -> None:
        """Store the document, or find that it is stored: asked at the last moment, since its twin may have been in
        the same handful. `owner` is what the store knows, if it was asked."""
        known = self._reader.owner_of(opened)
        if isinstance(known, Known):
            owner = known.owner
        if owner is None or owner == opened.document.visit.task.url_id:
            read = self._reader.stored(opened, page)
        else:
            read = self._reader.duplicate(opened, owner)
        self._in_hand -= 1
        self._bytes -= len(opened.document.response.wire_body)
        self._on_read(read)

    async def _read_large(self, opened: Opened) -> None:
        try:
            self._finish(opened, await self._reader.extract_elsewhere(opened), None)
            self._on_pause()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # a bug of ours: the crawl must stop, not lose a document
            self._on_failure(error)
