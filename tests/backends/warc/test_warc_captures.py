"""What is written for documents, duplicates and pages that did not change; read back by other people's tools."""

import base64
from pathlib import Path

from gossamer.backends.warc.captures import WarcCaptures, WarcEncoder
from gossamer.backends.warc.record import payload_digest_of
from gossamer.backends.warc.writer import WarcWriter
from gossamer.dedup import payload_digest
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, Original
from gossamer.model.units import Instant, Url
from tests.backends.warc.warc_samples import (
    STARTED,
    Seen,
    new_ids,
    read_by_fastwarc,
    read_by_warcio,
    response_of,
    writer_in,
)
from tests.warc_checking import check_warcs

BODY = b"<html>the same</html>"
ORIGINAL = Original(Url("http://y.test/first"), Instant(STARTED - 60), payload_digest(BODY))


def written(folder: Path, *captures: Capture) -> list[Seen]:
    """The records behind the warcinfo record, after both checkers have had their say."""
    writer: WarcWriter = writer_in(folder)
    files = WarcCaptures(writer, new_ids(7))
    for capture in captures:
        files.append(capture)
    files.flush()
    files.close()
    check_warcs(folder)
    data = (folder / writer.file_name).read_bytes()
    assert [seen.headers for seen in read_by_warcio(data)] == [seen.headers for seen in read_by_fastwarc(data)]
    return read_by_warcio(data)[1:]


def capture_of(response: Response, original: Original | None = None) -> Capture:
    return Capture(response, payload_digest(response.wire_body), None, original)


def test_a_document_is_a_response_and_a_request(tmp_path: Path) -> None:
    answer, question = written(tmp_path, capture_of(response_of(BODY)))

    assert (answer.kind, question.kind) == ("response", "request")
    assert answer.body == BODY
    assert question.headers["WARC-Concurrent-To"] == answer.headers["WARC-Record-ID"]


def test_a_duplicate_with_the_very_same_bytes_keeps_its_head(tmp_path: Path) -> None:
    response = response_of(BODY)
    answer, question = written(tmp_path, capture_of(response, ORIGINAL))

    assert (answer.kind, question.kind) == ("revisit", "request")
    assert answer.headers["WARC-Refers-To-Target-URI"] == "http://y.test/first"
    assert answer.headers["WARC-Refers-To-Date"] == "2023-11-14T22:12:20.123456Z"
    assert answer.headers["WARC-Payload-Digest"] == payload_digest_of(BODY)
    assert int(answer.headers["Content-Length"]) == len(response.head)


def test_a_duplicate_in_another_coding_leaves_its_head_out_so_that_the_originals_serves(tmp_path: Path) -> None:
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
    response = response_of(chunked, more_headers={"transfer-encoding": "chunked"})

    answer, _ = written(tmp_path, capture_of(response, ORIGINAL))

    assert answer.headers["Content-Length"] == "0"
    assert answer.headers["WARC-Payload-Digest"] == payload_digest_of(BODY)


def test_a_304_refers_to_the_capture_that_has_the_document(tmp_path: Path) -> None:
    response = response_of(b"", status=304, more_headers={"etag": '"7"'})
    own = ORIGINAL._replace(url=response.url)

    answer, question = written(tmp_path, capture_of(response, own))

    assert answer.headers["WARC-Profile"].endswith("/revisit/server-not-modified")
    assert answer.headers["WARC-Refers-To-Target-URI"] == answer.headers["WARC-Target-URI"]
    assert answer.headers["WARC-Refers-To-Date"] == "2023-11-14T22:12:20.123456Z"
    assert answer.headers["WARC-Payload-Digest"] == "sha1:" + base64.b32encode(own.payload_digest).decode()
    assert question.kind == "request"


def test_what_a_page_links_to_follows_as_metadata(tmp_path: Path) -> None:
    response = response_of(BODY)
    links = [Url("http://x.test/a"), Url("https://z.test/?q=1")]

    answer, _, metadata = written(tmp_path, WarcEncoder(new_ids(3)).capture(response, payload_digest(BODY), links))

    assert metadata.kind == "metadata"
    assert metadata.headers["Content-Type"] == "application/warc-fields"
    assert metadata.headers["WARC-Concurrent-To"] == answer.headers["WARC-Record-ID"]
    assert metadata.body == b"outlink: http://x.test/a\r\noutlink: https://z.test/?q=1\r\n"


def test_a_duplicate_over_ftp_has_its_conversation_beside_it(tmp_path: Path) -> None:
    answer, conversation = written(tmp_path, capture_of(response_of(BODY, url="ftp://x.test/file"), ORIGINAL))

    assert (answer.kind, conversation.kind) == ("revisit", "metadata")
    assert answer.headers["Content-Length"] == "0"


def test_places_are_those_of_the_answers_whatever_stands_between_them(tmp_path: Path) -> None:
    writer = writer_in(tmp_path)
    files = WarcCaptures(writer, new_ids(7))
    encoder = WarcEncoder(new_ids(8))
    captures = [
        capture_of(response_of(BODY)),
        encoder.capture(response_of(b"other"), payload_digest(b"other"), [Url("http://x.test/")]),
        capture_of(response_of(BODY), ORIGINAL),
    ]

    places = [files.append(capture) for capture in captures]
    files.flush()
    files.close()

    seen = read_by_warcio((tmp_path / writer.file_name).read_bytes())
    answers = [each.offset for each in seen if each.kind in ("response", "revisit")]
    assert [place.offset for place in places] == answers
