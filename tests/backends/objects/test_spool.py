"""The folder for objects that could not be put yet."""

import os
import threading
from pathlib import Path

from gossamer.backends.objects.spool import Spool, Spooled


def test_a_reader_lists_the_spool_of_a_worker_that_is_delivering_it(tmp_path: Path) -> None:
    spool, ended = Spool(tmp_path, 1_000_000), threading.Event()
    spool.add("7/00000000.warc.gz", b"stays")

    def deliver() -> None:
        for number in range(1, 400):
            name = f"7/{number:08d}.warc.gz"
            spool.add(name, b"12345")
            spool.remove(name)
        ended.set()

    thread = threading.Thread(target=deliver)
    thread.start()
    while not ended.is_set():
        assert Spooled("7/00000000.warc.gz", 5) in Spool(tmp_path, 1).entries()
    thread.join()
    assert spool.entries() == [Spooled("7/00000000.warc.gz", 5)]


def test_the_order_is_that_of_writing_whatever_the_clock_says(tmp_path: Path) -> None:
    names = [
        "9/00000001.warc.gz",
        "9/00000002.warc.gz",
        "1/00000001.warc.gz",
        "5/00000001.warc.gz",
        "5/00000002.warc.gz",
    ]
    for life in (names[:2], names[2:3], names[3:]):
        spool = Spool(tmp_path, 1_000)
        for name in life:
            spool.add(name, b"x")
    for earlier, file in enumerate(sorted(tmp_path.rglob("*.warc.gz"))):
        os.utime(file, (1_000 - earlier, 1_000 - earlier))

    assert [entry.name for entry in Spool(tmp_path, 1_000).entries()] == names

    for name in names[:3]:
        spool.remove(name)
    spool.tidy()
    assert [folder.name for folder in tmp_path.iterdir()] == ["00000003"]
    spool.add("5/00000003.warc.gz", b"x")
    assert Spool(tmp_path, 1_000).read("5/00000003.warc.gz") == b"x"
