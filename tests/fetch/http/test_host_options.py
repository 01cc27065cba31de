"""What the operator wishes for a host: sent to that host, recorded without its secrets, and to nobody else."""

import asyncio
import base64
import contextlib

import pytest

from gossamer.fetch.http.options import HostOptions, Proxy, conditional
from gossamer.model.outcome import Failed, Failure, Response
from tests.fetch.http.scripted_server import PAGE, Talk, always, answered, failed, fetching, hasty, run, serving
from tests.fetch.http.tls_trust import authority

SECRET = "hunter2"


# --- headers and credentials --------------------------------------------------------------------------


def exchanged(options: HostOptions, usual: HostOptions | None = None) -> tuple[Response, bytes, bytes]:
    """A host with these options, then another host without: the first response, and what each server heard."""

    async def main() -> tuple[Response, bytes, bytes]:
        async with serving(always(PAGE)) as server, fetching(usual=usual) as fetcher:
            first = await answered(fetcher, server.request(options=options))
            await answered(fetcher, server.request(host="other.test"))
            return first, server.heard[0][1], server.heard[1][1]

    return run(main())


def test_headers_go_to_their_host_and_not_to_the_next() -> None:
    response, heard, next_heard = exchanged(HostOptions(headers=(("Accept-Language", "mi"), ("X-One", "1"))))

    assert b"\r\nAccept-Language: mi\r\nX-One: 1\r\n" in heard
    assert response.request_head == heard
    assert b"X-One" not in next_heard and b"Accept-Language" not in next_heard


def test_a_hosts_own_field_replaces_the_usual_one() -> None:
    _, heard, next_heard = exchanged(HostOptions(headers=(("accept", "text/plain"),)))

    assert heard.lower().count(b"\r\naccept: ") == 1
    assert b"\r\naccept: text/plain\r\n" in heard
    assert b"\r\nAccept: text/html," in next_heard


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (HostOptions(basic=("joe", SECRET)), "Basic " + base64.b64encode(f"joe:{SECRET}".encode()).decode()),
        (HostOptions(bearer=SECRET), f"Bearer {SECRET}"),
    ],
)
def test_credentials_are_sent_to_their_host_and_never_recorded(options: HostOptions, sent: str) -> None:
    response, heard, next_heard = exchanged(options)

    assert f"\r\nAuthorization: {sent}\r\n".encode() in heard
    assert b"\r\nAuthorization: [not recorded]\r\n" in response.request_head
    assert sent.split()[1].encode() not in response.request_head
    assert b"uthorization" not in next_heard


def test_fields_that_look_like_secrets_are_not_recorded() -> None:
    response, heard, _ = exchanged(HostOptions(headers=(("X-Api-Key", SECRET), ("Cookie", f"a={SECRET}"))))

    assert heard.count(SECRET.encode()) == 2
    assert SECRET.encode() not in response.request_head


def test_the_usual_options_are_for_every_host_without_its_own() -> None:
    _, heard, next_heard = exchanged(HostOptions(), usual=HostOptions(headers=(("X-All", "1"),)))

    assert b"X-All" not in heard
    assert b"\r\nX-All: 1\r\n" in next_heard


def test_no_secret_is_shown() -> None:
    options = HostOptions(
        basic=("joe", SECRET), headers=(("X-Key", SECRET),), proxy=Proxy.parse(f"http://joe:{SECRET}@proxy.test:1")
    )

    assert SECRET not in repr(options)
    assert SECRET not in repr(HostOptions(bearer=SECRET))


@pytest.mark.parametrize(
    "headers", [(("Host", "x"),), (("Content-Length", "5"),), (("X", "a\r\nY: b"),), (("a b", "c"),), (("X", ""),)]
)
def test_fields_that_would_break_the_request_are_refused_without_showing_them(
    headers: tuple[tuple[str, str], ...],
) -> None:
    with pytest.raises(ValueError) as refusal:
        HostOptions(headers=headers)

    assert headers[0][1] == "" or headers[0][1] not in str(refusal.value).replace(headers[0][0], "")


@pytest.mark.parametrize("bad", [f"{SECRET}\r\nX: y", f"{SECRET}\0"])
def test_a_token_that_is_more_than_a_line_is_refused_without_showing_it(bad: str) -> None:
    with pytest.raises(ValueError) as refusal:
        HostOptions(bearer=bad)

    assert SECRET not in str(refusal.value)


def test_credentials_of_two_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="both basic and bearer"):
        HostOptions(basic=("a", "b"), bearer="c")
    with pytest.raises(ValueError, match="colon"):
        HostOptions(basic=("a:b", "c"))


def test_conditions_are_made_of_what_is_known_and_fits() -> None:
    assert conditional('"a"', "Sun, 06 Nov 1994 08:49:37 GMT") == (
        ("If-None-Match", '"a"'),
        ("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    )
    assert conditional(None, None) == conditional("a\r\nb", "") == ()


# --- proxies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://proxy.test:3128", Proxy("http", "proxy.test", 3128)),
        ("https://proxy.test:3128/", Proxy("https", "proxy.test", 3128)),
        ("socks5h://joe:p%40ss@[::1]:1080", Proxy("socks5h", "[::1]", 1080, "joe", "p@ss")),
    ],
)
def test_a_proxy_is_read_from_its_url(url: str, expected: Proxy) -> None:
    assert Proxy.parse(url) == expected


@pytest.mark.parametrize(
    "url",
    ["proxy.test:3128", f"ftp://a:{SECRET}@b:1", f"http://a:{SECRET}@b", f"http://a:{SECRET}@b:99999", "http://:1"],
)
def test_what_is_no_proxy_is_refused_without_showing_its_secret(url: str) -> None:
    with pytest.raises(ValueError) as refusal:
        Proxy.parse(url)

    assert SECRET not in str(refusal.value)


def proxy_at(port: int, scheme: str = "http", user: str = "", password: str = "") -> HostOptions:
    return HostOptions(proxy=Proxy(scheme, "127.0.0.1", port, user, password))


def test_a_proxy_is_asked_with_the_whole_url_and_looks_the_host_up_itself() -> None:
    async def main() -> tuple[Response, bytes, int]:
        async with serving(always(PAGE)) as proxy, serving(always(PAGE)) as origin, fetching() as fetcher:
            options = proxy_at(proxy.port, user="joe", password=SECRET)
            request = origin.request("/a?b", host="nowhere.test", address="", options=options)
            return await answered(fetcher, request), proxy.heard[0][1], origin.connections

    response, heard, straight = run(main())

    assert heard.startswith(b"GET http://nowhere.test:")
    assert b"/a?b HTTP/1.1\r\nHost: nowhere.test:" in heard
    credentials = base64.b64encode(f"joe:{SECRET}".encode())
    assert b"\r\nProxy-Authorization: Basic " + credentials + b"\r\n" in heard
    assert response.request_head.startswith(b"GET /a?b HTTP/1.1\r\n")
    assert credentials not in response.request_head
    assert response.address == "127.0.0.1"
    assert straight == 0


async def relay(talk: Talk, port: int) -> None:
    """Join two connections until one ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    await asyncio.gather(pump(talk.reader, writer), pump(reader, talk.writer))


def test_https_goes_through_a_tunnel_in_which_the_host_is_still_verified() -> None:
    async def main() -> tuple[Response, Failed, list[bytes]]:
        tls = authority().server_side("x.test")
        async with serving(always(PAGE), tls=tls) as origin, fetching(ca_file=authority().ca_file) as fetcher:

            async def tunnel(talk: Talk) -> None:
                await talk.request()
                await talk.say(b"HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
                await relay(talk, origin.port)

            async with serving(tunnel) as proxy:
                options = proxy_at(proxy.port)
                good = await answered(fetcher, origin.request(scheme="https", address="", options=options))
                request = origin.request(scheme="https", host="y.test", address="", options=options)
                return good, await failed(fetcher, request), [head for _, head in proxy.heard]

    good, bad, heard = run(main())

    assert good.wire_body == b"hello"
    assert "x-proxy" not in good.headers
    assert heard[0].startswith(b"CONNECT x.test:")
    assert bad.failure is Failure.TLS_NAME_MISMATCH


def test_socks_is_given_the_name() -> None:
    named: list[bytes] = []

    async def socks(talk: Talk) -> None:
        version, methods = await talk.reader.readexactly(2)
        offered = await talk.reader.readexactly(methods)
        assert version == 5 and 2 in offered
        await talk.say(b"\x05\x02")
        _, size = await talk.reader.readexactly(2)
        user = await talk.reader.readexactly(size)
        (size,) = await talk.reader.readexactly(1)
        assert (user, await talk.reader.readexactly(size)) == (b"joe", SECRET.encode())
        await talk.say(b"\x01\x00")
        assert await talk.reader.readexactly(4) == b"\x05\x01\x00\x03"  # connect to a name
        (size,) = await talk.reader.readexactly(1)
        named.append(await talk.reader.readexactly(size))
        await talk.reader.readexactly(2)
        await talk.say(b"\x05\x00\x00\x01" + bytes(6))
        await always(PAGE)(talk)

    async def main() -> tuple[Response, bytes]:
        async with serving(socks) as proxy, serving(always(PAGE)) as origin, fetching() as fetcher:
            options = proxy_at(proxy.port, "socks5h", "joe", SECRET)
            request = origin.request("/a", host="nowhere.test", address="", options=options)
            return await answered(fetcher, request), proxy.heard[0][1]

    response, heard = run(main())

    assert named == [b"nowhere.test"]
    assert heard == response.request_head
    assert heard.startswith(b"GET /a HTTP/1.1\r\n")


@pytest.mark.parametrize(("scheme", "heard_of"), [("http", True), ("https", False)])
def test_a_proxy_that_refuses_our_credentials_says_nothing_about_the_host_and_shows_no_secret(
    scheme: str, heard_of: bool
) -> None:
    refusal = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"

    async def main() -> Failed:
        async with serving(always(refusal)) as proxy, fetching() as fetcher:
            options = proxy_at(proxy.port, user="joe", password=SECRET)
            return await failed(fetcher, proxy.request(scheme=scheme, address="", options=options))

    outcome = run(main())

    assert outcome.failure is Failure.PROXY_FAILED
    assert outcome.contacted is heard_of  # a host that is asked through it in plain text may have said so itself
    assert SECRET not in outcome.detail
    assert base64.b64encode(f"joe:{SECRET}".encode()).decode() not in outcome.detail


@pytest.mark.parametrize("scheme", ["http", "https", "socks5h"])
@pytest.mark.parametrize("page", ["http", "https"])
def test_a_proxy_that_is_not_there_is_no_fault_of_the_host(scheme: str, page: str) -> None:
    async def main() -> Failed:
        async with serving(always(PAGE)) as origin, fetching() as fetcher:
            async with serving(always(PAGE)) as gone:
                options = proxy_at(gone.port, scheme)
            return await failed(fetcher, origin.request(scheme=page, address="", options=options))

    outcome = run(main())

    assert outcome.failure is Failure.PROXY_FAILED
    assert not outcome.contacted


def test_a_proxy_without_a_name_is_no_fault_of_the_host() -> None:
    async def main() -> Failed:
        async with serving(always(PAGE)) as origin, fetching() as fetcher:
            options = HostOptions(proxy=Proxy("http", "nowhere.invalid", 3128))
            return await failed(fetcher, origin.request(address="", options=options))

    assert run(main()).failure is Failure.PROXY_FAILED


def socks_refusing(*replies: bytes) -> Failed:
    """What comes of a SOCKS proxy that answers each message with one of these, and then nothing."""

    async def socks(talk: Talk) -> None:
        for reply in replies:
            await talk.reader.read(512)
            await talk.say(reply)
        await talk.gone()

    async def main() -> Failed:
        async with serving(socks) as proxy, fetching() as fetcher:
            options = proxy_at(proxy.port, "socks5h", "joe", SECRET)
            return await failed(fetcher, proxy.request(host="nowhere.test", address="", options=options))

    return run(main())


def test_socks_credentials_that_are_refused_are_the_proxys_matter() -> None:
    for outcome in (socks_refusing(b"\x05\xff"), socks_refusing(b"\x05\x02", b"\x01\x01")):
        assert outcome.failure is Failure.PROXY_FAILED
        assert not outcome.contacted


@pytest.mark.parametrize("reply", [1, 3, 4, 5])
def test_a_host_that_a_proxy_cannot_reach_is_the_hosts_matter(reply: int) -> None:
    refusal = b"\x05" + bytes((reply,)) + b"\x00\x01" + bytes(6)

    assert socks_refusing(b"\x05\x02", b"\x01\x00", refusal).failure is Failure.CONNECTION_LOST


def test_a_tunnel_that_cannot_be_had_is_the_hosts_matter() -> None:
    refusal = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"

    async def main() -> Failed:
        async with serving(always(refusal)) as proxy, fetching() as fetcher:
            return await failed(fetcher, proxy.request(scheme="https", address="", options=proxy_at(proxy.port)))

    assert run(main()).failure is not Failure.PROXY_FAILED


def test_a_proxy_that_says_nothing_to_a_tunnel_may_be_waiting_for_the_host() -> None:
    async def silent(talk: Talk) -> None:
        await talk.gone()

    async def main() -> Failed:
        async with serving(silent) as proxy, fetching(hasty(head=0.4, tls=0.4, connect=0.4)) as fetcher:
            return await failed(fetcher, proxy.request(scheme="https", address="", options=proxy_at(proxy.port)))

    assert run(main()).failure is not Failure.PROXY_FAILED


def test_a_proxy_is_for_its_host_alone() -> None:
    async def main() -> tuple[int, int]:
        async with serving(always(PAGE)) as proxy, serving(always(PAGE)) as origin, fetching() as fetcher:
            await answered(fetcher, origin.request(host="a.test", address="", options=proxy_at(proxy.port)))
            await answered(fetcher, origin.request(host="b.test"))
            await answered(fetcher, origin.request(host="c.test", address="", options=proxy_at(proxy.port)))
            assert [head.split(b" ")[0] for _, head in proxy.heard] == [b"GET", b"GET"]
            return len(proxy.heard), len(origin.heard)

    assert run(main()) == (2, 1)


def test_without_a_proxy_an_address_is_needed() -> None:
    async def main() -> Failed:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            return await failed(fetcher, server.request(address=""))

    assert run(main()).failure is Failure.BLOCKED_ADDRESS


def test_an_address_that_is_forbidden_is_not_reached_through_a_proxy_either() -> None:
    async def main() -> tuple[Failed, int]:
        async with serving(always(PAGE)) as proxy, fetching(allow=lambda address: False) as fetcher:
            request = proxy.request(address="10.0.0.1", options=proxy_at(proxy.port))
            return await failed(fetcher, request), proxy.connections

    outcome, connections = run(main())

    assert outcome.failure is Failure.BLOCKED_ADDRESS
    assert connections == 0
