"""The store's thread: group commit, haste, the end, and failure."""

import asyncio
import threading
from collections.abc import Callable, Coroutine

import pytest

from gossamer.clock import VirtualClock
from gossamer.errors import ConnectionLost, DiskFull, StoreFailed
from gossamer.model.batch import Batch, Committed
from gossamer.model.outcome import Response
from gossamer.model.settlement import Capture, PageLinks, Settlement
from gossamer.model.states import UrlState
from gossamer.model.units import Fingerprint, HostId, HostKey, Instant, Seconds, Url
from gossamer.store.threads import BatchLimits, ReaderThread, WriterThread

LONG = 3600.0  # a linger that no test outlasts


class GatedWriter:
    """`BatchWriter` that keeps what it is given, and commits a batch only when let."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.may_commit = threading.Semaphore(0)
        self.entered = threading.Semaphore(0)
        self.threads: set[str] = set()
        self.failure: Exception | None = None
        self.closed = False

    def commit(self, batch: Batch, now: Instant) -> Committed:
        self.entered.release()
        assert self.may_commit.acquire(timeout=60)
        self.threads.add(threading.current_thread().name)
        if self.failure is not None:
            raise self.failure
        self.batches.append(batch)
        settled = [(s.host_id, s.url_id) for s in batch.settlements]
        return Committed(len(self.batches), [], settled, [], [], [], 0, 0, 0, 0.25)

    def close(self) -> None:
        self.closed = True


class Scene:
    """A store and its listener."""

    def __init__(self, linger: float = 0.0, **limits: int) -> None:
        self.writer = GatedWriter()
        self.before: list[int] = []
        self.commits: list[Committed] = []
        self.failing: list[bool] = []  # as it was reported, like `slow`
        self.slow: list[bool] = []
        self.trouble = asyncio.Event()
        self._reported = asyncio.Event()
        self.on_commit: Callable[[Committed], None] = lambda committed: None
        self.store = WriterThread(self.writer, VirtualClock(), self, BatchLimits(linger, **limits))

    def before_commit(self, batch: Batch) -> None:
        self.before.append(len(batch.settlements))

    def store_failing(self, error: StoreFailed | None) -> None:
        self.failing.append(error is not None)
        asyncio.get_running_loop().call_soon(self.trouble.set)

    def store_slow(self, slow: bool) -> None:
        self.slow.append(slow)
        self.trouble.set()

    def committed(self, committed: Committed) -> None:
        self.commits.append(committed)
        self._reported.set()
        self.on_commit(committed)

    def settle(self, *url_ids: int) -> None:
        for url_id in url_ids:
            self.store.batch.settle(Settlement(HostId(1), url_id, 0, UrlState.DEAD, Instant(0.0)))
            self.store.nudge()

    def let(self, commits: int = 1000) -> None:
        for _ in range(commits):
            self.writer.may_commit.release()

    async def until_committing(self) -> None:
        """Until the writer has a batch in hand."""
        assert await asyncio.to_thread(self.writer.entered.acquire, timeout=60)

    async def until_reported(self, commits: int) -> None:
        while len(self.commits) < commits:
            self._reported.clear()
            await self._reported.wait()

    @property
    def sizes(self) -> list[int]:
        return [len(batch.settlements) for batch in self.writer.batches]


async def some_turns() -> None:
    """Let everything run that does not wait for a date or for another thread."""
    for _ in range(20):
        await asyncio.sleep(0)


def playing(play: Callable[[], Coroutine[None, None, None]]) -> None:
    asyncio.run(asyncio.wait_for(play(), 60))


def test_what_comes_while_a_batch_is_committed_makes_up_the_next() -> None:
    async def play() -> None:
        scene = Scene()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await scene.until_committing()
        scene.settle(2, 3, 4)
        assert len(scene.store.batch.settlements) == 3
        scene.let()
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.sizes == scene.before == [1, 3]
        assert scene.store.commits == 2
        assert scene.store.commit_seconds == 0.5

    playing(play)


def test_commits_happen_one_at_a_time_on_the_thread_of_the_store() -> None:
    async def play() -> None:
        scene = Scene()
        scene.let()
        running = asyncio.create_task(scene.store.run())
        for url_id in range(20):
            scene.settle(url_id)
            await asyncio.sleep(0)
        scene.store.finish()
        await running
        scene.store.close()

        assert sum(scene.sizes) == 20
        assert len(scene.writer.threads) == 1
        assert scene.writer.threads != {threading.current_thread().name}

    playing(play)


def test_a_small_batch_lingers_for_company() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG)
        scene.let()
        running = asyncio.create_task(scene.store.run())
        for url_id in range(10):
            scene.settle(url_id)
            await some_turns()
        assert not scene.writer.entered.acquire(blocking=False)
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.sizes == [10]

    playing(play)


def test_a_full_batch_does_not_linger() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG, full_settlements=5)
        running = asyncio.create_task(scene.store.run())
        scene.settle(1, 2, 3, 4)
        await some_turns()
        assert not scene.writer.entered.acquire(blocking=False)
        scene.settle(5)
        await scene.until_committing()
        scene.let()
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.sizes == [5]

    playing(play)


def test_a_batch_that_somebody_waits_for_does_not_linger() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG)
        scene.let()
        running = asyncio.create_task(scene.store.run())
        for url_id in range(3):
            scene.settle(url_id)
            scene.store.hasten()
            await scene.until_committing()
            await scene.until_reported(url_id + 1)
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.sizes == [1, 1, 1]

    playing(play)


def test_haste_during_a_commit_counts_for_the_batch_that_is_open() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG)
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        scene.store.hasten()
        await scene.until_committing()
        scene.settle(2)
        scene.store.hasten()
        scene.let()
        await scene.until_committing()
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.sizes == [1, 1]

    playing(play)


def test_haste_with_nothing_to_commit_commits_nothing() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG)
        running = asyncio.create_task(scene.store.run())
        scene.store.hasten()
        await some_turns()
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.writer.batches == []

    playing(play)


def test_finishing_commits_what_is_left_and_what_the_last_commit_brings() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG)
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        scene.store.hasten()
        await scene.until_committing()
        scene.settle(2)
        brought = iter([3, 4])

        def bring(committed: Committed) -> None:
            for url_id in brought:
                scene.settle(url_id)
                return

        scene.on_commit = bring
        scene.store.finish()
        scene.let()
        await running
        scene.store.close()

        assert sorted(url_id for committed in scene.commits for _, url_id in committed.settled) == [1, 2, 3, 4]
        assert scene.store.is_idle
        assert scene.writer.closed

    playing(play)


def test_a_commit_that_fails_ends_the_run_and_reports_nothing() -> None:
    async def play() -> None:
        scene = Scene()
        scene.writer.failure = DiskFull("no room")
        scene.let()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        with pytest.raises(DiskFull, match="no room"):
            await running

        assert scene.commits == []
        assert not scene.store.is_idle, "what it held is still to be done"
        scene.store.close()
        assert scene.writer.closed

    playing(play)


def test_a_store_that_fails_for_a_while_counts_as_full_and_loses_nothing() -> None:
    async def play() -> None:
        scene = Scene()
        scene.writer.failure = StoreFailed("locked")
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        scene.let()
        await asyncio.wait_for(scene.trouble.wait(), 30)

        assert scene.store.saturation == 1.0
        assert not running.done() and scene.commits == []

        scene.writer.failure = None
        scene.let()
        await scene.until_reported(1)
        assert scene.store.failing is None and scene.store.saturation < 0.1
        assert scene.sizes == [1] and scene.failing == [True, False]
        scene.store.finish()
        await running
        scene.store.close()

    playing(play)


def test_a_commit_that_takes_very_long_counts_as_full_until_it_ends() -> None:
    async def play() -> None:
        scene = Scene()
        scene.store.slow_after = 0.01
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await asyncio.wait_for(scene.trouble.wait(), 30)

        assert (scene.store.slow, scene.store.saturation) == (True, 1.0)
        assert scene.store.failing is None

        scene.let()
        await scene.until_reported(1)
        assert (scene.store.slow, scene.store.saturation < 0.1) == (False, True)
        assert scene.sizes == [1] and scene.slow == [True, False]
        scene.store.finish()
        await running
        scene.store.close()

    playing(play)


def test_commits_that_end_in_time_are_not_slow() -> None:
    async def play() -> None:
        scene = Scene()
        scene.let()
        scene.store.slow_after = LONG
        running = asyncio.create_task(scene.store.run())
        for url_id in range(5):
            scene.settle(url_id)
            await scene.until_reported(url_id + 1)
        scene.store.finish()
        await running
        scene.store.close()

        assert scene.slow == []

    playing(play)


def test_a_batch_weighs_what_its_pages_link_to_and_not_only_their_bodies() -> None:
    scene = Scene(max_weight=1_000_000)
    prints, hosts = [Fingerprint(n) for n in range(10_000)], [HostKey("x.test")] * 10_000

    scene.store.batch.add_links([], PageLinks(1, 1, prints, hosts))

    assert scene.store.fill.bytes == scene.store.batch.weight > 400_000
    assert scene.store.saturation == scene.store.fill.saturation > 0.4


def test_a_store_that_fails_for_longer_than_patience_lasts_ends_the_run() -> None:
    async def play() -> None:
        scene = Scene()
        scene.store.patience = 0.0
        scene.writer.failure = StoreFailed("gone")
        scene.let()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        with pytest.raises(StoreFailed, match="gone"):
            await running
        scene.store.close()

    playing(play)


def test_a_store_whose_server_is_away_is_waited_for_beyond_patience() -> None:
    async def play() -> None:
        scene = Scene()
        scene.store.patience = 0.0
        scene.writer.failure = ConnectionLost("gone")
        scene.let()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await scene.trouble.wait()
        assert scene.store.saturation == 1.0  # nothing is fetched
        scene.writer.failure = None
        scene.let()
        await scene.store.until_committed()
        assert scene.sizes[0] == 1
        assert scene.failing == [True, False]

        scene.writer.failure = ConnectionLost("gone")
        scene.settle(2)
        scene.store.finish()
        scene.let()
        with pytest.raises(ConnectionLost):  # the crawl is to end
            await running
        scene.store.close()

    playing(play)


def test_questions_to_a_server_that_is_away_are_repeated_until_it_answers() -> None:
    async def play() -> None:
        thread, answers = ReaderThread(), [ConnectionLost("gone")] * 9

        def question() -> str:
            if answers:
                raise answers.pop()
            return "here"

        assert await thread.ask(question) == "here"
        thread.close()

    playing(play)


def test_a_run_that_is_cancelled_lets_the_commit_in_hand_end_before_the_writer_is_closed() -> None:
    async def play() -> None:
        scene = Scene()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await scene.until_committing()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        scene.let()
        await asyncio.to_thread(scene.store.close)

        assert scene.sizes == [1]
        assert scene.writer.closed

    playing(play)


def test_saturation_is_the_fuller_of_settlements_and_bytes() -> None:
    async def play() -> None:
        scene = Scene(linger=LONG, max_settlements=10, max_weight=1000)
        assert scene.store.saturation == 0.0
        scene.settle(1, 2, 3)
        assert scene.store.saturation == 0.3
        response = Response(Url("http://a.test/"), 200, b"", b"", b"x" * 700, {}, "", Instant(0.0), Seconds(0.0))
        page = Settlement(HostId(1), 4, 0, UrlState.STORED, Instant(0.0), capture=Capture(response, b""))
        scene.store.batch.settle(page)
        assert scene.store.saturation == 0.7
        scene.store.close()

    playing(play)


def test_the_batch_in_hand_does_not_count_for_the_saturation_of_the_open_one() -> None:
    async def play() -> None:
        scene = Scene(max_settlements=10)
        running = asyncio.create_task(scene.store.run())
        scene.settle(1, 2, 3, 4, 5)
        await scene.until_committing()
        assert scene.store.saturation == 0.0
        assert not scene.store.is_idle
        scene.let()
        scene.store.finish()
        await running
        scene.store.close()

    playing(play)


@pytest.mark.parametrize("part", ["candidates", "seeds", "robots", "retired", "settlements"])
def test_a_batch_with_anything_in_it_is_not_empty(part: str) -> None:
    batch = Batch()
    assert not batch

    getattr(batch, part).append(object())

    assert batch


@pytest.mark.parametrize("part", ["hosts", "counters"])
def test_a_batch_with_any_clock_or_count_is_not_empty(part: str) -> None:
    batch = Batch()

    getattr(batch, part)[1] = 1

    assert batch


def test_whoever_is_patient_waits_for_a_slow_store_and_gets_what_came_of_his_batch() -> None:
    async def play() -> None:
        scene = Scene()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await scene.until_committing()
        scene.settle(2)

        assert await scene.store.try_to_commit_within(usual=0.01, patience=0.02) is None
        patient = asyncio.create_task(scene.store.try_to_commit_within(usual=0.01, patience=LONG))
        await asyncio.sleep(0.05)  # several times as long as is usual
        assert not patient.done()
        scene.let()
        committed = await patient
        scene.store.finish()
        await running
        scene.store.close()

        assert committed is not None and committed.settled == [(1, 2)]

    playing(play)


def test_nobody_waits_longer_than_usual_for_a_store_that_fails() -> None:
    async def play() -> None:
        scene = Scene()
        scene.writer.failure = StoreFailed("no")
        scene.let()
        running = asyncio.create_task(scene.store.run())
        scene.settle(1)
        await scene.until_committing()

        assert await scene.store.try_to_commit_within(usual=0.2, patience=LONG) is None
        assert scene.store.failing is not None

        scene.writer.failure = None
        assert await scene.store.try_to_commit_within(usual=LONG, patience=LONG) is not None
        scene.store.finish()
        await running
        scene.store.close()

    playing(play)
