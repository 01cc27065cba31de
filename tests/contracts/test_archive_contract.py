"""The archive: what is appended is kept if it is committed, and is read back by its location."""

from hashlib import sha1

import pytest

from gossamer.backends.warc.captures import WarcEncoder
from gossamer.errors import ArchiveError, DamagedRecord
from gossamer.model.settlement import Capture
from gossamer.reports.ports import Archive
from gossamer.reports.readback import document_in, read_response
from gossamer.store.ports import CaptureFiles, Location
from tests.backends.warc.warc_samples import new_ids, response_of
from tests.contracts.conftest import ArchivePorts

BODIES = [b"first", b"second", b"third"]


@pytest.fixture
def captures(archive_ports: ArchivePorts) -> CaptureFiles:
    return archive_ports.captures


@pytest.fixture
def archive(archive_ports: ArchivePorts) -> Archive:
    return archive_ports.archive


@pytest.fixture
def places(captures: CaptureFiles) -> list[Location]:
    """Three captures that are committed."""
    made = [captures.append(encoded(body)) for body in BODIES]
    captures.flush()
    captures.committed()
    return made


def plain(body: bytes) -> Capture:
    return Capture(response_of(body), sha1(body).digest())


def encoded(body: bytes) -> Capture:
    """A capture that has its records with it, as a crawl makes them."""
    return WarcEncoder(new_ids(2)).capture(response_of(body), sha1(body).digest())


# --- writing ---------------------------------------------------------------------------------------------


def test_a_flush_tells_the_length_until_it_is_committed(captures: CaptureFiles) -> None:
    at = captures.append(encoded(b"one"))
    first = captures.flush()
    assert list(first) == [at.file] and first[at.file] > at.offset + at.length - 1
    assert captures.flush() == first

    captures.committed()
    assert captures.flush() == {}
    second = captures.append(encoded(b"two"))
    assert captures.flush()[second.file] >= second.offset + second.length


def test_what_is_rolled_back_makes_room_for_the_next(captures: CaptureFiles, archive: Archive) -> None:
    first = captures.append(encoded(b"kept"))
    length = captures.flush()[first.file]
    captures.committed()
    captures.append(encoded(b"lost"))
    captures.flush()

    captures.roll_back()

    assert captures.flush() == {}
    assert archive.size(first.file) == length
    place = captures.append(encoded(b"written in its place"))
    assert place.file != first.file or place.offset >= length
    assert captures.flush()[place.file] > place.offset
    captures.committed()
    assert archive.read(*place).http_body == b"written in its place"
    assert archive.read(*first).http_body == b"kept"


def test_a_capture_without_records_is_encoded(captures: CaptureFiles, archive: Archive) -> None:
    place = captures.append(plain(b"plain"))
    captures.flush()
    captures.committed()
    captures.close()

    assert archive.read(*place).http_body == b"plain"


# --- reading ---------------------------------------------------------------------------------------------


def test_a_record_is_read_by_its_location(archive: Archive, places: list[Location]) -> None:
    for place, body in zip(places, BODIES, strict=True):
        record = archive.read(*place)
        assert (record.kind, record.http_body, record.block_digest_ok()) == ("response", body, True)
        response = read_response(archive, *place)
        assert response is not None
        assert document_in(response).body == body


def test_records_are_scanned_in_order_within_bounds(archive: Archive, places: list[Location]) -> None:
    file = places[0].file
    answers = [at for at, _, record in archive.scan(file) if record.kind == "response"]
    later = [at for at, _, record in archive.scan(file, start=places[1].offset) if record.kind == "response"]
    earlier = [at for at, _, record in archive.scan(file, places[1].offset) if record.kind == "response"]

    assert answers == [place.offset for place in places]
    assert (later, earlier) == (answers[1:], answers[:1])


def test_the_content_of_a_file_is_read_in_chunks(archive: Archive, places: list[Location]) -> None:
    file, offset, length = places[0]
    whole = b"".join(archive.content(file, 10**9))

    assert len(whole) == archive.size(file)
    assert b"".join(archive.content(file, offset + length)) == whole[: offset + length]


def test_files_are_listed_with_their_sizes(archive: Archive, captures: CaptureFiles) -> None:
    assert archive.files() == []

    at = captures.append(encoded(b"one"))
    length = captures.flush()[at.file]

    assert archive.files() == [at.file]
    assert archive.size(at.file) == length
    assert archive.size("gossamer-20000101000000-00000.warc.gz") is None


def test_what_is_no_record_is_damaged(archive: Archive, places: list[Location]) -> None:
    file, offset, length = places[1]

    for wrong in ((file, offset + 1, length), (file, offset, length - 1), (file, 10**9, 10)):
        with pytest.raises(DamagedRecord, match=file):
            archive.read(*wrong)


def test_a_file_that_is_missing_is_named(archive: Archive, places: list[Location]) -> None:
    for use in (
        lambda: archive.read("gone.warc.gz", 0, 10),
        lambda: list(archive.scan("gone.warc.gz")),
        lambda: list(archive.content("gone.warc.gz", 10)),
        lambda: archive.cut("gone.warc.gz", 0),
        lambda: archive.put_aside("gone.warc.gz"),
    ):
        with pytest.raises(ArchiveError, match=r"gone\.warc\.gz: "):
            use()


def test_a_file_is_cut_and_put_aside(archive: Archive, places: list[Location]) -> None:
    file, offset, _ = places[2]
    archive.cut(file, offset)

    assert archive.size(file) == offset
    assert archive.read(*places[1]).http_body == BODIES[1]
    with pytest.raises(DamagedRecord):
        archive.read(*places[2])
    archive.put_aside(file)
    assert archive.files() == []
    assert archive.size(file) is None
