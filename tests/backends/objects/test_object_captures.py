"""The records of a commit are one object, and the name of an object stands for one content."""

from hashlib import sha1
from io import BytesIO
from pathlib import Path

import pytest

from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import ObjectDelivery
from gossamer.backends.objects.spool import Spool
from gossamer.backends.warc.captures import WarcEncoder
from gossamer.backends.warc.reader import scan_records_in
from gossamer.clock import VirtualClock
from gossamer.errors import StoreFailed
from gossamer.model.settlement import Capture
from tests.backends.objects.test_delivery import SomeStorage
from tests.backends.warc.warc_samples import INFO, STARTED, new_ids, response_of

FIRST, SECOND, THIRD = (f"77/0000000{number}.warc.gz" for number in (1, 2, 3))


def capture(body: bytes) -> Capture:
    return WarcEncoder(new_ids(2)).capture(response_of(body), sha1(body).digest())


@pytest.fixture
def storage() -> SomeStorage:
    return SomeStorage()


def captures_into(storage: SomeStorage, folder: Path, limit: int = 10_000) -> ObjectCaptures:
    delivery = ObjectDelivery(storage, lambda seconds: storage, Spool(folder, limit), limit)
    return ObjectCaptures(delivery, epoch=77, info=INFO, ids=new_ids(1), clock=VirtualClock(STARTED))


def test_a_commit_is_an_object_that_begins_with_a_warcinfo_record(storage: SomeStorage, tmp_path: Path) -> None:
    captures = captures_into(storage, tmp_path)
    for bodies in ([b"one", b"two"], [b"three"]):
        for body in bodies:
            captures.append(capture(body))
        captures.flush()
        captures.committed()

    kinds = {
        name: [record.kind for _, _, record in scan_records_in(BytesIO(data), name)]
        for name, data in storage.objects.items()
    }
    assert kinds == {
        FIRST: ["warcinfo", "response", "request", "response", "request"],
        SECOND: ["warcinfo", "response", "request"],
    }


def test_a_commit_without_captures_makes_no_object(storage: SomeStorage, tmp_path: Path) -> None:
    captures = captures_into(storage, tmp_path)

    assert captures.flush() == {} and captures.moves() == {}
    captures.committed()
    captures.roll_back()

    assert captures.append(capture(b"one")).file == FIRST
    assert storage.objects == {}


def test_a_name_that_was_put_is_not_used_again(storage: SomeStorage, tmp_path: Path) -> None:
    captures = captures_into(storage, tmp_path)
    captures.append(capture(b"never put"))
    captures.roll_back()
    captures.append(capture(b"put, but not committed"))
    assert list(captures.flush()) == [FIRST]
    captures.roll_back()

    assert captures.append(capture(b"committed")).file == SECOND


def test_a_name_that_may_have_been_put_is_not_used_again(storage: SomeStorage, tmp_path: Path) -> None:
    captures = captures_into(storage, tmp_path, limit=1)
    storage.down = True
    captures.append(capture(b"lost on its way"))
    with pytest.raises(StoreFailed):
        captures.flush()
    captures.roll_back()
    storage.down = False

    assert captures.append(capture(b"the next")).file == SECOND
    assert list(captures.flush()) == [SECOND]


def test_what_goes_to_the_spool_is_reported_with_its_commit(storage: SomeStorage, tmp_path: Path) -> None:
    captures = captures_into(storage, tmp_path)
    storage.down = True
    captures.append(capture(b"one"))
    captures.flush()
    assert captures.moves() == {FIRST: True}
    captures.committed()
    assert captures.moves() == {}

    captures.append(capture(b"rolled back"))
    captures.flush()
    captures.roll_back()
    assert captures.moves() == {}
    assert [path.name for path in tmp_path.rglob("*.gz")] == ["77-00000001.warc.gz"]
    captures.append(capture(b"three"))
    captures.flush()
    assert captures.moves() == {THIRD: True}
    captures.close()
