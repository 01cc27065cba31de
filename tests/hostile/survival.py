"""The rules that hold for every hostile case (G1 to G15 of the hostile web), checked in one place.

Three layers. `surviving` is around every test of this folder, whatever it does: a fixture in tests/conftest.py sees to
that. `under_watch` is around every case that runs on an event loop of the test. `check_crawl` is for whole crawls in
processes of their own, whose directories `surviving` finds by itself.
"""

import asyncio
import contextlib
import gc
import json
import logging
import math
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import uvloop
from warcio.archiveiterator import ArchiveIterator

from gossamer.model.states import UrlState
from tests.integration.fork_client import standing
from tests.warc_checking import check_by_warcio

T = TypeVar("T")
MIB = 1 << 20
LONGEST_HOLD = 0.25  # G2, in CPU time of the loop's thread: another process's turn is not ours
HOLDS_COUNT = bool(os.environ.get("GOSSAMER_HOLDS"))
"""Whether a case fails whose event loop was held for longer. A machine that is slow enough holds any loop, so only
`make soak` looks."""
LARGEST_GROWTH = 64 * MIB  # G3
FILES_MORE = 5  # G9
LONGEST_LINE = 1024  # G10
LONGEST_CASE = 600.0  # seconds; nothing is measured by it, but nothing may hang either (G4)
SECRET = "c4nary-of-the-coal-mine"
"""What cases put wherever a secret can stand. It must never be written down (G10)."""

_BEAT = 0.005
_USUAL_CRAWL = 72 * MIB  # a crawler with a few pages behind it


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident() -> int:
    """Of this process and of its children: what is done in a child is done for this one. Libraries, whose memory they
    share, are counted once."""
    pages = 0
    for pid in ("self", *children()):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
            pages += resident if pid == "self" else resident - shared
    return pages * os.sysconf("SC_PAGE_SIZE")


def children() -> set[str]:
    """The processes that this one has started and that still run, or were never waited for; but for those that are
    to fork others until the end."""
    found: set[str] = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):
            found |= set(Path(f"/proc/self/task/{task}/children").read_text(encoding="ascii").split())
    return found - set(map(str, standing()))


def wait_until_true(what: Callable[[], bool], patience: float = 60.0) -> None:
    """Give what ends in other threads its time. Whoever calls this checks the outcome."""
    for _ in range(int(patience / 0.01)):
        if what():
            return
        time.sleep(0.01)


# --- a case on an event loop of the test ----------------------------------------------------------------


class Vitals:
    """What the heartbeat saw."""

    def __init__(self) -> None:
        self.beats = 0
        self.longest_hold = 0.0
        self.start = self.peak = resident()
        self.strays: list[str] = []

    async def beat(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(_BEAT)
            now = time.thread_time()
            self.longest_hold = max(self.longest_hold, now - before)
            before = now
            self.peak = max(self.peak, resident())
            self.beats += 1

    def check(self, max_growth: int, longest_hold: float) -> None:
        assert self.strays == [], self.strays
        assert self.longest_hold <= longest_hold, f"held for {self.longest_hold:.3f} s of CPU"
        assert self.peak - self.start <= max_growth, f"grew by {(self.peak - self.start) / MIB:.1f} MiB"


@contextlib.asynccontextmanager
async def under_watch(
    max_growth: int = LARGEST_GROWTH, longest_hold: float = LONGEST_HOLD if HOLDS_COUNT else math.inf
) -> AsyncIterator[Vitals]:
    """Nothing is raised where nobody looks (G1), the loop is never held (G2), memory is bounded (G3)."""
    vitals = Vitals()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: vitals.strays.append(str(context)))
    heart = asyncio.create_task(vitals.beat())
    gc.freeze()  # what the tests before this one have left is not the case's to look through: 0.3 s after a thousand
    try:
        async with asyncio.timeout(LONGEST_CASE):
            yield vitals
        await asyncio.sleep(3 * _BEAT)
        vitals.peak = max(vitals.peak, resident())
    finally:
        gc.unfreeze()
        heart.cancel()
        await asyncio.gather(heart, return_exceptions=True)
    vitals.check(max_growth, longest_hold)


def on_a_loop(
    case: Coroutine[object, object, T], loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
) -> T:
    """Run on the crawler's kind of loop, or another one. Its files are closed afterwards (G9)."""
    before = open_files()
    with asyncio.Runner(loop_factory=loop) as runner:
        result = runner.run(case)
    wait_until_true(lambda: open_files() <= before + FILES_MORE)
    assert open_files() <= before + FILES_MORE
    return result


# --- a whole crawl ----------------------------------------------------------------------------------------


def check_crawl(directory: Path) -> None:
    """What a crawl has left behind, whether it ended by itself or was killed."""
    ended = check_log(directory)
    check_states(directory / "crawl.db", ended)
    check_by_warcio(sorted(directory.glob("warc/*.warc.gz")))
    check_no_secret(directory)


def check_log(directory: Path) -> bool:
    """One event, one line, escaped and short (G10); no failure of ours (G1), no impolite request (G11). Tells
    whether the crawl came to its end."""
    lines = [line for log in sorted(directory.glob("crawl.log*")) for line in log.read_bytes().split(b"\n") if line]
    events = []
    for line in lines:
        assert len(line) < LONGEST_LINE, line
        assert all(0x20 <= byte < 0x7F for byte in line), line
        event = json.loads(line)
        assert event["event"] not in ("crawl.failed", "politeness.violated"), line
        events.append(event["event"])
    return events[-1:] == ["crawl.ended"]


def check_memory(report: Mapping[str, object], usual: int = _USUAL_CRAWL) -> None:
    """A crawl grows by no more for its hostile hosts than a case may (G3), by the most that its process ever held.
    `usual`: what it holds without them."""
    held = report["max_rss_bytes"]
    assert isinstance(held, int)
    assert held <= usual + LARGEST_GROWTH, f"{held / MIB:.0f} MiB"


def check_states(database: Path, ended: bool) -> None:
    """Every URL is in exactly one state, and the counts add up (G6). What was turned down or given up says why, and
    what is stored says where."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        rows = {UrlState(state): n for state, n in db.execute("SELECT state, count(*) FROM urls GROUP BY state")}
        counters = dict(db.execute("SELECT name, value FROM counters"))
        query = "SELECT count(*) FROM urls WHERE state IN (?, ?) AND reason IS NULL"
        assert db.execute(query, (UrlState.EXCLUDED, UrlState.DEAD)).fetchone() == (0,)
        query = "SELECT count(*) FROM urls u JOIN visits v ON v.url_id = u.id WHERE state = ? AND warc_file IS NOT NULL"
        assert db.execute(query, (UrlState.STORED,)).fetchone() == (rows.get(UrlState.STORED, 0),)
    if ended:
        assert {state: counters.get(f"state:{state.word}", 0) for state in UrlState} == {
            state: rows.get(state, 0) for state in UrlState
        }
        assert counters.get("discovered", 0) == sum(rows.values())


def check_no_secret(directory: Path) -> None:
    """Neither log nor database nor the headers that we write into the archive hold what nobody may learn (G10)."""
    secret = SECRET.encode()
    for path in directory.iterdir():
        assert not path.is_file() or secret not in path.read_bytes(), path
    for path in directory.glob("warc/*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, no_record_parse=True):
                assert SECRET not in str(record.rec_headers)
                # What a server answered is kept as it was; what we asked must not hold it.
                assert record.rec_type != "request" or secret not in record.content_stream().read()


# --- around every test --------------------------------------------------------------------------------------


class _Strays(logging.Handler):
    """What asyncio says of exceptions that nobody took."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@contextlib.contextmanager
def surviving(folder: Path | None, patience: float = 60.0) -> Iterator[None]:
    """Around a case: no exception in any thread or forgotten task (G1), and memory, files and processes given back
    (G3, G9) within `patience` seconds. Crawls below `folder` are looked through."""
    strays = _Strays()
    logging.getLogger("asyncio").addHandler(strays)
    usual = threading.excepthook
    threading.excepthook = lambda args: strays.said.append(f"{args.thread}: {args.exc_value!r}")
    gc.freeze()  # or the collector would look through what all other tests have left, for a second of the case's time
    files, memory, processes = open_files(), resident(), children()
    try:
        yield
    finally:
        gc.collect(1)  # a task that nobody awaited speaks up when it goes
        gc.unfreeze()
        threading.excepthook = usual
        logging.getLogger("asyncio").removeHandler(strays)
    assert strays.said == [], strays.said
    wait_until_true(lambda: open_files() <= files + FILES_MORE and children() <= processes, patience)
    assert open_files() <= files + FILES_MORE
    assert children() <= processes
    assert resident() - memory <= LARGEST_GROWTH
    if folder is not None:
        for database in folder.rglob("crawl.db"):
            check_crawl(database.parent)
