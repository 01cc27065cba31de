"""How an archive in object storage is opened by a worker that is about to run."""

import random
from pathlib import Path
from typing import cast

import pytest

from gossamer.backends.warc.record import RecordIds, Warcinfo
from gossamer.clock import VirtualClock
from gossamer.crawl.run.object_archive import OpenObjects, open_objects
from gossamer.errors import DirectoryError
from gossamer.model.units import Instant
from gossamer.store.table.metadata import Metadata
from tests.s3_keys import KEYS
from tests.s3_server import BUCKET, S3Server


class _Facts:
    """Of a crawl that has captures."""

    def fact(self, name: str) -> str:
        return "7"

    def has_captures(self) -> bool:
        return True

    def spooled_files(self) -> list[str]:
        return []


def opened(url: str, folder: Path) -> OpenObjects:
    return open_objects(
        url,
        folder,
        spool_bytes=1_000,
        facts=cast(Metadata, _Facts()),
        epoch=1,
        warcinfo=Warcinfo("gossamer/0", "bot", ""),
        ids=RecordIds(random.Random(1)),
        clock=VirtualClock(Instant(0.0)),
    )


def test_no_worker_starts_with_credentials_that_are_refused(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its captures would stay in the spool for ever."""
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(DirectoryError, match=r"cannot use s3://crawls/news.*: .* refused these credentials"):
        opened(s3.url(f"{BUCKET}/news"), tmp_path / "spool")


def test_a_worker_starts_although_its_storage_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)

    archive = opened("s3://crawls/news?endpoint=http://127.0.0.1:9", tmp_path / "spool")

    archive.captures.close()
