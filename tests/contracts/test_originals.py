"""Signatures in the store: committed with the visit, and the latest originals are read again after a restart."""

import random
from collections.abc import Iterator

import pytest

from gossamer.dedup import Near
from gossamer.model.batch import Batch
from gossamer.model.settlement import Settlement
from gossamer.sketch import BINS
from tests.backends.sqlite.sqlite_store import AnyTables, Store, candidate, settlement


@pytest.fixture
def store(tables: AnyTables) -> Iterator[Store]:
    store = Store(tables)
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 31)]), store.now)
    yield store
    store.close()


def original(url_id: int, signature: bytes) -> Settlement:
    return settlement(url_id, body=signature)._replace(signature=signature)


def near_duplicate(url_id: int, signature: bytes, of: Near) -> Settlement:
    return original(url_id, signature)._replace(near_duplicate_of=of.owner, distance=of.distance)


def save(store: Store, *settlements: Settlement) -> None:
    batch = Batch()
    for each in settlements:
        batch.settle(each)
    store.writer.commit(batch, store.now)


def originals(store: Store, count: int = 100, chunk: int = 100) -> list[tuple[int, bytes]]:
    return [each for some in store.loader.latest_originals(count, chunk) for each in some]


@pytest.mark.parametrize("count", [1, 7, 20, 30])
@pytest.mark.parametrize("chunk", [1, 4, 100])
def test_the_latest_originals_are_read_the_oldest_first(store: Store, count: int, chunk: int) -> None:
    rng = random.Random(1)
    made = [(url_id, rng.randbytes(BINS)) for url_id in range(30, 10, -1)]
    for url_id, signature in made:
        save(store, original(url_id, signature))
        save(store, near_duplicate(url_id - 20 if url_id > 20 else 10, rng.randbytes(BINS), Near(url_id, 3)))

    assert originals(store, count, chunk) == made[-count:]


def test_a_page_that_changed_is_among_the_latest_as_it_is_now(store: Store) -> None:
    rng = random.Random(2)
    one, two, after = (rng.randbytes(BINS) for _ in range(3))
    save(store, original(1, one), original(2, two))

    save(store, original(1, after))

    assert originals(store) == [(2, two), (1, after)]


def test_a_page_that_has_no_text_any_more_or_nearly_repeats_another_is_no_original(store: Store) -> None:
    rng = random.Random(3)
    one, two, three = (rng.randbytes(BINS) for _ in range(3))
    save(store, original(1, one), original(2, two), original(3, three))

    save(store, settlement(1, body=b"short"))
    save(store, near_duplicate(2, rng.randbytes(BINS), Near(3, 3)))

    assert originals(store) == [(3, three)]


def test_signatures_are_committed_with_the_visit_or_not_at_all(store: Store) -> None:
    rng = random.Random(4)
    one, other = rng.randbytes(BINS), rng.randbytes(BINS)
    save(store, original(1, one), near_duplicate(2, rng.randbytes(BINS), Near(1, 4)))
    failing = Batch()
    failing.settle(original(3, other)._replace(url_id="no number"))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="datatype mismatch"):
        store.writer.commit(failing, store.now)

    assert store.rows("SELECT url_id, near_duplicate_of, distance FROM signatures") == [(1, None, None), (2, 1, 4)]
    assert originals(store) == [(1, one)]
