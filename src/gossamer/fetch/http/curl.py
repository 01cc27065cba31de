"""HTTP/1.1, HTTP/2 and TLS on libcurl and the event loop (ADR 10). Hot: benchmarks/bench_fetch.py."""

import asyncio
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import pycurl

from gossamer.clock import Clock
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.exchange import Exchange
from gossamer.fetch.http.failures import (
    PROXY_WANTS_CREDENTIALS,
    CurlFailure,
    SweepState,
    exclude_pause,
    failure_of,
    may_have_contacted,
    overdue,
    sweep_interval,
)
from gossamer.fetch.http.handle import MICROSECONDS, Handle, all_fields, default_fields, session_store
from gossamer.fetch.http.lenient import LenientReader, Target
from gossamer.fetch.http.multi import CurlPool, IdleSockets, Place
from gossamer.fetch.http.options import HostOptions, head_of, header_line, redacted, wire_parts
from gossamer.fetch.ports import ExchangeTimes, FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import HostKey, Seconds

# libcurl walks all connections to one address to find those of the host. Spreading hosts over several pools keeps
# that walk short where thousands of hosts share an address (ADR 10).
_POOLS: Final = 8
_SESSION_STORES: Final = 64  # for the TLS sessions of 1,600 hosts
_LONGEST_DETAIL: Final = 200
_MAX_ODD_HOSTS: Final = 1024
_NOT_MODIFIED: Final = 304
_PARTIAL_CONTENT: Final = 206
_RANGE_FROM_START: Final = re.compile(r"bytes 0-([0-9]{1,18})/([0-9]{1,18})")
_CONDITIONS: Final = frozenset(("if-none-match", "if-modified-since"))


class _Overdue(Exception):
    """Set on an exchange's future by the sweep. Never leaves this module."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure


MAX_CONNECTIONS: Final = 4000
"""Idle connections kept for their hosts' next visits."""


class CurlFetcher:
    """A `Fetcher` for http and https.

    Connections stay open for the next visit to their host, at most about `max_connections` of them. `allow` is called
    with the address of every request before anything is dialled. Belongs to the event loop of its first fetch.
    """

    def __init__(
        self,
        user_agent: str,
        limits: FetchLimits,
        clock: Clock,
        *,
        allow: Callable[[str], bool],
        max_connections: int = MAX_CONNECTIONS,
        ca_file: str | None = None,
        default: HostOptions | None = None,
        room: BodyMemory | None = None,
    ) -> None:
        """`ca_file` holds the trusted roots, in PEM; without it, the system's. `default` are the options of requests
        without any. `room` bounds the memory of all bodies in flight."""
        self._room = room or BodyMemory()
        self.times = ExchangeTimes()
        self._limits, self._clock, self._allow = limits, clock, allow
        self._fields = default_fields(user_agent)
        self._default = default or HostOptions()
        self._ca_file = ca_file or ssl.get_default_verify_paths().cafile
        self._connections_a_pool = max(1, max_connections // _POOLS)
        self._pools: list[CurlPool] = []
        self._sessions = [session_store() for _ in range(_SESSION_STORES)]
        self._idle: list[Handle] = []
        self._active: dict[Handle, asyncio.Future[int]] = {}
        self._resting = IdleSockets(4 * max_connections)
        self._odd: dict[tuple[HostKey, int], None] = {}  # hosts whose response heads libcurl refuses; oldest first
        self._trust: dict[bool, ssl.SSLContext] = {}
        self._interval = sweep_interval(limits)
        self._sweeping: asyncio.TimerHandle | None = None

    async def fetch(self, request: Request) -> FetchOutcome:
        """One exchange; see `Fetcher.fetch`. Raises ValueError for a malformed request."""
        address = request.address
        options = request.options or self._default
        if not self._may_dial(address, options):
            return Failed(Failure.BLOCKED_ADDRESS, f"may not dial {address}", Seconds(0.0), contacted=False)
        if self._odd and options.proxy is None and (request.host, request.port) in self._odd:
            return await self._fetch_leniently(request, options)
        handle = self._idle.pop() if self._idle else Handle(self._limits, self._ca_file, self._room)
        try:
            if handle.options is not options:
                handle.follow(options, self._fields)
            head = handle.turn_to(request)
            handle.exchange.wants = request.wants
            if handle.secure:
                handle.resume_from(self._sessions[hash(request.host) % _SESSION_STORES])
        except ValueError:
            self._idle.append(handle)
            raise
        clock = self._clock
        started, begun = clock.now(), clock.monotonic()
        handle.begun, handle.pace = begun, None
        place = (request.host, request.port, address)
        idle = place in self._resting
        fresh = self._resting.must_not_be_used(place, begun)
        handle.connections, handle.reused, handle.refused = 0, idle and not fresh, False
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
                if _was_stale(handle, error):
                    failed = await self._repeat(handle, pool, place, begun)
                else:
                    failed = self._after_error(handle, error, begun)
                if failed is not None and failed.failure is Failure.BAD_HEADER:
                    self._remember_as_odd(request)
            except _Overdue as late:
                pool.stop(handle.curl)
                failed = self._after_deadline(handle, late.failure, begun)
            else:
                failed = None
            if failed is None:
                failed = self._not_an_answer(exchange, request, begun)
            if failed is not None:
                outcome: FetchOutcome = replace(failed, repeats=handle.repeats) if handle.repeats else failed
            else:
                curl = handle.curl
                asked, connected_now = curl.getinfo(pycurl.PRETRANSFER_TIME_T), curl.getinfo(pycurl.NUM_CONNECTS) > 0
                if connected_now:
                    self.times.on_connected(curl.getinfo(pycurl.CONNECT_TIME_T), curl.getinfo(pycurl.APPCONNECT_TIME_T))
                first, last = curl.getinfo(pycurl.STARTTRANSFER_TIME_T), curl.getinfo(pycurl.TOTAL_TIME_T)
                self.times.on_answered(asked, first, last)
                outcome = Response(
                    url=request.url,
                    status=exchange.status,
                    request_head=head,
                    head=exchange.head,
                    wire_body=exchange.wire_body,
                    headers=exchange.headers,
                    address=address if options.proxy is None else curl.getinfo(pycurl.PRIMARY_IP),
                    started=started,
                    took=Seconds(max(0.0, clock.monotonic() - begun - asked / MICROSECONDS)),
                    truncated=exchange.truncated,
                    new_connection=connected_now,
                    protocol=exchange.protocol,
                    unverified=handle.secure and not options.verify,
                    dropped_fields=exchange.dropped_fields,
                    repeats=handle.repeats if handle.connections else 0,
                )
        except BaseException:
            pool.stop(handle.curl)
            del self._active[handle]
            exchange.clear()
            handle.curl.close()
            raise
        del self._active[handle]
        exchange.clear()
        self._idle.append(handle)
        return outcome

    async def _repeat(self, handle: Handle, pool: CurlPool, place: Place, begun: float) -> Failed | None:
        """Repeat the request on a new connection, because the server had closed the idle one unnoticed."""
        exchange = handle.exchange
        limit = exchange.body_limit
        exchange.clear()
        exchange.body_limit = limit
        handle.curl.setopt(pycurl.FRESH_CONNECT, True)
        handle.fresh = True
        future = self._active[handle] = pool.start(handle.curl)
        try:
            self._resting.put(place, await future)
        except pycurl.error as error:
            return self._after_error(handle, error, begun)
        except _Overdue as late:
            pool.stop(handle.curl)
            return self._after_deadline(handle, late.failure, begun)
        return None

    def _remember_as_odd(self, request: Request) -> None:
        self._odd[request.host, request.port] = None
        if len(self._odd) > _MAX_ODD_HOSTS:
            del self._odd[next(iter(self._odd))]

    async def _fetch_leniently(self, request: Request, options: HostOptions) -> FetchOutcome:
        """As `fetch`, for a host whose last response head libcurl refused."""
        exchange = Exchange(self._limits, self._room)
        try:
            return await self._ask_leniently(request, options, exchange)
        finally:
            exchange.clear()

    async def _ask_leniently(self, request: Request, options: HostOptions, exchange: Exchange) -> FetchOutcome:
        scheme, where, target = wire_parts(request.url, request.host, request.port)
        for name, value in request.headers:
            header_line(name, value)
        fields = [*all_fields(self._fields, options), *request.headers, ("Connection", "close")]
        trust = self._trust_for(options) if scheme == "https" else None
        started, begun = self._clock.now(), self._clock.monotonic()
        if request.body_bytes is not None:
            exchange.body_limit = min(exchange.body_limit, request.body_bytes)
        exchange.wants = request.wants
        place = Target(request.address, request.port, request.host, trust)
        failure = await LenientReader(place, exchange, self._limits, self._clock).run(head_of(where, target, fields))
        failed = self._not_an_answer(exchange, request, begun) if failure is None else None
        if failure is not None:
            failed = self._failed(failure, "a head that libcurl refuses", begun)
        if failed is not None:
            return failed
        return Response(
            url=request.url,
            status=exchange.status,
            request_head=head_of(where, target, ((name, redacted(name, value)) for name, value in fields)),
            head=exchange.head,
            wire_body=exchange.wire_body,
            headers=exchange.headers,
            address=request.address,
            started=started,
            took=Seconds(self._clock.monotonic() - begun),
            truncated=exchange.truncated,
            protocol=exchange.protocol,
            unverified=trust is not None and not options.verify,
            dropped_fields=exchange.dropped_fields,
        )

    def _trust_for(self, options: HostOptions) -> ssl.SSLContext:
        trust = self._trust.get(options.verify)
        if trust is None:
            trust = self._trust[options.verify] = ssl.create_default_context(cafile=self._ca_file)
            trust.minimum_version = ssl.TLSVersion.TLSv1_2
            if not options.verify:
                trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
        return trust

    async def close(self) -> None:
        """Close every connection and handle. Fetches in flight are cancelled."""
        if self._sweeping is not None:
            self._sweeping.cancel()
            self._sweeping = None
        for pool in self._pools:
            pool.close()
        for handle in self._idle:
            handle.curl.close()
        self._idle.clear()

    def _may_dial(self, address: str, options: HostOptions) -> bool:
        if not address:
            return options.proxy is not None  # the operator chose the proxy
        return _is_numeric(address) and self._allow(address)

    def _not_an_answer(self, exchange: Exchange, request: Request, begun: float) -> Failed | None:
        """What is wrong with a complete response that cannot be the answer to this request; None if nothing is.

        One that has only a part of the document is marked as truncated."""
        if not exchange.head:
            return self._failed(Failure.BAD_STATUS_LINE, "no final answer", begun)
        if exchange.status == _NOT_MODIFIED and not any(name.lower() in _CONDITIONS for name, _ in request.headers):
            return self._failed(Failure.PROTOCOL_ERROR, "304 to a request without conditions", begun)
        if exchange.status == _PARTIAL_CONTENT and exchange.truncated is None and not _is_whole(exchange.headers):
            exchange.truncated = Truncation.DISCONNECT  # we never request a range; the rest was not sent
        if exchange.status == PROXY_WANTS_CREDENTIALS and (request.options or self._default).proxy is not None:
            return self._failed(Failure.PROXY_FAILED, "the proxy rejected the credentials", begun)
        return None

    def _after_error(self, handle: Handle, error: pycurl.error, begun: float) -> Failed | None:
        """What a libcurl error means; None if the exchange holds a usable response nevertheless."""
        exchange, curl = handle.exchange, handle.curl
        code, message = error.args
        if exchange.failure is not None:
            return self._failed(exchange.failure, "refused while reading", begun)
        if handle.refused:
            return self._failed(Failure.CONNECTION_LOST, "refused by the server after one repeat", begun)
        if exchange.truncated is not None or exchange.ended:
            return None
        if exchange.head:
            exchange.truncated = Truncation.DISCONNECT
            return None
        trouble = CurlFailure(
            code=code,
            os_errno=curl.getinfo(pycurl.OS_ERRNO),
            verify_result=curl.getinfo(pycurl.SSL_VERIFYRESULT),
            head_lines=exchange.head_lines,
            length_seen=exchange.length_seen,
            message=message,
            proxied=handle.proxied,
            reached=curl.getinfo(pycurl.CONNECT_TIME_T) > 0,
            proxy_error=curl.getinfo(pycurl.PROXY_ERROR),
            tunnel_status=curl.getinfo(pycurl.HTTP_CONNECTCODE),
            proxy_verify_result=curl.getinfo(pycurl.PROXY_SSL_VERIFYRESULT),
        )
        return self._failed(failure_of(trouble), message, begun, contacted=may_have_contacted(trouble))

    def _after_deadline(self, handle: Handle, failure: Failure, begun: float) -> Failed | None:
        exchange = handle.exchange
        if handle.proxied and failure is Failure.CONNECT_TIMEOUT and not handle.curl.getinfo(pycurl.CONNECT_TIME_T):
            return self._failed(Failure.PROXY_FAILED, "no connection to the proxy", begun, contacted=False)
        if failure is Failure.TOTAL_TIMEOUT and exchange.body_bytes:
            # A body that kept arriving until the deadline is worth keeping; a retry would end the same way.
            exchange.truncated = Truncation.TIME
            return None
        return self._failed(failure, "deadline passed", begun)

    def _failed(self, failure: Failure, detail: str, begun: float, *, contacted: bool = True) -> Failed:
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(failure, detail[:_LONGEST_DETAIL], took, contacted)

    def _sweep(self) -> None:
        """Abort exchanges that are overdue. Runs only while something is in flight."""
        now = self._clock.monotonic()
        for handle, future in self._active.items():
            if future.done():
                continue
            if handle.pace is None:
                handle.pace = SweepState(handle.begun)
            if handle.exchange.held:
                exclude_pause(handle.pace, handle.exchange.body_bytes, now)
                continue
            failure = overdue(self._limits, handle.pace, handle.progress(), now)
            if failure is not None:
                future.set_exception(_Overdue(failure))
        self._sweeping = asyncio.get_running_loop().call_later(self._interval, self._sweep) if self._active else None


def _was_stale(handle: Handle, error: pycurl.error) -> bool:
    """Whether only idle connections were tried, and the server had closed all of them unnoticed.

    libcurl itself repeats up to five times, but tries one idle connection after the other, and for HTTP/2 does not
    repeat at all if the end of the connection was read together with the last response.
    """
    code, message = error.args
    if code != pycurl.E_HTTP2 and not message.startswith("Connection died, tried"):
        return False
    return not handle.exchange.head_lines and int(handle.curl.getinfo(pycurl.NUM_CONNECTS)) == 0


def _is_whole(headers: Mapping[str, str]) -> bool:
    """Whether the range in a response with status 206 is the whole document."""
    found = _RANGE_FROM_START.fullmatch(headers.get("content-range", ""))
    return found is not None and int(found[1]) + 1 == int(found[2])


def _is_numeric(address: str) -> bool:
    """Whether libcurl will treat this as an address: it accepts no names in brackets, and digits are never a name."""
    return ":" in address or address.replace(".", "").isdigit()
