"""A process that commits batch after batch until it is killed; for test_sqlite_kill.py.

Arguments: directory, seed, name of the ordering.
"""

import random
import sys
from pathlib import Path

from gossamer.backends.sqlite.driver import open_writer
from gossamer.backends.warc.captures import WarcCaptures
from gossamer.backends.warc.record import RecordIds, Warcinfo
from gossamer.backends.warc.writer import WarcWriter, cut_back
from gossamer.clock import SteadyClock
from gossamer.frontier.orderings import ORDERINGS
from gossamer.model.batch import Batch, RetiredHost
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.task import Candidate, Via
from gossamer.model.units import Domain, Fingerprint, HostId, HostKey, Seconds, Url
from gossamer.store.table.metadata import Metadata
from gossamer.store.table.writer import TableWriter

PAGES = 20
TARGETS_AT_ONCE = 300  # those of a few commits


def links_of(number: int) -> list[int]:
    """What the page of this number links to: URLs that are known when it is fetched."""
    return sorted({n for n in (1, 2, number // 2, number - 3, number + 5, number + 16) if 1 <= n != number})


def main(directory: Path, seed: int, order: str) -> None:
    chance = random.Random(seed)
    clock = SteadyClock()
    database = directory / "crawl.db"
    db = open_writer(database)
    committed = Metadata(db).warc_lengths()
    found: int = db.fetch_value("last_url")
    warcs = directory / "warc"
    cut_back(warcs, committed)
    ids = RecordIds(random.Random(seed))
    info = Warcinfo("test", "test", "")
    files = WarcWriter(warcs, info=info, ids=ids, clock=clock, rotate_bytes=60_000, committed=committed)
    captures, ordering = WarcCaptures(files, ids), ORDERINGS[order]()
    writer = TableWriter(
        db, captures, lambda host: (Domain(host), 0, "test"), ordering, clock, targets_at_once=TARGETS_AT_ONCE
    )
    for _ in range(100_000):  # far more than a killer lets pass
        batch = Batch()
        first = found + 1
        for number in range(first, first + PAGES):
            url = Url(f"http://h{number % 5}.test/{number}")
            host = HostKey(f"h{number % 5}.test")
            batch.candidates.append(Candidate(url, host, Fingerprint(number), 1, 0, Via.LINK, 0))
        for number in range(max(1, first - PAGES), first):
            body = b"page %d " % number + chance.randbytes(chance.randrange(2000))
            response = Response(
                Url(f"http://h{number % 5}.test/{number}"),
                200,
                b"GET / HTTP/1.1\r\n\r\n",
                b"HTTP/1.1 200 OK\r\n\r\n",
                body,
                {},
                "127.0.0.1",
                clock.now(),
                Seconds(0.1),
            )
            capture = Capture(response, b"\0" * 20)
            host_id = HostId(1 + (number - 1) % 5)
            done = Settlement(host_id, number, number % 3, UrlState.STORED, clock.now(), status=200, size=len(body))
            batch.settle(done._replace(digest=b"%d" % number, capture=capture))
            targets = links_of(number)
            hosts = [HostKey(f"h{n % 5}.test") for n in targets]
            batch.links.append(PageLinks(number, host_id, [Fingerprint(n) for n in targets], hosts))
        batch.retired = [RetiredHost(HostId(1 + found % 5), clock.now())] if found else []
        batch.counters["fetched"] = len(batch.settlements)
        writer.commit(batch, clock.now())
        found += PAGES
        print(found, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
