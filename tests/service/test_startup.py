"""While a crawl is being opened, requests are answered 503; then they go to the application."""

import asyncio
import http.client
import json
import socket
from collections.abc import Callable

import pytest

from gossamer.config.sections import ServiceSection
from gossamer.service.access import Receive, Scope, Send
from gossamer.service.front_process import Doorway
from gossamer.service.http_server import Server, listen, server_config

Found = tuple[int, str | None, bytes]


def call(port: int, method: str, path: str, body: bytes | None = None) -> Found:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body)
    answer = connection.getresponse()
    found = answer.status, answer.getheader("retry-after"), answer.read()
    connection.close()
    return found


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"open"})


def served(use: Callable[[Doorway, int], list[Found]]) -> list[Found]:
    """What clients receive at a door; `use` runs in a thread of its own."""

    async def main() -> list[Found]:
        door, listening = Doorway(), listen("127.0.0.1", 0)
        server = Server(server_config(door))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            return await asyncio.to_thread(use, door, listening.getsockname()[1])
        finally:
            server.should_exit = True
            await serving

    return asyncio.run(main())


def answers(*calls: tuple[str, str, bytes | None]) -> list[Found]:
    return served(lambda door, port: [call(port, *each) for each in calls])


def test_the_process_is_alive_and_not_ready_while_its_crawl_is_opened() -> None:
    alive, ready, status, under_prefix = answers(
        *(("GET", path, None) for path in ("/healthz", "/readyz?x=1", "/status", "/api/v1/healthz"))
    )

    assert alive == under_prefix
    assert alive == (200, None, b'{"status":"ok"}')
    assert ready == (503, "1", b'{"status":"not ready"}')
    assert status[:2] == (503, "1") and json.loads(status[2]) == {"error": "the crawl is being opened", "field": None}


def test_changes_are_put_off_whatever_their_length_and_heads_have_no_body() -> None:
    seeds, head = answers(("POST", "/seed/urls", b"x" * 300_000), ("HEAD", "/healthz", None))

    assert seeds[:2] == (503, "1")
    assert head == (200, None, b"")


def test_the_application_answers_as_soon_as_the_crawl_is_open() -> None:
    def use(door: Doorway, port: int) -> list[Found]:
        before = call(port, "GET", "/status")
        door.app = application
        return [before, call(port, "GET", "/status")]

    before, after = served(use)

    assert before[0] == 503 and after == (200, None, b"open")


@pytest.mark.parametrize("said", [b"nonsense\r\n\r\n", b"x" * 100_000])
def test_malformed_requests_block_no_other_client(said: bytes) -> None:
    def use(door: Doorway, port: int) -> list[Found]:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as odd:
            odd.sendall(said)
            return [call(port, "GET", "/healthz")]

    assert served(use)[0][0] == 200


def test_the_address_of_the_metrics_port_is_read_and_checked() -> None:
    addresses = {"0.0.0.0:9470": ("0.0.0.0", 9470), "[::]:0": ("::", 0), "h.test:1": ("h.test", 1)}

    assert {text: ServiceSection(metrics_listen=text).metrics_address for text in addresses} == addresses
    assert ServiceSection().metrics_address is None
    for text in ("9470", ":9470", "0.0.0.0", "0.0.0.0:", "0.0.0.0:x", "0.0.0.0:65536", "h.test:-1", ""):
        with pytest.raises(ValueError, match=r"metrics_listen must be ADDRESS:PORT"):
            ServiceSection(metrics_listen=text)
