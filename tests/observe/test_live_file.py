"""The file in which a running crawl tells what only it knows."""

import json
import os
from pathlib import Path

import pytest
from snapshots import busy_snapshot

from gossamer.model.units import Instant
from gossamer.observe.live import FILE, STALE_AFTER, live_state, read_live, remove_live, write_live

SNAPSHOT = busy_snapshot(20.0, selector_shares=(61.234, 29.0, 9.766), load="high", load_reason="all fetch slots busy")
NOW = Instant(SNAPSHOT.at + 1)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    write_live(tmp_path, live_state(SNAPSHOT, 77))

    found = read_live(tmp_path, 77, NOW)

    assert found is not None
    assert (found["in_flight"], found["documents_waiting"]) == (78, 31)
    assert (found["load"], found["load_reason"]) == ("high", "all fetch slots busy")
    assert found["selector_shares"] == [61.23, 29.0, 9.77]
    assert os.listdir(tmp_path) == [FILE]


def test_what_another_process_left_is_not_believed(tmp_path: Path) -> None:
    write_live(tmp_path, live_state(SNAPSHOT, 77))

    assert read_live(tmp_path, 78, NOW) is None


def test_what_is_old_is_not_believed(tmp_path: Path) -> None:
    write_live(tmp_path, live_state(SNAPSHOT, 77))

    assert read_live(tmp_path, 77, Instant(SNAPSHOT.at + STALE_AFTER - 0.1)) is not None
    assert read_live(tmp_path, 77, Instant(SNAPSHOT.at + STALE_AFTER)) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"process": 77}', '{"process": 77, "seconds_since_epoch": "x"}', "\xe4"]
)
def test_a_file_of_anything_else_is_no_news(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, encoding="latin-1")

    assert read_live(tmp_path, 77, NOW) is None


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_live(tmp_path, {"process": 1})
    before = (tmp_path / FILE).open(encoding="ascii")

    write_live(tmp_path, {"process": 2})

    assert json.load(before) == {"process": 1}
    before.close()


def test_a_directory_that_is_gone_costs_only_the_news(tmp_path: Path) -> None:
    write_live(tmp_path / "none", live_state(SNAPSHOT, 77))
    remove_live(tmp_path / "none")

    assert read_live(tmp_path / "none", 77, NOW) is None


def test_nothing_is_left_after_removal(tmp_path: Path) -> None:
    write_live(tmp_path, live_state(SNAPSHOT, 77))

    remove_live(tmp_path)

    assert os.listdir(tmp_path) == []
