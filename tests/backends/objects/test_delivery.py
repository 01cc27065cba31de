"""Objects go to the storage, or to the spool until it takes them: in order, each once, and none is lost."""

import errno
import os
import threading
from pathlib import Path

import pytest

from gossamer.backends.objects import delivery as delivery_module
from gossamer.backends.objects.delivery import (
    LEAST_DELIVERY_SECONDS,
    SLOWEST_BYTES,
    ObjectDelivery,
    delivery_seconds,
)
from gossamer.backends.objects.spool import Spool
from gossamer.errors import SpoolFull, StoreFailed
from tests.integration.crawl_process import wait_until

LIMIT = 1_000


class SomeStorage:
    """Takes objects unless it is `down`; `slow` ones wait until that is over."""

    def __init__(self) -> None:
        self.down = False
        self.puts: list[str] = []
        self.objects: dict[str, bytes] = {}
        self.tries = 0
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes) -> None:
        with self._lock:
            self.tries += 1
            if self.down:
                raise StoreFailed(f"{name}: connection refused")
            self.puts.append(name)
            self.objects[name] = data


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(delivery_module, "LONGEST_PAUSE", 0.02)


@pytest.fixture
def storage() -> SomeStorage:
    return SomeStorage()


def delivery_to(storage: SomeStorage, folder: Path) -> ObjectDelivery:
    return ObjectDelivery(storage, lambda seconds: storage, Spool(folder / "spool", LIMIT), LIMIT)


def events_of(delivery: ObjectDelivery) -> list[str]:
    return [event.name for event in delivery.take_events()]


def test_a_storage_that_answers_needs_no_spool(storage: SomeStorage, tmp_path: Path) -> None:
    delivery = delivery_to(storage, tmp_path)

    assert delivery.put("1/1.warc.gz", b"one")

    assert storage.objects == {"1/1.warc.gz": b"one"}
    assert not (tmp_path / "spool").exists()
    assert delivery.is_done and events_of(delivery) == []


def test_what_cannot_be_put_is_delivered_later_in_order(storage: SomeStorage, tmp_path: Path) -> None:
    delivery = delivery_to(storage, tmp_path)
    storage.down = True
    names = [f"1/{number}.warc.gz" for number in range(1, 6)]
    assert [delivery.put(name, name.encode()) for name in names] == [False] * 5
    assert [entry.name for entry in delivery.spool.entries()] == names

    storage.down = False
    wait_until(lambda: delivery.is_done, "the spool to be delivered")

    assert storage.puts == names
    assert delivery.spool.entries() == [] and delivery.spool.bytes == 0
    assert delivery.take_delivered() == names and delivery.take_delivered() == []
    assert delivery.put("1/6.warc.gz", b"six") and storage.puts[-1] == "1/6.warc.gz"
    assert events_of(delivery) == ["blobs.failing", "blobs.recovered", "spool.delivered"]
    delivery.close()


def test_while_the_storage_is_away_a_commit_waits_for_it_once(storage: SomeStorage, tmp_path: Path) -> None:
    patient = SomeStorage()
    patient.down = storage.down = True
    delivery = ObjectDelivery(storage, lambda seconds: patient, Spool(tmp_path, LIMIT), LIMIT)

    for number in range(5):
        delivery.put(f"1/{number}.warc.gz", b"x")

    assert storage.tries == 1
    delivery.close()


def test_what_the_last_process_left_in_the_spool_is_delivered(storage: SomeStorage, tmp_path: Path) -> None:
    storage.down = True
    first = delivery_to(storage, tmp_path)
    first.put("1/1.warc.gz", b"one")
    first.close()
    assert events_of(first)[-1] == "spool.left"

    storage.down = False
    second = delivery_to(storage, tmp_path)
    second.resume(second.spool.entries())
    wait_until(lambda: second.is_done, "the spool to be delivered")

    assert storage.objects == {"1/1.warc.gz": b"one"}
    second.close()


def test_a_full_spool_takes_nothing_more_and_slows_fetching_down_before(storage: SomeStorage, tmp_path: Path) -> None:
    storage.down = True
    delivery = delivery_to(storage, tmp_path)
    paces = []
    for number in range(10):
        delivery.put(f"1/{number}.warc.gz", b"x" * 100)
        paces.append(round(delivery.pace, 3))

    with pytest.raises(SpoolFull, match="spool is full"):
        delivery.put("1/10.warc.gz", b"x")

    assert paces == [1.0] * 8 + [0.5, 0.0]
    assert events_of(delivery) == ["blobs.failing", "spool.filling", "spool.full"]
    assert len(delivery.spool.entries()) == 10
    storage.down = False
    wait_until(lambda: delivery.is_done, "the spool to be delivered")
    assert delivery.put("1/10.warc.gz", b"x") and delivery.pace == 1.0
    delivery.close()


def test_an_object_that_no_commit_refers_to_leaves_the_spool(storage: SomeStorage, tmp_path: Path) -> None:
    storage.down = True
    delivery = delivery_to(storage, tmp_path)
    delivery.put("1/1.warc.gz", b"one")
    delivery.put("1/2.warc.gz", b"two")

    delivery.forget("1/2.warc.gz")

    assert [entry.name for entry in delivery.spool.entries()] == ["1/1.warc.gz"]
    storage.down = False
    wait_until(lambda: delivery.is_done, "the spool to be delivered")
    assert storage.puts == ["1/1.warc.gz"]
    delivery.close()


def test_a_put_that_hangs_delays_no_end_and_is_repeated_by_the_next_start(storage: SomeStorage, tmp_path: Path) -> None:
    storage.down = True
    hangs, goes_on = threading.Event(), threading.Event()

    class Hanging:
        def put(self, name: str, data: bytes) -> None:
            hangs.set()
            assert goes_on.wait(600)

    first = ObjectDelivery(storage, lambda seconds: Hanging(), Spool(tmp_path / "spool", LIMIT), LIMIT)
    first.put("1/1.warc.gz", b"one")
    wait_until(hangs.is_set, "the put to begin")
    threads = [thread for thread in threading.enumerate() if thread.name == "gossamer-spool"]
    first.close()
    assert events_of(first)[-1] == "spool.left"
    goes_on.set()
    wait_until(lambda: not any(thread.is_alive() for thread in threads), "the put to end")

    storage.down = False
    second = delivery_to(storage, tmp_path)
    second.resume(second.spool.entries())
    wait_until(lambda: second.is_done, "the spool to be delivered")
    assert second.take_delivered() == ["1/1.warc.gz"]
    second.close()


def test_an_error_that_nobody_expects_is_logged_and_delivery_goes_on(storage: SomeStorage, tmp_path: Path) -> None:
    class Broken:
        is_broken = True

        def put(self, name: str, data: bytes) -> None:
            if self.is_broken:
                raise RuntimeError("out of order")
            storage.put(name, data)

    broken = Broken()
    storage.down = True
    delivery = ObjectDelivery(storage, lambda seconds: broken, Spool(tmp_path, LIMIT), LIMIT)
    delivery.put("1/1.warc.gz", b"one")
    wait_until(lambda: delivery.statistics().failing == "RuntimeError: out of order", "the error to be seen")
    assert [event.fields["error"] for event in delivery.take_events()] == [
        "1/1.warc.gz: connection refused",
        "RuntimeError: out of order",
    ]

    storage.down = broken.is_broken = False
    wait_until(lambda: delivery.is_done, "the spool to be delivered")
    assert storage.puts == ["1/1.warc.gz"] and delivery.statistics().failing is None
    delivery.close()


def test_how_long_a_delivery_may_take_follows_from_its_size() -> None:
    assert delivery_seconds(1) == delivery_seconds(1_000_000) == LEAST_DELIVERY_SECONDS
    assert delivery_seconds(8 * 1024 * 1024) >= 8 * 1024 * 1024 / SLOWEST_BYTES
    assert len({delivery_seconds(length) for length in range(1, 8_000_000, 1_000)}) == 4


def test_a_full_disk_is_a_full_spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(tmp_path, LIMIT)

    def no_room(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    with pytest.raises(SpoolFull, match="no room for its spool"):
        spool.add("1/1.warc.gz", b"one")

    assert not [*tmp_path.rglob("*.gz*")] and spool.bytes == 0


def test_a_draft_in_the_spool_is_no_object(tmp_path: Path) -> None:
    (tmp_path / "00000001").mkdir()
    (tmp_path / "00000001/1-00000001.warc.gz.new").write_bytes(b"half of")
    spool = Spool(tmp_path, LIMIT)

    assert spool.entries() == [] and spool.bytes == 0
    spool.tidy()
    assert list(tmp_path.iterdir()) == []
