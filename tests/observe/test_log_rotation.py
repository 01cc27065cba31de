"""No line is lost or torn, with several writers, frequent rotation and partial writes."""

import json
import random
import subprocess
import sys
import threading
from pathlib import Path

from gossamer.clock import VirtualClock
from gossamer.observe.log import MAX_LINE_BYTES, EventLog

KEEP = 1000


def files(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted(folder.glob("crawl.log*"), key=lambda path: -int(path.suffix[1:]) if path.suffix != ".log" else 1)


def lines_in(folder: Path) -> list[dict[str, int]]:
    raw = [line for path in files(folder) for line in path.read_bytes().splitlines(keepends=True)]
    assert all(line.endswith(b"\n") for line in raw)
    return [json.loads(line) for line in raw]


def test_every_line_of_many_writers_is_whole_and_in_order_in_one_of_the_files(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "crawl.log", VirtualClock(), rotate_bytes=10_000, keep=KEEP, flush_every=0.001)

    def write(writer: int) -> None:
        chance = random.Random(writer)
        for number in range(500):
            log.event("tick", writer=writer, number=number, text="x" * chance.randrange(600))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    log.close()

    lines = lines_in(tmp_path)
    assert log.lost == 0
    assert len(files(tmp_path)) > 20
    assert all(path.stat().st_size < 10_000 + 3 * MAX_LINE_BYTES for path in files(tmp_path))
    for writer in range(4):
        assert [line["number"] for line in lines if line["writer"] == writer] == list(range(500))


def test_a_line_that_a_crash_cut_off_is_joined_to_no_other(tmp_path: Path) -> None:
    (tmp_path / "crawl.log").write_bytes(b'{"event":"one"}\n{"event":"tw')

    log = EventLog(tmp_path / "crawl.log", VirtualClock())
    log.event("three")
    log.close()

    lines = (tmp_path / "crawl.log").read_bytes().splitlines()
    assert lines[:2] == [b'{"event":"one"}', b'{"event":"tw']
    assert json.loads(lines[2])["event"] == "three"


FILLING = """
import resource, sys
from pathlib import Path
from gossamer.observe.log import EventLog

path = Path(sys.argv[1])
log = EventLog(path, flush_every=3600.0)
most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
for number in range(40):
    log.event("tick", number=number)
log.flush()
resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
log.event("after")
log.close()
print(log.lost)
"""


def test_a_disk_that_takes_a_part_of_a_line_costs_that_line_and_those_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "crawl.log"

    done = subprocess.run([sys.executable, "-c", FILLING, path], capture_output=True, text=True, timeout=60, check=True)

    lost = int(done.stdout)
    lines = path.read_bytes().splitlines()
    whole = [json.loads(line) for line in lines if line.endswith(b"}")]
    ticks = [line["number"] for line in whole if line["event"] == "tick"]
    assert ticks == list(range(40 - lost)) and 0 < lost < 40
    assert [line["event"] for line in whole[len(ticks) :]] == ["log.lost", "after"]
    assert whole[-2]["lines"] == lost
    assert len(lines) == len(whole) + 1  # what the disk took of the first lost line
