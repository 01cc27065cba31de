"""The name server, asked by a real resolver and by nobody in their right mind."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiodns
import pycares
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.lab.simweb.config import SimWebConfig
from gossamer.lab.simweb.dns import answer
from gossamer.lab.simweb.run import RunningWeb, serve
from tests.table import table

FORMERR, NXDOMAIN, NOTIMP, REFUSED = 1, 3, 4, 5


def addresses(name: str) -> str | None:
    return "127.1.0.9" if name == "h9.test" else None


def query(name: str = "h9.test", *, kind: int = 1, class_: int = 1, flags: int = 0x0100) -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    head = b"\x12\x34" + flags.to_bytes(2, "big") + b"\0\1\0\0\0\0\0\0"
    return head + labels + b"\0" + kind.to_bytes(2, "big") + class_.to_bytes(2, "big")


def code_of(packet: bytes) -> int:
    reply, _ = answer(packet, addresses, zone="test", ttl=60)
    assert reply is not None
    assert reply[:2] == packet[:2]
    assert reply[2] & 0x80
    return reply[3] & 15


@asynccontextmanager
async def resolving() -> AsyncIterator[tuple[RunningWeb, aiodns.DNSResolver]]:
    async with await serve(SimWebConfig(hosts=20, pages=100, dns_ttl=77)) as running:
        host, _, port = running.dns_address.partition(":")
        resolver = aiodns.DNSResolver(nameservers=[host], udp_port=int(port), tcp_port=int(port), timeout=60.0)
        try:
            yield running, resolver
        finally:
            await resolver.close()


def test_a_real_resolver_learns_every_host_s_address_and_its_ttl() -> None:
    async def ask() -> None:
        async with resolving() as (running, resolver):
            for host in running.web.hosts:
                result = await resolver.query_dns(host.name, "A")
                [record] = result.answer
                assert isinstance(record.data, pycares.ARecordData)
                assert (record.data.addr, record.ttl) == (host.address, 77)
            assert running.dns_queries == {host.name: 1 for host in running.web.hosts}

    asyncio.run(ask())


def test_a_real_resolver_is_told_that_other_names_do_not_exist() -> None:
    async def ask() -> None:
        async with resolving() as (running, resolver):
            for name in ("nowhere.test", "example.org", "test"):
                with pytest.raises(aiodns.error.DNSError) as failed:
                    await resolver.query_dns(name, "A")
                assert failed.value.args[0] == aiodns.error.ARES_ENOTFOUND
            assert running.dns_queries["nowhere.test"] == 1

    asyncio.run(ask())


def test_a_real_resolver_finds_no_ipv6_address_of_a_host_that_exists() -> None:
    async def ask() -> None:
        async with resolving() as (running, resolver):
            with pytest.raises(aiodns.error.DNSError) as failed:
                await resolver.query_dns(running.web.hosts[3].name, "AAAA")
            assert failed.value.args[0] == aiodns.error.ARES_ENODATA

    asyncio.run(ask())


def test_names_are_compared_without_regard_to_case_and_echoed_as_asked() -> None:
    packet = query("H9.TeSt")

    reply, name = answer(packet, addresses, zone="test", ttl=60)

    assert name == "h9.test"
    assert reply is not None
    assert reply[12 : len(packet)] == packet[12:]
    assert reply.endswith(bytes([127, 1, 0, 9]))


@table(
    ("packet", "code"),
    [
        (query("other.test"), NXDOMAIN),
        (query(class_=3), REFUSED),
        (query(flags=0x2900), NOTIMP),
        (query()[:-1], FORMERR),
        (query()[:20], FORMERR),
        (query()[:12], FORMERR),
        (b"\x12\x34\x01\0\0\2\0\0\0\0\0\0", FORMERR),
        (query("h9.test")[:12] + b"\xc0\x0c\0\1\0\1", FORMERR),
        (query()[:12] + b"\1a" * 200 + b"\0\0\1\0\1", FORMERR),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_fitting_code(packet: bytes, code: int) -> None:
    assert code_of(packet) == code


@pytest.mark.parametrize("packet", [b"", b"\0" * 11, query(flags=0x8180)])
def test_what_is_no_query_gets_no_reply(packet: bytes) -> None:
    assert answer(packet, addresses, zone="test", ttl=60) == (None, None)


@given(st.binary(max_size=300))
def test_garbage_never_raises(packet: bytes) -> None:
    reply, _ = answer(packet, addresses, zone="test", ttl=60)

    assert reply is None or reply[:2] == packet[:2]


@given(st.integers(12, 30), st.integers(0, 255))
def test_a_damaged_query_never_raises(place: int, byte: int) -> None:
    packet = bytearray(query())
    packet[min(place, len(packet) - 1)] = byte

    reply, _ = answer(bytes(packet), addresses, zone="test", ttl=60)

    assert reply is not None
