"""Queries to one name server, through c-ares on the event loop (ADR 9)."""

import asyncio
from collections.abc import Callable

import pycares
from pycares import errno as ares

from gossamer.fetch.dns.answer import DnsFailure, Reply, read_reply
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

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
