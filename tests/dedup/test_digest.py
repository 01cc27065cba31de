"""Digests of bodies."""

from base64 import b32encode

from gossamer.dedup import payload_digest


def test_the_digest_of_nothing_is_the_one_every_archive_knows() -> None:
    assert b32encode(payload_digest(b"")) == b"3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_bodies_that_differ_by_a_byte_have_different_digests_of_twenty_bytes() -> None:
    one, other = payload_digest(b"page 1"), payload_digest(b"page 2")

    assert len(one) == len(other) == 20
    assert one != other
