"""`CacheTier` on a real server: what becomes of its commands, whatever becomes of the server."""

import asyncio
import random
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path

import pytest
import trustme
import uvloop

from gossamer.backends.redis import connection
from gossamer.backends.redis import tier as tiers
from gossamer.backends.redis.address import CacheAddress, parse_address
from gossamer.backends.redis.connection import Command
from gossamer.backends.redis.known import CachedOwners, CachedSentLinks
from gossamer.backends.redis.tier import CacheScope, CacheTier
from gossamer.cluster.tiers import TierPolicy
from gossamer.model.cache_fault import CacheFault
from gossamer.model.units import Seconds
from tests.backends.redis.slow_proxy import SlowProxy
from tests.redis_server import RedisServer, free_port, running_redis

SCOPE = CacheScope("crawl", 1, 1)
LONG = 30.0  # seconds for an operation, where a busy machine must not be taken for a slow server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with running_redis(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """One that a test may kill."""
    with running_redis(tmp_path / "redis") as started:
        yield started


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes come soon."""
    monkeypatch.setattr(tiers, "POLICY", TierPolicy(first_pause=Seconds(0.02), longest_pause=Seconds(0.1)))


def run(
    url: str, job: Callable[[CacheTier], Awaitable[None]], *, timeout: float = LONG, scope: CacheScope = SCOPE
) -> list[str | None]:
    """Run a job with a tier that is connected. Returns why and when it was opened and closed."""
    changes: list[str | None] = []

    async def main() -> None:
        tier = CacheTier(
            parse_address(url, {}), scope, chance=random.Random(1), timeout=timeout, on_change=note_in(changes)
        )
        tier.connect_soon()
        await until(lambda: tier.is_usable)
        await job(tier)
        await tier.close()

    uvloop.run(main())
    return changes


def note_in(changes: list[str | None]) -> Callable[[CacheFault | None, str], None]:
    return lambda fault, reason: changes.append(None if fault is None else f"{fault}: {reason}")


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(600):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.002)


async def fail_and_recover(tier: CacheTier, undo: Callable[[], object]) -> None:
    """Use the tier until it is open, then until it is closed again. Nothing that it is used for fails."""
    owners = CachedOwners(tier)

    async def use(holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(600):
            while not holds():
                owners.add([(b"a" * 20, 1)])
                assert await owners.find([b"b" * 20]) == [None]
                await asyncio.sleep(0.002)

    await use(lambda: tier.statistics().is_open)
    before = tier.statistics().pipelines
    owners.add([(b"a" * 20, 1)])
    await asyncio.sleep(0)
    assert tier.statistics().pipelines == before  # nothing is sent while it is open
    undo()
    await use(lambda: tier.is_usable)
    owners.add([(b"a" * 20, 1)])
    assert await owners.find([b"a" * 20]) == [1]


def test_owners_are_found_by_their_digests(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        owners = CachedOwners(tier)
        owners.add([(b"1" * 20, 7), (b"2" * 20, 3 << 40 | 5)])

        assert await owners.find([b"2" * 20, b"3" * 20, b"1" * 20]) == [3 << 40 | 5, None, 7]
        assert await owners.find([]) == []

    assert run(server.url, job) == []


def test_links_that_were_sent_are_known(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add([1, -5, 2**62])

        assert await links.known([-5, 6, 2**62]) == {-5, 2**62}
        assert await links.known([]) == set()

    assert run(server.url, job) == []


@pytest.mark.parametrize("other", [CacheScope("another", 1, 1), CacheScope("crawl", 2, 1), CacheScope("crawl", 1, 2)])
def test_nothing_of_another_crawl_generation_or_version_of_the_rules_is_known(
    server: RedisServer, other: CacheScope
) -> None:
    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add([77])
        assert await links.known([77]) == {77}

        tier.scope = other
        assert await links.known([77]) == set()

    run(server.url, job)


def test_entries_expire(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        CachedOwners(tier).add([(b"e" * 20, 7)])
        await CachedOwners(tier).find([b"e" * 20])

    run(server.url, job)

    key = SCOPE.prefix + b"d" + b"e" * 20
    assert 0 < int(server.client().ttl(key)) <= tiers.KEPT_SECONDS


def test_the_commands_of_one_turn_of_the_loop_go_in_one_pipeline(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        links, before = CachedSentLinks(tier), tier.statistics().pipelines
        links.add([1])
        links.add([2])
        await links.known([1])
        assert tier.statistics().pipelines == before + 1

        one, two = await asyncio.gather(links.known([1]), links.known([2]))
        assert (one, two) == ({1}, {2})
        assert tier.statistics().pipelines == before + 2

    run(server.url, job)


def test_requests_that_take_long_together_are_answered_one_after_the_other(server: RedisServer) -> None:
    values = [bytes([number]) * 50_000 for number in range(60)]
    found: list[object] = []

    async def job(tier: CacheTier) -> None:
        for number, value in enumerate(values):
            tier.send((("ECHO", value), ("ECHO", number)), found.append)
        await tier.flush()
        assert tier.statistics().failures == {}

    with SlowProxy(server.port) as proxy:
        proxy.bytes_per_second = 2e6  # 1.5 s for all, in each direction
        run(proxy.url, job, timeout=0.6)

    assert found == [[value, b"%d" % number] for number, value in enumerate(values)]


def test_a_request_that_takes_too_long_does_not_lose_the_others(server: RedisServer) -> None:
    found: dict[int, bool] = {}

    async def job(tier: CacheTier) -> None:
        def on_done(number: int) -> Callable[[object], None]:
            return lambda replies: found.update({number: replies is not None})

        for number in range(30):
            tier.send((("SET", "large", b"x" * (5_000_000 if number == 10 else 20_000)),), on_done(number))
        await tier.flush()
        assert (tier.statistics().failures, tier.statistics().is_open) == ({CacheFault.SLOW: 1}, False)

    with SlowProxy(server.port) as proxy:
        proxy.bytes_per_second = 2e6
        run(proxy.url, job, timeout=0.6)

    assert found == {number: number != 10 for number in range(30)}


def test_many_links_are_looked_up_and_written_a_thousand_at_a_time(server: RedisServer) -> None:
    numbers = range(20_000)

    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add(numbers)
        await tier.flush()
        assert await links.known(numbers) == set(numbers)
        assert tier.statistics().failures == {}

    with SlowProxy(server.port) as proxy:
        proxy.bytes_per_second = 1.5e6
        run(proxy.url, job, timeout=0.6)


def test_what_waits_is_given_up_with_its_server(own_server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        found: list[object] = []
        for _ in range(20):
            tier.send((("ECHO", b"x" * 100_000),), found.append)
        asking = asyncio.ensure_future(CachedSentLinks(tier).known([1]))
        await asyncio.sleep(0)
        own_server.kill()

        assert await asking == set()
        await tier.flush()
        assert len(found) == 20 and found[-1] is None
        own_server.start()

    run(own_server.url, job, timeout=0.05)


def test_more_than_there_is_room_for_is_given_up_at_once(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "WAITING_BYTES", 1_000_000)

    async def job(tier: CacheTier) -> None:
        found: list[object] = []
        for _ in range(20):
            tier.send((("ECHO", b"x" * 100_000),), found.append)
        assert found == [None] * 11
        await tier.flush()
        assert found.count(None) == 11 and len(found) == 20

    assert run(server.url, job) == []


def test_an_error_is_a_miss_for_whom_it_concerns_only(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        server.client().set("text", "no number")
        number, word = await asyncio.gather(tier.ask(("INCR", "text")), tier.ask(("ECHO", "hello")))

        assert (number, word) == (None, b"hello")
        assert tier.statistics().failures == {CacheFault.OTHER: 1}

    run(server.url, job)


def test_a_server_that_was_killed_is_used_again_when_it_is_back(own_server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        own_server.kill()
        await fail_and_recover(tier, own_server.start)

    opened, closed = run(own_server.url, job)
    assert opened is not None and opened.startswith("away: ") and "Connect" in opened and closed is None


def test_a_server_that_hangs_is_given_up_after_the_time_of_an_operation(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.1)

    async def job(tier: CacheTier) -> None:
        own_server.hang()
        await fail_and_recover(tier, own_server.wake)

    changes = run(own_server.url, job, timeout=0.05)
    assert changes[0] in ("slow: no answer in time", f"away: 127.0.0.1:{own_server.port} does not answer")
    assert changes[-1] is None


def test_a_loop_that_was_busy_itself_does_not_count_as_a_slow_server(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add([5])
        asking = asyncio.ensure_future(links.known([5]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # sent
        await asyncio.to_thread(lambda: None)
        busy_until = asyncio.get_running_loop().time() + 0.3
        while asyncio.get_running_loop().time() < busy_until:
            pass

        assert await asking == {5}
        assert tier.statistics().failures == {}

    run(server.url, job, timeout=0.2)


def test_a_server_without_memory_is_left_alone_until_it_has_some(own_server: RedisServer) -> None:
    client = own_server.client()

    async def job(tier: CacheTier) -> None:
        client.config_set("maxmemory", 1)
        await fail_and_recover(tier, lambda: client.config_set("maxmemory", 0))

    opened, closed = run(own_server.url, job)
    assert opened is not None and opened.startswith("out_of_memory: ") and "OOM" in opened and closed is None


def test_a_server_that_became_a_replica_is_left_alone_until_it_takes_writes(own_server: RedisServer) -> None:
    client = own_server.client()

    async def job(tier: CacheTier) -> None:
        client.replicaof("127.0.0.1", "1")
        await fail_and_recover(tier, lambda: client.replicaof("NO", "ONE"))

    opened, closed = run(own_server.url, job)
    assert opened is not None and opened.startswith("read_only: ") and "READONLY" in opened and closed is None


def test_a_password_that_changes_is_no_error_and_is_not_shown(own_server: RedisServer) -> None:
    client = own_server.client()
    client.config_set("requirepass", "first-secret")

    async def job(tier: CacheTier) -> None:
        client.config_set("requirepass", "second-secret")
        client.client_kill_filter(_type="normal", skipme=True)
        await fail_and_recover(tier, lambda: client.config_set("requirepass", "first-secret"))

    opened, closed = run(own_server.url.replace("//", "//:first-secret@"), job)
    assert opened is not None and opened.startswith("password: ") and "WRONGPASS" in opened and closed is None
    assert "GOSSAMER_CACHE_PASSWORD" in opened
    assert "secret" not in opened


def test_a_missing_password_is_no_error(own_server: RedisServer) -> None:
    client = own_server.client()

    async def job(tier: CacheTier) -> None:
        client.config_set("requirepass", "secret")
        client.client_kill_filter(_type="normal", skipme=True)
        await fail_and_recover(tier, lambda: client.config_set("requirepass", ""))

    opened, closed = run(own_server.url, job)
    assert opened is not None and opened.startswith("password: ") and "NOAUTH" in opened and closed is None


@pytest.mark.parametrize("length", [6, 200])
def test_a_server_that_repeats_the_password_it_was_sent_does_not_make_it_visible(tmp_path: Path, length: int) -> None:
    secret = "sEcReT" * (length // 6)

    async def main(url: str) -> str:
        reasons: list[str | None] = []
        tier = CacheTier(parse_address(url, {}), SCOPE, chance=random.Random(1), on_change=note_in(reasons))
        await until(lambda: not tier.is_usable and tier.statistics().is_open)
        await tier.close()
        return f"{reasons} {tier.statistics()}"

    with running_redis(tmp_path / "redis", {"rename-command": 'AUTH ""'}) as server:
        url = server.url.replace("//", f"//:{secret}@")
        said = uvloop.run(main(url))

    assert "sEcReT" not in said
    assert "does not accept" in said and "GOSSAMER_CACHE_PASSWORD" in said


def test_what_was_flushed_is_not_known_any_more(own_server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add([5])
        assert await links.known([5]) == {5}
        own_server.client().flushall()
        assert await links.known([5]) == set()

    assert run(own_server.url, job) == []


def test_a_server_that_was_emptied_is_noticed_while_it_is_used_and_when_it_comes_back(
    own_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "MARKER_SECONDS", 0.0)

    async def main() -> None:
        noticed: list[int] = []
        address, chance = parse_address(own_server.url, {}), random.Random(1)
        tier = CacheTier(address, SCOPE, chance=chance, timeout=LONG, on_emptied=lambda: noticed.append(1))
        links = CachedSentLinks(tier)

        async def use(holds: Callable[[], bool]) -> None:
            async with asyncio.timeout(600):
                while not holds():
                    await links.known([1])
                    await asyncio.sleep(0.002)

        await use(lambda: tier.statistics().pipelines > 3)
        assert noticed == []
        own_server.client().flushall()
        await use(lambda: len(noticed) == 1)
        own_server.kill()
        await use(lambda: tier.statistics().is_open)
        own_server.start()
        await use(lambda: tier.is_usable)
        assert (len(noticed), tier.statistics().emptied) == (2, 2)
        assert own_server.client().ttl(f"gossamer:{SCOPE.crawl_id}:marker") > 0
        await tier.close()

    uvloop.run(main())


@pytest.mark.parametrize(
    "answer", [b"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n99999\r\n", b"*2\r\n$2\r\n\xff\xff\r\n$1\r\nx\r\n"]
)
def test_whatever_a_sentinel_says_it_is_asked_again(server: RedisServer, answer: bytes) -> None:
    answers = [answer] * 6  # enough to open the tier, and for some probes

    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        port = str(server.port).encode()
        good = b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%b\r\n" % (len(port), port)
        writer.write(answers.pop() if answers else good)
        await writer.drain()
        writer.close()

    async def main() -> None:
        changes: list[str | None] = []
        sentinel = await asyncio.start_server(say, "127.0.0.1", 0)
        url = f"redis+sentinel://127.0.0.1:{sentinel.sockets[0].getsockname()[1]}/main"
        tier = CacheTier(parse_address(url, {}), SCOPE, chance=random.Random(1), on_change=note_in(changes))
        await until(lambda: tier.is_usable)
        assert len(changes) == 2 and changes[0] is not None and changes[0].startswith("away: ")
        await tier.close()
        sentinel.close()

    uvloop.run(main())


def test_an_error_of_ours_does_not_end_the_probes(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(connection.Connector):
        def __init__(self, address: CacheAddress) -> None:
            super().__init__(address)
            self.tries = 0

        async def connect(self, probe: Sequence[Command]) -> tuple[connection.Connection, connection.Replies]:
            self.tries += 1
            if self.tries < 6:
                raise LookupError("unforeseen")
            return await super().connect(probe)

    monkeypatch.setattr(tiers, "Connector", Broken)

    async def job(tier: CacheTier) -> None:
        assert tier.statistics().failures == {CacheFault.OTHER: 5}

    opened, closed = run(server.url, job)
    assert opened == "other: cannot connect: LookupError('unforeseen')" and closed is None


def test_a_look_up_that_hangs_occupies_one_thread(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = threading.Event()
    asked: list[object] = []
    resolve = socket.getaddrinfo

    def hang(host: object, *more: object, **options: object) -> object:
        asked.append(host)
        go_on.wait()
        return resolve("127.0.0.1", None, type=socket.SOCK_STREAM)

    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.02)
    monkeypatch.setattr(socket, "getaddrinfo", hang)

    async def main() -> None:
        address = parse_address(f"redis://cache.test:{server.port}", {})
        tier = CacheTier(address, SCOPE, chance=random.Random(1))
        await until(lambda: not tier.is_usable and sum(tier.statistics().failures.values()) >= 6)
        assert asked == ["cache.test"]
        assert tier.statistics().failures.keys() == {CacheFault.AWAY}
        go_on.set()
        monkeypatch.setattr(connection, "CONNECT_SECONDS", 5.0)
        await until(lambda: tier.is_usable)
        await tier.close()

    asyncio.run(main())


def test_of_several_servers_the_first_that_takes_writes_is_used(
    server: RedisServer, own_server: RedisServer, tmp_path: Path
) -> None:
    own_server.client().replicaof("127.0.0.1", "1")

    async def job(tier: CacheTier) -> None:
        links = CachedSentLinks(tier)
        links.add([99])
        assert await links.known([99]) == {99}

    run(f"redis://127.0.0.1:1,{own_server.url},{server.url}", job)

    assert server.client().exists(SCOPE.prefix + b"s" + (99).to_bytes(8, "little"))


def test_a_server_with_tls_is_used_if_its_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    leaf.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    leaf.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    port = free_port()
    files = {"tls-cert-file": "cert.pem", "tls-key-file": "key.pem", "tls-ca-cert-file": "ca.pem"}
    settings = {"tls-port": port, "tls-auth-clients": "no", **{key: tmp_path / name for key, name in files.items()}}

    async def job(tier: CacheTier) -> None:
        CachedSentLinks(tier).add([5])
        assert await CachedSentLinks(tier).known([5]) == {5}

    async def refused() -> str | None:
        tier = CacheTier(parse_address(f"rediss://127.0.0.1:{port}", {}), SCOPE, chance=random.Random(1))
        await until(lambda: not tier.is_usable and tier.statistics().is_open)
        await tier.close()
        return tier.statistics().reason

    with running_redis(tmp_path / "redis", settings):
        assert "certificate" in str(uvloop.run(refused())).lower()
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert run(f"rediss://127.0.0.1:{port}", job) == []


def test_a_tier_that_never_had_a_server_costs_nothing_and_can_be_closed() -> None:
    async def main() -> None:
        changes: list[str | None] = []
        address = parse_address("redis://127.0.0.1:1", {})
        tier = CacheTier(address, SCOPE, chance=random.Random(1), on_change=note_in(changes))
        links = CachedSentLinks(tier)
        while not changes:
            links.add([1])
            assert await links.known([1]) == set()
            await asyncio.sleep(0.001)
        await tier.close()

    job: Coroutine[None, None, None] = main()
    uvloop.run(job)


def test_closing_waits_for_what_was_sent_last(server: RedisServer) -> None:
    async def job(tier: CacheTier) -> None:
        CachedSentLinks(tier).add([123])

    run(server.url, job)

    assert server.client().exists(SCOPE.prefix + b"s" + (123).to_bytes(8, "little"))
