"""FTP servers that mean harm, or do not know better, and what becomes of a visit to them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

import pytest

from gossamer.extract.crawl_page import extract_page
from gossamer.fetch.ftp import MAX_LISTING_BYTES, FtpFetcher
from gossamer.fetch.http.options import HostOptions, Proxy
from gossamer.fetch.ports import FetchLimits, Request
from gossamer.model.outcome import Failed, Failure, FetchOutcome, Response, Truncation
from gossamer.model.units import HostKey, Url
from tests.fetch.http.scripted_server import PATIENT, hasty
from tests.time_travel import LoopClock
from tests.time_travel import run_travelling as run


@dataclass
class Talk:
    """One control connection, as a script sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    heard: list[bytes]
    data: asyncio.Queue[asyncio.StreamWriter] = field(default_factory=asyncio.Queue)
    data_port: int = 0

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def hear(self) -> bytes:
        line = await self.reader.readline()
        if not line:
            raise ConnectionResetError
        self.heard.append(line.rstrip())
        return line.split()[0].upper()

    async def obey(self, answers: dict[bytes, bytes]) -> bytes:
        """Answer like a simple server, until a command without an answer comes; that one is returned."""
        usual = {
            b"USER": b"331 password?",
            b"PASS": b"230 in",
            b"TYPE": b"200 ok",
            b"CWD": b"250 ok",
            b"EPSV": b"229 ok (|||%d|)" % self.data_port,
        }
        while True:
            verb = await self.hear()
            line = {**usual, **answers}.get(verb)
            if line is None:
                return verb
            await self.say(line + b"\r\n")


Script = Callable[[Talk], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(script: Script) -> AsyncIterator[tuple[int, list[bytes]]]:
    """A scripted server with a port for data beside it."""
    heard: list[bytes] = []
    tasks: set[asyncio.Task[None]] = set()
    talks: list[Talk] = []

    async def on_control(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        talk = Talk(reader, writer, heard, data_port=data.sockets[0].getsockname()[1])
        talks.append(talk)
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await script(talk)
        writer.close()

    async def on_data(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await talks[-1].data.put(writer)

    data = await asyncio.start_server(on_data, "127.0.0.1", 0)
    control = await asyncio.start_server(on_control, "127.0.0.1", 0)
    try:
        yield control.sockets[0].getsockname()[1], heard
    finally:
        control.close()
        data.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for talk in talks:
            while not talk.data.empty():
                talk.data.get_nowait().close()


def visit(script: Script, path: str = "/x", limits: FetchLimits = PATIENT) -> FetchOutcome:
    async def main() -> FetchOutcome:
        async with serving(script) as (port, _):
            fetcher = FtpFetcher("gossamer-test/1.0", limits, LoopClock(), allow=lambda _address: True)
            return await fetcher.fetch(Request(Url(f"ftp://x.test:{port}{path}"), HostKey("x.test"), port, "127.0.0.1"))

    return run(main())


def failure_of(script: Script, path: str = "/x", limits: FetchLimits = PATIENT) -> Failure:
    outcome = visit(script, path, limits)
    assert isinstance(outcome, Failed), outcome
    assert outcome.contacted
    return outcome.failure


def response_of(script: Script, path: str = "/x", limits: FetchLimits = PATIENT) -> Response:
    outcome = visit(script, path, limits)
    assert isinstance(outcome, Response), outcome
    return outcome


async def silent(talk: Talk) -> None:
    await talk.reader.read()


def saying(data: bytes, *, for_ever: bool = False) -> Script:
    async def script(talk: Talk) -> None:
        await talk.say(data)
        while for_ever:
            await talk.say(data)
            await asyncio.sleep(0)  # `say` waits only when the peer is slow
        await talk.reader.read()

    return script


def sending(body: bytes, *, last: bytes = b"226 done\r\n", verb: bytes = b"RETR") -> Script:
    """A good server for one transfer."""

    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        assert await talk.obey({}) == verb
        await talk.say(b"150 here it comes\r\n")
        writer = await talk.data.get()
        writer.write(body)
        await writer.drain()
        writer.close()
        await talk.say(last)
        await talk.hear()

    return script


def test_a_scripted_server_can_be_good() -> None:
    response = response_of(sending(b"hello"))

    assert (response.status, response.wire_body, response.truncated) == (200, b"hello", None)


@pytest.mark.parametrize(
    ("script", "failure"),
    [
        (silent, Failure.READ_TIMEOUT),
        (saying(b"220-hello\r\n", for_ever=True), Failure.HEADER_TOO_LARGE),
        (saying(b"220-" + b"x" * 8000 + b"\r\n", for_ever=True), Failure.HEADER_TOO_LARGE),
        (saying(b"x" * 65536, for_ever=True), Failure.HEADER_TOO_LARGE),
        (saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Failure.PROTOCOL_ERROR),
        (saying(b"\r\n"), Failure.PROTOCOL_ERROR),
        (saying(b"\xff\xfe\0\0\n"), Failure.PROTOCOL_ERROR),
        (saying(b"999 what\r\n"), Failure.PROTOCOL_ERROR),
        (saying(b"220-never ends\r\n"), Failure.READ_TIMEOUT),
        (saying(b"220"), Failure.READ_TIMEOUT),
    ],
    ids=[
        *("no banner", "endless banner", "endless long banner", "endless line", "http", "blank", "binary", "no code"),
        *("half a banner", "half a line"),
    ],
)
def test_a_greeting_that_is_none_ends_the_visit(script: Script, failure: Failure) -> None:
    assert failure_of(script, limits=hasty(connect=0.5, head=0.5)) is failure


def test_a_line_of_ten_mebibytes_is_not_kept() -> None:
    assert failure_of(saying(b"220 " + b"x" * (10 * 1024 * 1024) + b"\r\n")) is Failure.HEADER_TOO_LARGE


def test_a_connection_that_breaks_is_lost() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.hear()

    assert failure_of(script) is Failure.CONNECTION_LOST


def test_nobody_listening_is_a_refused_connection() -> None:
    async def main() -> FetchOutcome:
        async with serving(silent) as (port, _):
            pass
        fetcher = FtpFetcher("gossamer-test/1.0", PATIENT, LoopClock(), allow=lambda _address: True)
        return await fetcher.fetch(Request(Url("ftp://x.test/"), HostKey("x.test"), port, "127.0.0.1"))

    outcome = run(main())

    assert isinstance(outcome, Failed) and outcome.failure is Failure.CONN_REFUSED


def test_a_reply_that_drips_in_has_one_deadline() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220-hello\r\n")
        while True:
            await talk.say(b"x")
            await asyncio.sleep(0.1)

    assert failure_of(script, limits=hasty(head=0.5)) is Failure.READ_TIMEOUT


@pytest.mark.parametrize(
    ("greeting", "status"),
    [(b"421 too many users\r\n", 503), (b"120 in ten minutes\r\n", 503), (b"530 not from there\r\n", 503)],
)
def test_a_server_that_will_not_talk_now_is_asked_again_later(greeting: bytes, status: int) -> None:
    assert response_of(saying(greeting)).status == status


@pytest.mark.parametrize(
    ("verb", "line", "status"),
    [
        (b"PASS", b"530 no", 403),
        (b"PASS", b"421 full", 503),
        (b"USER", b"332 account?", 503),
        (b"EPSV", b"425 no data connection", 503),
        (b"RETR", b"450 busy", 503),
        (b"RETR", b"550 no such file", 404),
        (b"RETR", b"502 what is that", 501),
    ],
)
def test_a_refusal_becomes_the_status_that_asks_the_same_of_us(verb: bytes, line: bytes, status: int) -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({verb: line, b"CWD": b"550 no", b"PASV": line})

    assert response_of(script).status == status


def test_the_address_in_a_passive_reply_is_never_dialled() -> None:
    """227 names another address, where a sentinel listens: the data comes from the control connection's."""

    async def main() -> tuple[FetchOutcome, int]:
        contacts = 0

        async def on_contact(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal contacts
            contacts += 1
            writer.close()

        async def script(talk: Talk) -> None:
            sentinel = await asyncio.start_server(on_contact, "127.0.0.2", talk.data_port)
            await talk.say(b"220 hello\r\n")
            high, low = divmod(talk.data_port, 256)
            await talk.obey({b"EPSV": b"500 no", b"PASV": b"227 there (127,0,0,2,%d,%d)" % (high, low)})
            await talk.say(b"150 here\r\n")
            (await talk.data.get()).close()
            await talk.say(b"226 done\r\n")
            await talk.hear()
            sentinel.close()

        async with serving(script) as (port, _):
            fetcher = FtpFetcher("gossamer-test/1.0", PATIENT, LoopClock(), allow=lambda _address: True)
            request = Request(Url(f"ftp://x.test:{port}/x"), HostKey("x.test"), port, "127.0.0.1")
            return await fetcher.fetch(request), contacts

    outcome, contacts = run(main())

    assert isinstance(outcome, Response) and outcome.status == 200
    assert contacts == 0


@pytest.mark.parametrize("port", [0, 22, 1023, 65536, 99999])
def test_a_data_port_of_another_service_is_not_dialled(port: int) -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({b"EPSV": b"229 ok (|||%d|)" % port, b"PASV": b"227 (127,0,0,1,%d,%d)" % divmod(port, 256)})

    assert failure_of(script) is Failure.PROTOCOL_ERROR


def test_a_data_port_where_nobody_listens_ends_the_visit() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        gone = await asyncio.start_server(lambda _r, _w: None, "127.0.0.1", 0)
        port = gone.sockets[0].getsockname()[1]
        gone.close()
        await gone.wait_closed()
        await talk.obey({b"EPSV": b"229 ok (|||%d|)" % port})

    assert failure_of(script) is Failure.CONN_REFUSED


def test_a_file_without_end_is_cut_at_the_limit() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({})
        await talk.say(b"150 here\r\n")
        writer = await talk.data.get()
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    response = response_of(script, limits=replace(PATIENT, body_bytes=1_000_000))

    assert (response.truncated, len(response.wire_body)) == (Truncation.LENGTH, 1_000_000)


def test_a_listing_without_end_is_cut_and_its_whole_lines_are_kept() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({})
        await talk.say(b"150 here\r\n")
        writer = await talk.data.get()
        for number in range(1 << 62):
            writer.write(b"type=file;size=1; a-file-with-a-rather-long-name-%020d%s\r\n" % (number, b"x" * 180))
            await writer.drain()

    response = response_of(script, "/dir/")

    page = extract_page(response.wire_body, response.headers["content-type"], response.url)
    assert (response.status, response.truncated) == (200, Truncation.LENGTH)
    assert len(response.wire_body) < 3 * MAX_LISTING_BYTES
    assert len(page.hrefs) > 500 and {len(href) for href in page.hrefs} == {len(page.hrefs[0])}


def test_a_transfer_that_the_server_breaks_off_is_truncated() -> None:
    response = response_of(sending(b"half", last=b"426 aborted\r\n"))

    assert (response.wire_body, response.truncated) == (b"half", Truncation.DISCONNECT)


def test_a_transfer_that_nobody_confirms_is_truncated() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({})
        await talk.say(b"150 here\r\n")
        writer = await talk.data.get()
        writer.write(b"all of it?")
        writer.close()
        await talk.reader.read()

    response = response_of(script, limits=hasty(head=0.5))

    assert (response.wire_body, response.truncated) == (b"all of it?", Truncation.DISCONNECT)


def test_a_transfer_refused_after_it_was_announced_is_refused() -> None:
    assert response_of(sending(b"", last=b"451 the disk broke\r\n")).status == 503


def test_a_data_connection_that_falls_silent_ends_the_visit() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({})
        await talk.say(b"150 here\r\n")
        writer = await talk.data.get()
        writer.write(b"x" * 10_000)
        await talk.reader.read()

    assert failure_of(script, limits=hasty(idle=0.5)) is Failure.READ_TIMEOUT


def dripping(data: bytes) -> Script:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        await talk.obey({})
        await talk.say(b"150 here\r\n")
        writer = await talk.data.get()
        while True:
            writer.write(data)
            await writer.drain()
            await asyncio.sleep(0.05)

    return script


def test_a_trickle_is_too_slow() -> None:
    assert failure_of(dripping(b"x"), limits=hasty(rate_window=0.6)) is Failure.TOO_SLOW


def test_a_file_that_takes_too_long_is_kept_as_far_as_it_came() -> None:
    response = response_of(dripping(b"x" * 1000), limits=hasty(total=2.0))

    assert response.truncated is Truncation.TIME
    assert len(response.wire_body) >= 1000


def test_a_server_that_answers_every_command_but_never_sends_comes_to_an_end() -> None:
    async def script(talk: Talk) -> None:
        await talk.say(b"220 hello\r\n")
        while True:
            await talk.hear()
            await talk.say(b"220 yes\r\n")

    assert failure_of(script) is Failure.PROTOCOL_ERROR


def test_a_visit_leaves_no_connection_open_and_says_goodbye() -> None:
    async def main() -> list[bytes]:
        ended = asyncio.Event()

        async def script(talk: Talk) -> None:
            await sending(b"hello")(talk)
            assert await talk.reader.read() == b""
            ended.set()

        async with serving(script) as (port, heard):
            fetcher = FtpFetcher("gossamer-test/1.0", PATIENT, LoopClock(), allow=lambda _address: True)
            await fetcher.fetch(Request(Url(f"ftp://x.test:{port}/x"), HostKey("x.test"), port, "127.0.0.1"))
            async with asyncio.timeout(60):
                await ended.wait()
            return heard

    assert run(main())[-1] == b"QUIT"


def test_a_cancelled_visit_closes_its_connections() -> None:
    async def main() -> None:
        ended = asyncio.Event()
        asked = asyncio.Event()

        async def script(talk: Talk) -> None:
            asked.set()
            assert await talk.reader.read() == b""
            ended.set()

        async with serving(script) as (port, _):
            fetcher = FtpFetcher("gossamer-test/1.0", FetchLimits(), LoopClock(), allow=lambda _address: True)
            request = Request(Url(f"ftp://x.test:{port}/x"), HostKey("x.test"), port, "127.0.0.1")
            task = asyncio.create_task(fetcher.fetch(request))
            async with asyncio.timeout(60):
                await asked.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await ended.wait()

    run(main())


@pytest.mark.parametrize("name", ["two\r\nlines", "", "caf\u00e9"])
def test_a_user_agent_that_is_more_than_one_line_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        FtpFetcher(name, PATIENT, LoopClock(), allow=bool)


def visit_with(options: HostOptions) -> tuple[FetchOutcome, list[bytes]]:
    async def main() -> tuple[FetchOutcome, list[bytes]]:
        async with serving(sending(b"hello")) as (port, heard):
            fetcher = FtpFetcher("gossamer-test/1.0", PATIENT, LoopClock(), allow=lambda _address: True)
            url = Url(f"ftp://x.test:{port}/x")
            return await fetcher.fetch(Request(url, HostKey("x.test"), port, "127.0.0.1", (), options)), heard

    return run(main())


def test_credentials_of_a_host_are_used_and_stand_in_no_record() -> None:
    outcome, heard = visit_with(HostOptions(basic=("me", "s3cret")))

    assert isinstance(outcome, Response)
    assert heard[:2] == [b"USER me", b"PASS s3cret"]
    assert b"PASS ***" in outcome.request_head and b"s3cret" not in outcome.request_head + outcome.head


def test_credentials_that_would_be_another_command_are_not_sent() -> None:
    outcome, heard = visit_with(HostOptions(basic=("me", "caf\u00e9")))

    assert isinstance(outcome, Failed) and outcome.failure is Failure.PROTOCOL_ERROR
    assert heard == []


def test_a_host_behind_a_proxy_is_not_visited_directly() -> None:
    outcome, heard = visit_with(HostOptions(proxy=Proxy("http", "127.0.0.1", 3128)))

    assert isinstance(outcome, Failed)
    assert (outcome.failure, outcome.contacted, heard) == (Failure.BLOCKED_ADDRESS, False, [])
