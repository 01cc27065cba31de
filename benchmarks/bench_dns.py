"""CPU time of a look-up: from memory, over the wire (loopback), and of the check whether an address may be dialled.

The wire is measured beside bare aiodns, which answers the same questions without memory, breaker or turns of servers.
The name server runs in a process of its own, so that its work is not counted.

.venv/bin/python -m benchmarks.bench_dns
"""

import asyncio
import multiprocessing
import multiprocessing.connection
import platform
import random
import socket
import struct
import time
from collections.abc import Awaitable, Callable

import aiodns
import uvloop

from gossamer.clock import SteadyClock
from gossamer.fetch.dns.address_choice import AddressChoice
from gossamer.fetch.dns.cache import Addresses
from gossamer.fetch.dns.policy import AddressPolicy
from gossamer.fetch.dns.resolver import Resolver
from gossamer.model.units import HostKey

SEED = 53
HOSTS = 2000
AT_ONCE = 50
ROUNDS = 5
CHECKS = 20_000

Ask = Callable[[str], Awaitable[object]]


def serve(port: multiprocessing.connection.Connection) -> None:
    """Answer every question with one address, until killed."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    server.bind(("127.0.0.1", 0))
    port.send(server.getsockname()[1])
    while True:
        query, client = server.recvfrom(600)
        at = 12
        while query[at]:
            at += 1 + query[at]
        (kind,) = struct.unpack_from("!H", query, at + 1)
        address = b"\xc0\0\2\1" if kind == 1 else b"\x20\x01\x0d\xb8" + bytes(12)
        head = query[:2] + struct.pack("!HHHHH", 0x8180, 1, 1, 0, 0) + query[12 : at + 5]
        server.sendto(head + b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 600, len(address)) + address, client)


async def cpu_us_of_asking(ask: Ask, names: list[str]) -> float:
    began = time.process_time()
    for start in range(0, len(names), AT_ONCE):
        await asyncio.gather(*(ask(name) for name in names[start : start + AT_ONCE]))
    return (time.process_time() - began) * 1e6 / len(names)


async def over_the_wire(server: str) -> None:
    """Ours and the bare library's by turns, new names each time; the least of some rounds."""
    resolver, bare = Resolver([server], SteadyClock()), aiodns.DNSResolver([server])

    async def ours(name: str) -> None:
        assert isinstance(await resolver.resolve(HostKey(name)), Addresses)

    async def theirs(name: str) -> None:
        await asyncio.gather(bare.query_dns(name, "A"), bare.query_dns(name, "AAAA"))

    best_ours = best_theirs = float("inf")
    for number in range(ROUNDS):
        names = [f"h{n}.r{number}.test" for n in range(HOSTS)]
        best_ours = min(best_ours, await cpu_us_of_asking(ours, names))
        best_theirs = min(best_theirs, await cpu_us_of_asking(theirs, names))
    print(f"a look-up over the wire, A and AAAA  {best_ours:8.1f} µs   bare aiodns {best_theirs:8.1f} µs   "
          f"ratio {best_ours / best_theirs:.2f}")  # fmt: skip

    known = [HostKey(f"h{n}.r0.test") for n in range(HOSTS)]
    cached = least(lambda: [resolver.cached(host) for host in known], HOSTS)
    print(f"a look-up from memory                {cached:8.2f} µs   1/{best_ours / cached:.0f} of one over the wire")
    await resolver.close()
    await bare.close()


def least(work: Callable[[], object], units: int) -> float:
    found = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        found = min(found, time.process_time() - began)
    return found * 1e6 / units


def addresses() -> None:
    chance = random.Random(SEED)
    private = [f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}" for _ in range(CHECKS)]
    public = [f"8.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}" for _ in range(CHECKS)]
    six = [f"fd00::{chance.randrange(65536):x}:{chance.randrange(65536):x}" for _ in range(CHECKS)]
    for what, some in (("refused, IPv4", private), ("refused, IPv6", six), ("permitted, IPv4", public)):
        fresh = least(lambda some=some: [AddressPolicy()._decide(address) for address in some[:1000]], 1000)  # type: ignore[misc]
        policy = AddressPolicy()
        few = some[:1000]
        again = least(lambda few=few, policy=policy: [policy.may_dial(address) for address in few], 1000)  # type: ignore[misc]
        print(f"address {what:<16}  first time   {fresh:8.2f} µs   again {again:6.3f} µs   ratio {fresh / again:.0f}")
    dialling, clock = AddressChoice(AddressPolicy().may_dial), SteadyClock()
    found = Addresses(tuple(public[:4]), clock.now())
    now = clock.now()
    choosing = least(lambda: [dialling.choose(found, public[0], now) for _ in range(CHECKS)], CHECKS)
    print(f"choosing one of four addresses                    {choosing:8.2f} µs")


def main() -> None:
    print(f"DNS: CPython {platform.python_version()}, {platform.machine()}, seed {SEED}, CPU time, best of {ROUNDS}")
    port, server_side = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(server_side,), daemon=True)
    server.start()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(over_the_wire(f"127.0.0.1:{port.recv()}"))
    finally:
        server.kill()
        server.join()
    addresses()


if __name__ == "__main__":
    main()
