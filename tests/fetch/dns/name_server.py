"""A small name server on loopback that answers as a test tells it to. Packets by hand (RFC 1035, 4)."""

import asyncio
import contextlib
import ipaddress
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import cast

A, CNAME, AAAA = 1, 5, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5


@dataclass
class Reply:
    """An answer: records as (type, ttl, address or alias). `silent` drops the question."""

    records: list[tuple[int, int, str]] = field(default_factory=list)
    code: int = NOERROR
    silent: bool = False
    delay: float = 0.0


Zone = Callable[[str, int], Reply]


def a(*addresses: str, ttl: int = 60) -> Reply:
    return Reply([(A, ttl, address) for address in addresses])


def aaaa(*addresses: str, ttl: int = 60) -> Reply:
    return Reply([(AAAA, ttl, address) for address in addresses])


def _name(text: str) -> bytes:
    return b"".join(bytes((len(label),)) + label.encode() for label in text.split(".")) + b"\0"


def _data(kind: int, value: str) -> bytes:
    return _name(value) if kind == CNAME else ipaddress.ip_address(value).packed


class NameServer(asyncio.DatagramProtocol):
    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: list[tuple[str, int]] = []
        self.address = ""
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # uvloop's is one in all but name
        host, port = transport.get_extra_info("sockname")[:2]
        self.address = f"{host}:{port}"

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        position, labels = 12, []
        while data[position]:
            labels.append(data[position + 1 : position + 1 + data[position]].decode())
            position += 1 + data[position]
        (kind,) = struct.unpack_from("!H", data, position + 1)
        question = data[12 : position + 5]
        host = ".".join(labels).lower()
        self.asked.append((host, kind))
        reply = self.zone(host, kind)
        if reply.silent:
            return
        packet = data[:2] + struct.pack("!HHHHH", 0x8180 | reply.code, 1, len(reply.records), 0, 0) + question
        for record_kind, ttl, value in reply.records:
            body = _data(record_kind, value)
            packet += b"\xc0\x0c" + struct.pack("!HHIH", record_kind, 1, ttl, len(body)) + body
        assert self._transport is not None
        asyncio.get_running_loop().call_later(reply.delay, self._transport.sendto, packet, addr)


@contextlib.asynccontextmanager
async def name_server(zone: Zone) -> AsyncIterator[NameServer]:
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: NameServer(zone), local_addr=("127.0.0.1", 0))
    try:
        yield server
    finally:
        transport.close()
