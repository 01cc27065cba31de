"""Filling the seen tests from the store at the start of a crawl."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from gossamer.crawl.run.recovery import load_filters, load_originals
from gossamer.dedup import ContentSeen, NearDuplicates, NearMode, Unknown
from gossamer.seen import SeenTest


class StoredRows:
    """The part of a task source that is read at the start. Records the size of every requested chunk."""

    def __init__(self, digests: int = 0, fingerprints: int = 0, signatures: int = 0) -> None:
        self._digests = [bytes([n % 256, n // 256]) * 10 for n in range(digests)]
        self._fingerprints = list(range(1, fingerprints + 1))
        self._signatures = [(n, bytes([n]) * 64) for n in range(signatures)]
        self.chunks: list[int] = []
        self.most_originals = 0

    def digests(self, chunk: int) -> Iterator[list[bytes]]:
        return self._in_chunks(self._digests, chunk)

    def fingerprints(self, chunk: int) -> Iterator[list[int]]:
        return self._in_chunks(self._fingerprints, chunk)

    def latest_originals(self, count: int, chunk: int) -> Iterator[list[tuple[int, bytes]]]:
        self.most_originals = count
        return self._in_chunks(self._signatures[-count:], chunk)

    def _in_chunks(self, rows: list[Any], chunk: int) -> Iterator[list[Any]]:
        self.chunks.append(chunk)
        for start in range(0, len(rows), chunk):
            yield rows[start : start + chunk]


async def at_once(function: Callable[..., Any], *args: object) -> Any:
    return function(*args)


def warmed(rows: StoredRows) -> tuple[ContentSeen[int], SeenTest]:
    contents: ContentSeen[int] = ContentSeen(capacity=20_000)
    seen = SeenTest(capacity=20_000)
    source: Any = rows
    asyncio.run(load_filters(source, at_once, contents, seen))
    return contents, seen


def test_before_the_start_the_store_must_be_asked_about_everything() -> None:
    contents: ContentSeen[int] = ContentSeen(capacity=100)

    assert contents.check(b"x" * 20) is Unknown.ASK
    assert SeenTest(capacity=100).classify([1]).unsure == [0]


def test_with_an_empty_store_everything_is_new() -> None:
    contents, seen = warmed(StoredRows())

    assert contents.check(b"x" * 20) is Unknown.SURELY_NEW
    assert seen.classify([1, 2]).new == [0, 1]


def test_stored_documents_and_urls_are_recognised_however_many_chunks_they_came_in() -> None:
    rows = StoredRows(digests=9000, fingerprints=9000)

    contents, seen = warmed(rows)

    assert all(chunk < 9000 for chunk in rows.chunks)
    assert contents.check(bytes([0, 0]) * 10) is Unknown.ASK
    assert contents.check(bytes([8999 % 256, 8999 // 256]) * 10) is Unknown.ASK
    assert seen.classify([1, 9000, 1_000_000_007]) == ([], [2], [0, 1])


def test_the_latest_originals_are_found_again_as_near_duplicates() -> None:
    near = NearDuplicates(NearMode.MARK, window=3)
    rows: Any = StoredRows(signatures=5)

    asyncio.run(load_originals(rows, at_once, near))

    assert rows.most_originals == 3
    found = [near.judge(100 + n, bytes([n]) * 64) for n in (4, 3, 2)]
    assert [each.owner for each in found if each is not None] == [4, 3, 2]


def test_nothing_is_read_where_near_duplicates_are_not_looked_for() -> None:
    rows: Any = StoredRows(signatures=5)

    asyncio.run(load_originals(rows, at_once, None))

    assert rows.chunks == []
