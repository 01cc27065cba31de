"""Records as other readers see them."""

import gzip
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.backends.warc import (
    Original,
    build_request,
    build_response,
    build_revisit,
    build_warcinfo,
    payload_digest_of,
)
from gossamer.model.archive_record import without_chunks
from gossamer.model.outcome import Response, Truncation
from gossamer.model.units import Url
from tests.backends.warc.warc_samples import (
    INFO,
    STARTED,
    new_ids,
    read_by_fastwarc,
    read_by_warcio,
    response_of,
)

ID, OTHER_ID = "urn:uuid:00000000-0000-4000-8000-000000000001", "urn:uuid:00000000-0000-4000-8000-000000000002"
ORIGINAL = Original(Url("http://x.test/first"), STARTED, OTHER_ID)


def record_of(response: Response, **more: str) -> bytes:
    return build_response(response, record_id=ID, **more)


def test_a_response_is_read_back_as_it_was_on_the_wire() -> None:
    response = response_of(b"<p>\xff\x00\r\n\r\n</p>", more_headers={"content-encoding": "identity"})
    member = record_of(response)

    [by_warcio] = read_by_warcio(member)
    [by_fastwarc] = read_by_fastwarc(member)

    assert by_warcio.body == by_fastwarc.body == response.wire_body
    assert by_warcio.headers == by_fastwarc.headers
    assert response.head + response.wire_body + b"\r\n\r\n" == gzip.decompress(member).partition(b"\r\n\r\n")[2]


def test_a_response_says_what_it_is() -> None:
    response = response_of(b"hello", address="[2001:db8::7]")

    [seen] = read_by_warcio(record_of(response, concurrent_to=OTHER_ID))

    assert seen.headers == {
        "WARC-Type": "response",
        "WARC-Record-ID": f"<{ID}>",
        "WARC-Date": "2023-11-14T22:13:20.123456Z",
        "WARC-Target-URI": "http://x.test/page?a=1",
        "WARC-IP-Address": "2001:db8::7",
        "WARC-Concurrent-To": f"<{OTHER_ID}>",
        "Content-Type": "application/http; msgtype=response",
        "WARC-Payload-Digest": "sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N",
        "WARC-Block-Digest": seen.headers["WARC-Block-Digest"],
        "Content-Length": str(len(response.head) + 5),
    }


def test_request_and_response_point_at_each_other() -> None:
    response = response_of()

    members = build_response(response, record_id=ID, concurrent_to=OTHER_ID)
    members += build_request(response, record_id=OTHER_ID, concurrent_to=ID)
    answer, request = read_by_warcio(members)

    assert answer.headers["WARC-Concurrent-To"] == request.headers["WARC-Record-ID"]
    assert request.headers["WARC-Concurrent-To"] == answer.headers["WARC-Record-ID"]
    assert request.headers["Content-Type"] == "application/http; msgtype=request"
    assert gzip.decompress(members).endswith(b"\r\n\r\n" + response.request_head + b"\r\n\r\n")
    assert [seen.kind for seen in read_by_fastwarc(members)] == ["response", "request"]


@pytest.mark.parametrize("reason", list(Truncation))
def test_a_body_that_was_cut_says_why(reason: Truncation) -> None:
    [seen] = read_by_warcio(record_of(response_of(truncated=reason)))

    assert seen.headers["WARC-Truncated"] == reason.value


def test_a_whole_body_is_not_called_truncated() -> None:
    [seen] = read_by_warcio(record_of(response_of()))

    assert "WARC-Truncated" not in seen.headers


@pytest.mark.parametrize(("unverified", "said"), [(True, "no"), (False, None)])
def test_an_answer_whose_certificate_nobody_checked_says_so(unverified: bool, said: str | None) -> None:
    [seen] = read_by_warcio(record_of(response_of()._replace(unverified=unverified)))

    assert seen.headers.get("WARC-TLS-Verified") == said


def test_the_payload_digest_covers_the_body_as_stored_so_that_checkers_agree() -> None:
    chunked = response_of(b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", more_headers={"transfer-encoding": "chunked"})
    member = record_of(chunked)

    [seen] = read_by_warcio(member, check_digests=True)

    assert seen.body == chunked.wire_body
    assert seen.headers["WARC-Payload-Digest"] == payload_digest_of(chunked.wire_body)
    assert len(read_by_fastwarc(member)) == 1


def test_a_digest_that_is_known_is_not_computed_again() -> None:
    [seen] = read_by_warcio(record_of(response_of(), payload_digest="sha1:KNOWN"), check_digests=False)

    assert seen.headers["WARC-Payload-Digest"] == "sha1:KNOWN"


def test_a_revisit_with_the_same_payload_refers_to_the_original() -> None:
    response = response_of(b"same as ever")
    member = build_revisit(response, record_id=ID, original=ORIGINAL)

    [seen] = read_by_warcio(member)
    [by_fastwarc] = read_by_fastwarc(member)

    assert seen.headers == by_fastwarc.headers
    assert seen.headers["WARC-Type"] == "revisit"
    assert seen.headers["WARC-Profile"].endswith("/warc/1.1/revisit/identical-payload-digest")
    assert seen.headers["WARC-Payload-Digest"] == payload_digest_of(b"same as ever")
    assert seen.headers["WARC-Refers-To"] == f"<{OTHER_ID}>"
    assert seen.headers["WARC-Refers-To-Target-URI"] == "http://x.test/first"
    assert seen.headers["WARC-Refers-To-Date"] == "2023-11-14T22:13:20.123456Z"
    assert seen.headers["WARC-Truncated"] == "length"
    assert seen.body == b"" and int(seen.headers["Content-Length"]) == len(response.head)


def test_a_304_becomes_a_revisit_that_was_not_modified() -> None:
    response = response_of(b"", status=304, more_headers={"etag": '"7"'})
    original = Original(Url("http://x.test/page?a=1"), STARTED)

    [seen] = read_by_warcio(build_revisit(response, record_id=ID, original=original))

    assert seen.headers["WARC-Profile"].endswith("/warc/1.1/revisit/server-not-modified")
    assert not {"WARC-Truncated", "WARC-Payload-Digest", "WARC-Refers-To"} & seen.headers.keys()


def test_a_warcinfo_record_names_software_agent_contact_and_policy() -> None:
    member = build_warcinfo(INFO, record_id=ID, file_name="a.warc.gz", now=STARTED)

    [seen] = read_by_fastwarc(member)

    assert read_by_warcio(member)[0].kind == seen.kind == "warcinfo"
    assert seen.headers["WARC-Filename"] == "a.warc.gz"
    fields = dict(line.split(": ", 1) for line in seen.body.decode().splitlines())
    assert fields["software"] == INFO.software
    assert fields["http-header-user-agent"] == INFO.user_agent
    assert fields["operator"] == INFO.contact
    assert fields["robots"] == "obey (RFC 9309)"
    assert fields["format"] == "WARC File Format 1.1"


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=2000), st.sampled_from([None, *Truncation]))
def test_any_body_survives(body: bytes, truncated: Truncation | None) -> None:
    member = record_of(response_of(body, truncated=truncated))

    assert read_by_warcio(member)[0].body == body
    assert read_by_fastwarc(member)[0].body == body


def test_a_changed_byte_does_not_go_unnoticed() -> None:
    plain = gzip.decompress(record_of(response_of(b"hello")))

    with pytest.raises(Exception, match="digest failed"):
        read_by_warcio(gzip.compress(plain.replace(b"hello", b"jello")))


def test_record_ids_are_random_uuids_and_come_from_the_seed() -> None:
    ids = new_ids(7)
    drawn = [ids.next() for _ in range(1000)]
    again = new_ids(7)

    assert len(set(drawn)) == 1000
    assert drawn == [again.next() for _ in range(1000)]
    shape = re.compile(r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert all(shape.fullmatch(one) for one in drawn)


def test_a_url_cannot_forge_a_header() -> None:
    with pytest.raises(ValueError, match="line break"):
        record_of(response_of(url="http://x.test/\r\nWARC-Type: metadata"))


@settings(deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(0, 2**32))
def test_chunks_come_off_whatever_their_sizes(pieces: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    coded = b"".join(
        f"{len(piece):{rng.choice('xX')}}".encode() + rng.choice([b"", b";a=b"]) + b"\r\n" + piece + b"\r\n"
        for piece in pieces
    )

    assert without_chunks(coded + b"0\r\n\r\n") == b"".join(pieces)
    assert b"".join(pieces).startswith(without_chunks(coded[:-1])) or not pieces


@pytest.mark.parametrize("body", [b"", b"<html>", b"xyz\r\n", b"-5\r\nhello", b"0x5\r\nhello", b"\r\n", b"f" * 5000])
def test_what_was_never_chunked_stays_as_it_is(body: bytes) -> None:
    assert without_chunks(body) == body
