"""The file in which a running crawl leaves its last snapshot."""

import json
import os
from pathlib import Path

import pytest

from gossamer.crawl.run.directory import STATUS
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Instant
from gossamer.observe.freshness import FreshnessMetrics
from gossamer.observe.snapshot import (
    STALE_AFTER,
    Internals,
    ProcessUse,
    Status,
    StatusFile,
    encode_status,
    recent_snapshot,
)
from gossamer.sketch import Spread
from tests.observe.snapshots import busy_snapshot

SNAPSHOT = busy_snapshot(
    20.0,
    selector_shares=(61.234, 29.0, 9.766),
    load="high",
    load_reason="all fetch slots busy",
    front=ProcessUse(1.5, 2, 3),
    freshness=FreshnessMetrics(fresh=0.75, price=None, budget=1000.0),
    queues={"batch": QueueDepth(1, 2, 3, 4)},
    internals=Internals(phases={"dns": Spread((1, 2, 3), 400)}, links_new=5),
)
NOW = Instant(SNAPSHOT.at + 1)
BY_AN_OLDER_VERSION = (
    '{"at": "2023-11-14T22:13:40.000Z", "seconds_since_epoch": 1700000020.0, "process": 77, "in_flight": 78, '
    '"load": "high", "queues": {"batch": 0.5}}'
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    StatusFile(tmp_path / STATUS).write(encode_status(Status(77, SNAPSHOT)))

    assert recent_snapshot(StatusFile(tmp_path / STATUS).read(), 77, NOW) == SNAPSHOT
    assert os.listdir(tmp_path) == [STATUS]


def test_what_another_process_left_is_not_believed(tmp_path: Path) -> None:
    StatusFile(tmp_path / STATUS).write(encode_status(Status(77, SNAPSHOT)))

    assert recent_snapshot(StatusFile(tmp_path / STATUS).read(), 78, NOW) is None


def test_what_is_old_is_not_believed(tmp_path: Path) -> None:
    StatusFile(tmp_path / STATUS).write(encode_status(Status(77, SNAPSHOT)))

    assert (
        recent_snapshot(StatusFile(tmp_path / STATUS).read(), 77, Instant(SNAPSHOT.at + STALE_AFTER - 0.1)) is not None
    )
    assert recent_snapshot(StatusFile(tmp_path / STATUS).read(), 77, Instant(SNAPSHOT.at + STALE_AFTER)) is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "\xe4", '{"process": 77}', '{"process": 77, "snapshot": {"at": "x"}}', BY_AN_OLDER_VERSION),
        *("[" * 100_000, '{"other": ' + "[" * 100_000, '{"process": 77, "snapshot": {"at": "\xe4"}}'),
    ],
    ids=range(10),
)
def test_a_file_of_anything_else_is_no_news(tmp_path: Path, text: str) -> None:
    (tmp_path / STATUS).write_text(text, encoding="latin-1")

    assert recent_snapshot(StatusFile(tmp_path / STATUS).read(), 77, NOW) is None


def test_what_a_newer_version_adds_is_left_aside(tmp_path: Path) -> None:
    (tmp_path / STATUS).write_text('{"process": 77, "snapshot": {"at": 1.0, "in_flight": 3, "more": [1]}, "else": 1}')

    found = recent_snapshot(StatusFile(tmp_path / STATUS).read(), 77, Instant(2.0))

    assert found is not None and found.in_flight == 3


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    StatusFile(tmp_path / STATUS).write(encode_status(Status(1, SNAPSHOT)))
    before = (tmp_path / STATUS).open(encoding="ascii")

    StatusFile(tmp_path / STATUS).write(encode_status(Status(2, SNAPSHOT)))

    assert json.load(before)["process"] == 1
    before.close()


def test_a_directory_that_is_gone_costs_only_the_news(tmp_path: Path) -> None:
    StatusFile(tmp_path / "none" / STATUS).write(encode_status(Status(77, SNAPSHOT)))
    StatusFile(tmp_path / "none" / STATUS).clear()

    assert recent_snapshot(StatusFile(tmp_path / "none" / STATUS).read(), 77, NOW) is None


def test_nothing_is_left_after_removal(tmp_path: Path) -> None:
    StatusFile(tmp_path / STATUS).write(encode_status(Status(77, SNAPSHOT)))

    StatusFile(tmp_path / STATUS).clear()

    assert os.listdir(tmp_path) == []
