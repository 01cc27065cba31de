"""The least of HTTP/2 that a scripted server needs: frames, and header blocks without a table (RFC 9113, 7541)."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from ssl import SSLContext

from tests.fetch.http.scripted_server import Scripted, Talk, serving

Field = tuple[bytes, bytes]
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, CONTINUATION = 0, 1, 3, 4, 6, 7, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_NO_TABLE = b"\x00\x01\x00\x00\x00\x00"  # SETTINGS_HEADER_TABLE_SIZE = 0: the client indexes nothing of its own
_PADDED, _PRIORITY = 0x08, 0x20
_MAX_FRAME = 16384
_STATIC = {2: (b":method", b"GET"), 4: (b":path", b"/"), 7: (b":scheme", b"https"), 16: (b"accept-encoding", b"")}
_STATIC |= {1: (b":authority", b""), 19: (b"accept", b""), 58: (b"user-agent", b""), 41: (b"if-none-match", b"")}
_STATIC |= {23: (b"authorization", b""), 40: (b"if-modified-since", b""), 5: (b":path", b"/index.html")}
# The code is canonical, so the lengths say it all. Printable characters only; NUL stands for its place in the order.
_LENGTHS = {
    5: "012aceiost",
    6: " %-./3456789=A_bdfghlmnpru",
    7: ":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: "&*,;XZ",
    10: '!"()?',
    11: "'+|",
    12: "#>",
    13: "\0$@[]~",
    14: "^}",
    15: "<`{",
}


def _code() -> dict[tuple[int, int], int]:
    found, value, length = {}, 0, 5
    for bits, characters in _LENGTHS.items():
        value <<= bits - length
        length = bits
        for character in characters:
            found[bits, value] = ord(character)
            value += 1
    return found


_CODE = _code()


def _unhuffed(data: bytes) -> bytes:
    out, value, bits = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            value, bits = value << 1 | byte >> shift & 1, bits + 1
            if (character := _CODE.get((bits, value))) is not None:
                out.append(character)
                value = bits = 0
    return bytes(out)


def _number(block: bytes, position: int, prefix: int) -> tuple[int, int]:
    limit = (1 << prefix) - 1
    value = block[position] & limit
    position += 1
    if value == limit:
        shift = 0
        while True:
            byte = block[position]
            position += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
    return value, position


def _string(block: bytes, position: int) -> tuple[bytes, int]:
    huffed = block[position] & 128
    length, position = _number(block, position, 7)
    data = block[position : position + length]
    return _unhuffed(data) if huffed else data, position + length


def read_block(block: bytes) -> list[Field]:
    """The fields of a request's header block."""
    fields: list[Field] = []
    position = 0
    while position < len(block):
        byte = block[position]
        if byte & 128:
            index, position = _number(block, position, 7)
            fields.append(_STATIC[index])
            continue
        if byte & 0xE0 == 0x20:  # a change of the table's size
            _, position = _number(block, position, 5)
            continue
        index, position = _number(block, position, 6 if byte & 64 else 4)
        name, position = (_STATIC[index][0], position) if index else _string(block, position)
        value, position = _string(block, position)
        fields.append((name, value))
    return fields


def write_block(fields: Sequence[Field]) -> bytes:
    """Every field spelt out."""
    return b"".join(b"\x00" + _spelt(name) + _spelt(value) for name, value in fields)


def _spelt(text: bytes) -> bytes:
    if len(text) < 127:
        return bytes((len(text),)) + text
    rest, size = len(text) - 127, b"\x7f"
    while rest >= 128:
        size, rest = size + bytes((rest % 128 + 128,)), rest // 128
    return size + bytes((rest,)) + text


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + payload


@dataclass
class Asked:
    """One request on one stream."""

    talk: Talk
    stream: int
    fields: list[Field]

    @property
    def path(self) -> bytes:
        return dict(self.fields)[b":path"]

    async def head(self, *fields: Field, status: bytes = b"200", last: bool = False) -> None:
        block = write_block([(b":status", status), *fields])
        await self.talk.say(frame(HEADERS, END_HEADERS | (END_STREAM if last else 0), self.stream, block))

    async def data(self, body: bytes, *, last: bool = True) -> None:
        for start in range(0, len(body) or 1, _MAX_FRAME):
            piece = body[start : start + _MAX_FRAME]
            ends = last and start + _MAX_FRAME >= len(body)
            await self.talk.say(frame(DATA, END_STREAM if ends else 0, self.stream, piece))

    async def answer(self, body: bytes, *fields: Field, status: bytes = b"200") -> None:
        await self.head(*fields, status=status)
        await self.data(body)

    async def reset(self, code: int) -> None:
        await self.talk.say(frame(RST_STREAM, 0, self.stream, code.to_bytes(4, "big")))

    async def goaway(self, last_stream: int) -> None:
        await self.talk.say(frame(GOAWAY, 0, 0, last_stream.to_bytes(4, "big") + bytes(4)))


@dataclass
class Http2Site:
    server: Scripted
    asked: list[Asked] = field(default_factory=list)
    resumed: int = 0


@contextlib.asynccontextmanager
async def serving_http2(reply: Callable[[Asked], Awaitable[None]], tls: SSLContext) -> AsyncIterator[Http2Site]:
    """A server that reads frames and calls `reply` for every request, one after the other."""
    site: Http2Site | None = None

    async def script(talk: Talk) -> None:
        reader = talk.reader
        session = talk.writer.get_extra_info("ssl_object")
        assert session.selected_alpn_protocol() == "h2"
        assert site is not None
        site.resumed += session.session_reused
        assert await reader.readexactly(len(_PREFACE)) == _PREFACE
        await talk.say(frame(SETTINGS, 0, 0, _NO_TABLE))
        while True:
            head = await reader.readexactly(9)
            kind, flags = head[3], head[4]
            stream = int.from_bytes(head[5:], "big")
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            if kind == SETTINGS and not flags & ACK:
                await talk.say(frame(SETTINGS, ACK, 0))
            elif kind == PING and not flags & ACK:
                await talk.say(frame(PING, ACK, 0, payload))
            elif kind == HEADERS:
                assert flags & END_HEADERS and not flags & _PADDED
                asked = Asked(talk, stream, read_block(payload[5:] if flags & _PRIORITY else payload))
                site.asked.append(asked)
                await reply(asked)

    async with serving(script, tls=tls) as server:
        site = Http2Site(server)
        yield site
