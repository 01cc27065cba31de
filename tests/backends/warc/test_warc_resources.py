"""What came over FTP, as other readers see it."""

from base64 import b32encode
from hashlib import sha1
from pathlib import Path

from gossamer.backends.warc import payload_digest_of, read_record
from gossamer.backends.warc.captures import WarcEncoder
from gossamer.model.outcome import Response, Truncation
from tests.backends.warc.warc_samples import new_ids, read_by_fastwarc, read_by_warcio, response_of

HERE = "ftp://x.test/pub/a.bin"


def records_of(response: Response) -> tuple[bytes, ...]:
    return WarcEncoder(new_ids()).records(response, sha1(response.wire_body, usedforsecurity=False).digest())


def test_a_file_is_a_resource_record_of_exactly_its_bytes() -> None:
    body = b"HTTP/1.1 200 OK\r\n\r\nno answer, but a file about one"
    content, _ = records_of(response_of(body, url=HERE, more_headers={"content-type": "text/plain"}))

    [by_warcio], [by_fastwarc] = read_by_warcio(content), read_by_fastwarc(content)

    assert by_warcio.headers == by_fastwarc.headers
    assert by_warcio.kind == "resource"
    assert by_warcio.body == body
    assert by_warcio.headers["Content-Type"] == "text/plain"
    assert by_warcio.headers["WARC-Target-URI"] == HERE
    assert by_warcio.headers["WARC-Block-Digest"] == by_warcio.headers["WARC-Payload-Digest"] == payload_digest_of(body)


def test_the_conversation_is_a_metadata_record_that_belongs_to_it() -> None:
    response = response_of(b"x", url=HERE)

    content, said = (read_by_warcio(member)[0] for member in records_of(response))

    assert said.kind == "metadata"
    assert said.body == response.request_head + b"\r\n" + response.head
    assert said.headers["WARC-Concurrent-To"] == content.headers["WARC-Record-ID"]
    assert content.headers["WARC-Concurrent-To"] == said.headers["WARC-Record-ID"]


def test_a_file_that_was_cut_says_so_and_one_of_unknown_kind_is_bytes() -> None:
    response = response_of(b"x", url=HERE, truncated=Truncation.LENGTH)
    del response.headers["content-type"]

    [seen] = read_by_warcio(records_of(response)[0])

    assert (seen.headers["WARC-Truncated"], seen.headers["Content-Type"]) == ("length", "application/octet-stream")
    assert b32encode(sha1(b"x", usedforsecurity=False).digest()).decode() in seen.headers["WARC-Payload-Digest"]


def test_our_own_reader_reads_it_back(tmp_path: Path) -> None:
    body = b"GET / HTTP/1.1\r\n\r\nis how a request begins"
    content, _ = records_of(response_of(body, url=HERE))
    (tmp_path / "one.warc.gz").write_bytes(content)

    record = read_record(tmp_path / "one.warc.gz", 0, len(content))

    assert (record.kind, record.target_uri, record.content) == ("resource", HERE, body)
    assert record.block_digest_ok() is record.payload_digest_ok() is True
