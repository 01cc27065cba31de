"""A stage for hostile name servers: the resolver, the address policy and the fetcher joined as a visit joins them.

Every case runs in `survive`, which holds it to the rules that hold for all cases.
"""

import asyncio
import contextlib
import itertools
import os
import random
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from typing import TypeVar

from gossamer.clock import SteadyClock, VirtualClock
from gossamer.fetch.dns.address_choice import UNREACHABLE_FAILURES, AddressChoice
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver, ResolverRules
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome
from gossamer.model.units import Domain, HostKey, Seconds, Url
from tests.hostile.survival import on_a_loop, under_watch
from tests.name_server import NameServer, Zone, name_server
from tests.time_travel import TravellingLoop

T = TypeVar("T")
AGENT = "gossamer-test/1.0 (+mailto:crawl@example.test)"
LIMITS = FetchLimits(connect=Seconds(1.0))  # for addresses that swallow packets; a busy machine takes its time too


def survive(case: Coroutine[object, object, T], loop: Callable[[], asyncio.AbstractEventLoop] = TravellingLoop) -> T:
    """Run a case to its end, under the rules that hold for all. Silence of a name server takes no time."""

    async def watched() -> T:
        async with under_watch():
            return await case

    return on_a_loop(watched(), loop)


@dataclass
class Stage:
    """What a visit is made of. The resolver's clock is the test's; the fetcher's is the machine's."""

    resolver: Resolver
    names: NameServer
    clock: VirtualClock
    dialling: AddressChoice
    fetcher: CurlFetcher

    async def visit(self, host: str, port: int, path: str = "/") -> FetchOutcome:
        """One page: its host's addresses, the first that may be dialled and is reached, the answer."""
        key = HostKey(host)
        found = self.resolver.cached(key) or await self.resolver.resolve(key)
        if isinstance(found, Failed):
            return found
        while True:
            now = self.clock.now()
            address = self.dialling.choose(found, None, now)
            if address is None:
                return Failed(Failure.BLOCKED_ADDRESS, ", ".join(found.addresses), Seconds(0.0), contacted=False)
            outcome = await self.fetcher.fetch(Request(Url(f"http://{host}:{port}{path}"), key, port, address))
            if not (isinstance(outcome, Failed) and outcome.failure in UNREACHABLE_FAILURES):
                self.dialling.on_reached(address)
                return outcome
            self.dialling.on_unreachable(address, now)
            if not self.dialling.has_alternative(found, address, now):
                self.resolver.forget(key)
                return outcome

    async def resolve(self, host: str) -> Addresses | Failed:
        return await self.resolver.resolve(HostKey(host))


def domain_of(host: HostKey) -> Domain:
    return Domain(".".join(host.split(".")[-2:]))


@contextlib.asynccontextmanager
async def stage(zone: Zone, *permitted: str, answer_time: float = 1.0) -> AsyncIterator[Stage]:
    """A name server with this zone, and all that asks it. Of private networks only `permitted` may be dialled."""
    clock = VirtualClock()
    async with name_server(zone) as names:
        resolver = resolver_at(clock, names.address, answer_time=answer_time)
        policy = AddressPolicy(allowed_networks=permitted)
        fetcher = CurlFetcher(AGENT, LIMITS, SteadyClock(), allow=policy.may_dial)
        try:
            yield Stage(resolver, names, clock, AddressChoice(policy.may_dial), fetcher)
        finally:
            await fetcher.close()
            await resolver.close()


def resolver_at(clock: VirtualClock, *servers: str, answer_time: float = 1.0) -> Resolver:
    return Resolver(servers, clock, ResolverRules(Seconds(answer_time)), chance=random.Random(1), domain_of=domain_of)


_PORTS = itertools.cycle(random.Random(os.getpid()).sample(range(10_000, 32_000), 5_000))


def free_port() -> int:
    """A port that is free at every address a case may want it at too.

    Below those that the system gives out by itself: one of these may be free here and in use over there.
    """
    for port in itertools.islice(_PORTS, 1_000):
        with contextlib.suppress(OSError):
            for address, family in (("0.0.0.0", socket.AF_INET), ("::1", socket.AF_INET6)):
                socket.create_server((address, port), family=family).close()
            return port
    raise AssertionError("no port is free")


class Listener:
    """Counts who connects, at one address of this machine. `page` is what they are told; without it, nothing."""

    def __init__(self, address: str, port: int = 0, page: str | None = None) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = socket.create_server((address, port or free_port()), family=family, backlog=64)
        self.port = int(self._socket.getsockname()[1])
        self.visitors = 0
        self._page = page
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.visitors += 1
            with connection, contextlib.suppress(OSError):
                if self._page is not None:
                    connection.recv(65536)
                    head = f"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {len(self._page)}\r\n\r\n"
                    connection.sendall((head + self._page).encode())


@contextlib.contextmanager
def listening(address: str, port: int = 0, page: str | None = None) -> Iterator[Listener]:
    """A server, or without a page a sentinel that nobody must contact."""
    listener = Listener(address, port, page)
    try:
        yield listener
    finally:
        listener.close()


@contextlib.contextmanager
def swallowing(address: str, port: int) -> Iterator[None]:
    """A port that takes connection requests and answers none: its queue is full and nobody serves it."""
    with contextlib.ExitStack() as held:
        server = held.enter_context(socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET))
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((address, port))
        server.listen(0)
        for _ in range(4):
            filler = held.enter_context(socket.socket(server.family))
            filler.setblocking(False)
            filler.connect_ex((address, port))
        yield


@contextlib.contextmanager
def naming(zone: Zone) -> Iterator[NameServer]:
    """A name server in a thread of its own, for crawls in other processes."""
    ready, loops, servers = threading.Event(), list[asyncio.AbstractEventLoop](), list[NameServer]()
    stop = asyncio.Event()

    async def main() -> None:
        async with name_server(zone) as server:
            loops.append(asyncio.get_running_loop())
            servers.append(server)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(30), "the name server did not start"
    try:
        yield servers[0]
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(60)
