"""Files over FTP share room with all other bodies under way."""

import asyncio

from gossamer.fetch.ftp import FtpFetcher
from gossamer.fetch.http.body import BodyMemory
from gossamer.fetch.ports import Request
from gossamer.model.outcome import FetchOutcome, Response
from gossamer.model.units import HostKey, Url
from tests.fetch.ftp.test_ftp_trouble import sending, serving
from tests.fetch.http.scripted_server import hasty, until
from tests.time_travel import LoopClock, run_travelling

BODY = bytes(range(256)) * 2000
IMPATIENT = hasty(idle=0.3, total=0.6)


class Somebody:
    """Whose body fills the room."""

    def resume_reading(self) -> None:
        pass


def test_a_file_waits_for_room_beyond_all_deadlines_and_arrives_whole() -> None:
    room, somebody = BodyMemory(1000, free=100), Somebody()

    async def main() -> FetchOutcome:
        room.used += 2000
        assert not room.must_wait(somebody, 2000)  # it is the first, and goes on
        fetcher = FtpFetcher("gossamer-test/1.0", IMPATIENT, LoopClock(), allow=lambda _address: True, room=room)
        async with serving(sending(BODY)) as (port, _):
            url = Url(f"ftp://ftp.test:{port}/binary")
            fetch = asyncio.create_task(fetcher.fetch(Request(url, HostKey("ftp.test"), port, "127.0.0.1")))
            await until(lambda: room.paused == 1)
            assert room.paused == 1
            await asyncio.sleep(2.0)
            room.release(somebody, 2000)
            return await fetch

    outcome = run_travelling(main())

    assert isinstance(outcome, Response), outcome
    assert (outcome.wire_body, outcome.truncated) == (BODY, None)
    assert room.used == 0
