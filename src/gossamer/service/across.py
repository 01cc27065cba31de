"""From the front to the crawl's process: the application lives with the crawl, those who call it with the connections.

`Across` is the application as the front sees it, `Home` answers the calls where the crawl is. A whole answer comes over
in one piece, when the application is done; a stream comes message by message, each waited for, so that a slow reader
slows the application as ever. Whoever gives up in front ends the call at home.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Final

from gossamer.link import Link, Told
from gossamer.service.gate import App, Message, Receive, Scope, Send

LIVE: Final = frozenset({"/events", "/crawl", "/readyz", "/url/limit"})
"""Paths whose answers are taken from the crawl itself, not from its database or its last picture ..."""
LIVE_BELOW: Final = "/hosts/"
"""... as are those below this one."""

_TOLD_OF_A_CALL: Final = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string")
_TOLD_OF_ITS_ENDS: Final = ("root_path", "headers", "client", "server")


class Broken(Exception):
    """The application made a mistake; its own words."""


def touches_the_crawl(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] not in ("GET", "HEAD") or path in LIVE or path.startswith(LIVE_BELOW)


class Across:
    """Calls that touch the crawl go over the link; what is only read is answered by the application `here`."""

    def __init__(self, here: App, link: Link) -> None:
        self._here = here
        self._link = link
        self._numbers = count()
        self._calls: dict[int, asyncio.Queue[Told]] = {}

    def heard(self, what: str, number: int, *rest: object) -> None:
        """What home tells of a call. Of one that was given up it is of no use."""
        call = self._calls.get(number)
        if call is not None:
            call.put_nowait((what, *rest))

    def lost(self) -> None:
        """Home is gone."""
        for call in self._calls.values():
            call.put_nowait(("end", [], "the crawl has ended"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not touches_the_crawl(scope):
            await self._here(scope, receive, send)
            return
        number = next(self._numbers)
        call = self._calls[number] = asyncio.Queue()
        self._link.tell("call", number, {key: scope.get(key) for key in (*_TOLD_OF_A_CALL, *_TOLD_OF_ITS_ENDS)})
        reading: asyncio.Task[None] | None = None
        is_over = False
        try:
            while True:
                match await call.get():
                    case ("receive",):
                        reading = asyncio.create_task(self._read(number, receive))
                    case ("send", messages):
                        await _sent(send, messages)
                        self._link.tell("sent", number)
                    case ("end", messages, mistake):
                        is_over = True
                        await _sent(send, messages)
                        if mistake is not None:
                            raise Broken(mistake)
                        return
        finally:
            del self._calls[number]
            if not is_over:
                self._link.tell("cancel", number)
            if reading is not None:
                reading.cancel()

    async def _read(self, number: int, receive: Receive) -> None:
        try:
            message: Message | Exception = dict(await receive())
        except Exception as error:
            message = error  # it is raised where the application reads
        self._link.tell("received", number, message)


async def _sent(send: Send, messages: list[Message]) -> None:
    for message in messages:
        await send(message)


class Home:
    """Answers the calls that come over the link. `before_telling` is called before any word of an answer leaves."""

    def __init__(self, app: App, link: Link, before_telling: Callable[[], None]) -> None:
        self._app = app
        self._link = link
        self._before_telling = before_telling
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._reads: dict[int, asyncio.Future[Message]] = {}
        self._sends: dict[int, asyncio.Future[None]] = {}

    def heard(self, what: str, number: int, *rest: object) -> None:
        match (what, *rest):
            case ("call", dict() as scope):
                call = self._calls[number] = asyncio.create_task(self._answer(number, scope))
                call.add_done_callback(lambda _: self._calls.pop(number))
            case ("received", message) if (read := self._reads.pop(number, None)) is not None and not read.done():
                if isinstance(message, Exception):
                    read.set_exception(message)
                elif isinstance(message, dict):
                    read.set_result(message)
            case ("sent",) if (sent := self._sends.pop(number, None)) is not None and not sent.done():
                sent.set_result(None)
            case ("cancel",) if number in self._calls:
                self._calls[number].cancel()

    def close(self) -> None:
        """Nobody is there to be answered."""
        for call in self._calls.values():
            call.cancel()

    async def _answer(self, number: int, scope: Scope) -> None:
        link, loop = self._link, asyncio.get_running_loop()
        pieces: list[Message] = []

        async def receive() -> Message:
            if number not in self._reads:  # else one that was given up is still being read
                self._reads[number] = loop.create_future()
                link.tell("receive", number)
            return await asyncio.shield(self._reads[number])

        async def send(message: Message) -> None:
            if not pieces:
                self._before_telling()
            pieces.append(message)
            if message.get("more_body", False):
                sent = self._sends[number] = loop.create_future()
                link.tell("send", number, pieces)
                pieces.clear()
                await sent

        mistake = None
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            mistake = f"{type(error).__name__}: {error}"
        finally:
            self._reads.pop(number, None)
            self._sends.pop(number, None)
        link.tell("end", number, pieces, mistake)
