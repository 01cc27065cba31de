"""Calls that may wait for a server that hangs: in a thread for whose end the process does not wait."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def call_in_daemon(call: Callable[[], T]) -> "asyncio.Future[T]":
    """The result of a call in a thread of its own, for the event loop. A caller that no longer waits for it leaves the
    thread behind: it goes on until the call returns, or the process ends."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # the waiting task handles it
            error = raised
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, error)

    Thread(target=run, name="gossamer-call", daemon=True).start()
    return future
