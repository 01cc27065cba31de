"""The number of workers of a crawl, as its directory records it."""

import json
from pathlib import Path

import pytest

from gossamer.crawl.run.directory import (
    WORKERS,
    holds_crawl,
    part_directory,
    parts_of,
    parts_were_made,
    read_layout,
    settle_layout,
)
from gossamer.errors import NotThisCrawl


def test_a_directory_without_a_layout_is_its_own_only_part(tmp_path: Path) -> None:
    assert parts_of(tmp_path) == [tmp_path]
    assert read_layout(tmp_path) is None
    assert not holds_crawl(tmp_path)


def test_parts_are_counted_from_one(tmp_path: Path) -> None:
    settle_layout(tmp_path, 2, {"scope": "any"}, 7)
    assert parts_of(tmp_path) == [tmp_path / "worker-1", tmp_path / "worker-2"]
    assert part_directory(tmp_path, 1) == tmp_path / "worker-2"
    assert read_layout(tmp_path) == (2, {"scope": "any"})
    assert holds_crawl(tmp_path)


def test_what_is_remembered_may_change_but_not_the_number(tmp_path: Path) -> None:
    settle_layout(tmp_path, 2, {"scope": "any"}, 7)
    settle_layout(tmp_path, 2, {"scope": "host"}, 7)
    assert read_layout(tmp_path) == (2, {"scope": "host"})
    with pytest.raises(NotThisCrawl, match="by 2 workers, not by 3"):
        settle_layout(tmp_path, 3, {}, 7)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"workers": 0, "options": {}}', '{"workers": "x", "options": {}}', '{"workers": 2}']
)
def test_a_layout_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / WORKERS).write_text(text)
    with pytest.raises(NotThisCrawl, match=r"workers\.json cannot be read"):
        parts_of(tmp_path)


def test_a_part_that_was_made_and_is_gone_is_missed(tmp_path: Path) -> None:
    settle_layout(tmp_path, 2, {}, 7)
    settle_layout(tmp_path, 2, {}, 7)  # nothing was made yet: killed before
    for part in parts_of(tmp_path):
        part.mkdir()
        (part / "crawl.db").touch()
    parts_were_made(tmp_path)
    settle_layout(tmp_path, 2, {"scope": "any"}, 7)
    (tmp_path / "worker-2" / "crawl.db").unlink()

    with pytest.raises(NotThisCrawl, match="worker-2 is missing"):
        settle_layout(tmp_path, 2, {}, 7)
    assert read_layout(tmp_path) == (2, {"scope": "any"})


def test_all_workers_of_a_new_crawl_have_one_key_and_keep_it(tmp_path: Path) -> None:
    assert settle_layout(tmp_path, 2, {}, 2**63 - 1) == 2**63 - 1
    assert settle_layout(tmp_path, 2, {"scope": "any"}, 8) == 2**63 - 1
    parts_were_made(tmp_path)
    assert json.loads((tmp_path / WORKERS).read_text())["fingerprint_key"] == 2**63 - 1


def test_a_crawl_whose_workers_drew_their_own_keys_has_none_for_all(tmp_path: Path) -> None:
    (tmp_path / WORKERS).write_text('{"workers": 2, "made": false, "options": {}}')

    assert settle_layout(tmp_path, 2, {}, 7) is None
    assert settle_layout(tmp_path, 2, {}, 8) is None
