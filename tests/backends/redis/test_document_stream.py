"""The document stream on a real server: numbers, gaps, repeats and groups."""

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import redis

import gossamer
from gossamer.backends.redis.address import parse_address
from gossamer.backends.redis.document_log import RedisDocumentLog, stream_of
from gossamer.backends.redis.document_reader import DocumentReader, missing_documents
from gossamer.backends.redis.tier import CacheScope, CacheTier
from gossamer.errors import ConnectionLost, UsageError
from gossamer.model.announcement import Announcement, StreamedDocument
from gossamer.model.units import Instant, Url
from tests.integration.crawl_process import wait_until
from tests.redis_server import RedisServer, running_redis

EPOCH = 4711
SOON = 0.3  # seconds without a document after which a reader ends


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with running_redis(tmp_path / "redis") as started:
        yield started


class Counts(NamedTuple):
    announced: int
    unannounced: int


def announcement(number: int, text: str | None = None) -> Announcement:
    url = Url(f"http://x.test/{number}")
    return Announcement(url, bytes([number % 256]) * 20, "a.warc.gz", 10 * number, 7, 200, Instant(1e9), None, text)


def announce(
    server: RedisServer,
    *commits: int,
    between: Callable[[int], None] = lambda commit: None,
    most: int = 100_000,
    crawl: str = "c1",
    epoch: int = EPOCH,
    before: str | None = None,
) -> Counts:
    """Commits of so many documents. `between` is called before each of them, with its number."""

    async def main() -> Counts:
        tier = CacheTier(parse_address(server.url, {}), CacheScope(crawl), chance=random.Random(1), timeout=60.0)
        log, number = RedisDocumentLog(tier, epoch, most, before), 0
        for commit, documents in enumerate(commits):
            between(commit)
            if server.runs:
                while not tier.is_usable:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
            else:
                while tier.is_usable:  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
            log.announce(commit, [announcement(number + each) for each in range(documents)])
            number += documents
            while log.announced + log.unannounced < number:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        log.finish()
        await tier.close()
        return Counts(log.announced, log.unannounced)

    return asyncio.run(main())


def read(server: RedisServer, group: str = "g", consumer: str = "one", **options: object) -> list[StreamedDocument]:
    """Everything that there is for this consumer."""
    given = {"patience": SOON, **options}
    return list(gossamer.stream(server.url, group=group, consumer=consumer, **given))  # type: ignore[arg-type]


def test_a_document_is_announced_with_its_place_and_its_numbers(server: RedisServer) -> None:
    assert announce(server, 1, 0, 2) == (3, 0)

    found = read(server)
    assert [(d.epoch, d.serial, d.commit, d.index, d.gap) for d in found] == [
        (EPOCH, 1, 0, 0, 0),
        (EPOCH, 2, 2, 0, 0),
        (EPOCH, 3, 2, 1, 0),
    ]
    last = found[-1]
    assert (last.url, last.file, last.offset, last.length, last.status) == ("http://x.test/2", "a.warc.gz", 20, 7, 200)
    assert last.digest.startswith("sha1:") and last.fetched_at.timestamp() == 1e9
    assert (last.title, last.text, last.deliveries, last.repeat) == (None, None, 1, False)
    assert read(server) == []


def test_every_group_receives_every_document(server: RedisServer) -> None:
    announce(server, 5)

    assert [d.serial for d in read(server, "a")] == [d.serial for d in read(server, "b")] == [1, 2, 3, 4, 5]


def test_the_consumers_of_a_group_share_the_documents_and_see_no_gap_between_them(server: RedisServer) -> None:
    announce(server, 100)
    one, two = (gossamer.stream(server.url, group="g", consumer=name, patience=SOON) for name in ("one", "two"))
    found = []
    for _ in range(30):  # in turn
        found += [*islice(one, 1), *islice(two, 1)]
    found += [*one, *two]

    assert sorted(d.serial for d in found) == list(range(1, 101))
    assert {d.gap for d in found} == {0}


def test_what_was_committed_while_redis_was_away_is_a_gap(server: RedisServer) -> None:
    def before(commit: int) -> None:
        if commit == 2:
            server.kill()
        elif commit == 4:
            server.start()

    assert announce(server, 2, 3, 4, 5, 6, between=before) == (11, 9)

    # The server came back empty: the first five are lost too.
    assert [(d.serial, d.gap) for d in read(server)] == [(15, 14), (16, 0), (17, 0), (18, 0), (19, 0), (20, 0)]


def test_what_a_reader_has_received_is_no_gap_after_the_server_was_emptied(server: RedisServer) -> None:
    reader = gossamer.stream(server.url, group="g", consumer="one", crawl="c1", patience=60)
    found: list[StreamedDocument] = []

    def before(commit: int) -> None:
        if commit == 1:
            found.extend(islice(reader, 5))
            server.client().flushall()

    announce(server, 5, 2, between=before)
    found.extend(islice(reader, 2))

    assert [(d.serial, d.gap) for d in found] == [(n, 0) for n in range(1, 8)]


def test_what_a_worker_has_stored_and_not_announced_before_it_died_is_a_gap(server: RedisServer) -> None:
    announce(server, 3)
    announce(server, 2, 2, epoch=99, before=f"{EPOCH} 5")
    announce(server, 1, epoch=100, before="99 4")
    announce(server, 1, epoch=101, before="100 1")

    found = [(d.epoch, d.serial, d.gap) for d in read(server)]
    assert found[3:] == [(99, 1, 2), (99, 2, 0), (99, 3, 0), (99, 4, 0), (100, 1, 0), (101, 1, 0)]


def test_a_document_that_cannot_be_announced_is_a_gap(server: RedisServer) -> None:
    async def main() -> Counts:
        tier = CacheTier(parse_address(server.url, {}), CacheScope("c1"), chance=random.Random(1), timeout=60.0)
        while not tier.is_usable:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        log = RedisDocumentLog(tier, EPOCH, 100)
        log.announce(1, [None, announcement(1), None, announcement(3)])
        await tier.close()
        return Counts(log.announced, log.unannounced)

    assert asyncio.run(main()) == (2, 2)
    assert [(d.serial, d.index, d.gap) for d in read(server)] == [(2, 1, 1), (4, 3, 1)]


def test_a_position_is_that_after_the_documents_of_the_commit() -> None:
    tier = CacheTier(parse_address("redis://127.0.0.1:1", {}), CacheScope("c1"), chance=random.Random(1))
    log = RedisDocumentLog(tier, EPOCH, 100)

    assert log.position_after(0) == f"{EPOCH} 0"
    assert log.position_after(7) == f"{EPOCH} 7"


def test_a_position_has_those_of_earlier_epochs_until_they_were_announced(server: RedisServer) -> None:
    async def main() -> None:
        tier = CacheTier(parse_address(server.url, {}), CacheScope("c1"), chance=random.Random(1), timeout=60.0)
        log = RedisDocumentLog(tier, EPOCH, 100, "99 5 98 3")
        log.announce(1, [announcement(1)])  # too early: there is no connection yet
        assert log.position_after(2) == f"{EPOCH} 3 99 5 98 3"
        while not tier.is_usable:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        log.announce(1, [announcement(2)])
        await tier.flush()
        assert log.position_after(2) == f"{EPOCH} 4"
        await tier.close()
        assert len(RedisDocumentLog(tier, 1, 100, "9 9 " * 500).position_after(1).split()) == 200

    asyncio.run(main())
    assert [(d.serial, d.gap) for d in read(server)] == [(2, 9)]


def test_what_is_missing_at_the_end_of_an_epoch_is_a_gap_before_the_next_document(server: RedisServer) -> None:
    async def main() -> None:
        tier = CacheTier(parse_address(server.url, {}), CacheScope("c1"), chance=random.Random(1), timeout=60.0)
        while not tier.is_usable:  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        log = RedisDocumentLog(tier, EPOCH, 100, "99 5")
        log.announce(1, [announcement(1), None, None])
        await tier.flush()
        log.finish()
        await tier.close()

    asyncio.run(main())
    assert [(d.serial, d.gap) for d in read(server)] == [(1, 5)]
    assert server.client().xpending(stream_of("c1"), "g")["pending"] == 0
    assert missing_documents(server.url, "c1", "g", {str(EPOCH): 3}) == 2
    announce(server, 1, epoch=100)

    assert [(d.epoch, d.serial, d.gap) for d in read(server)] == [(100, 1, 2)]
    assert missing_documents(server.url, "c1", "g", {str(EPOCH): 3, "100": 1}) == 0


def test_nothing_is_said_at_the_end_if_all_was_announced(server: RedisServer) -> None:
    announce(server, 3)

    assert server.client().xlen(stream_of("c1")) == 3


def test_a_group_can_be_asked_what_it_lacks(server: RedisServer) -> None:
    with pytest.raises(UsageError, match="no group 'g'"):
        missing_documents(server.url, "c1", "g", {})
    announce(server, 5)
    read(server, new_only=True)
    read(server, "old")

    assert missing_documents(server.url, "c1", "g", {str(EPOCH): 7, "99": 2}) == 0
    assert missing_documents(server.url, "c1", "old", {str(EPOCH): 7, "99": 2}) == 4
    with pytest.raises(ConnectionLost):
        missing_documents("redis://127.0.0.1:1", "c1", "g", {})


def test_documents_that_the_stream_has_dropped_are_a_gap(server: RedisServer) -> None:
    announce(server, 1000, most=100)

    found = read(server)
    assert 100 <= len(found) < 1000
    assert found[0].gap == found[0].serial - 1 == 1000 - len(found)
    assert {d.gap for d in found[1:]} == {0}


def test_a_group_may_begin_with_what_is_new(server: RedisServer) -> None:
    announce(server, 3)
    assert read(server, new_only=True) == []
    announce(server, 2, epoch=99)

    assert [(d.epoch, d.serial, d.gap) for d in read(server)] == [(99, 1, 0), (99, 2, 0)]


def test_what_a_consumer_did_not_acknowledge_comes_again_as_a_repeat(server: RedisServer) -> None:
    announce(server, 3)
    reader = gossamer.stream(server.url, group="g", consumer="one")
    assert [next(reader).serial, next(reader).serial] == [1, 2]
    reader.close()

    assert [(d.serial, d.repeat) for d in read(server)] == [(2, True), (3, True)]


def test_what_a_dead_consumer_holds_is_claimed_by_another(server: RedisServer) -> None:
    announce(server, 3)
    reader = gossamer.stream(server.url, group="g", consumer="one")
    next(reader)
    reader.close()

    assert read(server, consumer="two", claim_after=3600.0) == []
    found = read(server, consumer="two", claim_after=0.001)
    assert [(d.serial, d.deliveries > 1) for d in found] == [(1, True), (2, True), (3, True)]
    assert read(server, consumer="one") == []


def hold(server: RedisServer, consumer: str = "dead") -> list[StreamedDocument]:
    """A consumer receives entries and dies while it processes the first of them."""
    reader = gossamer.stream(server.url, group="g", consumer=consumer, patience=60)
    found = [next(reader)]
    reader.close()
    return found


@pytest.mark.parametrize("consumer", ["dead", "another"])
def test_what_the_stream_has_dropped_while_a_dead_consumer_held_it_is_a_gap(server: RedisServer, consumer: str) -> None:
    announce(server, 25)
    hold(server)
    server.client().xtrim(stream_of("c1"), maxlen=12, approximate=False)

    found = read(server, consumer=consumer, claim_after=0.001)
    assert [(d.serial, d.gap) for d in found] == [(14, 13), *((n, 0) for n in range(15, 26))]


@pytest.mark.parametrize("kept", [0, 3])
def test_all_that_was_dropped_is_part_of_the_next_gap(server: RedisServer, kept: int) -> None:
    announce(server, 10)
    hold(server)
    server.client().xtrim(stream_of("c1"), maxlen=kept, approximate=False)
    announce(server, 1, epoch=99)

    found = read(server, consumer="another", claim_after=0.001)
    assert (len(found), found[0].gap) == (kept + 1, 10 - kept)
    assert {d.gap for d in found[1:]} <= {0}


def test_the_gap_before_a_document_is_seen_until_it_is_acknowledged(server: RedisServer) -> None:
    announce(server, 5)
    server.client().xtrim(stream_of("c1"), maxlen=1, approximate=False)
    assert [d.gap for d in hold(server)] == [4]
    assert [d.gap for d in hold(server)] == [4]

    found = read(server, consumer="another", claim_after=0.001)
    assert [(d.serial, d.gap) for d in found] == [(5, 4)]
    assert set(server.client().hkeys(f"{stream_of('c1')}:g")) == {b"all", str(EPOCH).encode()}


def test_a_reader_outlives_its_server(server: RedisServer) -> None:
    announce(server, 1)
    reader = gossamer.stream(server.url, group="g", consumer="one", patience=60)
    assert next(reader).serial == 1
    server.kill()
    server.start()
    announce(server, 1, epoch=5)

    assert next(reader).epoch == 5


@pytest.fixture
def first_pause(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What is done while a reader waits for its server for the first time."""
    undo: list[Callable[[], object]] = []

    def wait(self: DocumentReader) -> None:
        self.close()
        if undo:
            undo.pop()()

    monkeypatch.setattr(DocumentReader, "_wait", wait)
    return undo


def test_a_reader_outlives_a_server_that_is_emptied_and_then_killed(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, first_pause: list[Callable[[], object]]
) -> None:
    announce(server, 1)
    reader = gossamer.stream(server.url, group="g", consumer="one", patience=60)
    next(reader)
    join = DocumentReader._join
    killed: list[int] = []

    def join_killed(self: DocumentReader, client: "redis.Redis") -> None:
        if not killed:
            killed.append(server.pid)
            server.kill()
        join(self, client)

    def start() -> None:
        server.start()
        announce(server, 1, epoch=5)

    monkeypatch.setattr(DocumentReader, "_join", join_killed)
    first_pause.append(start)
    server.client().flushall()

    assert next(reader).epoch == 5 and killed


@pytest.mark.parametrize("fault", ["MISCONF", "NOREPLICAS", "OOM", "READONLY", "BUSY"])
def test_a_reader_waits_for_a_server_that_refuses_its_commands(
    server: RedisServer, first_pause: list[Callable[[], object]], fault: str
) -> None:
    announce(server, 1)
    client = server.client()

    def set_all(**values: object) -> None:
        for name, value in values.items():
            client.config_set(name.replace("_", "-"), value)  # type: ignore[arg-type]

    def loop_for_ever() -> None:
        def run() -> None:
            with suppress(redis.RedisError):
                server.client().eval("while true do end", 0)

        set_all(busy_reply_threshold=1)
        threading.Thread(target=run, daemon=True).start()
        wait_until(is_busy, "a busy server")

    def is_busy() -> bool:
        try:
            client.ping()
        except redis.ResponseError:
            return True
        return False

    faults: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "MISCONF": (lambda: break_saving(server), lambda: set_all(stop_writes_on_bgsave_error="no")),
        "NOREPLICAS": (lambda: set_all(min_replicas_to_write=1), lambda: set_all(min_replicas_to_write=0)),
        "OOM": (lambda: set_all(maxmemory=1), lambda: set_all(maxmemory=0)),
        "READONLY": (lambda: client.replicaof("127.0.0.1", "1"), lambda: client.replicaof("NO", "ONE")),
        "BUSY": (loop_for_ever, lambda: client.execute_command("SCRIPT KILL")),  # type: ignore[no-untyped-call]
    }
    begin, end = faults[fault]
    reader = gossamer.stream(server.url, group="g", consumer="one", patience=60)
    next(reader)
    client.flushall()
    begin()
    first_pause.append(lambda: (end(), announce(server, 1, epoch=5)))

    assert next(reader).epoch == 5
    assert first_pause == []


def break_saving(server: RedisServer) -> None:
    """The server fails to save its data, and then refuses writes."""
    client = server.client()
    client.config_set("save", "3600 1000000")
    (server.folder / "dump.rdb").mkdir()  # cannot be replaced by a file
    client.bgsave()

    def has_failed() -> bool:
        found: Any = client.info("persistence")
        return bool(found["rdb_last_bgsave_status"] == "err")

    wait_until(has_failed, "saving to fail")


def test_a_stream_that_a_server_will_never_give_is_an_error(server: RedisServer) -> None:
    server.client().set(stream_of("c1"), "no stream")

    with pytest.raises(ConnectionLost, match="WRONGTYPE"):
        read(server, crawl="c1")


def test_of_several_crawls_one_has_to_be_named(server: RedisServer) -> None:
    with pytest.raises(UsageError, match="has no documents yet"):
        read(server)
    announce(server, 1)
    announce(server, 2, crawl="c2")

    with pytest.raises(UsageError, match="name one: c1, c2"):
        read(server)
    assert len(read(server, crawl="c2")) == 2


def test_a_server_that_cannot_be_reached_at_the_start_is_an_error() -> None:
    with pytest.raises(ConnectionLost, match=r"redis://127\.0\.0\.1:1/0"):
        next(gossamer.stream("redis://:secret@127.0.0.1:1", group="g"))


def test_the_stream_has_about_the_length_that_was_asked_for(server: RedisServer) -> None:
    announce(server, *[50] * 20, most=100)

    assert 100 <= int(server.client().xlen(stream_of("c1"))) <= 300
