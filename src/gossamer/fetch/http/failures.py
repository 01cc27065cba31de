"""How exchanges fail: deadlines, and libcurl's errors as our failures (a table, and the few codes that need more
context).

Deadlines are one decision for all phases, taken a few times a second from outside. libcurl has timers for some of the
phases only, and each request pays for them. A sweep over the open exchanges costs less than a microsecond for each and
distinguishes all phases; the price is that a missed deadline is noticed up to one sweep late.
"""

import errno
from collections.abc import Mapping
from dataclasses import dataclass

import pycurl

from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

_SWEEPS_PER_DEADLINE = 8
_SLOWEST_SWEEP = 1.0
_FASTEST_SWEEP = 0.01


@dataclass(slots=True)
class SweepState:
    """What the sweep remembers of one exchange. Times are monotonic.

    Invariant: once set, `connected_at` stays; `grew_at` and `window_at` only move forward.
    """

    started: float
    connected_at: float = 0.0  # 0 until TCP is connected
    seen_bytes: int = 0
    grew_at: float = 0.0  # 0 until the head is complete
    window_bytes: int = 0
    window_at: float = 0.0
    checked_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exchange has progressed."""

    secure: bool
    connected: bool  # TCP; libcurl reports no time for it during the TLS handshake
    sent_after: Seconds | None  # since the start: connection and TLS are ready, the request is sent
    head_complete: bool
    body_bytes: int


def sweep_interval(limits: FetchLimits) -> Seconds:
    """The interval between sweeps, such that no deadline is missed by more than an eighth of the shortest."""
    shortest = min(limits.connect, limits.tls, limits.head, limits.idle, limits.rate_window, limits.total)
    return Seconds(min(_SLOWEST_SWEEP, max(_FASTEST_SWEEP, shortest / _SWEEPS_PER_DEADLINE)))


def overdue(limits: FetchLimits, pace: SweepState, progress: Progress, now: float) -> Failure | None:
    """The deadline that has passed, or None. Updates `pace` with what was seen."""
    age = now - pace.started
    pace.checked_at = now
    if age > limits.total:
        return Failure.TOTAL_TIMEOUT
    if progress.head_complete:
        return _late_body(limits, pace, progress.body_bytes, now)
    if progress.sent_after is not None:
        return Failure.READ_TIMEOUT if age - progress.sent_after > limits.head else None
    if not progress.connected:
        return Failure.CONNECT_TIMEOUT if age > limits.connect else None
    if pace.connected_at == 0.0:
        pace.connected_at = now
    if progress.secure and now - pace.connected_at > limits.tls:
        return Failure.TLS_HANDSHAKE_TIMEOUT
    return None


def exclude_pause(pace: SweepState, body_bytes: int, now: float) -> None:
    """We did not read since the last sweep (the body was paused): exclude that time from all deadlines."""
    pace.started += now - max(pace.checked_at, pace.started)
    pace.checked_at = pace.grew_at = pace.window_at = now
    pace.seen_bytes = pace.window_bytes = body_bytes


def _late_body(limits: FetchLimits, pace: SweepState, body_bytes: int, now: float) -> Failure | None:
    if pace.grew_at == 0.0:
        pace.grew_at = pace.window_at = now
    if body_bytes > pace.seen_bytes:
        pace.seen_bytes, pace.grew_at = body_bytes, now
    elif now - pace.grew_at > limits.idle:
        return Failure.READ_TIMEOUT
    if now - pace.window_at > limits.rate_window:
        arrived = body_bytes - pace.window_bytes
        if arrived < limits.min_bytes_per_second * (now - pace.window_at):
            return Failure.TOO_SLOW
        pace.window_bytes, pace.window_at = body_bytes, now
    return None


# Codes that pycurl has no name for.
E_HTTP2_STREAM = 92
E_PROXY = 97
E_TOO_LARGE = 100

BY_CODE: Mapping[int, Failure] = {
    pycurl.E_UNSUPPORTED_PROTOCOL: Failure.BAD_STATUS_LINE,  # "HTTP/0.9": no status line at all
    pycurl.E_URL_MALFORMAT: Failure.PROTOCOL_ERROR,
    pycurl.E_COULDNT_RESOLVE_HOST: Failure.PROTOCOL_ERROR,  # cannot happen with a pinned address
    pycurl.E_GOT_NOTHING: Failure.CONNECTION_LOST,
    pycurl.E_SEND_ERROR: Failure.CONNECTION_LOST,
    pycurl.E_RECV_ERROR: Failure.CONNECTION_LOST,
    pycurl.E_PARTIAL_FILE: Failure.INCOMPLETE_BODY,
    pycurl.E_OPERATION_TIMEDOUT: Failure.CONNECT_TIMEOUT,  # libcurl's timeout is only for connecting
    pycurl.E_SSL_CONNECT_ERROR: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_CIPHER: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_CERTPROBLEM: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_ISSUER_ERROR: Failure.TLS_UNTRUSTED,
    pycurl.E_SSL_INVALIDCERTSTATUS: Failure.TLS_UNTRUSTED,
    pycurl.E_SSL_CACERT_BADFILE: Failure.TLS_UNTRUSTED,
    pycurl.E_BAD_CONTENT_ENCODING: Failure.BAD_CHUNK,
    E_TOO_LARGE: Failure.HEADER_TOO_LARGE,
    pycurl.E_HTTP2: Failure.PROTOCOL_ERROR,
    E_HTTP2_STREAM: Failure.CONNECTION_LOST,  # the server reset this stream
    pycurl.E_COULDNT_RESOLVE_PROXY: Failure.PROXY_FAILED,
    E_PROXY: Failure.CONNECTION_LOST,  # the proxy could not reach the host, unless `_is_the_proxys`
}

_BY_ERRNO: Mapping[int, Failure] = {
    errno.ETIMEDOUT: Failure.CONNECT_TIMEOUT,
    errno.ECONNRESET: Failure.CONNECTION_LOST,
}
OUR_OWN_ERRNO = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
"""Errors of this machine, such as no free sockets: the host saw nothing of the request."""

_BEFORE_THE_HOST = frozenset((2, 4, 5, 6, 7, 8, 10, 11, 12, 14, 28, 32, 33))
"""CURLPX codes for failures of a SOCKS proxy before it gets the target: greeting and credentials."""
PROXY_WANTS_CREDENTIALS = 407

_OUT_OF_ITS_TIME = frozenset((9, 10))  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
# libcurl compares host names itself, after OpenSSL has accepted the chain: the result is then "ok" or "unspecified".
_CHAIN_IS_GOOD = frozenset((0, 1, 62))


@dataclass(frozen=True, slots=True)
class CurlFailure:
    """A libcurl error with the context needed to distinguish its causes."""

    code: int
    os_errno: int = 0
    verify_result: int = 0
    head_lines: int = 0
    length_seen: bool = False  # a Content-Length was among the head lines received
    message: str = ""
    proxied: bool = False
    # With a proxy:
    reached: bool = True  # a connection was made, to it or to the host
    proxy_error: int = 0  # CURLPX
    tunnel_status: int = 0  # its response to CONNECT
    proxy_verify_result: int = 0  # of its own certificate


def _is_the_proxys(trouble: CurlFailure) -> bool:
    """Whether the proxy failed before the host was involved. If in doubt, no: a host must not be able to make others
    wait for a proxy that works."""
    if trouble.tunnel_status:  # it is reachable
        return trouble.tunnel_status == PROXY_WANTS_CREDENTIALS
    match trouble.code:
        case pycurl.E_COULDNT_RESOLVE_PROXY | pycurl.E_COULDNT_CONNECT:
            return True
        case pycurl.E_OPERATION_TIMEDOUT:
            return not trouble.reached
        case pycurl.E_PEER_FAILED_VERIFICATION:
            return trouble.proxy_verify_result != 0
    return trouble.code == E_PROXY and trouble.proxy_error in _BEFORE_THE_HOST


def failure_of(trouble: CurlFailure) -> Failure:
    """The failure for a libcurl error; unknown codes are protocol errors."""
    if trouble.proxied and _is_the_proxys(trouble):
        return Failure.PROXY_FAILED
    match trouble.code:
        case pycurl.E_COULDNT_CONNECT:
            if trouble.proxied:
                return BY_CODE[E_PROXY]
            return _BY_ERRNO.get(trouble.os_errno, Failure.CONN_REFUSED)
        case pycurl.E_PEER_FAILED_VERIFICATION:
            if trouble.verify_result in _OUT_OF_ITS_TIME:
                return Failure.TLS_EXPIRED
            if trouble.verify_result in _CHAIN_IS_GOOD:
                return Failure.TLS_NAME_MISMATCH
            return Failure.TLS_UNTRUSTED
        case pycurl.E_FTP_WEIRD_SERVER_REPLY:  # CURLE_WEIRD_SERVER_REPLY under its old name
            if trouble.head_lines == 0:
                return Failure.BAD_STATUS_LINE
            # A second, different Content-Length has the same message as an invalid one.
            second_length = trouble.length_seen and "Content-Length" in trouble.message
            return Failure.CONFLICTING_LENGTH if second_length else Failure.BAD_HEADER
    return BY_CODE.get(trouble.code, Failure.PROTOCOL_ERROR)


def may_have_contacted(trouble: CurlFailure) -> bool:
    """Whether the host may have seen anything of the request. If in doubt, yes."""
    if trouble.code == pycurl.E_URL_MALFORMAT or (trouble.proxied and _is_the_proxys(trouble)):
        return False
    return not (trouble.code == pycurl.E_COULDNT_CONNECT and trouble.os_errno in OUR_OWN_ERRNO)
