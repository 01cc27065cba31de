"""Clients of `/events`: how many are admitted, when they are counted, and where one that reconnects continues."""

import asyncio

from gossamer.clock import VirtualClock
from gossamer.config.load import Config
from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot, Status, SteeringStatus, encode_status
from gossamer.service.access import Message
from gossamer.service.app import make_app
from gossamer.service.event_stream import MOST_WATCHERS, EventStream, Update
from gossamer.service.live_view import LiveView, OneProcess
from gossamer.service.routes import Dependencies

PROCESS = 77


class Published:
    """A live status in memory."""

    def __init__(self) -> None:
        self.visits = 0
        self._at = 0.0

    def visit(self, number: int) -> None:
        self.visits += number
        self._at += 1.0

    def read(self) -> list[bytes]:
        last = tuple((n, {"url": f"http://a.test/{n}"}) for n in range(1, self.visits + 1))
        steering = SteeringStatus(run="1", visits=self.visits, outcomes=last)
        return [encode_status(Status(PROCESS, Snapshot(at=Instant(self._at)), steering))]

    def write(self, status: bytes) -> None: ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


def view_of(published: Published) -> LiveView:
    return LiveView(OneProcess(published, PROCESS), Config(), VirtualClock())


def test_ap_18_clients_that_read_nothing_are_counted_from_their_admission_until_they_are_gone() -> None:
    async def main() -> tuple[list[int], int, int]:
        dependencies = Dependencies()
        dependencies.crawl = view = view_of(Published())
        await view.refresh()
        dependencies.stream = stream = EventStream(view)
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
        view.close()
        return statuses, counted, stream.watchers

    statuses, counted, left = asyncio.run(main())

    assert sorted(statuses) == [200] * MOST_WATCHERS + [503] * 5
    assert (counted, left) == (MOST_WATCHERS, 0)


def test_a_client_receives_the_visits_since_its_last_position_and_each_of_them_once() -> None:
    async def main() -> tuple[list[list[str]], list[list[str]]]:
        published = Published()
        view = view_of(published)
        stream = EventStream(view)

        async def publish(visits: int) -> None:
            published.visit(visits)
            await view.refresh()
            stream.update()

        await publish(3)
        watching = stream.updates(every=1, last="1-1")
        received = [await anext(watching)]
        for visits in (2, 0, 1):
            waiting = asyncio.ensure_future(anext(watching))
            await asyncio.sleep(0)  # it waits now: what is received comes after that
            await publish(visits)
            received.append(await waiting)
        others = [await anext(stream.updates(last=last)) for last in ("1-4", "2-1", "1-99", None)]
        view.close()
        return [_numbers(update) for update in received], [_numbers(update) for update in others]

    received, others = asyncio.run(main())

    assert received == [["2", "3"], ["4", "5"], [], ["6"]]
    assert others == [["5", "6"], [], [], []]


def _numbers(update: Update) -> list[str]:
    return [outcome["url"].rpartition("/")[2] for outcome in update.outcomes]
