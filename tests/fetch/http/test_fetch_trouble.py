"""What becomes of answers that are late, broken or missing."""

import asyncio
import os
import socket
from functools import partial

import pytest

from gossamer.clock import VirtualClock
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, Response, Truncation
from gossamer.model.units import HostKey, Url
from tests.fetch.http.scripted_server import (
    HEAD,
    PAGE,
    PATIENT,
    Scripted,
    Talk,
    always,
    answered,
    failed,
    fetching,
    hasty,
    outcome_of,
    run,
    serving,
    until,
)

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SMALL = FetchLimits(body_bytes=1000)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def has_heard(server: Scripted, requests: int) -> bool:
    return len(server.heard) == requests


def failure_in(answer: bytes, *, then_close: bool = False, limits: FetchLimits = PATIENT) -> Failure:
    outcome = outcome_of(answer, then_close=then_close, limits=limits)
    assert isinstance(outcome, Failed), outcome
    assert outcome.contacted
    return outcome.failure


def cut_response(answer: bytes, *, limits: FetchLimits = PATIENT) -> Response:
    outcome = outcome_of(answer, then_close=True, limits=limits)
    assert isinstance(outcome, Response), outcome
    return outcome


def test_a_refused_connection_is_a_failure_that_counts_as_contact() -> None:
    async def main() -> Failed:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))  # bound and not listening: refused
            port = unused.getsockname()[1]
            async with fetching() as fetcher:
                return await failed(
                    fetcher, Request(Url(f"http://x.test:{port}/"), HostKey("x.test"), port, "127.0.0.1")
                )

    outcome = run(main())

    assert outcome.failure is Failure.CONN_REFUSED
    assert outcome.contacted


@pytest.mark.parametrize("length", [b"5, 7", b"5, 5, 7", b"five"])
def test_a_length_that_is_none_is_refused(length: bytes) -> None:
    assert failure_in(b"HTTP/1.1 200 OK\r\nContent-Length: " + length + b"\r\n\r\nhello") is Failure.BAD_HEADER


def test_a_body_that_ends_before_it_began_is_kept_as_truncated() -> None:
    response = cut_response(HEAD + b"Content-Length: 10\r\n\r\n")

    assert (response.wire_body, response.truncated) == (b"", Truncation.DISCONNECT)


def test_a_body_broken_off_by_reset_is_kept_as_truncated() -> None:
    room = BodyMemory()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Content-Length: 10\r\n\r\nhel")
        await until(lambda: room.used == 3)  # a reset takes with it what was not read
        talk.reset()

    async def main() -> Response:
        async with serving(script) as server, fetching(room=room) as fetcher:
            return await answered(fetcher, server.request())

    response = run(main())

    assert (response.wire_body, response.truncated) == (b"hel", Truncation.DISCONNECT)


@pytest.mark.parametrize("framing", [b"Content-Length: 5000\r\n\r\n", b"\r\n"])
def test_a_body_over_the_cap_is_cut_there_and_kept(framing: bytes) -> None:
    response = cut_response(HEAD + framing + b"x" * 5000, limits=SMALL)

    assert response.wire_body == b"x" * 1000
    assert response.truncated is Truncation.LENGTH


def test_a_body_of_exactly_the_cap_is_whole() -> None:
    response = cut_response(HEAD + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000, limits=SMALL)

    assert len(response.wire_body) == 1000
    assert response.truncated is None


def test_a_body_in_countless_chunks_is_cut() -> None:
    response = cut_response(CHUNKED + b"1\r\nx\r\n" * 300_000 + b"0\r\n\r\n", limits=FetchLimits())

    assert 600_000 <= len(response.wire_body) <= 700_000
    assert response.truncated is Truncation.LENGTH


def test_an_answer_of_not_modified_is_an_answer_only_to_a_condition() -> None:
    async def main() -> tuple[Response, Failed, int]:
        async with serving(always(b"HTTP/1.1 304 Not Modified\r\n\r\n<html>body")) as server, fetching() as fetcher:
            answer = await answered(fetcher, server.request(headers=(("If-None-Match", '"x"'),)))
            refused = await failed(fetcher, server.request())
            return answer, refused, server.connections

    answer, refused, connections = run(main())

    assert (answer.status, answer.wire_body) == (304, b"")
    assert refused.failure is Failure.PROTOCOL_ERROR
    assert connections == 2


def test_a_connection_that_spoke_unasked_while_it_rested_is_not_used_again() -> None:
    spoken = asyncio.Event()

    async def chatty(talk: Talk) -> None:
        while True:
            await talk.request()
            await talk.say(PAGE)
            if talk.number == 0:
                await until(lambda: len(responses) == 1)
                await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
                spoken.set()

    responses: list[Response] = []

    async def main() -> None:
        async with serving(chatty) as server, fetching() as fetcher:
            responses.append(await answered(fetcher, server.request()))
            await spoken.wait()
            responses.append(await answered(fetcher, server.request()))
            async with asyncio.timeout(60):
                while responses[-1].new_connection:  # libcurl looks at what rests once a second
                    await asyncio.sleep(0.3)
                    responses.append(await answered(fetcher, server.request()))

    run(main())

    assert {response.wire_body for response in responses} == {b"hello"}
    assert responses[1].new_connection


def test_a_connection_closed_while_it_rested_is_replaced_without_a_lost_request() -> None:
    async def main() -> tuple[list[Response], int, int]:
        async with serving(always(PAGE, then_close=True)) as server, fetching() as fetcher:
            responses = []
            for _ in range(3):
                responses.append(await answered(fetcher, server.request()))
                await asyncio.sleep(0.05)
            return responses, server.connections, len(server.heard)

    responses, connections, requests = run(main())

    assert all(response.new_connection for response in responses)
    assert connections == requests == 3


@pytest.mark.parametrize("said", [b"", HEAD, PAGE[:-2]], ids=["nothing", "half a head", "half a body"])
def test_silence_ends_the_exchange_in_every_phase(said: bytes) -> None:
    clock = VirtualClock()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(said)
        await talk.outwait(clock)

    async def main() -> tuple[Failed, int]:
        async with serving(script) as server, fetching(hasty(head=0.4, idle=0.4), clock=clock) as fetcher:
            outcome = await failed(fetcher, server.request())
            await until(lambda: server.open == 0)
            return outcome, server.open

    outcome, still_open = run(main())

    assert outcome.failure is Failure.READ_TIMEOUT
    assert outcome.contacted
    assert still_open == 0


def test_a_body_that_outlasts_the_whole_time_is_kept_as_truncated() -> None:
    clock, room = VirtualClock(), BodyMemory()

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"\r\n" + b"x" * 5000)
        await until(lambda: room.used == 5000)
        await talk.outwait(clock)

    async def main() -> Response:
        async with serving(script) as server, fetching(hasty(total=2.0), clock=clock, room=room) as fetcher:
            return await answered(fetcher, server.request())

    response = run(main())

    assert (response.wire_body, response.truncated) == (b"x" * 5000, Truncation.TIME)


def test_a_connection_that_is_never_accepted_times_out() -> None:
    async def main() -> Failed:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            port = full.getsockname()[1]
            fillers = [socket.socket() for _ in range(4)]  # the accept queue is full, further SYNs are dropped
            try:
                for filler in fillers:
                    filler.setblocking(False)
                    filler.connect_ex(("127.0.0.1", port))
                async with fetching(hasty(connect=0.4)) as fetcher:
                    return await failed(
                        fetcher, Request(Url(f"http://x.test:{port}/"), HostKey("x.test"), port, "127.0.0.1")
                    )
            finally:
                for filler in fillers:
                    filler.close()

    outcome = run(main())

    assert outcome.failure is Failure.CONNECT_TIMEOUT
    assert outcome.contacted


def test_a_cancelled_fetch_leaves_no_connection_and_no_file_open() -> None:
    async def silent(talk: Talk) -> None:
        await talk.request()
        await talk.gone()

    async def main() -> tuple[int, int, int]:
        async with serving(silent) as server, fetching(FetchLimits()) as fetcher:
            async with serving(always(PAGE, then_close=True)) as other:
                await fetcher.fetch(other.request())  # the fetcher's own files are open from its first fetch on
            await asyncio.sleep(0.05)
            before = open_files()
            tasks = [asyncio.create_task(fetcher.fetch(server.request(host=f"h{n}.test"))) for n in range(20)]
            await until(lambda: len(server.heard) == 20)
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(result, asyncio.CancelledError) for result in results)
            await until(lambda: server.open == 0 and open_files() <= before)
            return before, open_files(), server.open

    before, after, still_open = run(main())

    assert still_open == 0
    assert after <= before


def test_the_fetcher_works_on_after_cancellations_and_failures() -> None:
    async def moody(talk: Talk) -> None:
        path = (await talk.request()).split(b" ", 2)[1]
        if path == b"/silent":
            await talk.gone()
        elif path == b"/good":
            await talk.say(PAGE)
            await talk.gone()

    async def main() -> list[Response]:
        async with serving(moody) as server, fetching() as fetcher:
            for number in range(3):
                task = asyncio.create_task(fetcher.fetch(server.request("/silent")))
                await until(partial(has_heard, server, 2 * number + 1))
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await failed(fetcher, server.request("/hang-up"))
            return [await answered(fetcher, server.request("/good", host=f"h{n}.test")) for n in range(3)]

    assert [response.wire_body for response in run(main())] == [b"hello"] * 3


def test_closing_the_fetcher_closes_every_connection() -> None:
    async def main() -> tuple[int, int]:
        async with serving(always(PAGE)) as server:
            before = open_files()
            async with fetching(max_connections=1024) as fetcher:
                for number in range(30):
                    await answered(fetcher, server.request(host=f"h{number}.test"))
                await until(lambda: server.open == 30)
                assert server.open == 30
            await until(lambda: open_files() <= before)
            return before, open_files()

    before, after = run(main())

    assert after <= before


def test_open_connections_stay_within_their_bound() -> None:
    async def main() -> int:
        async with serving(always(PAGE)) as server, fetching(max_connections=16) as fetcher:
            for number in range(100):
                await answered(fetcher, server.request(host=f"h{number}.test"))
            await until(lambda: server.open <= 16)
            return server.open

    assert run(main()) <= 16
