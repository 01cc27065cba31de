"""Digests and dates, as other tools write them."""

from base64 import b32encode
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from gossamer.backends.warc.record import base32, warc_date
from gossamer.model.units import Instant


@given(st.binary(min_size=20, max_size=20))
def test_a_digest_is_written_as_the_library_writes_it(digest: bytes) -> None:
    assert base32(digest) == b32encode(digest).decode()


@given(st.lists(st.floats(min_value=0, max_value=4e9), min_size=1, max_size=5))
def test_a_date_is_that_of_its_second_and_its_microseconds_in_whatever_order_dates_come(moments: list[float]) -> None:
    for moment in moments:
        written = warc_date(Instant(moment))
        read = datetime.strptime(written, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC).timestamp()
        assert abs(read - moment) < 2e-6
        assert written[:19] == datetime.fromtimestamp(int(moment), UTC).isoformat()[:19]
