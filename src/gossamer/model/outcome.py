"""The outcome of a fetch: a response or an expected failure."""

from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, NamedTuple

from gossamer.model.units import Instant, Seconds, Url


class Failure(Enum):
    """Expected failures of a fetch: counted, never raised."""

    BAD_SCHEME = "bad_scheme"
    BAD_URL = "bad_url"
    DNS_NXDOMAIN = "dns_nxdomain"
    DNS_SERVFAIL = "dns_servfail"
    DNS_TIMEOUT = "dns_timeout"
    DNS_NO_ADDRESS = "dns_no_address"
    DNS_CNAME_LOOP = "dns_cname_loop"
    BLOCKED_ADDRESS = "blocked_address"
    BLOCKED_PORT = "blocked_port"
    PROXY_FAILED = "proxy_failed"
    CONN_REFUSED = "conn_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECTION_LOST = "connection_lost"
    TLS_EXPIRED = "tls_expired"
    TLS_UNTRUSTED = "tls_untrusted"
    TLS_NAME_MISMATCH = "tls_name_mismatch"
    TLS_HANDSHAKE_TIMEOUT = "tls_handshake_timeout"
    TLS_PROTOCOL = "tls_protocol"
    BAD_STATUS_LINE = "bad_status_line"
    BAD_HEADER = "bad_header"
    HEADER_TOO_LARGE = "header_too_large"
    CONFLICTING_LENGTH = "conflicting_length"
    BAD_CHUNK = "bad_chunk"
    INCOMPLETE_BODY = "incomplete_body"
    READ_TIMEOUT = "read_timeout"
    TOTAL_TIMEOUT = "total_timeout"
    TOO_SLOW = "too_slow"
    BAD_ENCODING = "bad_encoding"
    UNEXPECTED_1XX = "unexpected_1xx"
    PROTOCOL_ERROR = "protocol_error"


class FailureClass(StrEnum):
    """How the failures of URLs are classed for operators."""

    FAILED = "failed"
    CORRUPTED = "corrupted"  # there was a response, but its body is broken


CORRUPTED: Final = frozenset(
    failure.value
    for failure in (Failure.CONFLICTING_LENGTH, Failure.BAD_CHUNK, Failure.INCOMPLETE_BODY, Failure.BAD_ENCODING)
)
"""The reasons of the class `corrupted`. All other reasons for which a URL is given up are of the class `failed`."""


def failure_class(reason: str | None) -> FailureClass:
    return FailureClass.CORRUPTED if reason in CORRUPTED else FailureClass.FAILED


class Truncation(Enum):
    """Why a stored body is shorter than the one sent. Values as in WARC-Truncated."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


class Response(NamedTuple):
    """A complete response as it was on the wire. One per fetch, so a tuple: creating it takes half the time of a class.

    `head` is the exact bytes from the status line to the blank line. `wire_body` is the body as received, with transfer
    and content codings, cut at the size limit. `request_head` is the exact bytes sent. HTTP/2 has no such bytes: both
    heads are then written as in HTTP/1.1, and `protocol` says so. The values of credential fields are omitted.
    """

    url: Url
    status: int
    request_head: bytes
    head: bytes
    wire_body: bytes
    headers: dict[str, str]  # lower-case names, values joined with ", "; decoded as latin-1
    address: str
    started: Instant
    took: Seconds  # from the first byte sent to the last byte read, by the monotonic clock
    truncated: Truncation | None = None
    new_connection: bool = True
    protocol: str = "http/1.1"  # as WARC-Protocol has it: http/1.0, http/1.1, h2
    unverified: bool = False  # https without certificate verification
    dropped_fields: int = 0  # lines of the head that are not header fields
    repeats: int = 0  # how often the fetcher sent the request again before this response


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable response. `contacted` says whether the host received anything; if so, its delay applies."""

    failure: Failure
    detail: str  # one line for users, without credentials
    took: Seconds
    contacted: bool
    repeats: int = field(default=0, kw_only=True)  # as in `Response`


FetchOutcome = Response | Failed
