"""Connections to the service: several requests on one, and which of them still owe the head of a request."""

import asyncio
import http.client
import re
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.clock import VirtualClock
from gossamer.service.access import AccessControl, Message, Policy, Receive, Scope, Send, limit_wrong_tokens
from gossamer.service.http_server import Server, listen, server_config
from tests.service.service_process import Service

REQUEST = b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    start: Message = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(start)
    await send({"type": "http.response.body", "body": b"ok"})


async def owing(*pieces: bytes, answers: int) -> list[int]:
    """How many connections owe a head: after one is opened, after each piece it sends, and after each response."""
    policy = Policy("t" * 20, frozenset({"localhost"}), True, False, 1_000, 30.0, 1_000.0)
    config = server_config(AccessControl(answering, policy, VirtualClock(), limit_wrong_tokens()))
    usual: Any = config.http
    found: asyncio.Queue[int] = asyncio.Queue()

    class Watched(usual):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            found.put_nowait(len(self.silent))

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            found.put_nowait(len(self.silent))

    config.http = Watched
    listening = listen("127.0.0.1", 0)
    server = Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    reader, writer = await asyncio.open_connection(*listening.getsockname())
    owed = [await found.get()]
    for piece in pieces:
        writer.write(piece)
        owed.append(await found.get())
    for _ in range(answers):
        await reader.readuntil(b"\r\n\r\nok")
    owed.append(len(usual.silent))
    writer.close()
    server.should_exit = True
    await serving
    return owed


def test_a_connection_owes_the_head_of_its_first_request_and_of_every_one_that_has_begun() -> None:
    begun = REQUEST[:20]

    assert asyncio.run(owing(begun, REQUEST[20:], answers=1)) == [1, 1, 0, 0]
    assert asyncio.run(owing(REQUEST, REQUEST, REQUEST, answers=3)) == [1, 0, 0, 0, 0]


def test_ap_17_clients_that_do_not_read_lose_their_connection() -> None:
    async def sending(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(30_000_000)})

    async def main() -> int:
        policy = Policy("t" * 20, frozenset({"localhost"}), True, False, 1_000, 30.0, 1_000.0)
        config = server_config(AccessControl(sending, policy, VirtualClock(), limit_wrong_tokens()))
        usual: Any = config.http
        usual.drain_timeout = 0.02
        lost = asyncio.Event()

        class Watched(usual):  # type: ignore[misc]
            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                lost.set()

        config.http = Watched
        listening = listen("127.0.0.1", 0)
        server = Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        with socket.create_connection(listening.getsockname(), timeout=60) as client:
            client.sendall(REQUEST)
            async with asyncio.timeout(60):
                await lost.wait()
        server.should_exit = True
        await serving
        return len(server.server_state.connections)

    assert asyncio.run(main()) == 0


# --- the whole service -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("connections") / "crawl") as running:
        yield running


@pytest.mark.service
def test_one_connection_asks_many_times_and_is_always_answered_in_full(service: Service) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    heads, bodies = [], []
    for _ in range(50):
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        heads.append({name.lower() for name, _ in answer.getheaders()})
        bodies.append(answer.read())
    connection.close()

    assert set(bodies) == {b'{"status":"ok"}'}
    assert all({"date", "content-security-policy", "cache-control"} <= head for head in heads)


@pytest.mark.service
def test_requests_sent_one_after_the_other_are_answered_in_order(service: Service) -> None:
    head = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    lot = [b"GET /healthz" + head + b"\r\n", b"GET /nothing" + head + b"\r\n", b"GET /crawl" + head]
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as raw:
        raw.sendall(b"".join(lot) + b"Connection: close\r\n\r\n")
        received = b""
        while piece := raw.recv(65536):
            received += piece

    assert re.findall(rb"HTTP/1.1 ([0-9]+)", received) == [b"200", b"404", b"200"]
