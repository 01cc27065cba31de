"""What the URL-seen test costs for a link, and the memory it takes for a URL, beside a plain Python set.

`python -m benchmarks.bench_seen` from the root of the repository. CPU time, fixed seed. Links come in batches of 500,
a fifth of them new, the others drawn mostly from the recently met, as links are. The store is not part of it: "ask"
counts how many links would have to be asked of it.
"""

import argparse
import platform
import random
import time
import tracemalloc
from collections.abc import Callable

from gossamer.seen import SeenTest, fingerprints

_BATCH = 500
_NEW_PER_BATCH = 100
_KEY = 0x5EED_0F_A_C4A31


def _keys(rng: random.Random, count: int) -> list[int]:
    return [rng.getrandbits(64) - (1 << 63) for _ in range(count)]


def _batches(rng: random.Random, known: list[int], count: int) -> list[list[int]]:
    pool = list(known)
    recent = len(pool) // 20
    batches = []
    for _ in range(count):
        new = _keys(rng, _NEW_PER_BATCH)
        near = [pool[-1 - rng.randrange(recent)] for _ in range(int(0.9 * (_BATCH - _NEW_PER_BATCH)))]
        far = rng.choices(pool, k=_BATCH - _NEW_PER_BATCH - len(near))
        batch = new + near + far
        rng.shuffle(batch)
        pool += new
        batches.append(batch)
    return batches


def _by_set(seen: set[int]) -> Callable[[list[int]], None]:
    """The obvious way: everything in one set, which grows with the crawl."""

    def sort_out(batch: list[int]) -> None:
        new = []
        for fingerprint in batch:
            if fingerprint not in seen:
                seen.add(fingerprint)
                new.append(fingerprint)

    return sort_out


def _microseconds(sort_out: Callable[[list[int]], object], batches: list[list[int]]) -> float:
    start = time.process_time()
    for batch in batches:
        sort_out(batch)
    return (time.process_time() - start) * 1e6 / (len(batches) * _BATCH)


def _set_bytes(count: int) -> float:
    """Bytes that Python allocates for each key of a plain set."""
    rng = random.Random(2)
    tracemalloc.start()
    held = {rng.getrandbits(64) - (1 << 63) for _ in range(count)}
    allocated = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return allocated / len(held)


def _fingerprinting() -> float:
    urls = [f"https://www.site{i % 7}.example/section/{i}/some-page-about-things.html?id={i * 31}" for i in range(90)]
    start = time.process_time()
    for _ in range(2000):
        fingerprints(urls, _KEY)
    return (time.process_time() - start) * 1e6 / (2000 * len(urls))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--keys", type=int, default=1_000_000)
    arguments.add_argument("--batches", type=int, default=1000)
    asked = arguments.parse_args()

    rng = random.Random(1)
    known = _keys(rng, asked.keys)
    batches = _batches(rng, known, asked.batches)

    tiers = SeenTest(capacity=2 * asked.keys, error_rate=0.001, remember=asked.keys // 5)
    start = time.process_time()
    tiers.warm(known)
    warming = (time.process_time() - start) * 1e6 / len(known)
    tiers.finish_warming()
    ours = _microseconds(tiers.classify, batches)
    plain = _microseconds(_by_set(set(known)), batches)
    after = tiers.statistics()
    links = len(batches) * _BATCH

    print(f"python {platform.python_version()} on {platform.machine()}, {asked.keys} keys, {links} links")
    print(f"fingerprint   {_fingerprinting():.3f} us a URL")
    print(f"tiers         {ours:.3f} us a link, warming {warming:.3f} us a key")
    print(f"plain set     {plain:.3f} us a link (ratio {ours / plain:.2f})")
    print(f"tiers decide  {after.seen / links:.1%} seen, {after.new / links:.1%} new, {after.asked / links:.1%} to ask")
    print(
        f"memory        filter {after.filter_bytes / after.filter_keys:.2f} bytes a URL in the crawl, "
        f"plain set {_set_bytes(asked.keys // 4):.0f}; "
        f"exact memory {after.remembered} places at the set's price, whatever the crawl"
    )


if __name__ == "__main__":
    main()
