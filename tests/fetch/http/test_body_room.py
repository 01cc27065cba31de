"""Room for bodies under way: bounded together, held and not lost, and held time is nobody's fault."""

import asyncio
import random

import pytest

from gossamer.clock import Clock, SteadyClock, VirtualClock
from gossamer.fetch.http.body import BodyMemory, PausableBody
from gossamer.fetch.http.curl import CurlFetcher
from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure, Response
from gossamer.model.units import Seconds
from tests.fetch.http.http2_frames import Asked, serving_http2
from tests.fetch.http.scripted_server import HEAD, Script, Talk, answered, failed, hasty, run, serving, until
from tests.fetch.http.tls_trust import authority

SIZE = 1_000_000
FREE = 64 * 1024
PIECE = 64 * 1024  # more than libcurl hands over at a time
BODIES = 8
ALL_AT_ONCE = FetchLimits()
SWEEP = 0.06  # seconds between two looks at the deadlines, where the shortest is 0.4


class PeakedRoom(BodyMemory):
    """Knows the most that was ever used, and how often somebody was held."""

    def __init__(self, most: int, free: int = FREE) -> None:
        self._taken = 0
        self.peak = 0
        self.holds = 0
        super().__init__(most, free)

    @property
    def used(self) -> int:
        return self._taken

    @used.setter
    def used(self, used: int) -> None:
        self._taken = used
        self.peak = max(self.peak, used)

    def must_wait(self, body: PausableBody, so_far: int) -> bool:
        waits = super().must_wait(body, so_far)
        self.holds += waits
        return waits


class Body:
    """Grows a piece at a time while it may."""

    def __init__(self, room: BodyMemory, size: int) -> None:
        self._room, self._left = room, size
        self.so_far = 0
        self.held = self.ended = False

    def resume_reading(self) -> None:
        self.held = False

    def grow(self, piece: int) -> None:
        if self.held or self.ended:
            return
        if self._room.must_wait(self, self.so_far):
            self.held = True
            return
        used = min(piece, self._left)
        self._left -= used
        self.so_far += used
        self._room.used += used
        if not self._left:
            self.ended = True
            self._room.release(self, self.so_far)


@pytest.mark.parametrize("seed", range(20))
def test_whatever_comes_in_whatever_order_the_room_is_bounded_and_everybody_gets_through(seed: int) -> None:
    chance = random.Random(seed)

    async def main() -> None:
        room = PeakedRoom(1000, free=50)
        bodies = [Body(room, chance.choice([10, 40, 300, 900])) for _ in range(40)]
        for _ in range(100_000):
            under_way = [body for body in bodies if not body.ended]
            if not under_way:
                break
            chance.choice(under_way).grow(chance.randint(1, 30))
            if chance.random() < 0.3:
                await asyncio.sleep(0)

        assert all(body.ended for body in bodies)
        assert room.used == 0 and room.paused == 0
        assert room.peak <= 1000 + 900 + 40 * (50 + 30)
        assert room.holds > 0

    asyncio.run(main())


def test_a_small_body_is_never_held() -> None:
    room = BodyMemory(1000, free=50)
    room.used = 5000

    assert not room.must_wait(Body(room, 40), 40)


def test_whoever_gives_up_makes_room_for_the_next() -> None:
    async def main() -> None:
        room = BodyMemory(100, free=0)
        first, second = Body(room, 1000), Body(room, 1000)
        for body in (first, second, first, second, first):
            body.grow(101)
        assert second.held and not first.held

        room.release(first, first.so_far)
        await asyncio.sleep(0)

        assert not second.held

    asyncio.run(main())


def whole(size: int = SIZE) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n" % size + b"x" * size


async def at_once(
    script: Script, room: BodyMemory, limits: FetchLimits = ALL_AT_ONCE, clock: Clock | None = None
) -> list[Response]:
    clock = clock or SteadyClock()
    fetcher = CurlFetcher("gossamer-test/1.0", limits, clock, allow=lambda _address: True, room=room)
    async with serving(script) as site:
        fetches = [answered(fetcher, site.request(f"/{n}", host=f"h{n}.test")) for n in range(BODIES)]
        try:
            return await asyncio.gather(*fetches)
        finally:
            await fetcher.close()


def test_many_large_bodies_at_once_share_the_room_and_arrive_whole() -> None:
    room = PeakedRoom(SIZE)

    async def script(talk: Talk) -> None:
        await talk.request()
        await talk.say(whole())

    responses = run(at_once(script, room))

    assert [len(response.wire_body) for response in responses] == [SIZE] * BODIES
    assert room.holds > 0
    assert room.peak <= 2 * SIZE + BODIES * (FREE + PIECE)
    assert room.used == 0 and room.paused == 0


def test_time_for_which_a_body_is_held_is_not_its_hosts() -> None:
    """The first one fills the room and then takes longer than the others may be silent."""
    clock, room = VirtualClock(), PeakedRoom(SIZE // 2)
    filled = asyncio.Event()

    async def script(talk: Talk) -> None:
        head = await talk.request()
        if b"/0 " not in head:
            await filled.wait()
            await talk.say(whole())
            return
        answer, began = whole(), SIZE // 2 + 2 * FREE
        await talk.say(answer[:began])
        await until(lambda: room.used > room.limit)
        filled.set()
        await until(lambda: room.paused == BODIES - 1)
        for at in range(began, began + 25_000, 1000):
            await asyncio.sleep(SWEEP)  # the fetcher looks at least once
            clock.advance(Seconds(0.1))
            await talk.say(answer[at : at + 1000])
            await until(lambda before=room.used: room.used > before)  # type: ignore[misc]
        await talk.say(answer[began + 25_000 :])

    responses = run(at_once(script, room, hasty(idle=0.4), clock))

    assert [len(response.wire_body) for response in responses] == [SIZE] * BODIES
    assert {response.truncated for response in responses} == {None}
    assert room.holds >= BODIES - 1


def test_a_fetch_that_is_cancelled_gives_its_room_back() -> None:
    room = BodyMemory()

    async def main() -> None:
        async def script(talk: Talk) -> None:
            await talk.request()
            await talk.say(whole()[:-1000])
            await talk.gone()

        fetcher = CurlFetcher("gossamer-test/1.0", FetchLimits(), SteadyClock(), allow=lambda _address: True, room=room)
        async with serving(script) as site:
            fetch = asyncio.create_task(fetcher.fetch(site.request("/")))
            await until(lambda: room.used > SIZE // 2)
            fetch.cancel()
            await asyncio.gather(fetch, return_exceptions=True)
            await fetcher.close()

    run(main())

    assert room.used == 0


def test_bodies_over_http2_are_held_too_and_arrive_whole() -> None:
    room = PeakedRoom(SIZE)

    async def reply(asked: Asked) -> None:
        await asked.answer(b"x" * SIZE, (b"content-type", b"text/html"))

    async def main() -> list[Response]:
        tls = authority().server_side(*(f"h{n}.test" for n in range(BODIES)), alpn=("h2",))
        async with serving_http2(reply, tls) as site:
            fetcher = CurlFetcher(
                "gossamer-test/1.0",
                FetchLimits(),
                SteadyClock(),
                allow=lambda _address: True,
                ca_file=authority().ca_file,
                room=room,
            )
            requests = [site.server.request("/", host=f"h{n}.test", scheme="https") for n in range(BODIES)]
            try:
                return await asyncio.gather(*(answered(fetcher, request) for request in requests))
            finally:
                await fetcher.close()

    responses = run(main())

    assert [len(response.wire_body) for response in responses] == [SIZE] * BODIES
    assert {response.protocol for response in responses} == {"h2"}
    assert room.holds > 0
    assert room.peak <= 2 * SIZE + BODIES * (FREE + PIECE)


def test_the_second_reader_of_odd_heads_holds_bodies_too() -> None:
    room = PeakedRoom(SIZE)
    odd = whole().replace(b"\r\n", b"\r\na line without a colon\r\n", 1)

    async def script(talk: Talk) -> None:
        while True:
            await talk.request()
            await talk.say(odd)

    async def main() -> list[Response]:
        fetcher = CurlFetcher("gossamer-test/1.0", FetchLimits(), SteadyClock(), allow=lambda _address: True, room=room)
        async with serving(script) as site:
            requests = [site.request(f"/{n}", host=f"h{n}.test") for n in range(BODIES)]
            try:
                refused = await asyncio.gather(*(failed(fetcher, request) for request in requests))
                assert {each.failure for each in refused} == {Failure.BAD_HEADER}
                return await asyncio.gather(*(answered(fetcher, request) for request in requests))
            finally:
                await fetcher.close()

    responses = run(main())

    assert [len(response.wire_body) for response in responses] == [SIZE] * BODIES
    assert room.holds > 0
    assert room.peak <= 2 * SIZE + BODIES * (FREE + PIECE)
    assert room.used == 0
