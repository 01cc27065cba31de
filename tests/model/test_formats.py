"""Formats of timestamps and digests."""

import pytest

from gossamer.model.formats import iso_timestamp, sha1_text


@pytest.mark.parametrize(
    ("at", "written"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-0.5, "1969-12-31T23:59:59.500Z"),
        (1.9999999, "1970-01-01T00:00:02.000Z"),
        (1_700_000_000.0004999, "2023-11-14T22:13:20.000Z"),
        (1_700_000_000.1239, "2023-11-14T22:13:20.123Z"),
    ],
)
def test_a_timestamp_is_in_utc_to_the_millisecond(at: float, written: str) -> None:
    assert iso_timestamp(at) == written


def test_a_digest_is_written_in_base_32() -> None:
    assert sha1_text(bytes(20)) == "sha1:" + 32 * "A"
    assert sha1_text(b"\xff" * 20) == "sha1:" + 32 * "7"
