"""Keeps the private server of a crawl's directory running while the crawl runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from gossamer.crawl.run.daemon_thread import call_in_daemon
from gossamer.crawl.run.private_store import SharedStore
from gossamer.errors import GossamerError
from gossamer.observe.log import EventLog

LOOK_SECONDS = 1.0


@asynccontextmanager
async def server_kept(store: SharedStore, log: EventLog) -> AsyncIterator[None]:
    """During the block, start a private server again whenever it has ended; the crawl waits for it. Nothing happens if
    there is none."""
    ended = asyncio.Event()

    async def keep() -> None:
        while store.restart is not None and not ended.is_set():
            try:
                await call_in_daemon(store.restart)
            except GossamerError as error:
                log.event("server.failed", error=str(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), LOOK_SECONDS)

    keeping = asyncio.create_task(keep())
    try:
        yield
    except asyncio.CancelledError:
        keeping.cancel()  # the server may hang
        raise
    finally:
        ended.set()
        await asyncio.wait({keeping})  # nothing starts the server any more
        if not keeping.cancelled():
            keeping.result()
