"""Moments and digests are written as the standard library writes them."""

import base64
import datetime

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.model.written import iso_moment, sha1_text

LAST = datetime.datetime(9999, 12, 31, 23, 59, 58, tzinfo=datetime.UTC).timestamp()
FIRST = datetime.datetime(1, 1, 1, 0, 0, 2, tzinfo=datetime.UTC).timestamp()


@given(st.floats(FIRST, LAST) | st.floats(-2.0, 2.0) | st.floats(1.7e9, 1.9e9) | st.integers(0, 2**31))
@example(1.9999999)
@example(-1e-9)
@example(-0.5)
@example(-1.9999999)
@example(1_700_000_000.0004999)
@example(1_700_000_000.9999999)
def test_a_moment_is_written_as_the_calendar_writes_it(at: float) -> None:
    usual = datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")

    assert iso_moment(at) == usual.removesuffix("+00:00") + "Z"


@given(st.binary(min_size=20, max_size=20) | st.binary(max_size=40))
@example(bytes(20))
@example(b"\xff" * 20)
def test_a_digest_is_written_in_base_32(digest: bytes) -> None:
    assert sha1_text(digest) == "sha1:" + base64.b32encode(digest).decode("ascii")
