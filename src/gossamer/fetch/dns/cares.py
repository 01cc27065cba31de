"""Queries to one name server, through c-ares on the event loop (ADR 9), and the meaning of its replies: addresses, an
alias to follow, a negative answer, or a failure.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

import pycares
from pycares import errno as ares

from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

MAX_ALIASES = 16
"""Aliases between a host and its addresses; a longer chain counts as a loop."""
MAX_ADDRESSES = 32
"""Addresses kept of one family. An answer may hold thousands, but only a few are ever dialled."""

_SIGN_BIT = 1 << 31  # a time to live with it set means 0 (RFC 2181, 8)
_ESCAPED = re.compile(r"\\(\d{3}|.)")


@dataclass(frozen=True, slots=True)
class Found:
    """Addresses, never empty, and the shortest time to live in the chain that led to them."""

    addresses: tuple[str, ...]
    ttl: Seconds


@dataclass(frozen=True, slots=True)
class Alias:
    """The name is an alias, and the answer has no addresses for its target."""

    target: str
    passed: frozenset[str]  # names in the chain, including the queried one
    ttl: Seconds


class DnsFailure(Enum):
    """Ways in which a name server fails to answer. None of them is conclusive about the name."""

    SILENT = "silent"
    UNREACHABLE = "unreachable"  # no server is listening there
    SERVFAIL = "servfail"
    REFUSED = "refused"  # it refuses to serve us
    GARBLED = "garbled"

    @property
    def failure(self) -> Failure:
        """The failure as the crawl counts it: unreachable like a timeout, refused or garbled like SERVFAIL."""
        return Failure.DNS_TIMEOUT if self in (DnsFailure.SILENT, DnsFailure.UNREACHABLE) else Failure.DNS_SERVFAIL


Denial = Failure
"""A negative answer: `dns_nxdomain`, `dns_no_address` or `dns_cname_loop`."""

Reply = Found | Alias | Denial | DnsFailure

_PLAINEST = (
    *(DnsFailure.SERVFAIL, DnsFailure.REFUSED, DnsFailure.GARBLED),
    *(DnsFailure.SILENT, DnsFailure.UNREACHABLE),
)
"""Which of two failures to report: an error reply before no reply."""


def read_reply(name: str, kind: int, records: Iterable[pycares.DNSRecord]) -> Found | Alias | Denial:
    """What the records of a reply to a query of this kind (A or AAAA) say about a name.

    Only the name itself and the targets of its aliases count; records of other names are ignored.
    """
    addresses: dict[str, list[str]] = {}
    ttls: dict[str, float] = {}
    aliases: dict[str, str] = {}
    for record in records:
        data = record.data
        owner = _plain(record.name)
        if isinstance(data, pycares.ARecordData | pycares.AAAARecordData):
            if record.type != kind:
                continue
            addresses.setdefault(owner, []).append(data.addr)
        elif isinstance(data, pycares.CNAMERecordData):
            aliases[owner] = _plain(data.cname)
        else:
            continue
        ttls[owner] = min(ttls.get(owner, float("inf")), _ttl(record.ttl))
    at, ttl, passed = _plain(name), float("inf"), set[str]()
    while at not in addresses and at in aliases:
        passed.add(at)
        ttl = min(ttl, ttls[at])  # an alias in the chain may expire before the address
        at = aliases[at]
        if at in passed or len(passed) >= MAX_ALIASES:
            return Failure.DNS_CNAME_LOOP
    if at in addresses:
        kept = tuple(dict.fromkeys(addresses[at]))[:MAX_ADDRESSES]
        return Found(kept, Seconds(min(ttl, ttls[at])))
    if passed:
        return Alias(at, frozenset(passed), Seconds(ttl))
    return Failure.DNS_NO_ADDRESS


def merge_replies(four: Reply, six: Reply) -> Reply:
    """Combine the replies for both address families; IPv4 addresses come first.

    Addresses take precedence over everything, a negative answer about the name over an answer about one family.
    "No address" is reported only if both replies say so.
    """
    if isinstance(four, Found) and isinstance(six, Found):
        return Found(four.addresses + six.addresses, Seconds(min(four.ttl, six.ttl)))
    both = (four, six)
    for reply in both:
        if isinstance(reply, Found):
            return reply
    for denial in (Failure.DNS_NXDOMAIN, Failure.DNS_CNAME_LOOP):
        if denial in both:
            return denial
    for reply in both:
        if isinstance(reply, Alias):
            return reply
    for trouble in _PLAINEST:
        if trouble in both:
            return trouble
    return Failure.DNS_NO_ADDRESS


def _plain(name: str) -> str:
    """A name in the form of a host key: lower case, without the escapes that c-ares adds."""
    name = name.lower().removesuffix(".")
    return _ESCAPED.sub(_unescape, name) if "\\" in name else name


def _unescape(match: re.Match[str]) -> str:
    escaped = match.group(1)
    return chr(int(escaped)) if len(escaped) == 3 else escaped


def _ttl(seconds: int) -> float:
    return 0.0 if seconds >= _SIGN_BIT else float(seconds)


A, AAAA = pycares.QUERY_TYPE_A, pycares.QUERY_TYPE_AAAA

OnReply = Callable[[Reply], None]

# NOCHECKRESP: report SERVFAIL at once; without it c-ares would repeat the query to the same server.
_FLAGS = pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOCHECKRESP
# c-ares waits five times the server's usual response time, at least 250 ms, and doubles that with every try. Five tries
# take longer than any answer time of ours; the caller stops waiting when that is over.
_TRIES = 5
_FIRST_TRY = Seconds(0.5)  # until the server's usual response time is known
_TICK = Seconds(0.25)
# A retry of c-ares comes from another socket, and the answer to the first query is lost: a server that always takes
# longer than a try would never be heard. A patient channel waits for one query as long as c-ares can.
_PATIENT_TRY = Seconds(30.0)
_QUICK = Seconds(1.0)  # c-ares would wait less than 5 s on a patient channel if its answers took less than this
_MAX_NAMES = 4096  # per channel; bounds the memory of c-ares
_MAX_RETIRED = 16

_MEANINGS: dict[int, Reply] = {
    ares.ARES_ENOTFOUND: Failure.DNS_NXDOMAIN,
    ares.ARES_ENODATA: Failure.DNS_NO_ADDRESS,
    ares.ARES_ETIMEOUT: DnsFailure.SILENT,
    ares.ARES_ECONNREFUSED: DnsFailure.UNREACHABLE,
    ares.ARES_ESERVFAIL: DnsFailure.SERVFAIL,
    ares.ARES_EREFUSED: DnsFailure.REFUSED,
    ares.ARES_ENOTIMP: DnsFailure.REFUSED,
    ares.ARES_EFORMERR: DnsFailure.REFUSED,
}


class _Channel:
    """A c-ares channel whose sockets the event loop watches.

    `users` counts lookups that still wait for their queries. A retired channel is closed when there are none left.
    """

    def __init__(self, server: str, *, patient: bool = False) -> None:
        self._loop = asyncio.get_running_loop()
        self._reading: set[int] = set()
        self._writing: set[int] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        self.names: set[str] = set()
        self.users = 0
        self.retired = False
        self._ares = pycares.Channel(
            flags=_FLAGS,
            timeout=_PATIENT_TRY if patient else _FIRST_TRY,
            tries=1 if patient else _TRIES,
            servers=[server],
            sock_state_cb=self._on_socket,
        )

    def query(self, name: str, kind: int, on_reply: OnReply) -> None:
        """Send one query. `on_reply` is called on this loop, possibly at once and possibly twice. Never raises."""

        def callback(result: pycares.DNSResult | None, code: int | None) -> None:
            if self._closed:
                return
            if result is not None:
                on_reply(read_reply(name, kind, result.answer))
            else:
                on_reply(_MEANINGS.get(code or 0, DnsFailure.GARBLED))

        try:
            self._ares.query(name, kind, callback=callback)
        except pycares.AresError as error:  # could not be sent: the port is closed, or there are no sockets left
            callback(None, error.args[0])

    def close(self) -> None:
        """Cancel pending queries without calling their callbacks."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        # Before c-ares closes its sockets, which it does in a thread of its own.
        for fd in self._reading:
            self._loop.remove_reader(fd)
        for fd in self._writing:
            self._loop.remove_writer(fd)
        self._ares.cancel()
        self._ares.close()

    def _on_socket(self, fd: int, readable: bool, writable: bool) -> None:
        if self._closed:
            return
        loop = self._loop
        if readable and fd not in self._reading:
            self._reading.add(fd)
            loop.add_reader(fd, self._ares.process_read_fd, fd)
        elif not readable and fd in self._reading:
            self._reading.discard(fd)
            loop.remove_reader(fd)
        if writable and fd not in self._writing:
            self._writing.add(fd)
            loop.add_writer(fd, self._ares.process_write_fd, fd)
        elif not writable and fd in self._writing:
            self._writing.discard(fd)
            loop.remove_writer(fd)
        if self._timer is None and self._reading:
            self._timer = loop.call_later(_TICK, self._tick)

    def _tick(self) -> None:
        """Let c-ares check its timeouts and resend queries."""
        self._timer = None
        self._ares.process_fd(pycares.ARES_SOCKET_BAD, pycares.ARES_SOCKET_BAD)
        if self._reading and self._timer is None and not self._closed:
            self._timer = self._loop.call_later(_TICK, self._tick)


class Upstream:
    """A name server. Every query goes to the server, never to the cache of c-ares.

    c-ares caches answers for up to an hour, without bound, and pycares cannot switch that off. So no channel is used
    twice for the same name, nor for more than a few thousand names; then it is replaced.

    `patient`: a query is sent once, and its answer accepted for several seconds.
    """

    def __init__(self, server: str, *, patient: bool = False) -> None:
        self.server = server
        self._patient = patient
        self._channel: _Channel | None = None
        self._retired: set[_Channel] = set()
        self._lone: set[_Channel] = set()

    def query(self, name: str, on_four: OnReply, on_six: OnReply, *, alone: bool = False) -> Callable[[], None]:
        """Query both address families. Call the returned function when the replies are no longer needed.

        `alone` uses a socket that no other query uses.
        """
        channel = self._channel_for(name) if not alone else self._lone_channel()
        channel.users += 1
        if self._patient:
            on_four, on_six = self._timed(channel, on_four), self._timed(channel, on_six)
        channel.query(name, A, on_four)
        channel.query(name, AAAA, on_six)
        return lambda: self._release(channel)

    def close(self) -> None:
        for channel in (*self._retired, *self._lone, *((self._channel,) if self._channel else ())):
            channel.close()
        self._retired.clear()
        self._lone.clear()
        self._channel = None

    def _channel_for(self, name: str) -> _Channel:
        channel = self._channel
        if channel is not None and (name in channel.names or len(channel.names) >= _MAX_NAMES):
            if len(self._retired) >= _MAX_RETIRED:
                # Held open by unanswered queries. An answer from c-ares' cache is better than piling up sockets.
                return channel
            self._retire(channel)
            channel = None
        if channel is None:
            channel = self._channel = _Channel(self.server, patient=self._patient)
        channel.names.add(name)
        return channel

    def _timed(self, channel: _Channel, on_reply: OnReply) -> OnReply:
        """Do not use the channel for other names after a quick answer: c-ares would lose its patience."""
        loop = asyncio.get_running_loop()
        begun = loop.time()

        def timed(reply: Reply) -> None:
            if channel is self._channel and loop.time() - begun < _QUICK:
                self._retire(channel)
            on_reply(reply)

        return timed

    def _retire(self, channel: _Channel) -> None:
        self._channel = None
        channel.retired = True
        self._retired.add(channel)
        if not channel.users:
            self._discard(channel)

    def _lone_channel(self) -> _Channel:
        channel = _Channel(self.server)
        channel.retired = True
        self._lone.add(channel)
        return channel

    def _release(self, channel: _Channel) -> None:
        channel.users -= 1
        if channel.retired and not channel.users:
            self._discard(channel)

    def _discard(self, channel: _Channel) -> None:
        self._retired.discard(channel)
        self._lone.discard(channel)
        channel.close()


def system_servers() -> list[str]:
    """The name servers of this machine's configuration, as c-ares reads it."""
    channel = pycares.Channel(sock_state_cb=lambda _fd, _readable, _writable: None)
    try:
        return list(dict.fromkeys(channel.servers))
    finally:
        channel.close()
