"""The open file: places, rotation, the way back; and what a crash leaves behind."""

import errno
import os
import random
from pathlib import Path

import pytest

from gossamer.backends.warc import (
    RecordIds,
    Repair,
    RepairKind,
    WarcWriter,
    build_response,
    cut_back,
    read_record,
    scan_records,
)
from gossamer.errors import DiskFull, StoreFailed
from gossamer.store.ports import Location
from tests.backends.warc.warc_samples import read_by_fastwarc, read_by_warcio, response_of, writer_in


def some_member(number: int, size: int = 300) -> bytes:
    ids = RecordIds(random.Random(1000 + number))
    body = random.Random(number).randbytes(size)
    response = response_of(body, url=f"http://x.test/{number}")
    return build_response(response, record_id=ids.next())


def test_a_record_is_found_where_the_writer_says(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    places = [writer.append(some_member(number)) for number in range(20)]

    for number in random.Random(3).sample(range(20), 20):
        place = places[number]
        record = read_record(tmp_path / place.file, place.offset, place.length)
        assert record.target_uri == f"http://x.test/{number}"
        assert record.http_body == random.Random(number).randbytes(300)
        assert record.block_digest_ok()


def test_other_readers_see_the_same_records_at_the_same_offsets(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    places = [writer.append(some_member(number)) for number in range(5)]
    data = (tmp_path / writer.file_name).read_bytes()

    for seen in (read_by_warcio(data), read_by_fastwarc(data)):
        assert [record.kind for record in seen] == ["warcinfo"] + ["response"] * 5
        assert [record.offset for record in seen[1:]] == [place.offset for place in places]
        assert seen[0].headers["WARC-Record-ID"] == f"<{writer.warcinfo_id}>"
        assert seen[0].headers["WARC-Filename"] == writer.file_name
    assert [(offset, length) for offset, length, _ in scan_records(tmp_path / writer.file_name)][1:] == [
        (place.offset, place.length) for place in places
    ]


def test_files_are_named_by_moment_and_number(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    assert writer.file_name == "" and list(tmp_path.iterdir()) == []

    writer.append(some_member(1))

    assert [path.name for path in tmp_path.iterdir()] == ["gossamer-20231114221320-00001.warc.gz"]


def test_a_full_file_is_left_at_the_next_transaction(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, rotate_bytes=1000)
    places: list[Location] = []
    committed: dict[str, int] = {}
    for number in range(12):
        places.append(writer.append(some_member(number)))
        if number % 3 == 2:
            writer.sync()
            committed[writer.file_name] = writer.length
            writer.mark_committed()

    names = sorted({place.file for place in places})
    assert [name[-13:-8] for name in names] == ["00001", "00002", "00003", "00004"]
    infos = set()
    for name in names:
        seen = read_by_warcio((tmp_path / name).read_bytes())
        assert [record.kind for record in seen] == ["warcinfo", "response", "response", "response"]
        infos.add(seen[0].headers["WARC-Record-ID"])
    assert len(infos) == 4
    assert cut_back(tmp_path, committed) == []


def test_a_record_prepared_for_can_name_the_warcinfo_of_its_own_file(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, rotate_bytes=100)
    writer.append(some_member(1))
    writer.mark_committed()
    before = writer.warcinfo_id

    writer.prepare()
    promised = writer.warcinfo_id
    place = writer.append(some_member(2))

    [info, _] = read_by_warcio((tmp_path / place.file).read_bytes())
    assert info.headers["WARC-Record-ID"] == f"<{promised}>" != f"<{before}>"


def test_a_transaction_never_spans_two_files(tmp_path: Path) -> None:
    writer = writer_in(tmp_path, rotate_bytes=100)

    places = [writer.append(some_member(number)) for number in range(5)]

    assert len({place.file for place in places}) == 1


def test_a_failed_transaction_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    writer.mark_committed()
    before = (tmp_path / writer.file_name).read_bytes()

    writer.append(some_member(2))
    writer.append(some_member(3))
    writer.rollback()

    assert (tmp_path / writer.file_name).read_bytes() == before
    assert writer.length == writer.committed_length == len(before)
    place = writer.append(some_member(4))
    assert place.offset == len(before)
    assert len(read_by_warcio((tmp_path / writer.file_name).read_bytes())) == 3


def test_a_first_transaction_that_fails_leaves_nothing_and_the_warcinfo_is_written_again(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    writer.rollback()
    assert (tmp_path / writer.file_name).stat().st_size == 0

    writer.append(some_member(2))

    seen = read_by_warcio((tmp_path / writer.file_name).read_bytes())
    assert [record.kind for record in seen] == ["warcinfo", "response"]


def test_part_of_a_transaction_can_be_taken_back(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    kept = writer.length
    writer.append(some_member(2))

    writer.rollback_to(kept)

    assert len(read_by_warcio((tmp_path / writer.file_name).read_bytes())) == 2


def test_what_is_committed_cannot_be_taken_back(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    writer.mark_committed()

    with pytest.raises(ValueError, match="committed"):
        writer.rollback_to(writer.length - 1)
    with pytest.raises(ValueError, match="committed"):
        writer.rollback_to(writer.length + 1)


class FailingDisk:
    """Takes so many bytes, a few at a time, and then refuses."""

    def __init__(self, room: int, at_a_time: int, code: int = errno.ENOSPC) -> None:
        self.room, self.at_a_time, self.code = room, at_a_time, code
        self._write = os.write

    def write(self, fd: int, data: bytes | memoryview) -> int:
        if self.room == 0:
            raise OSError(self.code, os.strerror(self.code))
        written = self._write(fd, data[: min(self.at_a_time, self.room)])
        self.room -= written
        return written


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.write", FailingDisk(room=10**9, at_a_time=7).write)
    writer = writer_in(tmp_path)

    writer.append(some_member(1))

    assert len(read_by_warcio((tmp_path / writer.file_name).read_bytes())) == 2


@pytest.mark.parametrize(
    ("code", "error"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EIO, StoreFailed)]
)
def test_a_record_that_does_not_fit_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[StoreFailed]
) -> None:
    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    writer.mark_committed()
    before = (tmp_path / writer.file_name).read_bytes()

    with monkeypatch.context() as patched:
        patched.setattr("os.write", FailingDisk(room=100, at_a_time=60, code=code).write)
        with pytest.raises(StoreFailed) as raised:
            writer.append(some_member(2))

    assert type(raised.value) is error
    assert (tmp_path / writer.file_name).read_bytes() == before
    place = writer.append(some_member(2))
    assert place.offset == len(before)
    assert len(read_by_warcio((tmp_path / writer.file_name).read_bytes())) == 3


def test_a_cut_that_fails_is_made_up_for_before_the_next_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, length: int) -> None:
        raise OSError(errno.EIO, "no")

    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    writer.mark_committed()
    with monkeypatch.context() as patched:
        patched.setattr("os.write", FailingDisk(room=100, at_a_time=60).write)
        patched.setattr("os.ftruncate", refuse)
        with pytest.raises(StoreFailed):
            writer.append(some_member(2))

    writer.append(some_member(3))

    assert len(read_by_warcio((tmp_path / writer.file_name).read_bytes())) == 3


def test_a_disk_that_fills_up_at_the_sync_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(fd: int) -> None:
        raise OSError(errno.ENOSPC, "no room")

    writer = writer_in(tmp_path)
    writer.append(some_member(1))
    monkeypatch.setattr("os.fdatasync", refuse)

    with pytest.raises(DiskFull, match="no room"):
        writer.sync()


def test_a_restart_goes_on_in_the_file_that_was_open(tmp_path: Path) -> None:
    committed = committed_files(writer_in(tmp_path), count=2)
    [name] = committed

    writer = writer_in(tmp_path, committed=committed, seed=2)
    place = writer.append(some_member(9))

    assert (place.file, writer.committed_length) == (name, committed[name])
    seen = read_by_warcio((tmp_path / name).read_bytes())
    assert [record.kind for record in seen] == ["warcinfo", "response", "response", "warcinfo", "response"]
    assert len({record.headers["WARC-Record-ID"] for record in seen}) == 5


@pytest.mark.parametrize("reason", ["full", "longer than committed", "missing"])
def test_a_restart_begins_a_new_file_when_the_old_one_will_not_do(tmp_path: Path, reason: str) -> None:
    committed = committed_files(writer_in(tmp_path), count=2)
    [name] = committed
    if reason == "longer than committed":
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b"tail")
    if reason == "missing":
        (tmp_path / name).unlink()

    writer = writer_in(tmp_path, committed=committed, seed=2, rotate_bytes=100 if reason == "full" else 10**9)
    place = writer.append(some_member(9))

    assert place.file == "gossamer-20231114221320-00002.warc.gz"


def committed_files(writer: WarcWriter, count: int) -> dict[str, int]:
    for number in range(count):
        writer.append(some_member(number))
    writer.sync()
    writer.mark_committed()
    writer.close()
    return {writer.file_name: writer.length}


@pytest.mark.parametrize("seed", range(20))
def test_after_a_crash_at_any_byte_exactly_the_committed_records_are_there(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    writer = writer_in(tmp_path, rotate_bytes=1500)
    committed: dict[str, int] = {}
    expected: list[str] = []
    pending: list[str] = []
    for number in range(rng.randint(1, 30)):
        writer.append(some_member(number, size=rng.randint(0, 600)))
        pending.append(f"http://x.test/{number}")
        if rng.random() < 0.4:
            committed[writer.file_name] = writer.length
            writer.mark_committed()
            expected += pending
            pending = []
    # The crash: any part of what was not committed may have reached the disk.
    open_file = tmp_path / writer.file_name
    at = rng.randint(committed.get(writer.file_name, 0), open_file.stat().st_size)
    writer.close()
    os.truncate(open_file, at)

    repairs = cut_back(tmp_path, committed)

    assert all(repair.kind is not RepairKind.DAMAGED for repair in repairs)
    found = [
        record.headers["WARC-Target-URI"]
        for path in sorted(tmp_path.iterdir())
        for record in read_by_warcio(path.read_bytes())
        if record.kind == "response"
    ]
    assert found == expected
    assert cut_back(tmp_path, committed) == [], "a second run finds nothing to do"


def test_what_was_done_to_each_file_is_reported(tmp_path: Path) -> None:
    cut, lost, short, gone = (f"gossamer-20231114221320-0000{number}.warc.gz" for number in range(1, 5))
    (tmp_path / cut).write_bytes(b"x" * 10)
    (tmp_path / lost).write_bytes(b"x" * 10)
    (tmp_path / short).write_bytes(b"x" * 10)

    repairs = cut_back(tmp_path, {cut: 4, short: 11, gone: 5})

    assert repairs == [
        Repair(cut, RepairKind.CUT, 10, 4),
        Repair(lost, RepairKind.REMOVED, 10, 0),
        Repair(short, RepairKind.DAMAGED, 10, 11),
        Repair(gone, RepairKind.DAMAGED, 0, 5),
    ]
    assert (tmp_path / cut).read_bytes() == b"xxxx"
    assert (tmp_path / short).stat().st_size == 10
    assert not (tmp_path / lost).exists()


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt",
        "other-20231114221320-00001.warc.gz",
        "gossamer-1.warc.gz",
        "gossamer-20231114221320-00001.warc.gz.bak",
    ],
)
def test_files_that_are_not_ours_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"precious")

    assert cut_back(tmp_path, {}) == []
    assert (tmp_path / name).read_bytes() == b"precious"


def test_a_directory_that_was_never_made_needs_no_repair(tmp_path: Path) -> None:
    assert cut_back(tmp_path / "warc", {}) == []


def test_only_names_can_be_cut_not_paths(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not a file name"):
        cut_back(tmp_path, {"../gossamer-20231114221320-00001.warc.gz": 0})
