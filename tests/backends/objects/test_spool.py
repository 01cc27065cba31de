"""The folder for objects that could not be put yet."""

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
