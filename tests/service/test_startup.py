"""While a crawl is being opened, requests are answered 503; the socket is then handed on."""

import asyncio
import http.client
import json
import socket

import pytest

from gossamer.config.sections import ServiceSection
from gossamer.service import front_process
from gossamer.service.front_process import respond_until
from gossamer.service.http_server import listen


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller that is slow to send or to read is waited for."""
    monkeypatch.setattr(front_process, "_PATIENCE", 60.0)
    monkeypatch.setattr(front_process, "_LINGER", 60.0)


def call(port: int, method: str, path: str, body: bytes | None = None) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, body)
    answer = connection.getresponse()
    found = answer.status, answer.getheader("retry-after"), answer.read()
    connection.close()
    return found


def answers(*calls: tuple[str, str, bytes | None]) -> list[tuple[int, str | None, bytes]]:
    async def main() -> list[tuple[int, str | None, bytes]]:
        with listen("127.0.0.1", 0) as listening:
            opened = asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(respond_until(opened, listening))
            port = listening.getsockname()[1]
            found = [await asyncio.to_thread(call, port, *each) for each in calls]
            opened.set_result("opened")
            assert await serving == "opened"
            await is_still_open(listening)
            return found

    return asyncio.run(main())


async def is_still_open(listening: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    with socket.create_connection(listening.getsockname(), timeout=60) as caller:
        async with asyncio.timeout(60):
            taken, address = await loop.sock_accept(listening)
        assert address == caller.getsockname()
        taken.close()


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


@pytest.mark.parametrize("said", [b"nonsense\r\n\r\n", b"x" * 100_000])
def test_malformed_requests_block_no_other_client(said: bytes) -> None:
    async def main() -> tuple[int, str | None, bytes]:
        with listen("127.0.0.1", 0) as listening:
            opened = asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(respond_until(opened, listening))
            with socket.create_connection(listening.getsockname(), timeout=60) as odd:
                odd.sendall(said)
                found = await asyncio.to_thread(call, listening.getsockname()[1], "GET", "/healthz")
            opened.set_result(None)
            await serving
            return found

    assert asyncio.run(main())[0] == 200


def test_the_address_of_the_metrics_port_is_read_and_checked() -> None:
    addresses = {"0.0.0.0:9470": ("0.0.0.0", 9470), "[::]:0": ("::", 0), "h.test:1": ("h.test", 1)}

    assert {text: ServiceSection(metrics_listen=text).metrics_address for text in addresses} == addresses
    assert ServiceSection().metrics_address is None
    for text in ("9470", ":9470", "0.0.0.0", "0.0.0.0:", "0.0.0.0:x", "0.0.0.0:65536", "h.test:-1", ""):
        with pytest.raises(ValueError, match=r"metrics_listen must be ADDRESS:PORT"):
            ServiceSection(metrics_listen=text)
