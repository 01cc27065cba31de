"""From one event loop to another: the application lives with the crawl, those who call it with the connections."""

import asyncio
from collections.abc import Callable

from gossamer.service.gate import App, Message, Receive, Scope, Send


class Across:
    """Calls an application on its own event loop from any other.

    A whole answer comes over in one piece, when the application is done; a stream comes message by message, each
    waited for, so that a slow reader slows the application as ever. `before_telling` is called on the application's
    event loop before any word of an answer leaves it.
    """

    def __init__(self, app: App, home: asyncio.AbstractEventLoop, before_telling: Callable[[], None]) -> None:
        self._app = app
        self._home = home
        self._before_telling = before_telling

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
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
