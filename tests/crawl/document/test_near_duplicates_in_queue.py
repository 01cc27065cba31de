"""Near-duplicates at the document queue: which documents are compared, and what comes of it."""

import asyncio
import random

import pytest

from gossamer.dedup import NearDuplicates, NearMode
from gossamer.extract.crawl_page import extract_page
from gossamer.model.settlement import Document
from gossamer.model.states import NEAR_DUPLICATE, UrlState
from tests.crawl.document.test_document_queue_bounds import QueueRig, document


def words(seed: int, count: int = 200) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(2, 9))) for _ in range(count)]


def html(text: list[str]) -> bytes:
    return f'<!DOCTYPE html><title>t</title><p>{" ".join(text)}</p><a href="/next">next</a>'.encode()


def edited(text: list[str], place: int) -> list[str]:
    return [*text[:place], "another", *text[place + 1 :]]


def queue_with(mode: NearMode, stored: list[tuple[int, bytes]] | None, *documents: Document) -> QueueRig:
    """A queue that has read the documents, after a restart: `stored` are the originals of the runs before."""

    async def run() -> QueueRig:
        near = NearDuplicates(mode)
        for url_id, signature in stored or ():
            near.add(url_id, signature)
        queue = QueueRig(near=near)
        await queue.read_all(*documents)
        return queue

    return asyncio.run(run())


def number(document: Document) -> int:
    return document.visit.task.url_id


def test_the_second_of_two_near_duplicates_is_stored_and_marked_though_they_came_together() -> None:
    one, other = document(html(words(1))), document(html(edited(words(1), 50)))

    queue = queue_with(NearMode.MARK, None, one, other)

    first, second = (read.settlement for read in queue.reads)
    assert (first.state, first.near_duplicate_of) == (UrlState.STORED, None)
    assert (second.state, second.near_duplicate_of) == (UrlState.STORED, number(one))
    assert second.distance is not None and second.signature is not None
    assert second.capture is not None
    assert [counter for read in queue.reads for counter in read.counters()] == [("near_duplicates", 1)]


def test_a_near_duplicate_that_is_left_out_has_neither_record_nor_links() -> None:
    one, other = document(html(words(1))), document(html(edited(words(1), 50)))

    queue = queue_with(NearMode.SKIP, None, one, other)

    read = queue.reads[1]
    assert (read.settlement.state, read.settlement.reason) == (UrlState.DUPLICATE, NEAR_DUPLICATE)
    assert read.settlement.near_duplicate_of == number(one)
    assert (read.settlement.capture, read.candidates, read.links) == (None, [], None)
    assert read.counters() == [("near_duplicates", 1)]


def test_an_exact_copy_of_what_was_left_out_is_left_out_too() -> None:
    copies = [document(html(edited(words(1), 50))) for _ in range(2)]

    queue = queue_with(NearMode.SKIP, None, document(html(words(1))), *copies)

    assert [read.settlement.reason for read in queue.reads] == [None, NEAR_DUPLICATE, NEAR_DUPLICATE]


def test_an_original_of_an_earlier_run_is_found() -> None:
    signature = extract_page(html(words(2)), "text/html", "http://x.test/", sign=True).signature
    assert signature is not None

    queue = queue_with(NearMode.MARK, [(77, signature)], document(html(edited(words(2), 9))), document(html(words(3))))

    assert [read.settlement.near_duplicate_of for read in queue.reads] == [77, None]


def test_a_page_is_not_compared_with_what_an_earlier_run_had_of_it() -> None:
    again = document(html(edited(words(4), 9)))
    signature = extract_page(html(words(4)), "text/html", "http://x.test/", sign=True).signature
    assert signature is not None

    queue = queue_with(NearMode.MARK, [(number(again), signature)], again)

    assert queue.reads[0].settlement.near_duplicate_of is None


@pytest.mark.parametrize("body", [b"<p>Hello</p>", b"<nav>" + html(words(5)) + b"</nav><p>Hello</p>"])
def test_pages_with_next_to_no_text_of_their_own_are_not_compared(body: bytes) -> None:
    queue = queue_with(NearMode.MARK, None, document(body), document(body + b" again"))

    assert [read.settlement.signature for read in queue.reads] == [None, None]
    assert [read.settlement.state for read in queue.reads] == [UrlState.STORED, UrlState.STORED]
