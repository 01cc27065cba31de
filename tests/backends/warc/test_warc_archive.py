"""The archive port on WARC files: what was captured is read back by its location."""

from pathlib import Path

import pytest

from gossamer.backends.warc.archive import WarcArchive
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.dedup.exact import payload_digest
from gossamer.errors import ArchiveError, DamagedRecord
from gossamer.model.settlement import Capture
from gossamer.reports.ports import Archive
from gossamer.reports.readback import document_in, read_response
from gossamer.store.ports import Location
from tests.backends.warc.warc_samples import new_ids, response_of, writer_in

BODIES = [b"first", b"second", b"third"]


@pytest.fixture
def places(tmp_path: Path) -> list[Location]:
    """Three captures in one file."""
    files = WarcCaptures(writer_in(tmp_path), new_ids(7))
    made = [files.append(Capture(response_of(body), payload_digest(body))) for body in BODIES]
    files.flush()
    files.close()
    return made


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return WarcArchive(tmp_path)


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


def test_files_are_listed_with_their_sizes(archive: Archive, places: list[Location], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not ours")

    assert archive.files() == [places[0].file]
    assert archive.size(places[0].file) == (tmp_path / places[0].file).stat().st_size
    assert archive.size("gossamer-20000101000000-00000.warc.gz") is None
    assert WarcArchive(tmp_path / "nowhere").files() == []


def test_what_is_no_record_is_damaged(archive: Archive, places: list[Location]) -> None:
    file, offset, length = places[1]

    for wrong in ((file, offset + 1, length), (file, offset, length - 1), (file, 10**9, 10)):
        with pytest.raises(DamagedRecord, match=file):
            archive.read(*wrong)


def test_a_file_that_is_missing_is_named(archive: Archive) -> None:
    with pytest.raises(ArchiveError, match=r"gone\.warc\.gz: No such file or directory"):
        archive.read("gone.warc.gz", 0, 10)
    with pytest.raises(ArchiveError, match=r"gone\.warc\.gz: No such file or directory"):
        list(archive.scan("gone.warc.gz"))


def test_a_file_is_cut_and_put_aside(archive: Archive, places: list[Location], tmp_path: Path) -> None:
    file, offset, _ = places[2]
    archive.cut(file, offset)

    assert archive.size(file) == offset
    assert archive.read(*places[1]).http_body == BODIES[1]
    archive.put_aside(file)
    assert archive.files() == []
    assert [path.name for path in tmp_path.iterdir()] == [f"{file}.unknown"]


def test_files_of_workers_are_named_by_their_folders(places: list[Location], tmp_path: Path) -> None:
    whole = WarcArchive(tmp_path.parent)

    assert whole.read(f"{tmp_path.name}/{places[0].file}", places[0].offset, places[0].length).http_body == BODIES[0]
