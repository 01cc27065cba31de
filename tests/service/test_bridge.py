"""An application in another process, over a link: the same answers, whatever goes wrong on the way."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gossamer.ipc import Link
from gossamer.service.access import App, Message, Receive, Scope, Send, TooLarge
from gossamer.service.bridge import ApplicationError, BridgeClient, BridgeServer

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/crawl", "headers": [(b"host", b"x")]}
START: Message = {"type": "http.response.start", "status": 200, "headers": []}


PATIENCE = 60.0
"""Seconds after which something that should come is taken for lost."""


def piece(body: bytes, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def never_called(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError("answered in front")


class Ends:
    """Both ends of a link, over real sockets, and what is said before each answer."""

    def __init__(self, app: App, here: App = never_called) -> None:
        self._app = app
        self._here = here
        self.caught_up = 0

    async def __aenter__(self) -> BridgeClient:
        first, second = socket.socketpair()
        front, home = await Link.connect(first), await Link.connect(second)
        self.across, self.home = BridgeClient(self._here, front), BridgeServer(self._app, home, self._catch_up)
        self._links = front, home
        self._hearing = [
            asyncio.create_task(_hear(front, self.across.on_message)),
            asyncio.create_task(_hear(home, self.home.on_message)),
        ]
        return self.across

    async def __aexit__(self, *_: object) -> None:
        for link in self._links:
            link.close()
        await asyncio.wait_for(asyncio.gather(*self._hearing), PATIENCE)

    def _catch_up(self) -> None:
        self.caught_up += 1


async def _hear(link: Link, heard: Callable[..., None]) -> None:
    async for what, *rest in link.messages():
        heard(what, *rest)


def messages_of(app: App, receive: Receive = nothing) -> list[Message]:
    """The messages that a client receives."""
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def call() -> None:
        async with Ends(app) as across:
            await asyncio.wait_for(_called(across, receive, send), PATIENCE)

    asyncio.run(call())
    return messages


def _called(across: BridgeClient, receive: Receive, send: Send) -> Awaitable[None]:
    return across({**SCOPE, "state": object(), "extensions": {}}, receive, send)


def test_a_whole_answer_comes_over_after_the_crawl_was_looked_at() -> None:
    seen: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        assert ends.caught_up == 0
        await send(dict(START))
        await send(piece(b"whole"))
        assert ends.caught_up == 1

    ends = Ends(app)
    messages: list[Message] = []

    async def send(message: Message) -> None:
        messages.append(message)

    async def call() -> None:
        async with ends as across:
            await _called(across, nothing, send)

    asyncio.run(call())

    assert messages == [START, piece(b"whole")]
    assert {key: seen[0][key] for key in SCOPE} == SCOPE


@pytest.mark.parametrize(
    ("method", "path", "at_home"),
    [
        *(("GET", "/hosts", False), ("GET", "/metrics", False), ("HEAD", "/pages", False), ("GET", "/", False)),
        *(("GET", "/hosts/a.test", True), ("GET", "/events", True), ("GET", "/url/limit", True)),
        *(("POST", "/dead", True), ("DELETE", "/pages", True), ("GET", "/readyz", True)),
    ],
)
def test_only_what_touches_the_crawl_is_called_where_it_lives(method: str, path: str, at_home: bool) -> None:
    called: list[str] = []

    def app_at(place: str) -> App:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            called.append(place)

        return app

    async def call() -> None:
        async with Ends(app_at("home"), app_at("front")) as across:
            await across({**SCOPE, "method": method, "path": path}, nothing, None)  # type: ignore[arg-type]

    asyncio.run(call())

    assert called == ["home" if at_home else "front"]


def test_a_stream_comes_piece_by_piece_as_fast_as_it_is_taken() -> None:
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

    async def call() -> None:
        async with Ends(app) as across:
            await _called(across, nothing, slowly)

    asyncio.run(call())

    assert taken == [b"%d" % number for number in range(20)]
    assert max(ahead) <= 1


def test_what_the_caller_sends_reaches_the_application() -> None:
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

    assert messages_of(app, receive)[-1] == piece(b"onetwo")


def test_a_read_that_the_application_gave_up_is_not_lost() -> None:
    given_up = asyncio.Event()

    async def receive() -> Message:
        await given_up.wait()
        return {"type": "http.request", "body": b"late", "more_body": False}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(receive(), 0.001)
        given_up.set()
        await send(dict(START))
        await send(piece((await receive())["body"]))

    assert messages_of(app, receive)[-1] == piece(b"late")


def test_a_mistake_in_reading_is_raised_into_the_application() -> None:
    async def receive() -> Message:
        raise TooLarge

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
        except TooLarge:
            await send({**START, "status": 413})
            await send(piece(b"too large"))

    assert messages_of(app, receive) == [{**START, "status": 413}, piece(b"too large")]


def test_an_exception_of_the_application_is_passed_on_and_raised() -> None:
    messages: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({**START, "status": 500})
        await send(piece(b"a mistake"))
        raise RuntimeError("a mistake")

    async def send(message: Message) -> None:
        messages.append(message)

    async def call() -> None:
        async with Ends(app) as across:
            with pytest.raises(ApplicationError, match="RuntimeError: a mistake"):
                await _called(across, nothing, send)

    asyncio.run(call())

    assert [message["type"] for message in messages] == ["http.response.start", "http.response.body"]


def test_a_caller_who_gives_up_ends_the_call_in_the_application() -> None:
    messages: list[Message] = []

    async def give_up() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await send(dict(START))
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

        async def send(message: Message) -> None:
            messages.append(message)

        async with Ends(app) as across:
            call: asyncio.Task[Any] = asyncio.ensure_future(_called(across, nothing, send))
            await asyncio.wait_for(begun.wait(), PATIENCE)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await asyncio.wait_for(ended.wait(), PATIENCE)

    asyncio.run(give_up())

    assert messages == []  # after a timeout the caller may have sent another response


def test_an_answer_that_cannot_be_delivered_ends_the_call_in_the_application() -> None:
    async def call() -> None:
        ended = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await send(dict(START))
                await send(piece(b"first", more=True))
                await asyncio.sleep(60)
            finally:
                ended.set()

        async def send(message: Message) -> None:
            raise ConnectionError("gone")

        async with Ends(app) as across:
            with pytest.raises(ConnectionError):
                await _called(across, nothing, send)
            await asyncio.wait_for(ended.wait(), PATIENCE)

    asyncio.run(call())


def test_many_calls_at_once_keep_their_answers_apart() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        await asyncio.sleep(0.001 * (int(body) % 7))
        await send(dict(START))
        await send(piece(body, more=True))
        await send(piece(body))

    async def one(across: BridgeClient, number: int) -> bytes:
        got = b""

        async def receive() -> Message:
            return {"type": "http.request", "body": b"%d" % number, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal got
            got += message.get("body", b"")

        await _called(across, receive, send)
        return got

    async def calls() -> list[bytes]:
        async with Ends(app) as across:
            return await asyncio.gather(*(one(across, number) for number in range(10, 90)))

    assert asyncio.run(calls()) == [b"%d%d" % (number, number) for number in range(10, 90)]


def test_when_the_crawl_is_gone_waiting_calls_end() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(60)

    async def call() -> None:
        ends = Ends(app)
        async with ends as across:
            waiting: asyncio.Task[Any] = asyncio.ensure_future(_called(across, nothing, nothing))  # type: ignore[arg-type]
            await asyncio.sleep(0)  # the call begins
            across.on_disconnect()
            with pytest.raises(ApplicationError):
                await waiting
            ends.home.close()

    asyncio.run(call())
