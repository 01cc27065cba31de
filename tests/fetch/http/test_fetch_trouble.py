"""What becomes of answers that are late, broken or missing."""

import asyncio
import os
import socket
from collections.abc import Callable
from functools import partial

import pytest
from scripted_server import (
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
)

from gossamer.fetch.http.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, Response, Truncation
from gossamer.model.units import HostKey, Url

CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
SMALL = FetchLimits(body_bytes=1000)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


async def until(holds: Callable[[], bool]) -> None:
    """Give the loop time, but not for ever; the test's own assertion says what is wrong."""
    for _ in range(3_000):
        if holds():
            return
        await asyncio.sleep(0.01)


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


@pytest.mark.parametrize("answer", [b"HELLO WORLD\r\n\r\n", b"<html><p>no status line at all", b"\0\1\2\3" * 100])
def test_an_answer_without_a_status_line_is_refused(answer: bytes) -> None:
    assert failure_in(answer, then_close=True) is Failure.BAD_STATUS_LINE


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (b"Content-Length: 10\r\nContent-Length: 120\r\n", Failure.CONFLICTING_LENGTH),
        (b"Content-Length: 5, 7\r\n", Failure.BAD_HEADER),
        (b"Content-Length: 5, 5, 7\r\n", Failure.BAD_HEADER),
        (b"Content-Length: five\r\n", Failure.BAD_HEADER),
        (b"Content-Length: 5\r\nNo colon here\r\n", Failure.BAD_HEADER),
        (b"".join(b"X-%d: v\r\n" % n for n in range(1000)), Failure.HEADER_TOO_LARGE),
        (b"X: " + b"v" * 20_000 + b"\r\n", Failure.HEADER_TOO_LARGE),
        (b"X: " + b"v" * 1_000_000 + b"\r\n", Failure.HEADER_TOO_LARGE),
        (b"".join(b"X-%d: %s\r\n" % (n, b"v" * 10_000) for n in range(9)), Failure.HEADER_TOO_LARGE),
    ],
)
def test_heads_that_cannot_be_trusted_are_refused(lines: bytes, expected: Failure) -> None:
    assert failure_in(b"HTTP/1.1 200 OK\r\n" + lines + b"\r\nhello") is expected


def test_endless_informational_answers_are_refused() -> None:
    assert failure_in(b"HTTP/1.1 102 Processing\r\n\r\n" * 10_000) is Failure.HEADER_TOO_LARGE


def test_a_switch_of_protocols_nobody_asked_for_is_refused() -> None:
    assert failure_in(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + PAGE) is Failure.PROTOCOL_ERROR


@pytest.mark.parametrize("size", [b"ZZ", b"-5", b"0x10", b"F" * 17, b"", b"5 5"])
def test_a_chunk_size_that_is_no_number_is_refused(size: bytes) -> None:
    assert failure_in(CHUNKED + size + b"\r\nhello\r\n0\r\n\r\n") is Failure.BAD_CHUNK


@pytest.mark.parametrize("body", [b"5;" + b"x" * 100_000 + b"\r\nhello\r\n0\r\n\r\n", b"0\r\n" + b"A: b\r\n" * 20_000])
def test_endless_chunk_extensions_and_trailers_are_refused(body: bytes) -> None:
    assert failure_in(CHUNKED + body) is Failure.HEADER_TOO_LARGE


def test_identical_lengths_given_twice_are_one_length() -> None:
    assert cut_response(HEAD + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello").wire_body == b"hello"


def test_a_status_line_without_a_reason_will_do() -> None:
    response = cut_response(b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")

    assert (response.status, response.wire_body) == (200, b"hello")


def test_line_ends_without_carriage_return_will_do() -> None:
    response = cut_response(b"HTTP/1.1 200 OK\nA: b\n c\nContent-Length: 5\n\nhello")

    assert response.headers["a"] == "b c"
    assert response.wire_body == b"hello"


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (HEAD + b"Content-Length: 10000\r\n\r\n" + b"x" * 4000, b"x" * 4000),
        (HEAD + b"Content-Length: 10\r\n\r\n", b""),
        (CHUNKED + b"5\r\nhel", b"5\r\nhel"),
        (CHUNKED + b"5\r\nhello\r\n", b"5\r\nhello\r\n"),
    ],
)
def test_a_body_that_breaks_off_is_kept_as_truncated(answer: bytes, kept: bytes) -> None:
    response = cut_response(answer)

    assert response.wire_body == kept
    assert response.truncated is Truncation.DISCONNECT


def test_a_body_broken_off_by_reset_is_kept_as_truncated() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Content-Length: 10\r\n\r\nhel")
        await asyncio.sleep(0.1)
        talk.reset()

    async def main() -> Response:
        async with serving(script) as server, fetching() as fetcher:
            return await answered(fetcher, server.request())

    assert run(main()).truncated is Truncation.DISCONNECT


@pytest.mark.parametrize("framing", [b"Content-Length: 5000\r\n\r\n", b"\r\n"])
def test_a_body_over_the_cap_is_cut_there_and_kept(framing: bytes) -> None:
    response = cut_response(HEAD + framing + b"x" * 5000, limits=SMALL)

    assert response.wire_body == b"x" * 1000
    assert response.truncated is Truncation.LENGTH


def test_a_body_of_exactly_the_cap_is_whole() -> None:
    response = cut_response(HEAD + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000, limits=SMALL)

    assert len(response.wire_body) == 1000
    assert response.truncated is None


def test_a_chunked_body_that_never_ends_is_cut_at_the_cap() -> None:
    async def endless(talk: Talk) -> None:
        await talk.request()
        await talk.say(CHUNKED)
        for _ in range(10_000):
            await talk.say(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")

    async def main() -> Response:
        async with serving(endless) as server, fetching(FetchLimits(body_bytes=1_000_000)) as fetcher:
            return await answered(fetcher, server.request())

    response = run(main())

    assert len(response.wire_body) == 1_000_000
    assert response.truncated is Truncation.LENGTH


def test_a_body_in_countless_chunks_is_cut() -> None:
    response = cut_response(CHUNKED + b"1\r\nx\r\n" * 300_000 + b"0\r\n\r\n", limits=FetchLimits())

    assert 600_000 <= len(response.wire_body) <= 700_000
    assert response.truncated is Truncation.LENGTH


def test_a_declared_length_reserves_no_memory() -> None:
    response = cut_response(HEAD + b"Content-Length: 999999999999\r\n\r\n" + b"x" * 1024)

    assert len(response.wire_body) == 1024


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n") + b"5\r\nhello\r\n0\r\n\r\n" + b"S" * 200,
        HEAD + b"Content-Length: 5\r\n\r\nhello" + b"S" * 5000,
        b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_bytes_after_the_end_of_an_answer_are_dropped_with_their_connection(answer: bytes) -> None:
    async def main() -> tuple[Response, Response, int]:
        async with serving(always(answer)) as server, fetching() as fetcher:
            first = await answered(fetcher, server.request())
            second = await answered(fetcher, server.request())
            return first, second, server.connections

    first, second, connections = run(main())

    assert connections == 2
    assert b"SS" not in first.wire_body
    assert first.wire_body == second.wire_body
    assert first.truncated is None


CHANGED = (("If-None-Match", '"x"'),)


def test_an_answer_of_not_modified_is_an_answer_only_to_a_condition() -> None:
    async def main() -> tuple[Response, Failed, int]:
        async with serving(always(b"HTTP/1.1 304 Not Modified\r\n\r\n<html>body")) as server, fetching() as fetcher:
            answer = await answered(fetcher, server.request(headers=CHANGED))
            refused = await failed(fetcher, server.request())
            return answer, refused, server.connections

    answer, refused, connections = run(main())

    assert (answer.status, answer.wire_body) == (304, b"")
    assert refused.failure is Failure.PROTOCOL_ERROR
    assert connections == 2


@pytest.mark.parametrize("pause", [0.1, 1.3])  # before and after libcurl's own look, which is once a second
def test_a_connection_that_spoke_unasked_while_it_rested_is_not_used_again(pause: float) -> None:
    async def chatty(talk: Talk) -> None:
        while True:
            await talk.request()
            await talk.say(PAGE)
            if talk.number == 0:
                await asyncio.sleep(0.03)
                await talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")

    async def main() -> tuple[list[Response], int]:
        async with serving(chatty) as server, fetching() as fetcher:
            responses = [await answered(fetcher, server.request())]
            await asyncio.sleep(pause)
            for _ in range(5):
                responses.append(await answered(fetcher, server.request()))
                await asyncio.sleep(0.3)
            return responses, server.connections

    responses, connections = run(main())

    assert [response.wire_body for response in responses] == [b"hello"] * 6
    assert 2 <= connections < 6


def test_a_connection_closed_while_it_rested_is_replaced_without_a_lost_request() -> None:
    async def main() -> tuple[list[Response], int, int]:
        async with serving(always(PAGE, then_close=True)) as server, fetching() as fetcher:
            responses = []
            for _ in range(3):
                responses.append(await answered(fetcher, server.request()))
                await asyncio.sleep(0.05)
            return responses, server.connections, len(server.heard)

    responses, connections, requests = run(main())

    assert all(response.connected_anew for response in responses)
    assert connections == requests == 3


@pytest.mark.parametrize("rst", [False, True])
def test_a_fresh_connection_that_ends_before_any_byte_is_a_lost_connection(rst: bool) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        if rst:
            talk.reset()

    async def main() -> tuple[Failed, int]:
        async with serving(script) as server, fetching() as fetcher:
            return await failed(fetcher, server.request()), server.connections

    outcome, connections = run(main())

    assert outcome.failure is Failure.CONNECTION_LOST
    assert outcome.contacted
    assert connections == 1


@pytest.mark.parametrize("rst", [False, True])
def test_a_reused_connection_that_ends_before_any_byte_is_silently_replaced_once(rst: bool) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(PAGE)
        if talk.number == 0:
            await talk.request()  # hear the second request, then hang up instead of answering
            if rst:
                talk.reset()
            return
        await talk.gone()

    async def main() -> tuple[Response, int, int]:
        async with serving(script) as server, fetching() as fetcher:
            await answered(fetcher, server.request())
            second = await answered(fetcher, server.request())
            return second, server.connections, len(server.heard)

    second, connections, requests = run(main())

    assert second.wire_body == b"hello"
    assert second.connected_anew
    assert (connections, requests) == (2, 3)


@pytest.mark.parametrize(
    ("said", "expected"),
    [(b"", Failure.READ_TIMEOUT), (HEAD, Failure.READ_TIMEOUT), (PAGE[:-2], Failure.READ_TIMEOUT)],
)
def test_silence_ends_the_exchange_in_every_phase(said: bytes, expected: Failure) -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(said)
        await talk.gone()

    async def main() -> tuple[Failed, int]:
        async with serving(script) as server, fetching(hasty(head=0.4, idle=0.4)) as fetcher:
            outcome = await failed(fetcher, server.request())
            await until(lambda: server.open == 0)
            return outcome, server.open

    outcome, still_open = run(main())

    assert outcome.failure is expected
    assert outcome.contacted
    assert still_open == 0


async def drip(talk: Talk, data: bytes, pause: float) -> None:
    for byte in data:
        await talk.say(bytes((byte,)))
        await asyncio.sleep(pause)


def test_a_head_that_drips_does_not_push_its_deadline_out() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await drip(talk, HEAD + b"X: y\r\n" * 1000, 0.02)

    async def main() -> Failed:
        async with serving(script) as server, fetching(hasty(head=0.4)) as fetcher:
            return await failed(fetcher, server.request())

    assert run(main()).failure is Failure.READ_TIMEOUT


def test_a_body_that_drips_is_too_slow() -> None:
    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"Content-Length: 100000\r\n\r\n")
        await drip(talk, b"x" * 1000, 0.05)

    async def main() -> Failed:
        async with serving(script) as server, fetching(hasty(rate_window=0.6)) as fetcher:
            return await failed(fetcher, server.request())

    assert run(main()).failure is Failure.TOO_SLOW


def test_a_steady_body_that_outlasts_the_whole_time_is_kept_as_truncated() -> None:
    limits = hasty(total=2.0)

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(HEAD + b"\r\n")
        for _ in range(3_000):
            await talk.say(b"x" * 1000)
            await asyncio.sleep(0.02)

    async def main() -> Response:
        async with serving(script) as server, fetching(limits) as fetcher:
            return await answered(fetcher, server.request())

    response = run(main())

    assert response.truncated is Truncation.TIME
    assert response.wire_body


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
                await asyncio.sleep(0.05)
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
