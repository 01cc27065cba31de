"""What libcurl reports, as one of our failures. A table, and the few codes that need a look at the context."""

import errno
from collections.abc import Mapping
from dataclasses import dataclass

import pycurl

from gossamer.model.outcome import Failure

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
    pycurl.E_OPERATION_TIMEDOUT: Failure.CONNECT_TIMEOUT,  # libcurl only watches the connecting
    pycurl.E_SSL_CONNECT_ERROR: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_CIPHER: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_CERTPROBLEM: Failure.TLS_PROTOCOL,
    pycurl.E_SSL_ISSUER_ERROR: Failure.TLS_UNTRUSTED,
    pycurl.E_SSL_INVALIDCERTSTATUS: Failure.TLS_UNTRUSTED,
    pycurl.E_SSL_CACERT_BADFILE: Failure.TLS_UNTRUSTED,
    pycurl.E_BAD_CONTENT_ENCODING: Failure.BAD_CHUNK,
    E_TOO_LARGE: Failure.HEADER_TOO_LARGE,
    pycurl.E_HTTP2: Failure.PROTOCOL_ERROR,
    E_HTTP2_STREAM: Failure.CONNECTION_LOST,  # the server gave this one stream up
    pycurl.E_COULDNT_RESOLVE_PROXY: Failure.PROXY_FAILED,
    E_PROXY: Failure.CONNECTION_LOST,  # it could not reach the host, if `_is_the_proxys` does not know better
}

_BY_ERRNO: Mapping[int, Failure] = {
    errno.ETIMEDOUT: Failure.CONNECT_TIMEOUT,
    errno.ECONNRESET: Failure.CONNECTION_LOST,
}
OUR_OWN_ERRNO = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL))
"""The machine refused us a socket: the host never saw anything."""

_BEFORE_THE_HOST = frozenset((2, 4, 5, 6, 7, 8, 10, 11, 12, 14, 28, 32, 33))
"""CURLPX codes of what a SOCKS proxy says, or does not, before it is told whom to connect to: greeting, credentials."""
PROXY_WANTS_CREDENTIALS = 407

_OUT_OF_ITS_TIME = frozenset((9, 10))  # X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_CERT_HAS_EXPIRED
# libcurl compares names itself, after OpenSSL was content: the verify result is then "ok" or "unspecified".
_CHAIN_IS_GOOD = frozenset((0, 1, 62))


@dataclass(frozen=True, slots=True)
class CurlFailure:
    """A libcurl error with what is needed to tell its causes apart."""

    code: int
    os_errno: int = 0
    verify_result: int = 0
    head_lines: int = 0
    length_seen: bool = False  # a Content-Length was among the head lines received
    message: str = ""
    proxied: bool = False
    # Where there is a proxy:
    reached: bool = True  # there was a connection, to it or to the host
    proxy_error: int = 0  # CURLPX
    tunnel_status: int = 0  # its answer to CONNECT
    proxy_verify_result: int = 0  # of its own certificate


def _is_the_proxys(trouble: CurlFailure) -> bool:
    """Whether the proxy failed before the host came into it. In doubt, no: a host must not be able to make others
    wait for a proxy that works."""
    if trouble.tunnel_status:  # it is there
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
    """One failure for every code; what we do not know is a protocol error."""
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
        case pycurl.E_FTP_WEIRD_SERVER_REPLY:  # libcurl's "weird server reply", under its first name
            if trouble.head_lines == 0:
                return Failure.BAD_STATUS_LINE
            # A second length that differs is refused with the words for a bad one.
            second_length = trouble.length_seen and "Content-Length" in trouble.message
            return Failure.CONFLICTING_LENGTH if second_length else Failure.BAD_HEADER
    return BY_CODE.get(trouble.code, Failure.PROTOCOL_ERROR)


def contacted(trouble: CurlFailure) -> bool:
    """Whether the host may have seen something of us. In doubt, yes."""
    if trouble.code == pycurl.E_URL_MALFORMAT or (trouble.proxied and _is_the_proxys(trouble)):
        return False
    return not (trouble.code == pycurl.E_COULDNT_CONNECT and trouble.os_errno in OUR_OWN_ERRNO)
