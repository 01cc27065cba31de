"""What near-duplicate recognition costs for a page: its signature, the look at memory, the store, and how that grows.

`python -m benchmarks.bench_neardup` from the root of the repository. CPU time, fixed seeds. The pages are those of
`bench_extract`; signatures for the tables are random, as those of different pages are.
"""

import argparse
import platform
import random
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
from pathlib import Path

from benchmarks.bench_extract import make_page
from gossamer.backends.sqlite.database import open_for_writing
from gossamer.backends.sqlite.near import SEGMENT, Signatures, originals_by_band
from gossamer.dedup.near import NearSeen
from gossamer.extract.links import page_signature
from gossamer.extract.tree import page_tree
from gossamer.model.states import UrlState
from gossamer.model.units import HostId, Instant
from gossamer.sketch.bands import bands_of
from gossamer.sketch.minhash import BINS, signature
from gossamer.store.changes import Settlement

_HTML = "text/html; charset=utf-8"
_COMMIT = 300  # pages
_PAGE_SIZES = ((9_000, 30), (29_000, 90), (120_000, 200))


def signing(pages: list[bytes], rounds: int) -> tuple[list[float], list[float], float]:
    """Microseconds of each round for text and signature, and for the signature alone; the mean length of the text."""
    whole, alone = [], []
    texts = [page_tree(page, _HTML)[0].text for page in pages]
    for _ in range(rounds):
        spent = 0.0
        for page in pages:
            tree = page_tree(page, _HTML)[0]  # just read, as in a crawl
            start = time.process_time()
            page_signature(tree)
            spent += time.process_time() - start
        whole.append(spent)
        start = time.process_time()
        for text in texts:
            signature(text)
        alone.append(time.process_time() - start)
    scale = 1e6 / len(pages)
    return [t * scale for t in whole], [t * scale for t in alone], sum(map(len, texts)) / len(texts)


def memory(known: int, pages: int) -> tuple[float, float]:
    """Microseconds to look and learn with so many originals in memory, and bytes for each."""
    rng = random.Random(known)
    tracemalloc.start()
    seen = NearSeen(capacity=known, remember=known)
    seen.warmed(whole=True)
    for owner in range(known):
        seen.learn(rng.randbytes(BINS), owner)
    size = tracemalloc.get_traced_memory()[0] / known
    tracemalloc.stop()
    seen.warmed(whole=False)  # so that the filter is asked too
    signatures = [rng.randbytes(BINS) for _ in range(pages)]
    start = time.process_time()
    for owner, each in enumerate(signatures, known):
        if seen.look(each, owner) is None:
            seen.learn(each, owner)
    return (time.process_time() - start) * 1e6 / pages, size


def store(folder: Path, known: int, pages: int) -> tuple[float, float, float, float]:
    """Microseconds to write the row of a page, to write it with its share of a segment, and to ask about a page, with
    so many originals; and bytes for each."""
    rng = random.Random(known)
    path = folder / f"{known}.db"
    db = open_for_writing(path)
    segments = _write(db, rng, 1, known, at_once=SEGMENT)
    took = _write(db, rng, known + 1, pages, at_once=_COMMIT)
    asked = [bands_of(rng.randbytes(BINS)) for _ in range(pages)]
    start = time.process_time()
    for bands in asked:
        originals_by_band(db, bands)
    asking = (time.process_time() - start) * 1e6 / pages
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return took, segments, asking, path.stat().st_size / (known + pages)


def _write(db: sqlite3.Connection, rng: random.Random, first: int, count: int, at_once: int) -> float:
    signatures = Signatures(db)
    spent = 0.0
    for start in range(first, first + count, at_once):
        made = [rng.randbytes(BINS) for _ in range(min(at_once, first + count - start))]
        batch = [
            Settlement(HostId(1), number, 0, UrlState.STORED, Instant(0.0), signature=each)
            for number, each in enumerate(made, start)
        ]
        began = time.process_time()
        db.execute("BEGIN")
        signatures.save(batch)
        db.execute("COMMIT")
        spent += time.process_time() - began
    return spent * 1e6 / count


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--known", type=int, default=1_000_000, help="originals in the largest store (%(default)s)")
    asked = arguments.parse_args()

    print(f"python {platform.python_version()} on {platform.machine()}, {asked.pages} pages, median of {asked.rounds}")
    for size, links in _PAGE_SIZES:
        pages = [make_page(seed, size, links) for seed in range(asked.pages)]
        whole, alone, length = signing(pages, asked.rounds)
        print(
            f"{size / 1000:5.0f} KB, {length:6.0f} characters of text: text and signature "
            f"{statistics.median(whole):5.0f} us (best {min(whole):.0f}), "
            f"signature alone {statistics.median(alone):5.0f} (best {min(alone):.0f})"
        )
    for known in (2_000, 20_000):
        took, held = memory(known, 2_000)
        print(f"{known:9,} originals in memory: look and learn {took:5.1f} us a page, {held:,.0f} bytes an original")
    with tempfile.TemporaryDirectory() as folder:
        sizes = [n for n in (10_000, 100_000, 1_000_000) if n < asked.known]
        for known in (*sizes, asked.known):
            writing, segments, asking, held = store(Path(folder), known, 5_000)
            print(
                f"{known:9,} originals in the store: writing {writing:5.1f} us a page, with segments {segments:5.1f}, "
                f"asking {asking:5.1f} us a question, {held:,.0f} bytes an original"
            )


if __name__ == "__main__":
    main()
