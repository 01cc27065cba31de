"""A small name server on loopback, over UDP and TCP, that answers as a test tells it to. Packets by hand (RFC 1035)."""

import asyncio
import contextlib
import ipaddress
import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import cast

A, CNAME, AAAA = 1, 5, 28
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, REFUSED = 0, 1, 2, 3, 5

ANSWER, TRUNCATED = 0x8180, 0x0200
POINTER_TO_QUESTION = b"\xc0\x0c"


@dataclass
class Reply:
    """An answer: records as (type, ttl, address or alias) of the name asked for, or as (owner, type, ttl, value).

    `silent` drops the question. `raw` makes the packets from the query itself, in place of all else; `over_tcp`
    says what to answer there instead.
    """

    records: list[tuple[int, int, str]] = field(default_factory=list)
    code: int = NOERROR
    silent: bool = False
    delay: float = 0.0
    truncated: bool = False
    owned: list[tuple[str, int, int, str]] = field(default_factory=list)
    raw: Callable[[bytes], list[bytes]] | None = None
    over_tcp: "Reply | None" = None

    def packets(self, query: bytes) -> list[bytes]:
        if self.raw is not None:
            return self.raw(query)
        records = [record(POINTER_TO_QUESTION, *own) for own in self.records]
        records += [record(encoded(owner), kind, ttl, value) for owner, kind, ttl, value in self.owned]
        flags = ANSWER | self.code | (TRUNCATED if self.truncated else 0)
        packet = query[:2] + struct.pack("!HHHHH", flags, 1, len(records), 0, 0) + question_of(query)
        return [packet + b"".join(records)]


Zone = Callable[[str, int], Reply]


def a(*addresses: str, ttl: int = 60) -> Reply:
    return Reply([(A, ttl, address) for address in addresses])


def aaaa(*addresses: str, ttl: int = 60) -> Reply:
    return Reply([(AAAA, ttl, address) for address in addresses])


def only(kind: int, reply: Reply) -> Zone:
    """A zone in which every name has this answer to one kind of question, and none to the other."""
    return lambda _host, asked: reply if asked == kind else Reply()


def encoded(name: str) -> bytes:
    labels = name.split(".") if name else []
    return b"".join(bytes((len(label),)) + label.encode("latin-1") for label in labels) + b"\0"


def record(owner: bytes, kind: int, ttl: int, value: str) -> bytes:
    body = encoded(value) if kind == CNAME else ipaddress.ip_address(value).packed
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(body)) + body


def question_of(query: bytes) -> bytes:
    """The question section of a query, as it came."""
    position = 12
    while query[position]:
        position += 1 + query[position]
    return query[12 : position + 5]


class NameServer(asyncio.DatagramProtocol):
    """Both sides of the port. `asked` holds every question, `over_tcp` those that came that way."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.asked: list[tuple[str, int]] = []
        self.over_tcp: list[tuple[str, int]] = []
        self.address = ""
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)  # uvloop's is one in all but name
        host, port = transport.get_extra_info("sockname")[:2]
        self.address = f"{host}:{port}"

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        reply = self._reply(data)
        if reply.silent:
            return
        assert self._transport is not None
        for packet in reply.packets(data):
            asyncio.get_running_loop().call_later(reply.delay, self._send, packet, addr)

    async def serve_stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                query = await reader.readexactly(length)
                reply = self._reply(query)
                self.over_tcp.append(self.asked[-1])
                reply = reply.over_tcp or reply
                if reply.silent:
                    continue
                for packet in reply.packets(query):
                    writer.write(struct.pack("!H", len(packet)) + packet)
                await writer.drain()
        writer.close()

    def questions(self, host: str) -> int:
        """How often a name was asked for, whatever the kind."""
        return sum(name == host for name, _ in self.asked)

    def _reply(self, query: bytes) -> Reply:
        question = question_of(query)
        (kind,) = struct.unpack_from("!H", question, len(question) - 4)
        labels, position = [], 0
        while question[position]:
            labels.append(question[position + 1 : position + 1 + question[position]].decode("latin-1"))
            position += 1 + question[position]
        host = ".".join(labels).lower()
        self.asked.append((host, kind))
        return self.zone(host, kind)

    def _send(self, packet: bytes, addr: tuple[str, int]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(packet, addr)


@contextlib.asynccontextmanager
async def name_server(zone: Zone, port: int = 0, address: str = "127.0.0.1") -> AsyncIterator[NameServer]:
    """Serve a zone on loopback while the block runs; `port` 0 is any that is free for both protocols."""
    server = NameServer(zone)
    stream, transport = await _bound(server, address, port)
    try:
        yield server
    finally:
        transport.close()
        stream.close()


async def _bound(server: NameServer, address: str, port: int) -> tuple[asyncio.Server, asyncio.BaseTransport]:
    """Both sides on one port. One that is free for TCP may be somebody's for UDP: then another."""
    loop = asyncio.get_running_loop()
    for tries_left in reversed(range(20)):
        stream = await asyncio.start_server(server.serve_stream, address, port)
        place = (address, stream.sockets[0].getsockname()[1])
        try:
            return stream, (await loop.create_datagram_endpoint(lambda: server, local_addr=place))[0]
        except OSError:
            stream.close()
            if port or not tries_left:
                raise
    raise AssertionError("not reached")
