"""The contact journal: what a crash cannot make us forget."""

import errno
import os
from pathlib import Path

import pytest

from gossamer.backends.contact_journal import _RECORD, ContactLog
from gossamer.errors import DiskFull, StoreFailed
from gossamer.model.loads import LastContact
from gossamer.model.units import HostId, Instant

A, B, C = HostId(1), HostId(2), HostId(3)
V4, V6 = "192.0.2.7", "2001:0db8:0000:0000:0000:ff00:0042:8329"


def begun(directory: Path) -> ContactLog:
    journal = ContactLog((directory / "contacts.0", directory / "contacts.1"))
    journal.begin()
    return journal


def replay(directory: Path) -> dict[HostId, LastContact]:
    """What another process finds."""
    return ContactLog((directory / "contacts.0", directory / "contacts.1")).last_contacts()


def started(at: float, took: float = 0.5, address: str = V4, after: float = 0.0) -> LastContact:
    return LastContact(Instant(at), Instant(after), took, address)


def finished(until: float, took: float = 0.5, address: str = V4) -> LastContact:
    return LastContact(None, Instant(until), took, address)


def test_an_empty_directory_knows_of_no_contact(tmp_path: Path) -> None:
    assert replay(tmp_path) == {}


def test_contacts_are_remembered_open_or_ended(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.started(B, Instant(11.0), 0.1, V6)
    journal.finished(A, Instant(16.0), 0.6, V4)

    assert replay(tmp_path) == {A: finished(16.0, 0.6), B: started(11.0, 0.1, V6)}
    journal.close()


def test_a_new_contact_is_open_and_does_not_forget_the_last_rest(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.finished(A, Instant(16.0), 0.6, V4)
    journal.started(A, Instant(16.0), 0.6, V4)

    assert replay(tmp_path) == {A: started(16.0, 0.6, after=16.0)}
    journal.close()


def test_nothing_needs_to_be_closed_or_flushed_to_be_remembered(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.started(A, Instant(10.0), 0.5, V4)
    pid = os.fork()
    if pid == 0:
        journal.started(B, Instant(11.0), 0.5, V4)
        os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)

    assert replay(tmp_path).keys() == {A, B}
    journal.close()


def test_after_turning_over_open_contacts_are_in_the_new_file_too(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.started(B, Instant(11.0), 0.5, V4)
    journal.finished(A, Instant(16.0), 0.6, V4)
    journal.turn_over([(B, Instant(11.0), 0.5, V4)])
    journal.started(C, Instant(12.0), 0.5, V4)

    both = {A: finished(16.0, 0.6), B: started(11.0), C: started(12.0)}
    assert replay(tmp_path) == both

    journal.forget()
    assert replay(tmp_path) == {B: both[B], C: both[C]}
    journal.close()


def test_of_two_files_the_newer_has_the_last_word(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    for turn in range(5):
        journal.started(A, Instant(10.0 * turn), 0.5, V4)
        journal.turn_over([(A, Instant(10.0 * turn), 0.5, V4)])
        journal.finished(A, Instant(10.0 * turn + 5), 0.5, V4)

        assert replay(tmp_path)[A] == finished(10.0 * turn + 5), f"turn {turn}"

        journal.forget()
        assert replay(tmp_path)[A] == finished(10.0 * turn + 5)
    journal.close()


def test_a_finished_contact_that_the_database_does_not_know_yet_is_not_forgotten(tmp_path: Path) -> None:
    """It ended between the turn-over and the commit: its batch is the next one."""
    journal = begun(tmp_path)
    journal.started(A, Instant(10.0), 0.5, V4)
    journal.turn_over([(A, Instant(10.0), 0.5, V4)])
    journal.finished(A, Instant(16.0), 0.5, V4)
    journal.forget()

    assert replay(tmp_path) == {A: finished(16.0)}
    journal.close()


def life_of(directory: Path) -> list[tuple[Path, dict[HostId, LastContact]]]:
    """A journal's life: after each record, the file it went to and what must be known from then on."""
    journal = begun(directory)
    files = (directory / "contacts.0", directory / "contacts.1")
    marks = [(files[0], replay(directory))]
    for at, host in enumerate((A, B, A, C)):
        journal.started(host, Instant(10.0 + at), 0.5, V4)
        marks.append((files[0], replay(directory)))
        if host != C:
            journal.finished(host, Instant(12.0 + at), 0.5 + at, V4)
            marks.append((files[0], replay(directory)))
    older = marks[-1][1]
    marks.append((files[1], older))
    journal.turn_over([(C, Instant(13.0), 0.5, V4)])
    marks.append((files[1], replay(directory)))
    journal.finished(C, Instant(30.0), 2.0, V4)
    marks.append((files[1], replay(directory)))
    journal.started(B, Instant(31.0), 1.5, V6)
    marks.append((files[1], replay(directory)))
    journal.close()
    return marks


def known_after(
    marks: list[tuple[Path, dict[HostId, LastContact]]], path: Path, records: int
) -> dict[HostId, LastContact]:
    """What is known when so many records of `path` are complete."""
    of_file = [known for file, known in marks if file == path]
    before = marks[marks.index((path, of_file[0])) - 1][1] if marks[0][0] != path else {}
    return of_file[records - 1] if records else before


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_cut_at_any_byte_tells_what_was_written_whole(tmp_path: Path, number: int) -> None:
    marks = life_of(tmp_path)
    path = tmp_path / f"contacts.{number}"
    if number == 0:
        (tmp_path / "contacts.1").unlink()
    whole = path.read_bytes()
    used = _RECORD.size * sum(1 for file, _ in marks if file == path)

    for length in (*range(used + 2), len(whole) - 1):
        path.write_bytes(whole[:length])
        records = min(length, used) // _RECORD.size
        assert replay(tmp_path) == known_after(marks, path, records), f"cut at {length}"


@pytest.mark.parametrize("number", [0, 1])
def test_a_record_that_was_being_written_does_not_count(tmp_path: Path, number: int) -> None:
    """Its kind is set last; whatever else of it is there, it says nothing, and neither does what lies behind it."""
    marks = life_of(tmp_path)
    path = tmp_path / f"contacts.{number}"
    if number == 0:
        (tmp_path / "contacts.1").unlink()
    whole = path.read_bytes()
    used = sum(1 for file, _ in marks if file == path)

    for records in range(used):
        at = records * _RECORD.size
        for part in range(1, _RECORD.size):
            torn = whole[:at] + b"\0" + whole[at + 1 : at + part]
            path.write_bytes(torn.ljust(len(whole), b"\0"))
            assert replay(tmp_path) == known_after(marks, path, records), f"record {records}, {part} bytes of it"


def test_a_file_grows_with_its_records(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    for number in range(1, 5001):
        journal.started(HostId(number), Instant(float(number)), 0.5, V4)

    assert replay(tmp_path) == {HostId(n): started(float(n)) for n in range(1, 5001)}
    journal.close()


def test_of_files_that_are_used_again_only_the_latest_records_count(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    for turn, records in enumerate([2000, 7, 300, 1, 5, 0]):
        for number in range(records):
            journal.started(HostId(1000 * turn + number), Instant(1.0), 0.5, V4)
        mine = {HostId(1000 * turn + number) for number in range(records)}
        assert replay(tmp_path).keys() == mine, turn
        journal.turn_over([])
        assert replay(tmp_path).keys() == mine, turn  # until they are committed
        journal.forget()
        assert replay(tmp_path) == {}
    assert len(list(tmp_path.iterdir())) == 2
    journal.close()


def test_a_crash_in_the_middle_of_a_turn_over_forgets_nothing(tmp_path: Path) -> None:
    journal = begun(tmp_path)
    for host in range(1, 6):
        journal.started(HostId(host), Instant(float(host)), 0.5, V4)
    known = replay(tmp_path)
    journal.turn_over([(HostId(host), Instant(float(host)), 0.5, V4) for host in range(1, 6)])
    journal.close()
    newer = tmp_path / "contacts.1"
    whole = newer.read_bytes()

    for length in range(8 * _RECORD.size):
        newer.write_bytes(whole[:length])
        assert replay(tmp_path) == known


def test_a_restart_begins_a_journal_of_its_own(tmp_path: Path) -> None:
    life_of(tmp_path)

    ContactLog((tmp_path / "contacts.0", tmp_path / "contacts.1")).clear()
    assert list(tmp_path.iterdir()) == []
    journal = begun(tmp_path)
    assert replay(tmp_path) == {}
    journal.started(A, Instant(1.0), 0.5, V4)
    assert replay(tmp_path) == {A: started(1.0)}
    journal.close()


def no_room(monkeypatch: pytest.MonkeyPatch, number: int = errno.ENOSPC) -> None:
    def refuse(fd: int, offset: int, length: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "posix_fallocate", refuse)


def test_a_record_that_does_not_fit_on_the_disk_stops_its_contact_and_spoils_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begun(tmp_path)
    fits = (tmp_path / "contacts.0").stat().st_size // _RECORD.size - 1  # one is the file's own
    for number in range(1, fits + 1):
        journal.started(HostId(number), Instant(1.0), 0.5, V4)
    no_room(monkeypatch)
    for _ in range(2):
        with pytest.raises(DiskFull, match=r"contacts\.0"):
            journal.started(HostId(6000), Instant(1.0), 0.5, V4)
    monkeypatch.undo()
    journal.started(HostId(7000), Instant(1.0), 0.5, V4)

    assert replay(tmp_path).keys() == {*range(1, fits + 1), 7000}
    journal.close()


def test_a_journal_that_cannot_be_turned_over_goes_on_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = begun(tmp_path)
    journal.started(A, Instant(1.0), 0.5, V4)
    no_room(monkeypatch)
    with pytest.raises(DiskFull, match=r"contacts\.1"):
        journal.turn_over([])
    monkeypatch.undo()
    journal.started(B, Instant(2.0), 0.5, V4)
    assert replay(tmp_path).keys() == {A, B}

    journal.turn_over([(B, Instant(2.0), 0.5, V4)])
    journal.forget()
    assert replay(tmp_path).keys() == {B}
    journal.close()


def test_other_trouble_with_the_disk_is_told_from_a_full_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_room(monkeypatch, errno.EIO)
    with pytest.raises(StoreFailed, match=r"contacts\.0") as raised:
        begun(tmp_path)
    assert not isinstance(raised.value, DiskFull)

    with pytest.raises(StoreFailed):
        begun(tmp_path / "nowhere")


def test_the_longest_address_fits_a_record(tmp_path: Path) -> None:
    longest = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"
    journal = begun(tmp_path)
    journal.started(A, Instant(1.0), 0.5, longest)

    assert replay(tmp_path) == {A: started(1.0, address=longest)}
    journal.close()
