"""HTTP/2: chosen by the server over TLS, recorded as HTTP/1.1 would be, held to the same limits."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.http.options import HostOptions
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failed, Failure, Response, Truncation
from tests.fetch.http.http2_frames import (
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    Asked,
    Http2Site,
    frame,
    serving_http2,
    write_block,
)
from tests.fetch.http.scripted_server import (
    PAGE,
    PATIENT,
    always,
    answered,
    failed,
    fetching,
    hasty,
    run,
    serving,
    until,
)
from tests.fetch.http.tls_trust import authority

T = TypeVar("T")
Reply = Callable[[Asked], Awaitable[None]]
BODY = b"<html>" + b"x" * 40_000


def with_site(
    reply: Reply,
    work: Callable[[CurlFetcher, Http2Site], Awaitable[T]],
    limits: FetchLimits = PATIENT,
    room: BodyMemory | None = None,
) -> T:
    async def main() -> T:
        tls = authority().server_side("x.test", "y.test", alpn=("h2", "http/1.1"))
        trust = authority().ca_file
        async with serving_http2(reply, tls) as site, fetching(limits, ca_file=trust, room=room) as fetcher:
            return await work(fetcher, site)

    return run(main())


def response_to(reply: Reply, limits: FetchLimits = PATIENT, room: BodyMemory | None = None) -> Response:
    return with_site(reply, lambda f, s: answered(f, s.server.request("/a?b", scheme="https")), limits, room)


def failure_of(reply: Reply, limits: FetchLimits = PATIENT) -> Failed:
    return with_site(reply, lambda f, s: failed(f, s.server.request(scheme="https")), limits)


async def good(asked: Asked) -> None:
    await asked.answer(BODY, (b"content-type", b"text/html"), (b"etag", b'"1"'))


def test_the_head_is_recorded_as_in_http_1_and_the_body_as_it_came() -> None:
    response = response_to(good)

    assert response.head == b'HTTP/1.1 200 \r\ncontent-type: text/html\r\netag: "1"\r\n\r\n'
    assert response.wire_body == BODY
    assert (response.status, response.protocol, response.truncated) == (200, "h2", None)
    assert response.headers["etag"] == '"1"'
    assert response.request_head.startswith(b"GET /a?b HTTP/1.1\r\nHost: x.test:")


def test_the_request_carries_what_it_would_in_http_1() -> None:
    async def work(fetcher: CurlFetcher, site: Http2Site) -> tuple[Response, dict[bytes, bytes]]:
        request = site.server.request("/a?b", scheme="https", headers=(("If-None-Match", '"1"'),))
        return await answered(fetcher, request), dict(site.asked[0].fields)

    response, asked = with_site(good, work)

    assert (asked[b":method"], asked[b":path"], asked[b":scheme"]) == (b"GET", b"/a?b", b"https")
    recorded = dict(line.split(b": ", 1) for line in response.request_head.split(b"\r\n")[1:-2])
    assert asked[b":authority"] == recorded.pop(b"Host")
    assert {name.lower(): value for name, value in recorded.items()}.items() <= asked.items()


def test_the_next_request_uses_the_same_connection() -> None:
    async def work(fetcher: CurlFetcher, site: Http2Site) -> tuple[list[bool], int]:
        fresh = []
        for number in range(3):
            fresh.append((await answered(fetcher, site.server.request(f"/{number}", scheme="https"))).new_connection)
            await asyncio.sleep(0.05)
        return fresh, site.server.connections

    assert with_site(good, work) == ([True, False, False], 1)


def test_two_hosts_of_one_certificate_and_address_do_not_share_a_connection() -> None:
    async def work(fetcher: CurlFetcher, site: Http2Site) -> int:
        for host in ("x.test", "y.test"):
            await answered(fetcher, site.server.request(scheme="https", host=host))
        return site.server.connections

    assert with_site(good, work) == 2


def test_it_can_be_switched_off_for_a_host() -> None:
    async def main() -> Response:
        tls = authority().server_side("x.test", alpn=("h2", "http/1.1"))
        async with serving(always(PAGE), tls=tls) as server, fetching(ca_file=authority().ca_file) as fetcher:
            return await answered(fetcher, server.request(scheme="https", options=HostOptions(http2=False)))

    response = run(main())

    assert (response.protocol, response.wire_body) == ("http/1.1", b"hello")


def test_a_server_that_does_not_offer_it_is_asked_in_http_1_and_its_connection_kept() -> None:
    async def main() -> tuple[list[str], int]:
        tls = authority().server_side("x.test", alpn=("http/1.1",))
        async with serving(always(PAGE), tls=tls) as server, fetching(ca_file=authority().ca_file) as fetcher:
            responses = [await answered(fetcher, server.request(scheme="https")) for _ in range(3)]
            return [response.protocol for response in responses], server.connections

    assert run(main()) == (["http/1.1"] * 3, 1)


def test_plain_http_is_never_upgraded() -> None:
    async def main() -> bytes:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            await answered(fetcher, server.request())
            return server.heard[0][1]

    assert b"pgrade" not in run(main())


def test_a_session_is_resumed_on_the_next_connection() -> None:
    async def last_words(asked: Asked) -> None:
        await asked.answer(BODY)
        asked.talk.writer.close()

    async def work(fetcher: CurlFetcher, site: Http2Site) -> tuple[int, int]:
        for _ in range(3):
            await answered(fetcher, site.server.request(scheme="https"))
            await asyncio.sleep(0.05)
        return site.server.connections, site.resumed

    assert with_site(last_words, work) == (3, 2)


def test_the_sessions_of_a_hundred_hosts_are_remembered() -> None:
    async def last_words(asked: Asked) -> None:
        await asked.answer(BODY)
        await asked.goaway(asked.stream)

    names = [f"h{number}.test" for number in range(100)]

    async def main() -> tuple[int, int]:
        tls = authority().server_side(*names, alpn=("h2",))
        async with serving_http2(last_words, tls) as site, fetching(ca_file=authority().ca_file) as fetcher:
            for host in names * 2:
                await answered(fetcher, site.server.request(scheme="https", host=host))
            return site.server.connections, site.resumed

    assert run(main()) == (200, 100)


def test_early_hints_are_skipped_and_trailers_left_out() -> None:
    async def reply(asked: Asked) -> None:
        await asked.head((b"link", b"</x>"), status=b"103")
        await asked.head((b"content-type", b"text/html"))
        await asked.data(BODY, last=False)
        await asked.talk.say(_trailers(asked))

    response = response_to(reply)

    assert response.wire_body == BODY
    assert response.headers == {"content-type": "text/html"}


def _trailers(asked: Asked) -> bytes:

    return frame(HEADERS, END_HEADERS | END_STREAM, asked.stream, write_block([(b"x-sum", b"1")]))


def test_a_body_over_the_cap_is_cut_there() -> None:
    response = response_to(good, FetchLimits(body_bytes=10_000))

    assert (response.wire_body, response.truncated) == (BODY[:10_000], Truncation.LENGTH)


def test_a_stream_given_up_in_the_body_leaves_a_beginning() -> None:
    async def reply(asked: Asked) -> None:
        await asked.head((b"content-type", b"text/html"))
        await asked.data(b"x" * 5000, last=False)
        await until(lambda: room.used == 5000)
        await asked.reset(2)

    room = BodyMemory()
    response = response_to(reply, room=room)

    assert (response.wire_body, response.truncated) == (b"x" * 5000, Truncation.DISCONNECT)


def test_a_body_shorter_than_its_length_is_truncated() -> None:
    async def reply(asked: Asked) -> None:
        await asked.head((b"content-length", b"100"))
        await asked.data(b"x" * 50, last=False)
        await until(lambda: room.used == 50)
        asked.talk.writer.close()

    room = BodyMemory()
    response = response_to(reply, room=room)

    assert (response.wire_body, response.truncated) == (b"x" * 50, Truncation.DISCONNECT)


def test_a_stream_given_up_before_the_head_is_a_lost_connection() -> None:
    outcome = failure_of(lambda asked: asked.reset(2))

    assert outcome.failure is Failure.CONNECTION_LOST
    assert outcome.contacted


@pytest.mark.parametrize(
    "fields",
    [[(b"x-%d" % n, b"v") for n in range(400)], [(b"x-%d" % n, b"v" * 1000) for n in range(14)] * 10],
    ids=["many", "large"],
)
def test_a_head_over_its_limits_is_refused(fields: list[tuple[bytes, bytes]]) -> None:
    async def reply(asked: Asked) -> None:

        block = write_block([(b":status", b"200"), *fields])
        pieces = [block[start : start + 16_000] for start in range(0, len(block), 16_000)]
        for number, piece in enumerate(pieces):
            flags = END_HEADERS if number == len(pieces) - 1 else 0
            await asked.talk.say(frame(CONTINUATION if number else HEADERS, flags, asked.stream, piece))

    assert failure_of(reply).failure is Failure.HEADER_TOO_LARGE


@pytest.mark.parametrize(
    ("with_head", "expected"), [(False, Failure.READ_TIMEOUT), (True, Failure.READ_TIMEOUT)], ids=["head", "body"]
)
def test_silence_ends_the_exchange(with_head: bool, expected: Failure) -> None:
    async def reply(asked: Asked) -> None:
        if with_head:
            await asked.head((b"content-length", b"100"))

    assert failure_of(reply, hasty(head=0.4, idle=0.4)).failure is expected


def test_a_connection_kept_alive_by_pings_still_meets_the_deadline_of_the_head() -> None:
    async def reply(asked: Asked) -> None:
        for _ in range(200):
            await asked.talk.say(frame(PING, 0, 0, bytes(8)))
            await asyncio.sleep(0.02)

    assert failure_of(reply, hasty(head=0.4)).failure is Failure.READ_TIMEOUT


def test_a_server_that_takes_its_leave_is_asked_on_a_new_connection() -> None:
    async def reply(asked: Asked) -> None:
        await asked.answer(BODY)
        await asked.goaway(asked.stream)

    async def work(fetcher: CurlFetcher, site: Http2Site) -> tuple[list[int], int]:
        lengths = []
        for _ in range(3):
            lengths.append(len((await answered(fetcher, site.server.request(scheme="https"))).wire_body))
            await asyncio.sleep(0.05)
        return lengths, site.server.connections

    assert with_site(reply, work) == ([len(BODY)] * 3, 3)


def test_a_server_that_always_takes_its_leave_is_answered_for_however_many_connections_lie_about() -> None:
    async def reply(asked: Asked) -> None:
        await asked.answer(BODY)
        await asyncio.sleep(0)
        await asked.goaway(asked.stream)

    async def work(fetcher: CurlFetcher, site: Http2Site) -> list[int]:
        return [len((await answered(fetcher, site.server.request(scheme="https"))).wire_body) for _ in range(100)]

    assert with_site(reply, work) == [len(BODY)] * 100


def test_bytes_that_are_no_frames_are_a_protocol_error() -> None:
    async def reply(asked: Asked) -> None:
        await asked.talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" * 10)

    assert failure_of(reply).failure in (Failure.PROTOCOL_ERROR, Failure.CONNECTION_LOST)


REFUSED_STREAM = 7


def test_hf_28_a_server_that_refuses_a_request_is_asked_once_more_and_not_more_often() -> None:
    async def refuse(asked: Asked) -> None:
        await asked.reset(REFUSED_STREAM)

    async def take_leave(asked: Asked) -> None:
        await asked.goaway(0)

    async def leave_and_close(asked: Asked) -> None:
        await asked.goaway(0)
        asked.talk.writer.close()

    async def work(fetcher: CurlFetcher, site: Http2Site) -> tuple[list[tuple[Failure, int]], int]:
        outcomes = [await failed(fetcher, site.server.request(scheme="https")) for _ in range(2)]
        return [(outcome.failure, outcome.repeats) for outcome in outcomes], len(site.asked)

    for reply in (refuse, take_leave, leave_and_close):
        assert with_site(reply, work) == ([(Failure.CONNECTION_LOST, 1)] * 2, 4)


def test_hf_28_the_same_holds_for_a_connection_that_was_good_before() -> None:
    for kind in ("refuse", "take leave"):
        site_of: list[Http2Site] = []

        async def reply(asked: Asked, kind: str = kind, site_of: list[Http2Site] = site_of) -> None:
            if len(site_of[0].asked) == 1:
                await asked.answer(BODY)
            elif kind == "refuse":
                await asked.reset(REFUSED_STREAM)
            else:
                await asked.goaway(0)

        async def work(
            fetcher: CurlFetcher, site: Http2Site, site_of: list[Http2Site] = site_of
        ) -> tuple[int, int, int]:
            site_of.append(site)
            first = await answered(fetcher, site.server.request(scheme="https"))
            second = await failed(fetcher, site.server.request(scheme="https"))
            return first.repeats, second.repeats, len(site.asked)

        assert with_site(reply, work) == (0, 1, 3)


def test_hf_28_a_request_that_is_answered_at_the_second_time_says_so() -> None:
    requests: list[Asked] = []

    async def reply(asked: Asked) -> None:
        requests.append(asked)
        await (asked.reset(REFUSED_STREAM) if len(requests) == 1 else asked.answer(BODY))

    response = response_to(reply)

    assert (response.wire_body, response.repeats, len(requests)) == (BODY, 1, 2)
