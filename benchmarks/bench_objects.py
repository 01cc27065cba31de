"""CPU time of a page on its way into object storage: objects of 8 MB, put as a crawl does, into a real S3 server.

.venv/bin/python -m benchmarks.bench_objects
"""

import platform
import random
import resource
import statistics
import tempfile
import time
from hashlib import sha1
from pathlib import Path

from benchmarks.bench_warc import INFO, PAGE_BYTES, SEED, some_response
from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import ObjectDelivery
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.backends.warc.captures import WarcCaptures, WarcEncoder
from gossamer.backends.warc.record import RecordIds
from gossamer.backends.warc.writer import WarcWriter
from gossamer.clock import SteadyClock
from gossamer.model.settlement import Capture
from gossamer.store.ports import CaptureFiles
from tests.s3_server import BUCKET, s3_server

OBJECT_BYTES = 8 * 1024 * 1024
OBJECTS = 20
TARGET_US = 10.0


def some_captures() -> list[Capture]:
    """As many as an object of 8 MB holds, with their records."""
    rng = random.Random(SEED)
    encoder, pages = WarcEncoder(RecordIds(rng)), [some_response(rng, number) for number in range(100)]
    made: list[Capture] = []
    size = 0
    while size < OBJECT_BYTES:
        page = pages[len(made) % len(pages)]
        made.append(encoder.capture(page, sha1(page.wire_body).digest()))
        size += sum(map(len, made[-1].records or ()))
    return made


def cpu_seconds() -> float:
    """Of all threads of this process: the driver has some of its own."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(captures: CaptureFiles, pages: list[Capture]) -> tuple[list[float], list[float]]:
    """CPU per page in microseconds, and seconds of each commit."""
    cpu, took = [], []
    for _ in range(OBJECTS):
        began, clock = cpu_seconds(), time.perf_counter()
        for page in pages:
            captures.append(page)
        captures.flush()
        captures.committed()
        cpu.append(1e6 * (cpu_seconds() - began) / len(pages))
        took.append(time.perf_counter() - clock)
    return cpu, took


def show(name: str, cpu: list[float], took: list[float]) -> None:
    spread = statistics.quantiles(cpu, n=10)
    print(
        f"{name:<22} {statistics.median(cpu):6.1f} µs of CPU per page ({spread[0]:.1f}-{spread[-1]:.1f}), "
        f"{1000 * statistics.median(took):6.1f} ms per commit"
    )


def main() -> None:
    pages = some_captures()
    size = sum(len(record) for page in pages for record in page.records or ())
    print(f"{platform.platform()}, Python {platform.python_version()}, seed {SEED}")
    print(f"{OBJECTS} commits of {len(pages)} pages ({PAGE_BYTES} bytes each), {size / 1e6:.1f} MB of records")
    ids = RecordIds(random.Random(SEED))
    with tempfile.TemporaryDirectory() as folder, s3_server() as server:
        url = server.url(f"{BUCKET}/bench")
        storage, spool = ObjectStorage(url), Spool(Path(folder) / "spool", 1 << 40)
        delivery = ObjectDelivery(storage, lambda seconds: storage, spool, 1 << 40)
        objects = ObjectCaptures(delivery, epoch=1, info=INFO, ids=ids, clock=SteadyClock())
        measure(objects, pages[:10])
        put = measure(objects, pages)
        writer = WarcWriter(Path(folder) / "warc", info=INFO, ids=ids, clock=SteadyClock())
        written = measure(WarcCaptures(writer, ids), pages)
    show("objects", *put)
    show("WARC files, synced", *written)
    print(f"target: {TARGET_US:.0f} µs of CPU per page for objects")


if __name__ == "__main__":
    main()
