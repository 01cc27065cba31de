"""The archive port on WARC files: what only files have. `tests/contracts/test_archive_contract.py` has the rest."""

from pathlib import Path

import pytest

from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.reader import WarcArchive
from gossamer.dedup import payload_digest
from gossamer.model.settlement import Capture
from gossamer.store.ports import Location
from tests.backends.warc.warc_samples import new_ids, response_of, writer_in


@pytest.fixture
def place(tmp_path: Path) -> Location:
    """Of a capture."""
    files = WarcCaptures(writer_in(tmp_path), new_ids(7))
    made = files.append(Capture(response_of(b"first"), payload_digest(b"first")))
    files.flush()
    files.close()
    return made


def test_files_of_others_are_no_part_of_the_archive(place: Location, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not ours")

    assert WarcArchive(tmp_path).files() == [place.file]
    assert WarcArchive(tmp_path / "nowhere").files() == []


def test_a_file_that_is_put_aside_is_renamed(place: Location, tmp_path: Path) -> None:
    WarcArchive(tmp_path).put_aside(place.file)

    assert [path.name for path in tmp_path.iterdir()] == [f"{place.file}.unknown"]


def test_files_of_workers_are_named_by_their_folders(place: Location, tmp_path: Path) -> None:
    whole = WarcArchive(tmp_path.parent)

    assert whole.read(f"{tmp_path.name}/{place.file}", place.offset, place.length).http_body == b"first"
