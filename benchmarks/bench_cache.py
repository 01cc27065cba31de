"""What the cache tier costs a crawler: CPU time per page, in this process, with a private Redis server on loopback.

`python -m benchmarks.bench_cache` from the root of the repository. Pages come as in a crawl: processed in batches of
32, committed 200 at a time. Of each page one digest is looked up and then written; the fingerprints of `--links` links
that lead to other partitions are looked up, and one in three is new and written; with the stream, the document is
announced. The same through redis-py's own asyncio client, one pipeline per batch, for comparison.
"""

import argparse
import asyncio
import platform
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import redis.asyncio
import uvloop

from gossamer.backends.redis.address import parse_address
from gossamer.backends.redis.document_log import RedisDocumentLog
from gossamer.backends.redis.known import CachedOwners, CachedSentLinks
from gossamer.backends.redis.tier import CacheScope, CacheTier
from gossamer.model.announcement import Announcement
from gossamer.model.units import Instant, Url
from tests.redis_server import running_redis

BATCH, COMMIT = 32, 200

Step = Callable[[list[int]], Awaitable[None]]
"""Does what a batch, or a commit, of these pages needs."""


def _digests(pages: list[int]) -> list[bytes]:
    return [page.to_bytes(20, "big") for page in pages]


def _links(pages: list[int], number: int) -> list[int]:
    return [page * 0x9E3779B97F4A7C15 % 2**63 + link for page in pages for link in range(number)]


def _documents(pages: list[int]) -> list[Announcement]:
    return [
        Announcement(
            Url(f"http://host{page % 97}.test/some/path/{page}"),
            page.to_bytes(20, "big"),
            "gossamer-20261118045749-00001.warc.gz",
            page * 1000,
            999,
            200,
            Instant(1.79e9),
            "A title of a usual length",
        )
        for page in pages
    ]


async def _measure(pages: int, batch: Step | None, commit: Step | None) -> float:
    """Microseconds of CPU per page."""
    numbers = [random.Random(7).getrandbits(50) + page for page in range(pages)]
    began = time.process_time()
    if batch is not None:
        for first in range(0, pages, BATCH):
            await batch(numbers[first : first + BATCH])
    if commit is not None:
        for first in range(0, pages, COMMIT):
            await commit(numbers[first : first + COMMIT])
    return (time.process_time() - began) * 1e6 / pages


async def _ours(url: str, pages: int, links: int) -> dict[str, float]:
    tier = CacheTier(
        parse_address(url, {}), CacheScope("0123456789abcdef", 1, 1), chance=random.Random(1), timeout=60.0
    )
    while not tier.is_usable:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    owners, sent = CachedOwners(tier), CachedSentLinks(tier)
    log = RedisDocumentLog(tier, 1, 100_000)

    async def answered() -> None:
        await tier.ask(("PING",))

    async def find_owners(numbers: list[int]) -> None:
        await owners.find(_digests(numbers))

    async def add_owners(numbers: list[int]) -> None:
        owners.add([(digest, number) for digest, number in zip(_digests(numbers), numbers, strict=True)])
        await answered()

    async def find_links(numbers: list[int]) -> None:
        await sent.known(_links(numbers, links))

    async def add_links(numbers: list[int]) -> None:
        sent.add(_links(numbers, links // 3))
        await answered()

    async def announce(numbers: list[int]) -> None:
        log.announce(1, _documents(numbers))
        await answered()

    async def prepare(numbers: list[int]) -> None:
        _documents(numbers)

    found = {
        "digest looked up": await _measure(pages, find_owners, None),
        "digest written": await _measure(pages, None, add_owners),
        f"{links} links looked up": await _measure(pages, find_links, None),
        f"{links // 3} links written": await _measure(pages, None, add_links),
    }
    found["the tier"] = sum(found.values())
    found["document announced"] = await _measure(pages, None, announce) - await _measure(pages, None, prepare)
    assert not tier.statistics().failures and log.unannounced == 0
    await tier.close()
    return found


async def _by_redis_py(url: str, pages: int, links: int) -> dict[str, float]:
    client = redis.asyncio.Redis.from_url(url)

    async def find_owners(numbers: list[int]) -> None:
        await client.mget(_digests(numbers))

    async def add_owners(numbers: list[int]) -> None:
        async with client.pipeline(transaction=False) as pipeline:
            for digest, number in zip(_digests(numbers), numbers, strict=True):
                pipeline.set(digest, number, ex=1000)
            await pipeline.execute()

    async def find_links(numbers: list[int]) -> None:
        await client.mget([number.to_bytes(8, "big") for number in _links(numbers, links)])

    async def add_links(numbers: list[int]) -> None:
        async with client.pipeline(transaction=False) as pipeline:
            for number in _links(numbers, links // 3):
                pipeline.set(number.to_bytes(8, "big"), b"", ex=1000)
            await pipeline.execute()

    async def announce(numbers: list[int]) -> None:
        async with client.pipeline(transaction=False) as pipeline:
            for each in _documents(numbers):
                fields: dict[Any, Any] = {name: value for name, value in each._asdict().items() if value is not None}
                pipeline.xadd("documents", fields, maxlen=100_000)
            await pipeline.execute()

    found = {
        "digest looked up": await _measure(pages, find_owners, None),
        "digest written": await _measure(pages, None, add_owners),
        f"{links} links looked up": await _measure(pages, find_links, None),
        f"{links // 3} links written": await _measure(pages, None, add_links),
    }
    found["the tier"] = sum(found.values())
    found["document announced"] = await _measure(pages, None, announce)
    await client.aclose()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--links", type=int, default=12)
    given = parser.parse_args()
    print(f"python {platform.python_version()}, {given.pages} pages; µs of CPU per page")
    with tempfile.TemporaryDirectory() as folder, running_redis(Path(folder)) as server:
        ours = uvloop.run(_ours(server.url, given.pages, given.links))
        server.client().flushall()
        theirs = uvloop.run(_by_redis_py(server.url, given.pages, given.links))
    for name, value in ours.items():
        print(f"  {name:<22} {value:7.1f}   redis-py {theirs[name]:7.1f}")


if __name__ == "__main__":
    main()
