"""The document queue: small documents are processed in batches, and none waits for a body that takes long to unpack."""

import asyncio
import gzip
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gossamer.clock import SteadyClock
from gossamer.crawl.document.admission import Admission
from gossamer.crawl.document.processor import DecodedDocument, DocumentProcessor, DocumentSettings, DuplicateTests
from gossamer.crawl.document.queue import DocumentQueue, DocumentQueueLimits
from gossamer.crawl.document.sitemaps import ListRead
from gossamer.dedup import ContentSeen, NearDuplicates, Soft404Detector
from gossamer.extract.large_pages import LargePages
from gossamer.fetch.http.body import LONG_WIRE_BODY, decodes_slowly
from gossamer.filter.canonical import Canonicaliser
from gossamer.filter.links import LinkResolver
from gossamer.filter.rules import EntryRules
from gossamer.model.outcome import Response
from gossamer.model.settlement import Document, ProcessedDocument
from gossamer.model.states import UrlState
from gossamer.model.task import Task, Visit
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.seen import SeenTest

_numbers = itertools.count(1)
PAGE = b"<!DOCTYPE html><title>%d</title><a href='/next-%d'>next</a>"


class SlowClock(SteadyClock):
    """Every look at it takes 30 ms, so that each piece of work is a turn of its own."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks = itertools.count()

    def monotonic(self) -> float:
        return 0.03 * next(self._ticks)


def document(body: bytes, **headers: str) -> Document:
    number = next(_numbers)
    url = Url(f"http://x.test/{number}")
    task = Task(number, Fingerprint(number), url, 0, 0.0, 0.0, 0, 0, 0)
    fields = {"content-type": "text/html", **{name.replace("_", "-"): value for name, value in headers.items()}}
    response = Response(url, 200, b"", b"", body, fields, "127.0.0.1", Instant(0.0), Seconds(0.0))
    return Document(Visit(HostId(1), HostKey("x.test"), 1, task, None, 0.0), response, Instant(0.0))


def long_document(start: bytes = b"", seed: int = 1) -> Document:
    """HTML that is too long to be unpacked at one go: random, so that it stays long when packed."""
    words = start + b"<p>" + random.Random(seed).randbytes(LONG_WIRE_BODY).hex().encode()
    packed = document(gzip.compress(words, 1), content_encoding="gzip")
    assert decodes_slowly(packed.response)
    return packed


class QueueRig:
    """A queue with a real reader on it, and what was read, in order."""

    def __init__(self, owners: dict[bytes, int] | None = None, near: NearDuplicates | None = None) -> None:
        self.reads: list[ProcessedDocument] = []
        self.failure: BaseException | None = None  # that processing ended with
        self.pauses = 0
        self.contents: ContentSeen[int] = ContentSeen(capacity=1000)
        self._owners = owners
        if owners is None:
            self.contents.finish_warming()
        self.large = LargePages()
        canonicaliser = Canonicaliser()
        admission = Admission(
            rules=EntryRules(),
            canonicaliser=canonicaliser,
            resolver=LinkResolver(canonicaliser),
            seen=SeenTest(capacity=1000),
            key=1,
        )
        self.reader = DocumentProcessor(
            admission, DuplicateTests(self.contents, near, Soft404Detector()), self.large, DocumentSettings(10_000_000)
        )
        self.queue = DocumentQueue(
            self.reader,
            SlowClock(),
            limits=DocumentQueueLimits(),
            settle=lambda visit, settlement, document: self.reads.append(document),
            find_owners=self._ask,
        )

    def _paused(self) -> None:
        self.pauses += 1

    async def _ask(self, digests: list[bytes]) -> list[int | None]:
        assert self._owners is not None
        return [self._owners.get(digest) for digest in digests]

    async def read_all(self, *documents: Document) -> int:
        """Put the documents down and wait until they are read; returns how many turns of the loop that took."""
        turns = 0
        for each in documents:
            self.queue.put(each)
        running = asyncio.create_task(self.queue.run(self._paused))
        async with asyncio.timeout(60):
            while len(self.queue) and not running.done():
                turns += 1
                await asyncio.sleep(0)
        running.cancel()
        (ended,) = await asyncio.gather(running, return_exceptions=True)
        if not isinstance(ended, asyncio.CancelledError):
            self.failure = ended
        await self.large.close()
        return turns


def on_queue(do: Callable[[QueueRig], Awaitable[object]], owners: dict[bytes, int] | None = None) -> QueueRig:
    async def run() -> QueueRig:
        queue = QueueRig(owners)
        await do(queue)
        return queue

    return asyncio.run(run())


def ids(reads: list[ProcessedDocument]) -> list[int]:
    return [read.settlement.url_id for read in reads]


def test_documents_are_read_in_the_order_in_which_they_were_put_down() -> None:
    documents = [document(PAGE % (n, n)) for n in range(30)]

    queue = on_queue(lambda queue: queue.read_all(*documents))

    assert ids(queue.reads) == [each.visit.task.url_id for each in documents]
    assert {read.settlement.state for read in queue.reads} == {UrlState.STORED}
    assert all(len(read.candidates) == 1 for read in queue.reads)


def test_a_page_that_takes_too_long_to_read_is_stored_and_says_so() -> None:
    slow = document(b"<title>slow</title>" + b"<p>text <a href=/x>x</a>" * 100_000)

    async def read(queue: QueueRig) -> None:
        queue.large._limit = 0.02  # seconds of CPU time: it needs ten times as many
        await queue.read_all(slow)

    (found,) = on_queue(read).reads

    assert (found.settlement.state, found.settlement.reason) == (UrlState.STORED, "parse_limit")
    assert found.candidates == []
    assert ("error:parse_limit", 1) in found.counters()


def test_more_documents_than_the_limit_are_processed_all_the_same() -> None:
    """Whatever was in flight when the queue was full arrives as well: bounded, but over the bound."""
    body = bytes(1 << 20)
    documents = [document(body, content_type="application/octet-stream") for _ in range(70)]

    queue = on_queue(lambda queue: queue.read_all(*documents))

    assert len(queue.reads) == 70
    assert queue.queue.saturation == 0.0


def test_well_compressed_documents_are_processed_in_several_batches_and_in_order() -> None:
    packed = [document(gzip.compress(b"%d " % n + bytes(400_000)), content_encoding="gzip") for n in range(9)]

    queue = on_queue(lambda queue: queue.read_all(*packed))

    assert sorted(ids(queue.reads)) == [each.visit.task.url_id for each in packed]
    assert queue.pauses >= 3


def test_a_body_that_takes_long_holds_up_neither_the_event_loop_nor_its_neighbours() -> None:
    long, short = long_document(), document(PAGE % (1, 1))
    turns = 0

    async def read(queue: QueueRig) -> None:
        nonlocal turns
        turns = await queue.read_all(long, short)

    queue = on_queue(read)

    assert ids(queue.reads) == [short.visit.task.url_id, long.visit.task.url_id]
    assert turns > 8  # at least one for every 64 KiB that were unpacked
    assert queue.reads[-1].settlement.size == 3 + 2 * LONG_WIRE_BODY


def test_the_links_of_a_body_that_takes_long_are_found() -> None:
    queue = on_queue(lambda queue: queue.read_all(long_document(b"<a href='/deep'>")))

    assert [candidate.url for candidate in queue.reads[0].candidates] == ["http://x.test/deep"]


def test_of_two_long_bodies_with_the_same_text_one_is_stored() -> None:
    first, second = long_document(), long_document()

    queue = on_queue(lambda queue: queue.read_all(first, second))

    assert sorted(read.settlement.state.word for read in queue.reads) == ["duplicate", "stored"]


def test_the_store_is_asked_who_owns_a_long_body_that_may_be_known() -> None:
    known = long_document()

    async def read(queue: QueueRig) -> None:
        owners[queue.reader.decode(known).digest] = 77
        await queue.read_all(known)

    owners: dict[bytes, int] = {}
    queue = on_queue(read, owners)

    assert queue.reads[0].settlement.duplicate_of == 77


def test_a_body_whose_coding_is_unknown_is_stored_but_not_read() -> None:
    queue = on_queue(lambda queue: queue.read_all(document(PAGE % (1, 1), content_encoding="middle-out")))

    assert queue.reads[0].settlement.state is UrlState.STORED
    assert queue.reads[0].candidates == []
    assert queue.reads[0].settlement.title is None


@pytest.mark.parametrize("body", [PAGE % (1, 1), b"\x1f\x8b" + PAGE % (2, 2)])
def test_plain_html_behind_a_wrong_coding_is_read_all_the_same(body: bytes) -> None:
    queue = on_queue(lambda queue: queue.read_all(document(body, content_encoding="gzip")))

    assert len(queue.reads[0].candidates) == 1


def test_a_bug_while_a_long_body_is_processed_ends_the_queue() -> None:
    class Broken(Exception):
        pass

    async def read(queue: QueueRig) -> None:
        async def fail(*_: object) -> None:
            raise Broken

        queue.reader.decode_in_slices = fail  # type: ignore[method-assign,assignment]
        await queue.read_all(long_document())

    queue = on_queue(read)

    assert isinstance(queue.failure, Broken)


def test_a_queue_that_is_stopped_lets_go_of_long_bodies() -> None:
    async def stop(queue: QueueRig) -> None:
        queue.queue.put(long_document())
        running = asyncio.create_task(queue.queue.run(lambda: None))
        for _ in range(3):
            await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    queue = on_queue(stop)

    assert queue.reads == []
    assert len(queue.queue) == 1


class SlowLists:
    """Takes every document for a list, and reads none before it is let."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.lying_open = 0

    def is_list(self, _: DecodedDocument) -> bool:
        return True

    async def read(self, _: DecodedDocument) -> ListRead:
        self.lying_open += 1
        await self.go_on.wait()
        self.lying_open -= 1
        return ListRead([], None, Counter(), None)


def test_lists_that_wait_for_their_turn_count_unpacked_and_no_more_are_opened_than_fit() -> None:
    size, most = 1_000_000, 3_000_000
    lists = SlowLists()
    documents = [document(gzip.compress(b"%d" % n + bytes(size)), content_encoding="gzip") for n in range(20)]

    async def wait_and_read(queue: QueueRig) -> None:
        real: Any = queue.queue
        real._lists, real._limits = lists, DocumentQueueLimits(max_bytes=most)
        reading = asyncio.create_task(queue.read_all(*documents))
        for _ in range(60_000):
            if queue.queue.saturation >= 1.0:
                break
            await asyncio.sleep(0.001)
        for _ in range(100):  # turns in which more could be opened
            await asyncio.sleep(0)

        assert size < queue.queue.fill.bytes <= most + 2 * size
        assert lists.lying_open <= most // size + 2
        assert queue.queue.saturation >= 1.0

        lists.go_on.set()
        await reading

    queue = on_queue(wait_and_read)

    assert len(queue.reads) == len(documents) and queue.queue.fill.bytes == 0
