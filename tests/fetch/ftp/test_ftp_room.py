"""Files over FTP share room with all other bodies under way."""

import asyncio
from pathlib import Path

from ftp_server import real_server

from gossamer.clock import SteadyClock
from gossamer.fetch.ftp.fetcher import FtpFetcher
from gossamer.fetch.http.ports import FetchLimits, Request
from gossamer.fetch.http.room import BodyRoom
from gossamer.model.outcome import FetchOutcome, Response
from gossamer.model.units import HostKey, Seconds, Url

BODY = bytes(range(256)) * 2000
IMPATIENT = FetchLimits(idle=Seconds(0.3), total=Seconds(0.6))


class Somebody:
    """Whose body fills the room."""

    def go_on(self) -> None:
        pass


def test_a_file_waits_for_room_beyond_all_deadlines_and_arrives_whole(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(BODY)
    room, somebody = BodyRoom(1000, free=100), Somebody()

    async def main(port: int) -> tuple[int, FetchOutcome]:
        room.taken += 2000
        assert not room.must_wait(somebody, 2000)  # it is the first, and goes on
        fetcher = FtpFetcher("gossamer-test/1.0", IMPATIENT, SteadyClock(), allow=lambda _address: True, room=room)
        url = Url(f"ftp://ftp.test:{port}/binary")
        fetch = asyncio.create_task(fetcher.fetch(Request(url, HostKey("ftp.test"), port, "127.0.0.1")))
        await asyncio.sleep(1.0)
        held = room.held
        room.leave(somebody, 2000)
        return held, await fetch

    with real_server(tmp_path) as port:
        held, outcome = asyncio.run(main(port))

    assert held == 1
    assert isinstance(outcome, Response), outcome
    assert (outcome.wire_body, outcome.truncated) == (BODY, None)
    assert room.taken == 0
