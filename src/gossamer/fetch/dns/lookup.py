"""One DNS lookup: queries both address families at several servers in turn, and follows aliases.

A server that has not answered after its share of the answer time is not given up: the next one is queried too, and the
first answer counts. So a server that needs seconds for every answer makes lookups slow, but they do not fail.

`Upstreams` tracks the health of the name servers. A server is judged only in comparison: one that failed where another
answered about the same name is at fault. If all of them fail, the name may be the cause, and none is blamed.
"""

import asyncio
import ipaddress
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gossamer.clock import Clock
from gossamer.errors import ConfigError
from gossamer.fetch.dns.cares import (
    MAX_ALIASES,
    Alias,
    DnsFailure,
    Found,
    Reply,
    Upstream,
    merge_replies,
    system_servers,
)
from gossamer.model.outcome import Failure
from gossamer.model.units import Instant, Seconds


@dataclass(frozen=True, slots=True)
class UpstreamRules:
    tolerated: int = 2  # consecutive failures; packets do get lost
    first_rest: Seconds = Seconds(10.0)
    longest_rest: Seconds = Seconds(120.0)
    trial: Seconds = Seconds(5.0)  # how long one query tests it before others may use it


@dataclass(slots=True)
class _Health:
    failures: int = 0
    rests_until: Instant = Instant(0.0)
    on_trial: bool = False


class Upstreams:
    """The health of name servers, by their position in the configured order."""

    def __init__(self, count: int, rules: UpstreamRules) -> None:
        self._rules = rules
        self._health = [_Health() for _ in range(count)]

    def order(self, now: Instant) -> list[int]:
        """The servers in the order in which to query them: as configured, with avoided ones last, soonest first.

        A server whose time of avoidance is over gets one query; it stays avoided for others until that one is decided.
        """
        health = self._health
        if all(not one.failures for one in health):
            return list(range(len(health)))
        well: list[int] = []
        resting: list[int] = []
        for index, one in enumerate(health):
            if one.failures < self._rules.tolerated:
                well.append(index)
            elif one.rests_until <= now:
                one.rests_until, one.on_trial = Instant(now + self._rules.trial), True
                well.append(index)
            else:
                resting.append(index)
        return well + sorted(resting, key=lambda index: health[index].rests_until)

    def on_success(self, index: int) -> None:
        self._health[index].failures = 0
        self._health[index].on_trial = False

    def on_failure(self, index: int, now: Instant) -> None:
        """The server did not answer where another one did, or is not listening at all."""
        one, rules = self._health[index], self._rules
        if one.failures >= rules.tolerated and one.rests_until > now and not one.on_trial:
            return  # queried before it was avoided: the same fault, not another one
        one.failures += 1
        one.on_trial = False
        beyond = one.failures - rules.tolerated
        if beyond >= 0:
            rest = min(rules.first_rest * 2.0 ** min(beyond, 16), rules.longest_rest)
            one.rests_until = Instant(now + rest)

    def count_avoided(self, now: Instant) -> int:
        """Number of servers that are currently avoided."""
        return sum(one.failures >= self._rules.tolerated and one.rests_until > now for one in self._health)


MAX_SERVERS = 3
"""Servers queried for one name; each gets its share of the answer time."""
_PATIENT_AFTER = Seconds(0.5)  # then the query is sent once more, over a channel that waits for a slow answer
# Some name servers never answer queries for IPv6 addresses: with IPv4 addresses there is no need to wait long for them.
# The reverse is worth waiting for, because IPv4 addresses are dialled first.
_GRACE_FOR_SIX, _GRACE_FOR_FOUR = Seconds(0.2), Seconds(1.0)


@dataclass(frozen=True, slots=True)
class LookupResult:
    """The outcome of a lookup. `answered`: a server gave a definite answer, so the servers work."""

    result: Found | Failure
    answered: bool
    unreachable: bool = False  # no server is listening


class _Pair:
    """Both queries to one server. `settled` is done when waiting longer would not help."""

    __slots__ = ("_loop", "_timers", "four", "settled", "six")

    def __init__(self, within: float) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self.four: Reply | None = None
        self.six: Reply | None = None
        self.settled: asyncio.Future[None] = loop.create_future()
        self._timers = [loop.call_later(within, self._settle)]

    def on_four(self, reply: Reply) -> None:
        if reply is not DnsFailure.SILENT:  # a timeout of c-ares; the other channel may have the answer yet
            self.four = self.four or reply
            self._check(reply, self.six, _GRACE_FOR_SIX)

    def on_six(self, reply: Reply) -> None:
        if reply is not DnsFailure.SILENT:
            self.six = self.six or reply
            self._check(reply, self.four, _GRACE_FOR_FOUR)

    def call_after(self, delay: Seconds, callback: Callable[[], None]) -> None:
        """Call it then, unless the pair was closed before."""
        self._timers.append(self._loop.call_later(delay, callback))

    def close(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _check(self, reply: Reply, other: Reply | None, grace: Seconds) -> None:
        if other is not None or reply in (Failure.DNS_NXDOMAIN, DnsFailure.UNREACHABLE):
            self._settle()
        elif isinstance(reply, Found) and not self.settled.done():
            self._timers.append(self._loop.call_later(grace, self._settle))

    def _settle(self) -> None:
        if not self.settled.done():
            self.settled.set_result(None)


class Lookups:
    """Queries the name servers. Belongs to one event loop.

    `servers` are "ADDRESS", "ADDRESS:PORT" or "[IPV6]:PORT"; None means the system's.
    """

    def __init__(self, servers: Sequence[str] | None, clock: Clock, answer_time: Seconds) -> None:
        self._configured = [server_address(text) for text in servers] if servers else None
        self._clock = clock
        self._answer_time = answer_time
        self._servers: list[Upstream] = []
        self._patient: dict[str, Upstream] = {}  # the same servers
        self._health = Upstreams(0, UpstreamRules())
        self.queries = 0  # both families counted

    async def look_up(self, host: str) -> LookupResult:
        """The addresses of a host, or why there are none, within the answer time."""
        deadline = asyncio.get_running_loop().time() + self._answer_time
        name, ttl, passed = host, float("inf"), set[str]()
        answered = False
        while True:
            reply, has_answer, unreachable = await self._query_in_turn(name, deadline)
            answered |= has_answer
            if isinstance(reply, Alias):
                passed |= reply.passed
                ttl = min(ttl, reply.ttl)
                if reply.target in passed or len(passed) >= MAX_ALIASES:
                    return LookupResult(Failure.DNS_CNAME_LOOP, answered)
                name = reply.target
            elif isinstance(reply, Found):
                return LookupResult(Found(reply.addresses, Seconds(min(ttl, reply.ttl))), answered)
            else:
                failure = reply.failure if isinstance(reply, DnsFailure) else reply
                return LookupResult(failure, answered, unreachable)

    def reload(self) -> None:
        """Read the system's servers again: if they have changed, that explains why none answers."""
        if self._configured is None and self._servers and system_servers() != [one.server for one in self._servers]:
            self.close()

    def count_avoided(self) -> int:
        """Number of servers that are currently avoided."""
        return self._health.count_avoided(self._clock.now())

    def close(self) -> None:
        """Cancel all queries. The next lookup opens new channels."""
        for server in (*self._servers, *self._patient.values()):
            server.close()
        self._servers = []
        self._patient.clear()

    async def _query_in_turn(self, name: str, deadline: float) -> tuple[Reply, bool, bool]:
        """The reply of the first server that has an answer; whether one had; whether no server was reachable at all."""
        if not self._servers:
            self._servers = [Upstream(text) for text in self._configured or system_servers()]
            self._health = Upstreams(len(self._servers), UpstreamRules())
        servers, health = self._servers, self._health
        order = health.order(self._clock.now())[:MAX_SERVERS]
        loop = asyncio.get_running_loop()
        at_fault: list[int] = []
        trouble: Reply | None = None
        unreachable = True
        queries: dict[asyncio.Task[tuple[Reply, bool]], int] = {}
        try:
            while (left := deadline - loop.time()) > 0 and (order or queries):
                share = left / max(len(order), 1)
                if order:
                    index = order.pop(0)
                    queries[loop.create_task(self._query(servers[index], name, left))] = index
                done, _ = await asyncio.wait(queries, timeout=share, return_when=asyncio.FIRST_COMPLETED)
                for query in done:
                    index = queries.pop(query)
                    reply, answered = query.result()
                    if not isinstance(reply, DnsFailure):
                        health.on_success(index)
                        for other in (*at_fault, *queries.values()):
                            health.on_failure(other, self._clock.now())
                        return reply, True, False
                    if answered:  # about one address family: the server works, the name does not
                        return reply, True, False
                    if reply is DnsFailure.UNREACHABLE:
                        health.on_failure(index, self._clock.now())
                    else:
                        unreachable = False
                        at_fault.append(index)
                    trouble = reply if trouble is None else merge_replies(trouble, reply)
            return trouble or DnsFailure.SILENT, False, unreachable and not queries
        finally:
            for query in queries:
                query.cancel()

    async def _query(self, server: Upstream, name: str, within: float) -> tuple[Reply, bool]:
        """The reply of one server about a name, and whether it answered at least one of the queries."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        reply, answered = await self._query_once(server, name, within, alone=False)
        if reply is DnsFailure.GARBLED and loop.time() < end:
            # c-ares closes a socket on which it reads garbage, and drops all queries that wait on it. This may have
            # been one of those; over a socket of its own only its own reply matters.
            reply, answered = await self._query_once(server, name, end - loop.time(), alone=True)
        return reply, answered

    async def _query_once(self, server: Upstream, name: str, within: float, *, alone: bool) -> tuple[Reply, bool]:
        pair = _Pair(within)
        self.queries += 2
        done_with = [server.query(name, pair.on_four, pair.on_six, alone=alone)]

        def query_patiently() -> None:
            self.queries += 2
            done_with.append(self._patient_server(server.server).query(name, pair.on_four, pair.on_six))

        if not alone:
            pair.call_after(_PATIENT_AFTER, query_patiently)
        try:
            await pair.settled
        finally:
            pair.close()
            for release in done_with:
                release()
        four, six = pair.four, pair.six
        answered = any(reply is not None and not isinstance(reply, DnsFailure) for reply in (four, six))
        if four is None or six is None:
            known = four or six
            if known is DnsFailure.UNREACHABLE or known is Failure.DNS_NXDOMAIN:
                return known, answered
        return merge_replies(four or DnsFailure.SILENT, six or DnsFailure.SILENT), answered

    def _patient_server(self, address: str) -> Upstream:
        server = self._patient.get(address)
        if server is None:
            server = self._patient[address] = Upstream(address, patient=True)
        return server


def server_address(text: str) -> str:
    """A name server in the form that c-ares expects. Raises ConfigError if it is not an address."""
    address, colon, port = text.rpartition(":")
    if not colon or (":" in address and not address.endswith("]")):
        address, port = text, "53"
    bare = "127.0.0.1" if address == "localhost" else address.strip("[]")
    try:
        ip = ipaddress.ip_address(bare)
    except ValueError:
        raise ConfigError("dns", f"{text!r} is not ADDRESS:PORT") from None
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ConfigError("dns", f"{text!r} has no usable port")
    return f"[{ip}]:{port}" if ip.version == 6 else f"{ip}:{port}"
