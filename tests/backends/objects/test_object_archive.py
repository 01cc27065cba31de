"""Reading from object storage: few requests for many records, and no objects that a worker may still be writing."""

from hashlib import sha1
from pathlib import Path

import pytest

from gossamer.backends.objects.captures import ObjectCaptures
from gossamer.backends.objects.delivery import ObjectDelivery
from gossamer.backends.objects.reader import ObjectArchive
from gossamer.backends.objects.spool import Spool
from gossamer.backends.objects.storage import ObjectStorage
from gossamer.backends.warc.captures import WarcEncoder
from gossamer.clock import VirtualClock
from gossamer.store.ports import Location
from tests.backends.warc.warc_samples import INFO, STARTED, new_ids, response_of
from tests.s3_server import BUCKET, S3Server

PAGES = 20


class CountedStorage(ObjectStorage):
    """Counts the requests for contents."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.requests = 0

    def get(self, name: str) -> bytes:
        self.requests += 1
        return super().get(name)

    def get_range(self, name: str, offset: int, length: int) -> bytes:
        self.requests += 1
        return super().get_range(name, offset, length)


@pytest.fixture
def storage(s3: S3Server, tmp_path: Path) -> CountedStorage:
    return CountedStorage(s3.url(f"{BUCKET}/{tmp_path.name}"))


def stored(storage: CountedStorage, folder: Path, epoch: int) -> list[Location]:
    """Two objects of twenty pages each."""
    delivery = ObjectDelivery(storage, lambda seconds: storage, Spool(folder / "spool", 1_000_000), 1_000_000)
    captures = ObjectCaptures(delivery, epoch=epoch, info=INFO, ids=new_ids(1), clock=VirtualClock(STARTED))
    encoder, places = WarcEncoder(new_ids(2)), []
    for commit in range(2):
        for number in range(PAGES):
            body = f"{commit} {number}".encode()
            places.append(captures.append(encoder.capture(response_of(body), sha1(body).digest())))
        captures.flush()
        captures.committed()
    return places


def test_many_records_of_an_object_cost_two_requests(storage: CountedStorage, tmp_path: Path) -> None:
    places = stored(storage, tmp_path, 1)
    archive = ObjectArchive(storage, Spool(tmp_path / "spool", 1))

    bodies = [archive.read(*place).http_body for place in places]

    assert bodies == [f"{commit} {number}".encode() for commit in range(2) for number in range(PAGES)]
    assert storage.requests == 4


def test_what_is_kept_is_forgotten_when_an_object_changes(storage: CountedStorage, tmp_path: Path) -> None:
    places = stored(storage, tmp_path, 1)
    archive = ObjectArchive(storage, Spool(tmp_path / "spool", 1))
    for place in places[:3]:
        archive.read(*place)

    archive.put_aside(places[0].file)

    assert archive.files() == [places[-1].file]
    assert archive.size(places[0].file) is None


def test_objects_of_living_epochs_are_not_listed(storage: CountedStorage, tmp_path: Path) -> None:
    dead = {place.file for place in stored(storage, tmp_path, 1)}
    stored(storage, tmp_path, 2)
    storage.put("readme.txt", b"of somebody else")

    assert ObjectArchive(storage, Spool(tmp_path / "spool", 1), living=lambda: {2}).files() == sorted(dead)
    assert len(ObjectArchive(storage, Spool(tmp_path / "spool", 1)).files()) == 4
