"""How moments and digests are written."""

import base64
import datetime


def iso_moment(at: float) -> str:
    """ISO 8601, UTC, to the millisecond. Raises ValueError or OverflowError beyond the calendar."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def sha1_text(digest: bytes) -> str:
    """`sha1:` and the digest in base 32, as WARC files have it."""
    return "sha1:" + base64.b32encode(digest).decode("ascii")
