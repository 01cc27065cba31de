"""A record that was found whole is not read again for a while; what happens to its file is noticed."""

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.clock import VirtualClock
from gossamer.explain.facts import VisitFact
from gossamer.model.units import Instant, Seconds
from gossamer.model.written import sha1_text
from gossamer.service.records import KEPT, Records

BLOCK = b"HTTP/1.1 200 OK\r\n\r\nhello"


def written(path: Path, block: bytes = BLOCK) -> VisitFact:
    """A file with one record, and the visit that it is of."""
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
        f"WARC-Block-Digest: {sha1_text(hashlib.sha1(BLOCK).digest())}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    record = gzip.compress(head.encode() + block + b"\r\n\r\n", 0)  # as long whatever is in it
    path.write_bytes(record)
    unknown = dict.fromkeys(("took", "mime", "digest", "title", "duplicate_of", "redirect_to"))
    place = {"warc_file": path.name, "warc_offset": 0, "warc_length": len(record)}
    return VisitFact(at=Instant(0.0), status=200, size=5, **unknown, **place)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def test_what_was_whole_is_taken_for_whole_for_a_minute(tmp_path: Path, clock: VirtualClock) -> None:
    visit, records = written(tmp_path / "a.warc.gz"), Records(tmp_path, clock)
    first = records(visit)
    assert first is not None and first.block_ok is True
    with (tmp_path / "a.warc.gz").open("r+b") as file:
        file.write(b"damaged")

    assert records(visit) is first
    clock.advance(Seconds(KEPT))
    found = records(visit)
    assert found is not None and found.problem is not None


def test_a_file_that_is_gone_cut_or_another_one_is_noticed_at_once(tmp_path: Path, clock: VirtualClock) -> None:
    path = tmp_path / "a.warc.gz"
    visit, records = written(path), Records(tmp_path, clock)
    harms: tuple[Callable[[Path], None], ...] = (Path.unlink, _cut, _replaced)
    for harm in harms:
        written(path)
        whole = records(visit)
        assert whole is not None and whole.problem is None
        harm(path)

        found = records(visit)

        assert found is not None and (found.problem is not None or found.block_ok is False)


def _cut(path: Path) -> None:
    os.truncate(path, 20)


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    written(other, BLOCK.replace(b"hello", b"jello"))
    os.replace(other, path)


def test_what_is_not_whole_is_looked_at_again(tmp_path: Path, clock: VirtualClock) -> None:
    path, records = tmp_path / "a.warc.gz", Records(tmp_path, clock)
    visit = written(path, BLOCK.replace(b"hello", b"jello"))
    wrong = records(visit)
    assert wrong is not None and wrong.block_ok is False
    written(path)

    mended = records(visit)

    assert mended is not None and mended.block_ok is True


def test_only_so_many_are_remembered(tmp_path: Path, clock: VirtualClock) -> None:
    records = Records(tmp_path, clock, most=3)

    for number in range(10):
        records(written(tmp_path / f"{number}.warc.gz"))
        assert 1 <= len(records) <= 3
