"""Each part of an exchange is timed once, and only where it happened."""

from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.ports import ExchangeTimes
from tests.fetch.http.scripted_server import (
    PAGE,
    Talk,
    always,
    answered,
    failed,
    fetching,
    pass_time,
    run,
    serving,
    until,
)
from tests.fetch.http.test_fetch_tls import VALID, server_side

PARTS = ("connect", "tls", "first_byte", "body")


def numbers(times: ExchangeTimes) -> dict[str, int]:
    return {part: getattr(times, part).spread().number for part in PARTS}


def test_connecting_is_timed_once_and_answers_each_time() -> None:
    async def main() -> ExchangeTimes:
        async with serving(always(PAGE)) as server, fetching() as fetcher:
            for _ in range(3):
                await answered(fetcher, server.request())
            return fetcher.times

    assert numbers(run(main())) == {"connect": 1, "tls": 0, "first_byte": 3, "body": 3}


def test_tls_is_timed_by_itself() -> None:
    async def main() -> ExchangeTimes:
        async with serving(always(PAGE), tls=server_side(VALID)) as server, fetching(ca_file=VALID) as fetcher:
            await answered(fetcher, server.request(scheme="https"))
            return fetcher.times

    times = run(main())

    assert numbers(times) == {"connect": 1, "tls": 1, "first_byte": 1, "body": 1}
    assert times.tls.spread().total > 0


def test_waiting_counts_where_it_was_waited_for() -> None:
    room = BodyMemory()

    async def slow(talk: Talk) -> None:
        await talk.request()
        await pass_time(0.1)
        await talk.say(PAGE[:-2])
        await until(lambda: room.used == 3)
        await pass_time(0.2)
        await talk.say(PAGE[-2:])

    async def main() -> ExchangeTimes:
        async with serving(slow) as server, fetching(room=room) as fetcher:
            await answered(fetcher, server.request())
            return fetcher.times

    times = run(main())

    assert times.first_byte.spread().seconds >= 0.1
    assert times.body.spread().seconds >= 0.2


def test_what_brings_no_answer_is_not_timed() -> None:
    async def silent(talk: Talk) -> None:
        await talk.request()
        talk.reset()

    async def main() -> ExchangeTimes:
        async with serving(silent) as server, fetching() as fetcher:
            await failed(fetcher, server.request())
            return fetcher.times

    assert numbers(run(main())) == dict.fromkeys(PARTS, 0)
