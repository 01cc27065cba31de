"""A libcurl handle, set up once and reused for many requests (ADR 10). Hot: benchmarks/bench_fetch.py."""

from typing import Final

import pycurl

from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.codings import ACCEPT_ENCODING
from gossamer.fetch.http.exchange import Exchange
from gossamer.fetch.http.failures import Progress, SweepState
from gossamer.fetch.http.options import HostOptions, header_line, redacted, wire_parts
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.units import Seconds

MICROSECONDS: Final = 1e6
_PERMIT: Final[int] = pycurl.SOCKOPT_OK
_REFUSE: Final[int] = pycurl.SOCKOPT_ERROR
_MAX_REPEATS: Final = 1  # of a request, by libcurl itself

_SUPPRESS_CONNECT_HEADERS: Final = 265  # CURLOPT_SUPPRESS_CONNECT_HEADERS; pycurl has no name for it
_IDLE_SECONDS: Final = 90  # an idle connection is not reused after this long
# libcurl aborts an endless header line at 100 KiB, one buffer later: less than 128 KiB beyond our limit.
_READ_BUFFER: Final = 40 * 1024
_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

Fields = tuple[tuple[str, str], ...]


def default_fields(user_agent: str) -> Fields:
    """The header fields of every request. Raises ValueError for an invalid user agent."""
    fields = (("User-Agent", user_agent), ("Accept", _ACCEPT), ("Accept-Encoding", ACCEPT_ENCODING))
    for name, value in fields:
        header_line(name, value)
    return fields


def all_fields(default: Fields, options: HostOptions) -> list[tuple[str, str]]:
    """The fields sent to a host, including secrets. The host's own fields replace the default ones."""
    theirs = tuple(options.fields())
    replaced = {name.lower() for name, _ in theirs}
    return [*(field for field in default if field[0].lower() not in replaced), *theirs]


def session_store() -> pycurl.CurlShare:
    """A store for the TLS sessions of 25 hosts, a fixed number in libcurl."""
    share = pycurl.CurlShare()
    share.setopt(pycurl.SH_SHARE, pycurl.LOCK_DATA_SSL_SESSION)
    return share


class Handle:
    """A libcurl handle with its fixed options set, and the exchange it is used for.

    Invariant: libcurl's options match `options` and `extra`.
    """

    __slots__ = (
        "_default_patience",
        "_fields",
        "_patience",
        "_tail",
        "begun",
        "connections",
        "curl",
        "exchange",
        "extra",
        "fresh",
        "options",
        "pace",
        "proxied",
        "refused",
        "reused",
        "secure",
        "sessions",
    )

    def __init__(self, limits: FetchLimits, ca_file: str | None, room: BodyMemory) -> None:
        self.exchange = Exchange(limits, room)
        self.exchange.resume = self._resume
        self.begun = 0.0
        self.pace: SweepState | None = None  # created by the sweep; most exchanges end before one
        self.secure = False
        self.connections = 0  # opened for the current request
        self.reused = False  # an idle connection is there for the current request; libcurl will try it first
        self.refused = False  # another repeat was refused
        self.fresh = False
        self.proxied = False
        self.options: HostOptions | None = None
        self.extra: Fields = ()
        self._fields: list[str] = []
        self._tail = ""
        self.sessions: pycurl.CurlShare | None = None
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.NOPROXY, "")  # ignore no_proxy in the environment
        curl.setopt(_SUPPRESS_CONNECT_HEADERS, 1)
        curl.setopt(pycurl.HTTP_TRANSFER_DECODING, 0)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        curl.setopt(pycurl.SSLVERSION, pycurl.SSLVERSION_TLSv1_2)
        # The address is given, so nothing needs caching; libcurl would walk its cache after each fetch.
        curl.setopt(pycurl.DNS_CACHE_TIMEOUT, 0)
        curl.setopt(pycurl.MAXAGE_CONN, _IDLE_SECONDS)
        curl.setopt(pycurl.BUFFERSIZE, _READ_BUFFER)
        # A backstop for the sweep, which cannot see libcurl reconnect when it silently repeats a request.
        self._default_patience = int(1000 * (limits.connect + limits.tls)) + 1
        self._patience = self._default_patience
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, self._patience)
        if ca_file is not None:
            curl.setopt(pycurl.CAINFO, ca_file)
            curl.setopt(pycurl.PROXY_CAINFO, ca_file)
        curl.setopt(pycurl.HEADERFUNCTION, self.exchange.on_head)
        curl.setopt(pycurl.WRITEFUNCTION, self.exchange.on_body)
        curl.setopt(pycurl.SOCKOPTFUNCTION, self._on_connect)

    def _on_connect(self, _fd: int, _purpose: int) -> int:
        """Called for every new connection. libcurl repeats a request up to five times when an HTTP/2 server refuses the
        stream or says goodbye, each time on a new connection: permit that once."""
        if self.repeats >= _MAX_REPEATS:
            self.refused = True
            return _REFUSE
        self.connections += 1
        return _PERMIT

    @property
    def repeats(self) -> int:
        """How often the current request was sent again after the first time; at most one too many."""
        return max(0, self.connections - (not self.reused))

    def _resume(self) -> None:
        """Take the held piece, and continue reading."""
        self.curl.pause(pycurl.PAUSE_CONT)

    def follow(self, options: HostOptions, default: Fields) -> None:
        """Use these options from now on. `default` are the fields of every request."""
        curl = self.curl
        version = pycurl.CURL_HTTP_VERSION_2TLS if options.http2 else pycurl.CURL_HTTP_VERSION_1_1
        curl.setopt(pycurl.HTTP_VERSION, version)
        curl.setopt(pycurl.SSL_VERIFYPEER, options.verify)
        curl.setopt(pycurl.SSL_VERIFYHOST, 2 if options.verify else 0)
        proxy = options.proxy
        self.proxied = proxy is not None
        if proxy is None:
            curl.setopt(pycurl.PROXY, "")  # also disables http_proxy and similar variables
            curl.setopt(pycurl.PROXYUSERNAME, "")
            curl.setopt(pycurl.PROXYPASSWORD, "")
        else:
            curl.setopt(pycurl.PROXY, f"{proxy.scheme}://{proxy.host}:{proxy.port}")
            curl.setopt(pycurl.PROXYUSERNAME, proxy.user)
            curl.setopt(pycurl.PROXYPASSWORD, proxy.password)
        fields = all_fields(default, options)
        self._fields = [f"{name}: {value}" for name, value in fields]
        if self.proxied:
            self._fields.append("Proxy-Connection:")  # without a value: keeps libcurl from adding its own
        self._tail = "".join(f"{name}: {redacted(name, value)}\r\n" for name, value in fields) + "\r\n"
        curl.setopt(pycurl.HTTPHEADER, self._fields)
        self.extra = ()
        self.options = options

    def resume_from(self, sessions: pycurl.CurlShare) -> None:
        """Use this store for TLS sessions."""
        if sessions is not self.sessions:
            if self.sessions is not None:
                self.curl.unsetopt(pycurl.SHARE)
            self.curl.setopt(pycurl.SHARE, sessions)
            self.sessions = sessions

    def turn_to(self, request: Request) -> bytes:
        """Set what differs from the last request; returns the request head as it is recorded. May raise ValueError."""
        scheme, where, target = wire_parts(request.url, request.host, request.port)
        self.secure = self.exchange.secure = scheme == "https"
        curl = self.curl
        # libcurl gets only a host and a port here. The path is passed separately, so that it stays untouched.
        curl.setopt(pycurl.URL, f"{scheme}://{where}/")
        if self.proxied:
            assert self.options is not None and self.options.proxy is not None
            whole = self.options.proxy.forwards and not self.secure
            curl.setopt(pycurl.REQUEST_TARGET, f"{scheme}://{where}{target}" if whole else target)
            curl.unsetopt(pycurl.CONNECT_TO)  # an empty list would keep the last address and tunnel to it
        else:
            curl.setopt(pycurl.REQUEST_TARGET, target)
            address = request.address
            curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        if request.body_bytes is not None:
            self.exchange.body_limit = min(self.exchange.body_limit, request.body_bytes)
        patience = self._default_patience
        if request.connect is not None:
            patience = min(patience, max(1, int(1000 * request.connect)))
        if patience != self._patience:
            curl.setopt(pycurl.CONNECTTIMEOUT_MS, patience)
            self._patience = patience
        tail = self._tail
        if request.headers or self.extra:
            tail = self._with_extra(request.headers)
        return f"GET {target} HTTP/1.1\r\nHost: {where}\r\n{tail}".encode("latin-1")

    def _with_extra(self, extra: Fields) -> str:
        if extra != self.extra:
            self.curl.setopt(pycurl.HTTPHEADER, [*self._fields, *(header_line(name, value) for name, value in extra)])
            self.extra = extra
        return self._tail[:-2] + "".join(f"{name}: {redacted(name, value)}\r\n" for name, value in extra) + "\r\n"

    def progress(self) -> Progress:
        curl, exchange = self.curl, self.exchange
        asked = curl.getinfo(pycurl.PRETRANSFER_TIME_T)
        return Progress(
            secure=self.secure,
            connected=curl.getinfo(pycurl.NUM_CONNECTS) > 0,
            sent_after=Seconds(asked / MICROSECONDS) if asked else None,
            head_complete=bool(exchange.head),
            body_bytes=exchange.body_bytes,
        )
