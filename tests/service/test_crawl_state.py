"""The word for what the crawl does, as /crawl, /status and the dashboard have it."""

from typing import get_args

import pytest

from gossamer.model.units import Instant
from gossamer.observe.snapshot import Snapshot, StateOfCrawl
from gossamer.service.app import state_of

NOW = Instant(1_700_000_000.0)
BUSY = Snapshot(at=NOW, queued=5)

CASES: list[tuple[str, Snapshot | None]] = [
    ("running", None),
    ("running", BUSY),
    ("running", Snapshot(at=NOW, in_flight=1)),
    ("idle", Snapshot(at=NOW)),
    ("store slow", Snapshot(at=NOW, queued=5, store_slow=True)),
    ("store slow", Snapshot(at=NOW, store_slow=True)),
    ("paused", Snapshot(at=NOW, queued=5, paused=True)),
    ("paused", Snapshot(at=NOW, queued=5, store_slow=True, paused=True)),
    ("store failing", Snapshot(at=NOW, queued=5, store_failing=True)),
    ("store failing", Snapshot(at=NOW, queued=5, store_failing=True, store_slow=True, paused=True)),
    ("stopping", Snapshot(at=NOW, queued=5, store_failing=True, stopping=True, paused=True)),
]


@pytest.mark.parametrize(("word", "latest"), CASES)
def test_what_keeps_a_crawl_from_fetching_is_its_state(word: str, latest: Snapshot | None) -> None:
    assert state_of(latest) == word


def test_a_crawl_without_workers_is_at_rest_unless_its_store_fails() -> None:
    assert state_of(BUSY, []) == "at rest"
    assert state_of(Snapshot(at=NOW, store_failing=True), []) == "store failing"


def test_every_word_that_the_description_has_is_said() -> None:
    assert {word for word, *_ in CASES} | {"at rest"} == set(get_args(StateOfCrawl))
