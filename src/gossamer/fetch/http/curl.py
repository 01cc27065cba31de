"""Hot: HTTP/1.1 and TLS on libcurl and the event loop (benchmarks/bench_fetch.py; ADR 6)."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final

import pycurl

from gossamer.clock import Clock
from gossamer.fetch.http.codings import ACCEPT_ENCODING
from gossamer.fetch.http.deadlines import Pace, Progress, overdue, sweep_interval
from gossamer.fetch.http.exchange import Exchange
from gossamer.fetch.http.failures import Trouble, contacted, failure_of
from gossamer.fetch.http.multi import CurlPool
from gossamer.fetch.http.ports import FetchLimits, Request
from gossamer.fetch.http.request import header_line, wire_parts
from gossamer.fetch.http.resting import RestingSockets
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import Seconds

# libcurl walks all connections to one address to find the host's own. Hosts spread over several pools keep
# that walk short where thousands of hosts share an address (ADR 6).
_POOLS: Final = 8
_IDLE_SECONDS: Final = 90  # a connection unused for longer is not used again
_READ_BUFFER: Final = 128 * 1024
_MICROSECONDS: Final = 1e6
_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_LONGEST_DETAIL: Final = 200


class _Overdue(Exception):
    """Set on an exchange's future by the sweep. Never leaves this module."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


class _Handle:
    """A libcurl handle with its fixed options set, and the exchange it is used for."""

    __slots__ = ("begun", "curl", "exchange", "extra", "fresh", "pace", "secure")

    def __init__(self, limits: FetchLimits, fields: list[str], ca_file: str | None) -> None:
        self.exchange = Exchange(limits)
        self.begun = 0.0
        self.pace: Pace | None = None  # made by the sweep, which most exchanges never meet
        self.secure = False
        self.fresh = False
        self.extra: tuple[tuple[str, str], ...] = ()
        self.curl = curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        curl.setopt(pycurl.HTTP09_ALLOWED, 0)
        curl.setopt(pycurl.FOLLOWLOCATION, 0)
        curl.setopt(pycurl.PROXY, "")  # also switches off http_proxy and its kin
        curl.setopt(pycurl.HTTP_TRANSFER_DECODING, 0)
        curl.setopt(pycurl.HTTP_CONTENT_DECODING, 0)
        # The address is given, so there is nothing to remember; libcurl would walk its memory after each fetch.
        curl.setopt(pycurl.DNS_CACHE_TIMEOUT, 0)
        curl.setopt(pycurl.MAXAGE_CONN, _IDLE_SECONDS)
        curl.setopt(pycurl.BUFFERSIZE, _READ_BUFFER)
        # A backstop for the sweep, which cannot see the second connecting of a silent repeat.
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, int(1000 * (limits.connect + limits.tls)) + 1)
        curl.setopt(pycurl.HTTPHEADER, fields)
        if ca_file is not None:
            curl.setopt(pycurl.CAINFO, ca_file)
        curl.setopt(pycurl.HEADERFUNCTION, self.exchange.on_head)
        curl.setopt(pycurl.WRITEFUNCTION, self.exchange.on_body)

    def progress(self) -> Progress:
        curl, exchange = self.curl, self.exchange
        asked = curl.getinfo(pycurl.PRETRANSFER_TIME_T)
        return Progress(
            secure=self.secure,
            connected=curl.getinfo(pycurl.NUM_CONNECTS) > 0,
            asked=Seconds(asked / _MICROSECONDS) if asked else None,
            head_complete=bool(exchange.head),
            body_bytes=exchange.body_bytes,
        )


class CurlFetcher:
    """A `Fetcher` for http and https.

    Connections stay open for a host's next visit, at most about `max_connections` of them. `allow` is asked
    about the address of every request before anything is dialled. Belongs to the event loop of its first fetch.
    """

    def __init__(
        self,
        user_agent: str,
        limits: FetchLimits,
        clock: Clock,
        *,
        allow: Callable[[str], bool],
        max_connections: int = 4096,
        ca_file: str | None = None,
    ) -> None:
        """`ca_file` holds the trusted roots, in PEM; without it, the system's."""
        self._limits, self._clock, self._allow = limits, clock, allow
        self._fields = [
            header_line("User-Agent", user_agent),
            header_line("Accept", _ACCEPT),
            header_line("Accept-Encoding", ACCEPT_ENCODING),
        ]
        self._tail = "".join(f"{field}\r\n" for field in self._fields) + "\r\n"
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile
        self._connections_a_pool = max(1, max_connections // _POOLS)
        self._pools: list[CurlPool] = []
        self._idle: list[_Handle] = []
        self._active: dict[_Handle, asyncio.Future[int]] = {}
        self._resting = RestingSockets(4 * max_connections)
        self._interval = sweep_interval(limits)
        self._sweeping: asyncio.TimerHandle | None = None

    async def fetch(self, request: Request) -> FetchOutcome:
        """One exchange; see `Fetcher.fetch`. Raises ValueError for a request that is not well-formed."""
        address = request.address
        if not _is_numeric(address) or not self._allow(address):
            return Failed(Failure.BLOCKED_ADDRESS, f"may not dial {address}", Seconds(0.0), contacted=False)
        handle = self._idle.pop() if self._idle else _Handle(self._limits, self._fields, self._ca_file)
        try:
            head = self._prepare(handle, request)
        except ValueError:
            self._idle.append(handle)
            raise
        clock = self._clock
        started, begun = clock.now(), clock.monotonic()
        handle.begun, handle.pace = begun, None
        place = (request.host, request.port, address)
        fresh = self._resting.must_not_be_used(place, begun)
        if fresh is not handle.fresh:
            handle.curl.setopt(pycurl.FRESH_CONNECT, fresh)
            handle.fresh = fresh
        if not self._pools:
            self._pools = [CurlPool(self._connections_a_pool) for _ in range(_POOLS)]
        pool = self._pools[hash(request.host) % _POOLS]
        future = pool.start(handle.curl)
        self._active[handle] = future
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(self._interval, self._sweep)
        exchange = handle.exchange
        try:
            try:
                self._resting.put(place, await future)
            except pycurl.error as error:
                failed = self._after_error(handle, error, begun)
            except _Overdue as late:
                pool.stop(handle.curl)
                failed = self._after_deadline(exchange, late.failure, begun)
            else:
                failed = None
            if failed is None and not exchange.head:
                failed = self._failed(Failure.BAD_STATUS_LINE, "no final answer", begun)
            if failed is not None:
                outcome: FetchOutcome = failed
            else:
                curl = handle.curl
                waited = curl.getinfo(pycurl.PRETRANSFER_TIME_T) / _MICROSECONDS
                outcome = Response(
                    url=request.url,
                    status=exchange.status,
                    request_head=head,
                    head=exchange.head,
                    wire_body=exchange.wire_body,
                    headers=exchange.headers,
                    address=address,
                    started=started,
                    took=Seconds(max(0.0, clock.monotonic() - begun - waited)),
                    truncated=exchange.truncated,
                    connected_anew=curl.getinfo(pycurl.NUM_CONNECTS) > 0,
                )
        except BaseException:
            pool.stop(handle.curl)
            del self._active[handle]
            handle.curl.close()
            raise
        del self._active[handle]
        exchange.clear()
        self._idle.append(handle)
        return outcome

    async def close(self) -> None:
        """Close every connection and handle. Fetches still under way are cancelled."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for pool in self._pools:
            pool.close()
        for handle in self._idle:
            handle.curl.close()
        self._idle.clear()

    def _prepare(self, handle: _Handle, request: Request) -> bytes:
        """Set what differs from the last request; returns the head as it will be sent."""
        scheme, where, target = wire_parts(request)
        handle.secure = scheme == "https"
        curl = handle.curl
        # libcurl reads a host and a port here and nothing else. The path goes beside it, untouched.
        curl.setopt(pycurl.URL, f"{scheme}://{where}/")
        curl.setopt(pycurl.REQUEST_TARGET, target)
        address = request.address
        curl.setopt(pycurl.CONNECT_TO, [f"::[{address}]:" if ":" in address else f"::{address}:"])
        if request.headers != handle.extra:
            extra = [header_line(name, value) for name, value in request.headers]
            curl.setopt(pycurl.HTTPHEADER, [*self._fields, *extra])
            handle.extra = request.headers
        tail = self._tail
        if request.headers:
            tail = tail[:-2] + "".join(f"{name}: {value}\r\n" for name, value in request.headers) + "\r\n"
        return f"GET {target} HTTP/1.1\r\nHost: {where}\r\n{tail}".encode("latin-1")

    def _after_error(self, handle: _Handle, error: pycurl.error, begun: float) -> Failed | None:
        """What a libcurl error means; None when the exchange holds an answer all the same."""
        exchange, curl = handle.exchange, handle.curl
        code, message = error.args
        if exchange.failure is not None:
            return self._failed(exchange.failure, "refused while reading", begun)
        if exchange.truncated is not None or exchange.ended:
            return None
        if exchange.head:
            exchange.truncated = Truncation.DISCONNECT
            return None
        trouble = Trouble(
            code=code,
            os_errno=curl.getinfo(pycurl.OS_ERRNO),
            verify_result=curl.getinfo(pycurl.SSL_VERIFYRESULT),
            head_lines=exchange.head_lines,
            length_seen=exchange.length_seen,
            message=message,
        )
        return self._failed(failure_of(trouble), message, begun, contacted=contacted(trouble))

    def _after_deadline(self, exchange: Exchange, failure: Failure, begun: float) -> Failed | None:
        if failure is Failure.TOTAL_TIMEOUT and exchange.body_bytes:
            # Two minutes of a body that kept coming are worth keeping; asking again would end the same way.
            exchange.truncated = Truncation.TIME
            return None
        return self._failed(failure, "deadline passed", begun)

    def _failed(self, failure: Failure, detail: str, begun: float, *, contacted: bool = True) -> Failed:
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(failure, detail[:_LONGEST_DETAIL], took, contacted)

    def _sweep(self) -> None:
        """End what is overdue. Runs only while something is under way."""
        now = self._clock.monotonic()
        for handle, future in self._active.items():
            if future.done():
                continue
            if handle.pace is None:
                handle.pace = Pace(handle.begun)
            failure = overdue(self._limits, handle.pace, handle.progress(), now)
            if failure is not None:
                future.set_exception(_Overdue(failure))
        self._sweeping = asyncio.get_running_loop().call_later(self._interval, self._sweep) if self._active else None


def _is_numeric(address: str) -> bool:
    """Whether libcurl will take this for an address: in brackets it knows no names, and digits make none."""
    return ":" in address or address.replace(".", "").isdigit()
