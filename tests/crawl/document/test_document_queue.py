"""The document queue: its bounds, its batches, and documents that were fetched before."""

import asyncio
import hashlib
from collections.abc import Awaitable

from gossamer.clock import VirtualClock
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DocumentProcessor, DocumentSettings, DuplicateTests
from gossamer.crawl.document.queue import BATCH_DOCUMENTS, DocumentQueue, DocumentQueueLimits
from gossamer.dedup import ContentSeen
from gossamer.extract.large_pages import LargePages
from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.model.outcome import Response
from gossamer.model.settlement import Document, ProcessedDocument
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.seen import SeenTest


def document(number: int, body: bytes) -> Document:
    url = Url(f"http://a.test/{number}")
    task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
    headers = {"content-type": "text/html"}
    response = Response(url, 200, b"", b"", body, headers, "192.0.2.1", Instant(0.0), Seconds(0.0))
    return Document(Visit(HostId(1), HostKey("a.test"), 1, task, None, 0.0), response, Instant(0.0))


def page(number: int) -> Document:
    return document(number, b"<title>%d</title>" % number)


class Queue:
    """A queue with a real document reader, and what came out of it. `owners` is what the store knows; without it the
    store is empty and need not be asked."""

    def __init__(self, limits: DocumentQueueLimits | None = None, owners: dict[bytes, int] | None = None) -> None:
        canonicaliser = Canonicaliser()
        admission = Admission(
            rules=EntryRules(),
            canonicaliser=canonicaliser,
            resolver=LinkResolver(canonicaliser),
            seen=SeenTest(capacity=1000),
            key=1,
        )
        contents: ContentSeen[int] = ContentSeen(capacity=1000)
        if owners is None:
            contents.finish_warming()
        self._owners = owners or {}
        self.asked: list[list[bytes]] = []
        self.reads: list[ProcessedDocument] = []
        self.batches: list[int] = []  # documents that were done at the end of each batch
        self._empty = asyncio.Event()
        self.queue = DocumentQueue(
            DocumentProcessor(admission, DuplicateTests(contents), LargePages(), DocumentSettings(1_000_000)),
            VirtualClock(),
            limits=limits or DocumentQueueLimits(),
            settle=lambda visit, settlement, document: self.reads.append(document),
            find_owners=self._ask,
        )

    def _batch_done(self) -> None:
        self.batches.append(len(self.reads))
        if not len(self.queue):
            self._empty.set()

    async def _ask(self, digests: list[bytes]) -> list[int | None]:
        self.asked.append(digests)
        return [self._owners.get(digest) for digest in digests]

    async def drain(self, first: Awaitable[None] | None = None) -> None:
        running = asyncio.create_task(self.queue.run(self._batch_done, first))
        async with asyncio.timeout(60.0):
            await self._empty.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def drained(queue: Queue, *documents: Document) -> Queue:
    for each in documents:
        queue.queue.put(each)
    asyncio.run(queue.drain())
    return queue


def test_a_queue_counts_documents_and_bytes_until_they_are_processed() -> None:
    queue = Queue(DocumentQueueLimits(max_documents=10, max_bytes=1000))
    queue.queue.put(document(1, bytes(100)))

    assert len(queue.queue) == 1
    assert queue.queue.fill[:4] == (1, 10, 100, 1000)
    assert queue.queue.saturation == 0.1

    queue.queue.put(document(2, bytes(400)))
    assert queue.queue.saturation == 0.5  # by bytes

    asyncio.run(queue.drain())
    assert (len(queue.queue), queue.queue.saturation) == (0, 0.0)
    assert len(queue.reads) == 2


def test_many_small_documents_fill_a_queue_by_their_number() -> None:
    queue = Queue(DocumentQueueLimits(max_documents=4, max_bytes=1_000_000))
    for number in range(3):
        queue.queue.put(page(number))

    assert queue.queue.saturation == 0.75


def test_documents_are_processed_in_batches_of_bounded_size() -> None:
    queue = drained(Queue(), *(page(number) for number in range(1, 2 * BATCH_DOCUMENTS + 2)))

    assert queue.batches == [BATCH_DOCUMENTS, 2 * BATCH_DOCUMENTS, 2 * BATCH_DOCUMENTS + 1]


def test_the_store_is_asked_once_for_a_whole_batch() -> None:
    known = document(1, b"<title>known</title>")
    digest = hashlib.sha1(b"<title>known</title>").digest()

    queue = drained(Queue(owners={digest: 77}), known, page(2), page(3))

    assert len(queue.asked) == 1 and len(queue.asked[0]) == 3
    assert [read.settlement.duplicate_of for read in queue.reads] == [77, None, None]


def test_of_two_equal_documents_in_a_batch_the_second_is_a_duplicate_of_the_first() -> None:
    queue = drained(Queue(), document(1, b"<p>same"), document(2, b"<p>same"))

    first, second = queue.reads
    assert first.settlement.state is UrlState.STORED
    assert (second.settlement.state, second.settlement.duplicate_of) == (UrlState.DUPLICATE, 1)


def test_a_document_that_its_own_url_had_before_is_no_duplicate() -> None:
    digest = hashlib.sha1(b"<p>same").digest()

    queue = drained(Queue(owners={digest: 1}), document(1, b"<p>same"))

    assert queue.reads[0].settlement.state is UrlState.STORED


def test_a_document_that_a_url_shows_again_in_the_same_run_is_no_duplicate_of_itself() -> None:
    queue = drained(Queue(), document(1, b"<p>one"), document(1, b"<p>two"), document(1, b"<p>one"))

    assert {read.settlement.state for read in queue.reads} == {UrlState.STORED}


def test_nothing_is_processed_before_the_queue_may_start() -> None:
    async def main() -> tuple[int, int]:
        queue = Queue()
        go_on = asyncio.Event()

        async def first() -> None:
            await go_on.wait()

        queue.queue.put(page(1))
        draining = asyncio.create_task(queue.drain(first()))
        for _ in range(10):
            await asyncio.sleep(0)
        before = len(queue.reads)
        go_on.set()
        await draining
        return before, len(queue.reads)

    assert asyncio.run(main()) == (0, 1)


def test_processing_is_timed_for_pages_only() -> None:
    other = document(2, b"%PDF-1.7")
    other = other._replace(response=other.response._replace(headers={"content-type": "application/pdf"}))

    queue = drained(Queue(), page(1), other)

    assert queue.queue.times.spread().number == 1
