"""`SentLinks`, in memory and on Redis: what was added is known, and nothing else."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from gossamer.backends.redis.address import parse_address
from gossamer.backends.redis.known import CachedSentLinks
from gossamer.backends.redis.tier import CacheScope, CacheTier
from gossamer.crawl.document.known import SentLinkMemory
from gossamer.store.ports import SentLinks
from tests.redis_server import RedisServer, running_redis

KINDS = ("memory", "redis", "memory before redis")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running_redis(tmp_path_factory.mktemp("redis")) as started:
        yield started


@asynccontextmanager
async def opened(kind: str, server: RedisServer, crawl: str) -> AsyncIterator[SentLinks]:
    if kind == "memory":
        yield SentLinkMemory()
        return
    tier = CacheTier(parse_address(server.url, {}), CacheScope(crawl), chance=random.Random(1), timeout=60.0)
    while not tier.is_usable:  # noqa: ASYNC110
        await asyncio.sleep(0.002)
    cached = CachedSentLinks(tier)
    yield cached if kind == "redis" else SentLinkMemory(cached)
    await tier.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_added_is_known_and_nothing_else(kind: str, server: RedisServer) -> None:
    async def main() -> None:
        chance = random.Random(3)
        numbers = [chance.randint(-(2**63), 2**63 - 1) for _ in range(500)]
        async with opened(kind, server, f"contract {kind}") as links:
            assert await links.known(numbers) == set()
            links.add(numbers[:200])
            links.add([])
            assert await links.known(numbers) == set(numbers[:200])
            links.add(numbers[100:300])
            assert await links.known(numbers) == set(numbers[:300])
            assert await links.known([]) == set()

    asyncio.run(main())


def test_a_worker_knows_what_another_one_has_sent(server: RedisServer) -> None:
    async def main() -> None:
        kind = "memory before redis"
        async with opened(kind, server, "shared") as one, opened(kind, server, "shared") as other:
            one.add([1, 2, 3])
            assert await one.known([1]) == {1}
            async with asyncio.timeout(600):
                while await other.known([2, 9]) != {2}:  # noqa: ASYNC110  # the other connection may be ahead
                    await asyncio.sleep(0.002)
            server.client().flushall()
            assert await other.known([2, 3]) == {2}  # in its own memory by now

    asyncio.run(main())


def test_the_memory_is_bounded_and_forgets_after_a_change_of_rules() -> None:
    async def main() -> None:
        memory = SentLinkMemory(limit=100)
        for number in range(1000):
            memory.add([number])
        known = await memory.known(range(1000))
        assert set(range(950, 1000)) <= known and len(known) <= 101
        memory.clear()
        assert await memory.known(range(1000)) == set()

    asyncio.run(main())
