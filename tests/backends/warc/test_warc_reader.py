"""Our reader on other projects' files, good and damaged, and on what a crash may leave."""

import base64
import gzip
import json
import random
from pathlib import Path
from typing import NotRequired, TypedDict

import pytest

from gossamer.backends.warc import build_response, payload_digest_of, read_record, scan_records
from gossamer.errors import DamagedRecord
from gossamer.model.archive_record import digest_matches
from tests.backends.warc.warc_samples import response_of, writer_in
from tests.conformance import shared_data
from tests.table import table


class OneRecord(TypedDict):
    type: str
    target_uri: str | None
    offset: int
    block_digest_ok: bool | None


class OneFile(TypedDict):
    name: str
    base64: str
    records: NotRequired[list[OneRecord]]
    strict_reader_error: NotRequired[str]


def shared_files() -> list[OneFile]:
    data: dict[str, list[OneFile]] = json.loads(shared_data("conformance/warc/files.json").read_bytes())
    return data["files"]


FILES = {file["name"]: file for file in shared_files()}

DAMAGED = {
    ("clipped.warc.gz", 0): "ends inside a gzip member",
    ("example-trunc.warc", 1197): "is shorter than its Content-Length",
}


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if "records" in file])
def test_records_of_other_writers_are_read_at_their_offsets(tmp_path: Path, name: str) -> None:
    data = base64.b64decode(FILES[name]["base64"])
    path = tmp_path / name
    path.write_bytes(data)
    records = FILES[name]["records"]
    ends = [record["offset"] for record in records[1:]] + [len(data)]

    for expected, end in zip(records, ends, strict=True):
        if (name, expected["offset"]) in DAMAGED:
            with pytest.raises(DamagedRecord):
                read_record(path, expected["offset"], end - expected["offset"])
            continue
        record = read_record(path, expected["offset"], end - expected["offset"])
        assert record.kind == expected["type"]
        assert record.target_uri == expected["target_uri"]
        if expected["type"] != "revisit":  # the data says nothing about digests of revisits
            both = {record.block_digest_ok(), record.payload_digest_ok()} - {None}
            assert (None if not both else False not in both) == expected["block_digest_ok"]


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if "records" in file and name.endswith("gz")])
def test_a_scan_finds_the_offsets_by_itself(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(base64.b64decode(FILES[name]["base64"]))
    expected = [record["offset"] for record in FILES[name]["records"]]
    found: list[int] = []

    if name in {damaged for damaged, _ in DAMAGED}:
        with pytest.raises(DamagedRecord):
            found.extend(offset for offset, _, _ in scan_records(path))
    else:
        found.extend(offset for offset, _, _ in scan_records(path))
        assert found == expected


@pytest.mark.parametrize("name", ["example-bad-non-chunked.warc.gz", "example-wrong-chunks.warc.gz"])
def test_files_whose_members_are_not_records_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(base64.b64decode(FILES[name]["base64"]))

    with pytest.raises(DamagedRecord):
        list(scan_records(path))


def test_every_place_but_the_right_one_is_refused(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    writer.append(member_of(b"first"))
    place = writer.append(member_of(b"second"))
    path = tmp_path / place.file

    assert read_record(path, place.offset, place.length).http_body == b"second"
    for offset, length in [
        (place.offset - 1, place.length),
        (place.offset + 1, place.length - 1),
        (place.offset, place.length - 1),
        (place.offset, place.length + 1),
        (0, place.offset + place.length),
    ]:
        with pytest.raises(DamagedRecord):
            read_record(path, offset, length)


def test_a_flipped_bit_anywhere_is_noticed(tmp_path: Path) -> None:
    member = member_of(b"some body of some length")
    path = tmp_path / "one.warc.gz"
    path.write_bytes(member)
    good = read_record(path, 0, len(member))
    harmless: list[int] = []

    for at in range(10, len(member)):  # the first ten bytes are the gzip header, most of which says nothing
        path.write_bytes(member[:at] + bytes((member[at] ^ 0x10,)) + member[at + 1 :])
        try:
            read = read_record(path, 0, len(member))
        except DamagedRecord:
            continue
        harmless.append(at)
        assert read == good

    assert len(harmless) <= 1, "only the bits that fill the last byte of the compressed data carry nothing"


def test_a_scan_goes_past_the_size_it_reads_at_once(tmp_path: Path) -> None:
    path = tmp_path / "big.warc.gz"
    bodies = [bytes((number,)) * 10 + random.Random(number).randbytes(200_000) for number in range(5)]
    path.write_bytes(b"".join(member_of(body) for body in bodies))

    assert [record.http_body for _, _, record in scan_records(path)] == bodies


@pytest.mark.parametrize(
    "record",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: -1\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 99\r\n\r\nshort\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 1\r\n\r\nlong\r\n\r\n",
        b"WARC/1.1\r\nno colon\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        b"",
    ],
)
def test_what_is_no_record_is_refused(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "odd.warc.gz"
    path.write_bytes(gzip.compress(record))

    with pytest.raises(DamagedRecord, match="at byte 0"):
        read_record(path, 0, path.stat().st_size)


@table(
    ("digest", "matches"),
    [
        ("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N", True),
        ("sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d", True),
        ("SHA-1:vl2mmho4yxukfwv63yhtwsbm3gxksq2n", True),
        ("sha1:qvTGHdzF6KLavt4PO0gs2a6pQ00=", True),
        ("md5:5d41402abc4b2a76b9719d911017c592", True),
        ("sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", True),
        ("sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2M", False),
        ("sha1:", False),
        ("crc32:3610a686", None),
        ("nonsense", None),
        (None, None),
    ],
)
def test_digests_are_read_in_either_notation(digest: str | None, matches: bool | None) -> None:
    assert digest_matches(digest, b"hello") is matches


@pytest.mark.parametrize("digested", [b"hello", b"5\r\nhello\r\n0\r\n\r\n"])
def test_a_chunked_payload_may_be_digested_either_way(tmp_path: Path, digested: bytes) -> None:
    response = response_of(b"5\r\nhello\r\n0\r\n\r\n", more_headers={"transfer-encoding": "chunked"})
    path = tmp_path / "one.warc.gz"
    path.write_bytes(build_response(response, record_id="i", payload_digest=payload_digest_of(digested)))

    assert read_record(path, 0, path.stat().st_size).payload_digest_ok()


def test_a_wrong_payload_digest_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "one.warc.gz"
    path.write_bytes(build_response(response_of(), record_id="i", payload_digest=payload_digest_of(b"")))
    record = read_record(path, 0, path.stat().st_size)

    assert (record.block_digest_ok(), record.payload_digest_ok()) == (True, False)


def member_of(body: bytes) -> bytes:
    return build_response(response_of(body), record_id="urn:uuid:1")
