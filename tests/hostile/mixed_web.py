"""Healthy hosts among hostile ones, in a process of its own on loopback. For test_mixed_crawl.py and bench_mixed.py.

Every host has a name of its own under .test and an address of its own in 127.0.0.0/8. One port serves them all, but for
those that refuse connections and those that speak TLS; who is asked is told by the address that was dialled. Run as a
script it serves the web described on its standard input.
"""

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

HOSTILE = {
    "silent": 10,  # takes the request, says nothing
    "drippinghead": 10,  # a byte of the head now and then
    "drippingbody": 10,  # the same with the body
    "resetting": 8,
    "endless": 8,  # chunks at full speed, for ever
    "bomb": 8,  # a MB that unpacks to a GB
    "looping": 8,  # redirects: to itself, in a ring, without end
    "garbage": 8,  # no HTTP
    "failingrules": 6,  # robots.txt answers 500
    "expired": 8,  # a certificate of yesterday
    "refusing": 8,
    "unnamed": 8,  # questions for its name are dropped
}
"""Kind of hostile host -> how many of them: a hundred."""

NO_PAGES = ("/robots.txt", "/sitemap.xml")
_PAGES_OF_HOSTILE = 4
_GOOD = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: "
_NO_RULES = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_CHUNK = b"10000\r\n" + b"<p>endless</p>\n" * 4369 + b"\n\r\n"


@dataclass(frozen=True)
class Plan:
    """What to serve."""

    healthy: int
    pages: int  # of each healthy host, its home page included
    hostile: Mapping[str, int]
    log: str
    drip: float  # seconds between bytes

    def names(self) -> dict[str, str]:
        """Address -> name, for every host."""
        kinds = [("healthy", self.healthy), *self.hostile.items()]
        return {
            f"127.{40 + k}.{n // 250}.{n % 250 + 1}": f"{kind}{n}.test"
            for k, (kind, count) in enumerate(kinds)
            for n in range(count)
        }


class MixedWeb:
    """A running mixed web. Its log has a line for each request: name, path, when it came, when it was over."""

    def __init__(
        self, log: Path, *, healthy: int, pages: int, hostile: Mapping[str, int] = HOSTILE, drip: float = 0.1
    ) -> None:
        self.plan = Plan(healthy, pages, dict(hostile), str(log), drip)
        self._log = log
        self.most_at_once: dict[str, int] = {}
        """Name -> how many of its requests were open at the same time, at most. Complete when the block is left."""

    def __enter__(self) -> "MixedWeb":
        self._log.write_bytes(b"")
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            cwd=Path(__file__).parents[2],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            process_group=0,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(self.plan.__dict__) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the mixed web did not start"
        ready = json.loads(line)
        self.dns_address: str = ready["dns"]
        self.ports: dict[str, int] = ready["ports"]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            out, _err = self._process.communicate(timeout=60)
            self.most_at_once = json.loads(out) if out else {}
        finally:
            self._process.kill()
            self._process.wait()

    @property
    def seeds(self) -> list[str]:
        """The home page of every host, hostile and healthy ones taking turns."""
        homes = [self._home(name) for name in self.plan.names().values()]
        healthy, hostile = homes[: self.plan.healthy], homes[self.plan.healthy :]
        mixed = [url for pair in zip(hostile, healthy, strict=False) for url in pair]
        return [*mixed, *healthy[len(hostile) :], *hostile[len(healthy) :]]

    def _home(self, name: str) -> str:
        kind = name.removesuffix(".test").rstrip("0123456789")
        return f"{'https' if kind == 'expired' else 'http'}://{name}:{self.ports.get(kind, self.ports['usual'])}/"

    def requests(self) -> list[tuple[str, str, float, float]]:
        """Name, path, and when, of every request that is over."""
        text = self._log.read_text(encoding="ascii")
        rows = [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]
        return [(name, path, float(came), float(done)) for name, path, came, done in rows]

    def healthy_pages(self) -> list[tuple[str, str, float, float]]:
        """Of these, the pages of healthy hosts."""
        return [row for row in self.requests() if row[0].startswith("healthy") and row[1] not in NO_PAGES]

    @property
    def is_done(self) -> bool:
        """Whether every page of every healthy host was asked for."""
        return len({row[:2] for row in self.healthy_pages()}) == self.plan.healthy * self.plan.pages

    def unmet(self) -> set[str]:
        """The hostile hosts that have not been asked for anything yet, of those that can be asked."""
        met = {row[0] for row in self.requests()}
        reachable = [kind for kind in self.plan.hostile if kind in MISBEHAVIOUR]
        return {f"{kind}{n}.test" for kind in reachable for n in range(self.plan.hostile[kind])} - met


# --- the process that serves ---------------------------------------------------------------------------------


class Talk:
    """One connection to one host."""

    def __init__(self, web: "Web", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.web, self.reader, self.writer = web, reader, writer
        self.name = web.names.get(writer.get_extra_info("sockname")[0], "nobody")
        self.kind = self.name.removesuffix(".test").rstrip("0123456789")
        self.number = int(self.name.removesuffix(".test")[len(self.kind) :] or 0)

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        while await self.reader.read(65536):
            pass

    async def drip(self, data: bytes) -> None:
        for byte in data:
            await self.say(bytes((byte,)))
            await asyncio.sleep(self.web.plan.drip)


Misbehaviour = Callable[[Talk, str], Awaitable[None]]


async def silent(talk: Talk, path: str) -> None:
    await talk.gone()


async def drippinghead(talk: Talk, path: str) -> None:
    await talk.drip(b"HTTP/1.1 200 OK\r\n" + b"X-Slow: slow\r\n" * 1000)


async def drippingbody(talk: Talk, path: str) -> None:
    await talk.say(f"{_GOOD}1000000\r\n\r\n".encode())
    await talk.drip(b"x" * 10_000)


async def resetting(talk: Talk, path: str) -> None:
    raw = talk.writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    talk.writer.transport.abort()


async def endless(talk: Talk, path: str) -> None:
    await talk.say(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        await talk.say(_CHUNK)


async def bomb(talk: Talk, path: str) -> None:
    packed = talk.web.bomb
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}"
    await talk.say(head.encode() + b"\r\n\r\n" + packed)


async def looping(talk: Talk, path: str) -> None:
    number = int("0" + "".join(filter(str.isdigit, path)))
    target = (path, f"/{number % 2}", f"/{number + 1}")[talk.number % 3]
    await talk.say(f"HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())


async def garbage(talk: Talk, path: str) -> None:
    await talk.say(b"\x00\xff\x1b[31mHELLO WORLD\r\n\r\n" * 10)


async def failingrules(talk: Talk, path: str) -> None:
    await talk.say(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops")


MISBEHAVIOUR: dict[str, Misbehaviour] = {
    function.__name__: function
    for function in (*(silent, drippinghead, drippingbody, resetting, endless, bomb, looping, garbage, failingrules),)
}


class Web:
    """All hosts."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names = plan.names()
        self.addresses = {name: address for address, name in self.names.items()}
        packer = zlib.compressobj(9, wbits=31)
        first = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
        # Flushed blocks stand for themselves, so one of them is repeated.
        self.bomb = first + (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)) * 1023
        self._open: Counter[str] = Counter()
        self.most_at_once: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = open(plan.log, "a", buffering=1, encoding="ascii")  # noqa: SIM115 - lives as long as the process

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        talk = Talk(self, reader, writer)
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError
        ):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ")[1].decode("latin-1")
                with self._noted(talk.name, path):
                    await self._answer(talk, path)
        self._tasks.discard(task)
        writer.close()

    @contextlib.contextmanager
    def _noted(self, name: str, path: str) -> Iterator[None]:
        now = asyncio.get_running_loop().time
        came = now()
        self._open[name] += 1
        self.most_at_once[name] = max(self.most_at_once[name], self._open[name])
        try:
            yield
        finally:
            self._open[name] -= 1
            self._log.write(f"{name} {path} {came:.6f} {now():.6f}\n")

    async def _answer(self, talk: Talk, path: str) -> None:
        if talk.kind == "healthy":
            await self._answer_well(talk, path, self.plan.pages)
        elif talk.number % 2 == 0 and talk.kind != "failingrules" and path in ("/", "/robots.txt"):
            await self._answer_well(talk, path, _PAGES_OF_HOSTILE)  # misbehaves once one is inside
        else:
            await MISBEHAVIOUR[talk.kind](talk, path)

    async def _answer_well(self, talk: Talk, path: str, pages: int) -> None:
        if path == "/robots.txt":
            await talk.say(_NO_RULES)
            return
        title = f"{talk.name} {path}"
        links = "".join(f'<li><a href="/{n}">page {n}</a>' for n in range(1, pages)) if path == "/" else ""
        body = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><ul>{links}</ul>{'<p>some text' * 100}".encode()
        await talk.say(f"{_GOOD}{len(body)}\r\n\r\n".encode() + body)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()


class Names(asyncio.DatagramProtocol):
    """Answers questions for addresses; drops those for `unnamed` hosts."""

    def __init__(self, addresses: dict[str, str]) -> None:
        self._addresses = addresses

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, position = [], 12
        while data[position]:
            labels.append(data[position + 1 : position + 1 + data[position]].decode("latin-1").lower())
            position += 1 + data[position]
        name = ".".join(labels)
        if name.startswith("unnamed"):
            return
        question = data[12 : position + 5]
        wants_a = question[-4:] == b"\0\1\0\1"
        address = self._addresses.get(name)
        record = b""
        if wants_a and address is not None:
            record = b"\xc0\x0c\0\1\0\1" + struct.pack("!IH", 300, 4) + socket.inet_aton(address)
        code = 0x8180 if address is not None else 0x8183
        self._transport.sendto(data[:2] + struct.pack("!HHHHH", code, 1, bool(record), 0, 0) + question + record, addr)


def listening(backlog: int = 1024) -> socket.socket:
    """A port of all loopback addresses. Bound to the loopback device: nobody else can come in."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"lo")
    found.bind(("0.0.0.0", 0))
    if backlog:
        found.listen(backlog)
    return found


def expired_certificate() -> ssl.SSLContext:
    from tests.fetch.http.tls_trust import authority

    return authority().server_side("*.test", expired=True)


async def main() -> None:
    web = Web(Plan(**json.loads(sys.stdin.readline())))
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    usual, secure, refusing = listening(), listening(), listening(backlog=0)
    await asyncio.start_server(web.serve, sock=usual, limit=1 << 16)
    await asyncio.start_server(web.serve, sock=secure, limit=1 << 16, ssl=expired_certificate())
    names, _ = await loop.create_datagram_endpoint(lambda: Names(web.addresses), local_addr=("127.0.0.1", 0))
    ports = {
        "usual": usual.getsockname()[1],
        "expired": secure.getsockname()[1],
        "refusing": refusing.getsockname()[1],
    }
    dns = names.get_extra_info("sockname")
    print(json.dumps({"dns": f"{dns[0]}:{dns[1]}", "ports": ports}), flush=True)
    await stopping.wait()
    web.stop()
    print(json.dumps(web.most_at_once), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
