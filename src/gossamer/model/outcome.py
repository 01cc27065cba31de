"""What came of a visit: a response, or one of the ways the web disappoints us."""

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from gossamer.model.units import Instant, Seconds, Url


class Failure(Enum):
    """Ways the web disappoints us. Expected, counted, never raised."""

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
    PROTOCOL_ERROR = "protocol_error"


class Truncation(Enum):
    """Why a stored body is shorter than what the server had. The words are WARC-Truncated's."""

    LENGTH = "length"
    TIME = "time"
    DISCONNECT = "disconnect"


class Response(NamedTuple):
    """A complete answer, as it was on the wire. One for every fetch: a tuple is made in half the time.

    `head` is the exact bytes from the status line to the blank line. `wire_body` is the body as
    received, transfer and content codings still on, cut at the body cap. `request_head` is the exact bytes sent.
    HTTP/2 has no such bytes: both heads are then spelt as in HTTP/1.1, and `protocol` says so. Of a request with
    credentials the values of their fields are left out.
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
    unverified: bool = False  # https, and nobody checked the certificate
    dropped_fields: int = 0  # lines of the head that are no header fields


@dataclass(frozen=True, slots=True)
class Failed:
    """No usable answer. `contacted` says whether the host saw anything of us: if so its delay counts."""

    failure: Failure
    detail: str  # for people, one line, no secrets
    took: Seconds
    contacted: bool


FetchOutcome = Response | Failed
