"""The thread that reads the store: load orders, who owns a document, what is near it. One question after the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class StoreReads:
    """Asks in the thread. Owned by the event loop.

    Bounded by who asks: each visit that is out and each document on the desk has one question at most, and everybody
    else (the loader, the warming of filters) asks when the last answer is there. Whoever asks waits, so a slow store
    fills the desk, and that slows fetching.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gossamer-load")
        self.waiting = 0
        """Questions without an answer yet."""

    def ask(self, function: Callable[..., T], *args: object) -> "asyncio.Future[T]":
        """What one of the loader's functions answers."""
        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._thread, function, *args)
        future.add_done_callback(self._answered)
        return future

    def _answered(self, _: "asyncio.Future[T]") -> None:
        self.waiting -= 1

    def close(self) -> None:
        """Wait for the last answer and end the thread."""
        self._thread.shutdown()
