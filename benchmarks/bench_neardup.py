"""What near-duplicate recognition costs for a page: its signature, and the look for originals.

`python -m benchmarks.bench_neardup` from the root of the repository. CPU time, fixed seeds. The pages are those of
`bench_extract`; signatures for the window are random, as those of different pages are.
"""

import argparse
import platform
import random
import statistics
import time
import tracemalloc

from benchmarks.bench_extract import make_page
from gossamer.dedup import WINDOW, NearDuplicates, NearMode
from gossamer.extract.crawl_page import page_signature
from gossamer.extract.tree import page_tree
from gossamer.sketch import BINS, signature

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


def memory(known: int, pages: int) -> tuple[float, float, float]:
    """Microseconds to judge a page with so many originals in the window, to read one again after a restart, and
    megabytes of all of them."""
    rng = random.Random(known)
    signatures = [rng.randbytes(BINS) for _ in range(known)]
    tracemalloc.start()
    near = NearDuplicates(NearMode.MARK, known)
    for url_id, each in enumerate(signatures):
        near.add(url_id, each)
    size = tracemalloc.get_traced_memory()[0] / 1e6
    tracemalloc.stop()
    again = NearDuplicates(NearMode.MARK, known)
    began = time.process_time()
    for url_id, each in enumerate(signatures):
        again.add(url_id, each)
    adding = (time.process_time() - began) * 1e6 / known
    more = [rng.randbytes(BINS) for _ in range(pages)]
    began = time.process_time()
    for url_id, each in enumerate(more, known):
        near.judge(url_id, each)
    return (time.process_time() - began) * 1e6 / pages, adding, size


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=100)
    arguments.add_argument("--rounds", type=int, default=7)
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
    for known in (2_000, 20_000, 100_000, WINDOW):
        judging, adding, megabytes = memory(known, 5_000)
        print(
            f"{known:9,} originals: {judging:5.1f} us to judge a page, {adding:4.1f} us an original after a restart, "
            f"{megabytes:5.1f} MB"
        )


if __name__ == "__main__":
    main()
