"""Clients of `/events`: how many are admitted, and when they are counted."""

import asyncio

from gossamer.crawl.events import OutcomeEvents
from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot
from gossamer.service.access import Message
from gossamer.service.app import make_app
from gossamer.service.event_stream import MOST_WATCHERS, EventStream
from gossamer.service.routes import Dependencies


def test_ap_18_clients_that_read_nothing_are_counted_from_their_admission_until_they_are_gone() -> None:
    async def main() -> tuple[list[int], int, int]:
        dependencies = Dependencies()
        dependencies.stream = stream = EventStream()
        stream.open(OutcomeEvents(), lambda: Snapshot(at=Instant(0.0)), lambda: 0)
        app = make_app(dependencies)
        statuses: list[int] = []
        answered = asyncio.Semaphore(0)

        async def send(message: Message) -> None:
            statuses.append(message["status"])
            answered.release()
            await asyncio.Event().wait()  # nobody reads

        async def receive() -> Message:
            await asyncio.Event().wait()
            raise AssertionError

        scope = {"type": "http", "method": "GET", "path": "/events", "query_string": b"", "headers": []}
        clients = [asyncio.create_task(app(dict(scope), receive, send)) for _ in range(MOST_WATCHERS + 5)]
        async with asyncio.timeout(60):
            for _ in clients:
                await answered.acquire()
        counted = stream.watchers
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        return statuses, counted, stream.watchers

    statuses, counted, left = asyncio.run(main())

    assert sorted(statuses) == [200] * MOST_WATCHERS + [503] * 5
    assert (counted, left) == (MOST_WATCHERS, 0)
