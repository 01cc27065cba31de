"""A row for every record, and the originals that revisit records refer to."""

import pytest

from gossamer.backends.sqlite.driver import named_queries
from gossamer.model.batch import Batch
from gossamer.model.settlement import Capture, Original, Settlement
from gossamer.model.states import UrlState
from gossamer.model.units import Instant, Url
from gossamer.store.ports import Location
from gossamer.store.table.writer import original_of
from tests.backends.table_store import START, AnyTables, CapturesInMemory, Store, candidate, settlement

SQL = named_queries("queries.sql")
ROWS = "SELECT url_id, revisit, captured_at, payload_digest, warc_offset FROM captures ORDER BY warc_offset"


@pytest.fixture
def store(tables: AnyTables) -> Store:
    """Four URLs are known."""
    found = Store(tables)
    found.close()
    found.captures = Remembering()
    found.open()
    found.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 5)]), found.now)
    return found


def answered(url_id: int, body: bytes, state: UrlState = UrlState.STORED, at: float = START) -> Settlement:
    """A visit whose request began at `at`."""
    plain = settlement(url_id, state, body=body)
    assert plain.capture is not None
    response = plain.capture.response
    url = Url(f"http://a.test/0/{url_id}")
    asked = type(response)(url, 200, b"", b"", body, {}, "127.0.0.1", Instant(at), response.took)
    return plain._replace(capture=Capture(asked, b"wire " + body))


class Remembering(CapturesInMemory):
    """Keeps the captures themselves, too."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[Capture] = []

    def append(self, capture: Capture) -> Location:
        self.written.append(capture)
        return super().append(capture)


def commit(store: Store, *settlements: Settlement) -> list[Capture]:
    """Commit them; the captures that were written."""
    assert isinstance(store.captures, Remembering)
    store.captures.written.clear()
    batch = Batch()
    for each in settlements:
        batch.settle(each)
    store.writer.commit(batch, store.now)
    return list(store.captures.written)


def test_every_record_has_a_row_also_when_a_page_is_captured_again(store: Store) -> None:
    commit(store, answered(1, b"old", at=START))
    commit(store, answered(1, b"newer", at=START + 9))

    assert store.rows(ROWS) == [(1, 0, START, b"wire old", 0), (1, 0, START + 9, b"wire newer", 3)]
    assert store.value("SELECT warc_offset FROM visits WHERE url_id = 1") == 3
    store.close()


def test_a_duplicate_refers_to_the_capture_of_the_same_commit(store: Store) -> None:
    written = commit(store, answered(2, b"same", UrlState.DUPLICATE), answered(1, b"same", at=START + 5))

    assert written[0].original == Original(Url("http://a.test/0/1"), Instant(START + 5), b"wire same")
    assert [row[:2] for row in store.rows(ROWS)] == [(2, 1), (1, 0)]
    store.close()


def test_a_duplicate_refers_to_the_first_capture_though_its_page_has_changed_since(store: Store) -> None:
    commit(store, answered(1, b"same", at=START))
    commit(store, answered(1, b"other", at=START + 5))

    [written] = commit(store, answered(2, b"same", UrlState.DUPLICATE, at=START + 9))

    assert written.original == Original(Url("http://a.test/0/1"), Instant(START), b"wire same")
    assert store.value("SELECT count(*) FROM contents") == 2
    store.close()


def test_a_duplicate_is_stored_whole_if_no_record_of_its_original_is_known(store: Store) -> None:
    """An older version has stored it, or a cache has named a document that the store does not have."""
    commit(store, answered(1, b"same"))
    store.writer_db.execute("UPDATE captures SET captured_at = NULL, payload_digest = NULL")

    (old,) = commit(store, answered(2, b"same", UrlState.DUPLICATE))
    (unknown,) = commit(store, answered(3, b"never stored", UrlState.DUPLICATE))

    assert old.original is None and unknown.original is None
    assert store.rows("SELECT url_id, revisit FROM captures WHERE url_id > 1 ORDER BY url_id") == [(2, 0), (3, 0)]
    store.close()


def test_a_page_that_did_not_change_refers_to_its_own_last_capture_and_a_duplicate_to_its_originals(
    store: Store,
) -> None:
    commit(store, answered(1, b"old", at=START))
    commit(store, answered(1, b"new", at=START + 5), answered(2, b"new", UrlState.DUPLICATE, at=START + 6))

    expected = Original(Url("http://a.test/0/1"), Instant(START + 5), b"wire new")
    assert original_of(store.reading, 1) == original_of(store.reading, 2) == expected
    assert original_of(store.reading, 3) is None
    store.close()


def test_a_commit_that_fails_leaves_no_row(store: Store) -> None:
    store.captures.flush_fails = True

    with pytest.raises(Exception, match="no room"):
        commit(store, answered(1, b"one"))

    assert store.rows(ROWS) == []
    store.close()
