"""A store on a file of the test's own, and short words for what goes into it."""

from collections.abc import Mapping
from pathlib import Path

from gossamer.backends.sqlite.loader import SqliteLoader
from gossamer.backends.sqlite.writer import SqliteWriter
from gossamer.clock import VirtualClock
from gossamer.errors import DiskFull
from gossamer.model.outcome import Response
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.store.changes import Capture, Settlement
from gossamer.store.ports import Location

START = 1_700_000_000.0
FILE = "one.warc.gz"


class CapturesInMemory:
    """`CaptureFiles` on a list; fails at the n-th append, flush or roll-back from now when told to."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.safe = 0  # records that are committed
        self.full_after: int | None = None
        self.flush_fails = False
        self.roll_back_fails = False
        self.closed = False

    @property
    def length(self) -> int:
        return sum(len(record) for record in self.records)

    def append(self, capture: Capture) -> Location:
        if self.full_after is not None:
            if self.full_after == 0:
                raise DiskFull("no room for a record")
            self.full_after -= 1
        place = Location(FILE, self.length, len(capture.response.wire_body))
        self.records.append(capture.response.wire_body)
        return place

    def flush(self) -> Mapping[str, int]:
        if self.flush_fails:
            raise DiskFull("no room to flush")
        return {FILE: self.length} if len(self.records) > self.safe else {}

    def committed(self) -> None:
        self.safe = len(self.records)

    def roll_back(self) -> None:
        del self.records[self.safe :]
        if self.roll_back_fails:
            raise DiskFull("no room to roll back")

    def close(self) -> None:
        self.closed = True


class Store:
    """A writer, a loader and their clock."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.clock = VirtualClock(START)
        self.captures = CapturesInMemory()
        self.writer = SqliteWriter(path, self.captures, domain_of, self.clock)
        self.loader = SqliteLoader(path)
        self.db = self.loader._db  # for looking at rows

    @property
    def now(self) -> Instant:
        return self.clock.now()

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        return self.db.execute(sql, values).fetchall()

    def value(self, sql: str, *values: object) -> object:
        return self.db.execute(sql, values).fetchone()[0]

    def close(self) -> None:
        self.loader.close()
        self.writer.close()


def domain_of(host: HostKey) -> tuple[Domain, int]:
    domain = ".".join(host.split(".")[-2:])
    return Domain(domain), len(domain) % 64


def candidate(host: str, number: int, front: int = 0, found_on: int = 0) -> Candidate:
    url = Url(f"http://{host}/{number}")
    return Candidate(url, HostKey(host), Fingerprint(number), front, 0.5, 1, 0, Via.LINK, found_on)


def settlement(
    url_id: int, state: UrlState = UrlState.STORED, host_id: int = 1, front: int = 0, body: bytes | None = None
) -> Settlement:
    """What became of a visit; with a body there is a document to be archived."""
    plain = Settlement(HostId(host_id), url_id, front, state, Instant(START))
    return plain if body is None else plain._replace(status=200, size=len(body), digest=body, capture=capture_of(body))


def capture_of(body: bytes) -> Capture:
    response = Response(Url("http://a.test/"), 200, b"", b"", body, {}, "127.0.0.1", Instant(START), Seconds(0.1))
    return Capture(response, b"digest")
