"""From one event loop to another: the application lives with the crawl, those who call it with the connections."""

import asyncio
from collections.abc import Callable
from typing import Final

from gossamer.service.gate import App, Message, Receive, Scope, Send

LIVE: Final = frozenset({"/events", "/crawl", "/readyz", "/url/limit"})
"""Paths whose answers are taken from the crawl itself, not from its database or its last picture ..."""
LIVE_BELOW: Final = "/hosts/"
"""... as are those below this one."""


def touches_the_crawl(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] not in ("GET", "HEAD") or path in LIVE or path.startswith(LIVE_BELOW)


class Across:
    """Calls an application on the event loop of the crawl from any other, if the call touches the crawl; else where it
    is called.

    A whole answer comes over in one piece, when the application is done; a stream comes message by message, each
    waited for, so that a slow reader slows the application as ever. `before_telling` is called on the application's
    event loop before any word of an answer leaves it.
    """

    def __init__(self, app: App, home: asyncio.AbstractEventLoop, before_telling: Callable[[], None]) -> None:
        self._app = app
        self._home = home
        self._before_telling = before_telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not touches_the_crawl(scope):
            await self._app(scope, receive, send)
            return
        here = asyncio.get_running_loop()
        pieces: list[Message] = []

        async def receiving() -> Message:
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(receive), here))

        async def sending(message: Message) -> None:
            if not pieces:
                self._before_telling()
            pieces.append(message)
            if message.get("more_body", False):
                ready = pieces.copy()
                pieces.clear()
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_sent(send, ready), here))

        async def called() -> None:
            await self._app(scope, receiving, sending)

        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called(), self._home))
        except Exception:
            await _sent(send, pieces)  # what is told of a mistake of ours
            raise
        await _sent(send, pieces)


async def _awaited(receive: Receive) -> Message:
    return await receive()


async def _sent(send: Send, messages: list[Message]) -> None:
    for message in messages:
        await send(message)
