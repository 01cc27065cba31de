"""The archive: what is appended is kept if it is committed, and can be read by its location."""

import random
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from typing import Protocol

import pytest

from gossamer.backends.memory import MemoryCaptures
from gossamer.backends.warc import RecordIds, Warcinfo, WarcWriter
from gossamer.backends.warc.captures import WarcCaptures, WarcEncoder
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.model.settlement import Capture
from gossamer.store.ports import CaptureFiles, Location
from tests.backends.sqlite import sqlite_store
from tests.backends.sqlite.sqlite_store import START


class Archive(Protocol):
    """Captures, and how a record is read again."""

    @property
    def captures(self) -> CaptureFiles: ...

    def read(self, at: Location) -> bytes: ...


class WarcArchive:
    def __init__(self, directory: Path) -> None:
        ids = RecordIds(random.Random(1))
        info = Warcinfo("test", "test", "")
        clock = VirtualClock(START)
        self._directory = directory
        self.captures = WarcCaptures(
            WarcWriter(directory, info=info, ids=ids, clock=clock, rotate_bytes=1 << 30, committed={}), ids
        )

    def read(self, at: Location) -> bytes:
        with (self._directory / at.file).open("rb") as file:
            file.seek(at.offset)
            return file.read(at.length)


class MemoryArchive:
    def __init__(self, directory: Path) -> None:
        self.captures = MemoryCaptures(_encode)

    def read(self, at: Location) -> bytes:
        return self.captures.read(at)


ARCHIVES: dict[str, Callable[[Path], Archive]] = {"warc": WarcArchive, "memory": MemoryArchive}
_encoder = WarcEncoder(RecordIds(random.Random(2)))


def _encode(capture: Capture) -> tuple[bytes, ...]:
    return _encoder.records(capture.response, capture.payload_digest)


@pytest.fixture(params=ARCHIVES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Archive:
    return ARCHIVES[request.param](tmp_path)


def capture_of(body: bytes) -> Capture:
    return sqlite_store.capture_of(body)._replace(payload_digest=sha1(body).digest())


def encoded(body: bytes) -> Capture:
    """A capture that has its records with it, as a crawl makes them."""
    capture = capture_of(body)
    return capture._replace(records=_encode(capture))


def test_a_record_is_read_by_its_location(archive: Archive) -> None:
    written = [encoded(b"page %d" % number) for number in range(20)]
    places = [archive.captures.append(capture) for capture in written]
    archive.captures.flush()
    archive.captures.committed()

    for capture, place in zip(written, places, strict=True):
        assert capture.records is not None
        assert archive.read(place) == capture.records[0]
    assert len({(place.file, place.offset) for place in places}) == len(places)


def test_a_flush_tells_the_length_until_it_is_committed(archive: Archive) -> None:
    captures = archive.captures
    at = captures.append(encoded(b"one"))
    first = captures.flush()
    assert list(first) == [at.file] and first[at.file] > at.offset + at.length - 1
    assert captures.flush() == first

    captures.committed()
    assert captures.flush() == {}
    captures.append(encoded(b"two"))
    assert captures.flush()[at.file] > first[at.file]


def test_what_is_rolled_back_makes_room_for_the_next(archive: Archive) -> None:
    captures = archive.captures
    kept = encoded(b"kept")
    first = captures.append(kept)
    length = captures.flush()[first.file]
    captures.committed()
    lost = captures.append(encoded(b"lost"))
    captures.flush()

    captures.roll_back()

    assert captures.flush() == {}
    again = encoded(b"written in its place")
    place = captures.append(again)
    assert (place.file, place.offset) == (lost.file, lost.offset) and place.offset >= length
    captures.flush()
    captures.committed()
    assert again.records is not None and kept.records is not None
    assert archive.read(place) == again.records[0]
    assert archive.read(first) == kept.records[0]


def test_a_capture_without_records_is_encoded(archive: Archive) -> None:
    place = archive.captures.append(capture_of(b"plain"))
    archive.captures.flush()
    archive.captures.committed()

    assert archive.read(place)[:2] == b"\x1f\x8b"  # a gzip member
    archive.captures.close()


def test_memory_has_nothing_where_nothing_was_written() -> None:
    captures = MemoryCaptures(_encode)
    at = captures.append(encoded(b"one"))
    captures.roll_back()

    for place in (at, at._replace(file="other"), at._replace(length=1)):
        with pytest.raises(StoreFailed):
            captures.read(place)
