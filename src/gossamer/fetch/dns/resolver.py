"""Host names to addresses, asynchronously, on c-ares (ADR 7)."""

import asyncio
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

import aiodns
import pycares
from aiodns import error as ares

from gossamer.clock import Clock
from gossamer.errors import ConfigError
from gossamer.fetch.dns.cache import Absence, Addresses, CacheLimits, DnsCache
from gossamer.model.outcome import Failed, Failure
from gossamer.model.units import HostKey, Seconds

ANSWER_TIME = Seconds(5.0)
_DEFAULT_LIMITS = CacheLimits()
_MOST_FORGOTTEN = 10_000  # beyond that, c-ares' memory may answer for as long as the time to live
_TRIES = 2  # c-ares doubles the time at the second try: a third of the answer time, then two thirds
_FAILURES = {
    ares.ARES_ENOTFOUND: Failure.DNS_NXDOMAIN,
    ares.ARES_ENODATA: Failure.DNS_NO_ADDRESS,
    ares.ARES_ETIMEOUT: Failure.DNS_TIMEOUT,
    ares.ARES_ECONNREFUSED: Failure.DNS_TIMEOUT,  # nobody serves there: as good as silence
    ares.ARES_EBADNAME: Failure.DNS_NXDOMAIN,  # a name that cannot be asked for does not exist
}


@dataclass(frozen=True, slots=True)
class ResolverStatistics:
    """Counts since the start."""

    queries: int = 0
    hits: int = 0
    negative_hits: int = 0
    stale_served: int = 0
    failures: int = 0
    cached_hosts: int = 0


class Resolver:
    """Resolves hosts, remembering answers and absences; asks once for all who wait for the same host.

    `nameservers` are "ADDRESS", "ADDRESS:PORT" or "[IPV6]:PORT"; None means the system's. Belongs to one event loop.
    """

    def __init__(
        self,
        nameservers: Sequence[str] | None,
        clock: Clock,
        limits: CacheLimits = _DEFAULT_LIMITS,
        *,
        answer_time: Seconds = ANSWER_TIME,
    ) -> None:
        self._servers = [_server(text) for text in nameservers] if nameservers else None
        self._clock = clock
        self._cache = DnsCache(limits)
        self._literal_holds = limits.ceiling
        self._answer_time = answer_time
        self._ares: aiodns.DNSResolver | None = None
        self._forgotten: set[HostKey] = set()
        self._asking: dict[HostKey, asyncio.Task[Addresses | Absence]] = {}
        self._queries = self._hits = self._negative_hits = self._stale_served = self._failures = 0

    def cached(self, host: HostKey) -> Addresses | None:
        """The addresses if they are known now, without waiting. None says nothing about the host."""
        entry = self._cache.look_up(host, self._clock.now())
        if isinstance(entry, Addresses):
            self._hits += 1
            self._stale_served += entry.stale
            return entry
        return None

    async def resolve(self, host: HostKey) -> Addresses | Failed:
        """The addresses of a host, or why there are none. A caller that is cancelled disturbs no other."""
        now = self._clock.now()
        known = self._cache.look_up(host, now)
        if isinstance(known, Addresses):
            self._hits += 1
            self._stale_served += known.stale
            return known
        own = _without_asking(host)
        if own is not None:
            return self._cache.found(host, (own,), self._literal_holds, now)
        begun = self._clock.monotonic()
        if known is None:
            task = self._asking.get(host)
            if task is None:
                task = asyncio.get_running_loop().create_task(self._ask(host))
                self._asking[host] = task
                task.add_done_callback(lambda _task: self._asking.pop(host, None))
            known = await asyncio.shield(task)
            if isinstance(known, Addresses):
                self._stale_served += known.stale
                return known
        else:
            self._negative_hits += 1
        took = Seconds(self._clock.monotonic() - begun)
        return Failed(known.failure, f"cannot resolve {host}", took, contacted=False)

    def forget(self, host: HostKey) -> None:
        """The address did not answer: ask DNS again before the next try."""
        self._cache.forget(host)
        if len(self._forgotten) < _MOST_FORGOTTEN:
            self._forgotten.add(host)

    async def close(self) -> None:
        """Stop asking. Those who still wait are cancelled."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._ares is not None:
            await self._ares.close()
            self._ares = None

    def statistics(self) -> ResolverStatistics:
        return ResolverStatistics(
            queries=self._queries,
            hits=self._hits,
            negative_hits=self._negative_hits,
            stale_served=self._stale_served,
            failures=self._failures,
            cached_hosts=len(self._cache),
        )

    async def _ask(self, host: HostKey) -> Addresses | Absence:
        """Ask for IPv4 addresses, and for IPv6 ones only where there are none."""
        # c-ares remembers answers itself and cannot be told not to; only a channel of its own has no memory.
        anew = host in self._forgotten
        self._forgotten.discard(host)
        channel = self._new_channel() if anew else self._channel()
        try:
            async with asyncio.timeout(self._answer_time):
                answer = await self._query(channel, host, "A")
                if answer is Failure.DNS_NO_ADDRESS:
                    answer = await self._query(channel, host, "AAAA")
        except TimeoutError:
            answer = Failure.DNS_TIMEOUT
        finally:
            if anew:
                await channel.close()
        now = self._clock.now()
        if isinstance(answer, Failure):
            self._failures += 1
            return self._cache.missed(host, answer, now)
        addresses, ttl = answer
        return self._cache.found(host, addresses, ttl, now)

    async def _query(
        self, channel: aiodns.DNSResolver, host: HostKey, kind: str
    ) -> tuple[tuple[str, ...], Seconds] | Failure:
        self._queries += 1
        try:
            result = await channel.query_dns(host, kind)
        except aiodns.error.DNSError as error:
            return _FAILURES.get(error.args[0], Failure.DNS_SERVFAIL)
        addresses: list[str] = []
        ttl = float("inf")
        for record in result.answer:
            if isinstance(record.data, pycares.ARecordData | pycares.AAAARecordData):
                addresses.append(record.data.addr)
            ttl = min(ttl, record.ttl)  # an alias on the way may expire before the address
        if not addresses:
            return Failure.DNS_NO_ADDRESS
        return tuple(dict.fromkeys(addresses)), Seconds(ttl)

    def _channel(self) -> aiodns.DNSResolver:
        if self._ares is None:
            self._ares = self._new_channel()
        return self._ares

    def _new_channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(self._servers, timeout=self._answer_time / (2**_TRIES - 1), tries=_TRIES)


def _without_asking(host: HostKey) -> str | None:
    """The address of a host that is one, or that no name server is to be asked for (RFC 6761, 6.3)."""
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    # A name that is no address has a letter after its last dot: names do not end in a number (WHATWG URL).
    if not (host[-1:].isdigit() or host[-1:] == "]"):
        return None
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        return None


def _server(text: str) -> str:
    """A name server as c-ares wants it. Raises ConfigError for what is no address."""
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
