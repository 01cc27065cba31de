"""An application on another event loop: the same answers, whatever goes wrong on the way."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.service.across import Across
from gossamer.service.gate import App, Message, Receive, Scope, Send

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/crawl"}
START: Message = {"type": "http.response.start", "status": 200, "headers": []}


@pytest.fixture
def home() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def piece(body: bytes, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def called(app: App, home: asyncio.AbstractEventLoop, receive: Receive = nothing) -> tuple[list[Message], list[str]]:
    """What a caller is told, and on which threads the application told it."""
    told: list[Message] = []
    where: list[str] = []

    async def send(message: Message) -> None:
        told.append(message)

    across = Across(app, home, lambda: where.append(threading.current_thread().name))
    asyncio.run(across(dict(SCOPE), receive, send))
    return told, where


def test_a_whole_answer_comes_over_and_the_crawl_is_looked_at_where_it_lives(home: asyncio.AbstractEventLoop) -> None:
    ran_on: list[asyncio.AbstractEventLoop] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        ran_on.append(asyncio.get_running_loop())
        await send(dict(START))
        await send(piece(b"whole"))

    told, where = called(app, home)

    assert told == [START, piece(b"whole")]
    assert ran_on == [home]
    assert where and threading.current_thread().name not in where


@pytest.mark.parametrize(
    ("method", "path", "at_home"),
    [
        *(("GET", "/hosts", False), ("GET", "/metrics", False), ("HEAD", "/pages", False), ("GET", "/", False)),
        *(("GET", "/hosts/a.test", True), ("GET", "/events", True), ("GET", "/url/limit", True)),
        *(("POST", "/dead", True), ("DELETE", "/pages", True), ("GET", "/readyz", True)),
    ],
)
def test_only_what_touches_the_crawl_is_called_where_it_lives(
    home: asyncio.AbstractEventLoop, method: str, path: str, at_home: bool
) -> None:
    ran_on: list[asyncio.AbstractEventLoop] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        ran_on.append(asyncio.get_running_loop())

    asyncio.run(Across(app, home, lambda: None)({**SCOPE, "method": method, "path": path}, nothing, nothing))  # type: ignore[arg-type]

    assert (ran_on == [home]) is at_home


def test_a_stream_comes_piece_by_piece_as_fast_as_it_is_taken(home: asyncio.AbstractEventLoop) -> None:
    taken: list[bytes] = []
    ahead: list[int] = []
    made = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal made
        await send(dict(START))
        for number in range(20):
            made += 1
            await send(piece(b"%d" % number, more=True))
        await send(piece(b"", more=False))

    async def slowly(message: Message) -> None:
        await asyncio.sleep(0.001)
        if message.get("body"):
            taken.append(message["body"])
            ahead.append(made - len(taken))

    asyncio.run(Across(app, home, lambda: None)(dict(SCOPE), nothing, slowly))

    assert taken == [b"%d" % number for number in range(20)]
    assert max(ahead) <= 1


def test_what_the_caller_sends_reaches_the_application(home: asyncio.AbstractEventLoop) -> None:
    parts = [b"one", b"two", b""]

    async def receive() -> Message:
        body = parts.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(body)}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        got = b""
        while (message := await receive())["more_body"]:
            got += message["body"]
        await send(dict(START))
        await send(piece(got))

    told, _ = called(app, home, receive)

    assert told[-1] == piece(b"onetwo")


def test_a_mistake_in_reading_is_raised_into_the_application(home: asyncio.AbstractEventLoop) -> None:
    async def receive() -> Message:
        raise ValueError("too large")

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
        except ValueError as error:
            await send({**START, "status": 413})
            await send(piece(str(error).encode("ascii")))

    told, _ = called(app, home, receive)

    assert told == [{**START, "status": 413}, piece(b"too large")]


def test_a_mistake_of_the_application_is_told_and_raised(home: asyncio.AbstractEventLoop) -> None:
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({**START, "status": 500})
        await send(piece(b"a mistake"))
        raise RuntimeError("a mistake")

    async def send(message: Message) -> None:
        told.append(message)

    with pytest.raises(RuntimeError, match="a mistake"):
        asyncio.run(Across(app, home, lambda: None)(dict(SCOPE), nothing, send))

    assert [message["type"] for message in told] == ["http.response.start", "http.response.body"]


def test_a_caller_who_gives_up_ends_the_call_in_the_application(home: asyncio.AbstractEventLoop) -> None:
    begun, ended = threading.Event(), threading.Event()
    told: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(dict(START))
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def send(message: Message) -> None:
        told.append(message)

    async def give_up() -> None:
        call: asyncio.Task[Any] = asyncio.ensure_future(Across(app, home, lambda: None)(dict(SCOPE), nothing, send))
        await asyncio.to_thread(begun.wait, 10)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(give_up())

    assert ended.wait(10)
    assert told == []  # whoever gave up may answer something else
