"""The name server of the simulated web: UDP on loopback, packets written by hand (RFC 1035)."""

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Callable

_HEADER = struct.Struct("!HHHHHH")
_QUESTION_TAIL = struct.Struct("!HH")
_RECORD = struct.Struct("!HHHIH")  # name (a pointer), type, class, TTL, length

_A, _SOA, _OPT, _ANY, _IN = 1, 6, 41, 255, 1
_NOERROR, _FORMERR, _NXDOMAIN, _NOTIMP, _REFUSED = 0, 1, 3, 4, 5
_RESPONSE, _AUTHORITATIVE, _RECURSION_DESIRED, _RECURSION_AVAILABLE = 0x8000, 0x0400, 0x0100, 0x0080
_OPCODE = 0x7800
_POINTER_TO_QUESTION = 0xC000 | _HEADER.size
_EDNS = b"\0" + struct.pack("!HHIH", _OPT, 1232, 0, 0)

Addresses = Callable[[str], str | None]
"""The IPv4 address of a name in lower case; None if there is no such name."""


def answer(query: bytes, addresses: Addresses, *, zone: str, ttl: int) -> tuple[bytes | None, str | None]:
    """The reply to a packet, and the name it asked for (lower case).

    A for the names of the web, NXDOMAIN for other names, an empty answer for other types. No reply to anything that is
    not a query. Never raises.
    """
    if len(query) < _HEADER.size:
        return None, None
    ident, flags, questions, _, _, additional = _HEADER.unpack_from(query)
    if flags & _RESPONSE:
        return None, None
    if flags & _OPCODE:
        return _reply(ident, flags, _NOTIMP), None
    question = _read_question(query) if questions == 1 else None
    if question is None:
        return _reply(ident, flags, _FORMERR), None
    name, kind, class_, end = question
    asked = query[_HEADER.size : end]
    extra = _EDNS if additional else b""
    if class_ not in (_IN, _ANY):
        return _reply(ident, flags, _REFUSED, asked, extra=extra), name
    address = addresses(name)
    if address is not None and kind in (_A, _ANY):
        record = _RECORD.pack(_POINTER_TO_QUESTION, _A, _IN, ttl, 4) + socket.inet_aton(address)
        return _reply(ident, flags, _NOERROR, asked, answer=record, extra=extra), name
    code = _NXDOMAIN if address is None else _NOERROR
    # With the zone's SOA, so that a resolver knows how long it may cache the negative answer.
    return _reply(ident, flags, code, asked, authority=_soa(zone, ttl), extra=extra), name


class NameServer(asyncio.DatagramProtocol):
    """Answers on an event loop. `queries` counts queries by name, of any type."""

    def __init__(self, addresses: Addresses, *, zone: str, ttl: int) -> None:
        self.queries: Counter[str] = Counter()
        self._addresses = addresses
        self._zone = zone
        self._ttl = ttl
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.DatagramTransport) or hasattr(transport, "sendto")
        self._transport = transport  # type: ignore[assignment]  # uvloop's is not one of asyncio's classes

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        reply, name = answer(data, self._addresses, zone=self._zone, ttl=self._ttl)
        if name is not None:
            self.queries[name] += 1
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)

    def error_received(self, exc: Exception) -> None:
        """A client disappeared before its answer arrived (ICMP port unreachable), which does not matter."""


def _read_question(query: bytes) -> tuple[str, int, int, int] | None:
    """Name (lower case), type, class and the end of the question; None if it cannot be parsed."""
    labels: list[str] = []
    at = _HEADER.size
    # At most 127 labels fit into a name of 255 bytes; queries do not use compression.
    for _ in range(128):
        if at >= len(query):
            return None
        length = query[at]
        at += 1
        if length == 0:
            break
        if length > 63 or at + length > len(query):
            return None
        labels.append(query[at : at + length].decode("latin-1").lower())
        at += length
    else:
        return None
    if at + _QUESTION_TAIL.size > len(query) or at - _HEADER.size > 255:
        return None
    kind, class_ = _QUESTION_TAIL.unpack_from(query, at)
    return ".".join(labels), kind, class_, at + _QUESTION_TAIL.size


def _reply(
    ident: int,
    flags: int,
    code: int,
    question: bytes = b"",
    *,
    answer: bytes = b"",
    authority: bytes = b"",
    extra: bytes = b"",
) -> bytes:
    flags = _RESPONSE | _AUTHORITATIVE | _RECURSION_AVAILABLE | flags & (_OPCODE | _RECURSION_DESIRED) | code
    counts = (bool(question), bool(answer), bool(authority), bool(extra))
    return _HEADER.pack(ident, flags, *counts) + question + answer + authority + extra


def _soa(zone: str, ttl: int) -> bytes:
    name = _encode_name(zone)
    data = _encode_name(f"ns.{zone}") + _encode_name(f"hostmaster.{zone}")
    data += struct.pack("!IIIII", 1, 3600, 600, 86_400, ttl)
    return name + struct.pack("!HHIH", _SOA, _IN, ttl, len(data)) + data


def _encode_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
