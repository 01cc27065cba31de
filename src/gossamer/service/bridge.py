"""From the front to the crawl's process: the application lives with the crawl, those who call it with the connections.

`BridgeClient` is the application as the front process sees it; `BridgeServer` answers its calls in the process of the
crawl. A response comes over in one piece when the application is done; a stream comes message by message, so that a
slow reader slows the application down. A client that disconnects ends the call. `CrawlBridge` answers on the crawl's
event loop, between its steps.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from gossamer.config.load import Config
from gossamer.crawl.engine import Engine
from gossamer.crawl.status import own_use
from gossamer.ipc import Link
from gossamer.ipc import Message as LinkMessage
from gossamer.observe.snapshot import ProcessUse, Snapshot
from gossamer.service.access import App, Message, Policy, Receive, Scope, Send
from gossamer.service.control import Control
from gossamer.service.event_stream import EventStream
from gossamer.service.overrides import Overrides

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


class BridgeClient:
    """Calls that touch the crawl go over the link; what is only read is answered by the application `here`."""

    def __init__(self, here: App, link: Link) -> None:
        self._here = here
        self._link = link
        self._numbers = count()
        self._calls: dict[int, asyncio.Queue[LinkMessage]] = {}

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
        self._link.send("call", number, {key: scope.get(key) for key in (*_TOLD_OF_A_CALL, *_TOLD_OF_ITS_ENDS)})
        reading: asyncio.Task[None] | None = None
        is_over = False
        try:
            while True:
                match await call.get():
                    case ("receive",):
                        reading = asyncio.create_task(self._read(number, receive))
                    case ("send", messages):
                        await _sent(send, messages)
                        self._link.send("sent", number)
                    case ("end", messages, mistake):
                        is_over = True
                        await _sent(send, messages)
                        if mistake is not None:
                            raise Broken(mistake)
                        return
        finally:
            del self._calls[number]
            if not is_over:
                self._link.send("cancel", number)
            if reading is not None:
                reading.cancel()

    async def _read(self, number: int, receive: Receive) -> None:
        try:
            message: Message | Exception = dict(await receive())
        except Exception as error:
            message = error  # it is raised where the application reads
        self._link.send("received", number, message)


async def _sent(send: Send, messages: list[Message]) -> None:
    for message in messages:
        await send(message)


class BridgeServer:
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
                link.send("receive", number)
            return await asyncio.shield(self._reads[number])

        async def send(message: Message) -> None:
            if not pieces:
                self._before_telling()
            pieces.append(message)
            if message.get("more_body", False):
                sent = self._sends[number] = loop.create_future()
                link.send("send", number, pieces)
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
        link.send("end", number, pieces, mistake)


@dataclass(frozen=True, slots=True)
class LiveCrawl:
    """The crawl itself, for those who only read it."""

    operator: Control
    feed: EventStream
    engine: Engine

    @property
    def config(self) -> Config:
        return self.operator.config

    @property
    def orders(self) -> Overrides:
        return self.operator.orders

    @property
    def latest(self) -> Snapshot | None:
        return self.feed.latest

    @property
    def stopping(self) -> bool:
        return self.engine.stopping

    @property
    def paused(self) -> bool:
        return self.engine.paused


class CrawlBridge:
    """Shows the crawl to the front and answers its calls, until it is gone."""

    def __init__(self, app: App, crawl: LiveCrawl, link: Link) -> None:
        self.ready = asyncio.Event()
        self._crawl = crawl
        self._link = link
        self._home = BridgeServer(app, link, self._show)
        self._shown: tuple[Snapshot | None, bool, bool, int] | None = None

    async def serve(self, policy: Policy) -> None:
        crawl = self._crawl
        shown = CrawlView(crawl.config, crawl.orders, crawl.latest, crawl.stopping, crawl.paused)
        self._link.send("open", policy, shown)
        crawl.feed.on_picture = self._show_soon
        async for what, *rest in self._link.messages():
            if what == "ready":
                self.ready.set()
            elif what == "used":
                (crawl.feed.front,) = rest
            else:
                self._home.heard(what, *rest)
        self._home.close()

    def close(self) -> None:
        """No more calls are taken; those on their way are answered, or have had their time."""
        self._link.send("close")

    def _show_soon(self) -> None:
        if not self._link.is_backed_up:
            self._show()

    def _show(self) -> None:
        """The crawl as of its last commit: whoever is told that a change is on record is to see it in front as well."""
        crawl = self._crawl
        shown = crawl.latest, crawl.stopping, crawl.paused, crawl.operator.changes
        before, self._shown = self._shown, shown
        if before is None or shown[0] is not before[0] or shown[1:] != before[1:]:
            ordered = before is None or shown[3] != before[3]
            self._link.send("shown", *shown[:3], (crawl.config, crawl.orders) if ordered else None)


@dataclass(slots=True)
class CrawlView:
    """What the front knows of the crawl: the last that it was shown."""

    config: Config
    orders: Overrides
    latest: Snapshot | None = None
    stopping: bool = False
    paused: bool = False

    def with_own_use(self) -> ProcessUse:
        """Have the picture tell what this process has taken."""
        used = own_use()
        self.latest = None if self.latest is None else replace(self.latest, front=used)
        return used
