"""The word for what the crawl does, as /crawl, /status and the dashboard have it."""

from typing import get_args

import pytest

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot, StateOfCrawl
from gossamer.service.app import state_from

NOW = Instant(1_700_000_000.0)
BUSY = Snapshot(at=NOW, queued=5)

CASES: list[tuple[str, Snapshot | None, bool, bool]] = [
    ("running", None, False, False),
    ("running", BUSY, False, False),
    ("running", Snapshot(at=NOW, in_flight=1), False, False),
    ("idle", Snapshot(at=NOW), False, False),
    ("store slow", Snapshot(at=NOW, queued=5, store_slow=True), False, False),
    ("store slow", Snapshot(at=NOW, store_slow=True), False, False),
    ("paused", BUSY, False, True),
    ("paused", Snapshot(at=NOW, queued=5, store_slow=True), False, True),
    ("store failing", Snapshot(at=NOW, queued=5, store_failing=True), False, False),
    ("store failing", Snapshot(at=NOW, queued=5, store_failing=True, store_slow=True), False, True),
    ("stopping", Snapshot(at=NOW, queued=5, store_failing=True), True, True),
]


@pytest.mark.parametrize(("word", "latest", "stopping", "paused"), CASES)
def test_what_keeps_a_crawl_from_fetching_is_its_state(
    word: str, latest: Snapshot | None, stopping: bool, paused: bool
) -> None:
    assert state_from(latest, stopping=stopping, paused=paused) == word


def test_every_word_that_the_description_has_is_said() -> None:
    assert {word for word, *_ in CASES} == set(get_args(StateOfCrawl))
