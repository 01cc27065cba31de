"""What goes over the wire when all is well, byte for byte."""

import asyncio
import os

import pytest

from gossamer.fetch.http.options import wire_parts
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, Response
from gossamer.model.units import HostKey, Url
from tests.fetch.http.scripted_server import (
    AGENT,
    HEAD,
    PAGE,
    Talk,
    always,
    answered,
    failed,
    fetching,
    outcome_of,
    pass_time,
    run,
    serving,
)


def test_the_head_of_the_answer_is_kept_byte_for_byte() -> None:
    head = b"HTTP/1.1 200 Fine  by me\r\nx-oDD:  spaced \r\nContent-Length: 5\r\nSET-cookie: a\r\nset-Cookie: b\r\n\r\n"

    outcome = outcome_of(head + b"hello")

    assert isinstance(outcome, Response)
    assert outcome.head == head
    assert outcome.wire_body == b"hello"
    assert outcome.status == 200
    assert outcome.headers == {"x-odd": "spaced", "content-length": "5", "set-cookie": "a, b"}
    assert outcome.truncated is None
    assert outcome.address == "127.0.0.1"


@pytest.mark.parametrize(
    "path", ["/", "/a?", "/a/../b/./c", "/%7Ejoe/%2F?q=[1]|{2}^'\"", "//double//slash", "/?a=b&c=%20", "/" + "x" * 2000]
)
def test_the_request_head_we_record_is_what_the_server_received(path: str) -> None:
    async def main() -> tuple[Response, bytes]:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            response = await answered(fetcher, server.request(path))
            return response, server.heard[0][1]

    response, received = run(main())

    assert response.request_head == received
    assert received.startswith(f"GET {path} HTTP/1.1\r\nHost: x.test:".encode())
    assert f"\r\nUser-Agent: {AGENT}\r\n".encode() in received


def test_extra_headers_are_sent_with_their_request_and_not_with_the_next() -> None:
    async def main() -> list[tuple[Response, bytes]]:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            conditional = (("If-None-Match", '"abc"'), ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"))
            first = await answered(fetcher, server.request(headers=conditional))
            second = await answered(fetcher, server.request())
            return [(first, server.heard[0][1]), (second, server.heard[1][1])]

    (first, heard_first), (second, heard_second) = run(main())

    assert first.request_head == heard_first
    assert b'If-None-Match: "abc"\r\n' in heard_first
    assert second.request_head == heard_second
    assert b"If-" not in heard_second


@pytest.mark.parametrize(("name", "value"), [("X", "a\r\nEvil: 1"), ("X\n", "a"), ("X:", "a"), ("X", "")])
def test_a_header_that_would_become_two_lines_is_refused_before_anything_is_sent(name: str, value: str) -> None:
    async def main() -> int:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            with pytest.raises(ValueError, match="header field"):
                await fetcher.fetch(server.request(headers=((name, value),)))
            return server.connections

    assert run(main()) == 0


def test_a_url_with_a_space_or_a_control_character_is_refused_before_anything_is_sent() -> None:
    async def main() -> int:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            for path in ("/a b", "/a\r\nEvil: 1", "/é"):
                with pytest.raises(ValueError, match="canonical"):
                    await fetcher.fetch(server.request(path))
            return server.connections

    assert run(main()) == 0


def test_a_chunked_body_is_kept_as_it_was_on_the_wire() -> None:
    body = b"5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: t\r\n\r\n"

    outcome = outcome_of(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + body)

    assert isinstance(outcome, Response)
    assert outcome.wire_body == body
    assert outcome.truncated is None
    assert "trailer" not in outcome.headers


def test_a_second_request_uses_the_same_connection() -> None:
    async def main() -> tuple[Response, Response, int]:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            first = await answered(fetcher, server.request("/1"))
            second = await answered(fetcher, server.request("/2"))
            return first, second, server.connections

    first, second, connections = run(main())

    assert connections == 1
    assert first.new_connection and not second.new_connection


def test_two_hosts_at_one_address_do_not_share_a_connection() -> None:
    async def main() -> int:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            for host in ("a.test", "b.test", "a.test", "b.test"):
                await answered(fetcher, server.request(host=host))
            return server.connections

    assert run(main()) == 2


def test_the_pinned_address_is_dialled_whatever_the_name_means() -> None:
    async def main() -> tuple[str, list[bytes]]:
        async with serving(always(PAGE), address="127.0.0.5") as server, fetching() as fetcher:
            # `localhost` has an address of its own, and nothing listens there on this port.
            response = await answered(fetcher, server.request(host="localhost", address="127.0.0.5"))
            return response.address, [head for _, head in server.heard]

    address, heard = run(main())

    assert address == "127.0.0.5"
    assert heard[0].startswith(b"GET / HTTP/1.1\r\nHost: localhost:")


def test_an_ip_literal_in_the_url_does_not_override_the_pinned_address() -> None:
    async def main() -> int:
        async with serving(always(PAGE), address="127.0.0.6") as server, fetching() as fetcher:
            await answered(fetcher, server.request(host="127.0.0.1", address="127.0.0.6"))
            return server.connections

    assert run(main()) == 1


def test_a_connection_to_another_address_is_not_used_for_this_one() -> None:
    async def main() -> tuple[int, int]:
        async with serving(always(PAGE), address="0.0.0.0") as server, fetching() as fetcher:
            await answered(fetcher, server.request(address="127.0.0.5"))
            moved = await answered(fetcher, server.request(address="127.0.0.6"))
            return int(moved.new_connection), server.connections

    assert run(main()) == (1, 2)


def test_an_ipv6_address_can_be_pinned() -> None:
    async def main() -> Response:
        async with serving(always(PAGE), address="::1") as server, fetching() as fetcher:
            return await answered(fetcher, server.request(address="::1"))

    assert run(main()).address == "::1"


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "127.0.0.1.evil.test", "", "cafe.de"])
def test_an_address_that_is_not_allowed_or_no_address_is_never_dialled(address: str) -> None:
    async def main() -> tuple[Failed, int]:
        async with serving(always(PAGE)) as server:
            async with fetching(allow=lambda candidate: candidate != "127.0.0.1") as fetcher:
                outcome = await failed(fetcher, server.request(address=address))
            return outcome, server.connections

    outcome, connections = run(main())

    assert outcome.failure is Failure.BLOCKED_ADDRESS
    assert not outcome.contacted
    assert connections == 0


def test_proxies_named_in_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setitem(os.environ, name, "http://127.0.0.1:1")

    outcome = outcome_of(PAGE)

    assert isinstance(outcome, Response)


def test_redirects_are_not_followed_and_cookies_not_returned() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: /next\r\nSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n"

    async def main() -> tuple[Response, list[bytes]]:
        async with serving(always(moved)) as server, fetching() as fetcher:
            response = await answered(fetcher, server.request())
            await answered(fetcher, server.request("/next"))
            return response, [head for _, head in server.heard]

    response, heard = run(main())

    assert response.status == 302
    assert response.headers["location"] == "/next"
    assert len(heard) == 2
    assert b"ookie" not in heard[1]


def test_what_was_asked_is_dated_and_timed() -> None:
    async def slow(talk: Talk) -> None:
        await talk.request()
        await pass_time(0.1)
        await talk.say(PAGE)

    async def main() -> Response:
        async with serving(slow) as server, fetching() as fetcher:
            return await answered(fetcher, server.request())

    response = run(main())

    assert response.took >= 0.1
    assert response.started > 1_700_000_000


def test_many_fetches_at_once_keep_their_answers_apart() -> None:
    async def echo(talk: Talk) -> None:
        while True:
            path = (await talk.request()).split(b" ", 2)[1]
            body = path * 4000
            await talk.say(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def main() -> list[bool]:
        async with serving(echo) as server, fetching(FetchLimits()) as fetcher:

            async def one(number: int) -> bool:
                path = f"/{number:04}"
                response = await answered(fetcher, server.request(path, host=f"h{number % 40}.test"))
                return response.wire_body == path.encode() * 4000

            return await asyncio.gather(*(one(number) for number in range(200)))

    assert all(run(main()))


@pytest.mark.parametrize(
    ("url", "port", "expected"),
    [
        ("http://x.test/", 80, ("http", "x.test", "/")),
        ("http://x.test:443/a", 443, ("http", "x.test:443", "/a")),
        ("https://x.test/a?b", 443, ("https", "x.test", "/a?b")),
        ("https://[::1]:8443/", 8443, ("https", "[::1]:8443", "/")),
    ],
)
def test_the_default_port_stays_out_of_the_host_field(url: str, port: int, expected: tuple[str, str, str]) -> None:
    host = HostKey("[::1]" if "[" in url else "x.test")

    assert wire_parts(Url(url), host, port) == expected
