"""Signatures and bands in the store: committed with the visit, found by band, never out of date."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlite_store import Store, candidate, settlement

from gossamer.dedup.near import MAX_DISTANCE, Near, bands_of, nearest
from gossamer.sketch.minhash import BINS, distance
from gossamer.store.changes import Batch, Settlement


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "crawl.db")
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 60)]), store.now)
    yield store
    store.close()


def original(url_id: int, signature: bytes) -> Settlement:
    return settlement(url_id, body=b"body %d" % url_id)._replace(signature=signature, bands=bands_of(signature))


def near_duplicate(url_id: int, signature: bytes, of: Near) -> Settlement:
    plain = settlement(url_id, body=b"body %d" % url_id)
    return plain._replace(signature=signature, near_duplicate_of=of.owner, distance=of.distance)


def commit(store: Store, *settlements: Settlement) -> None:
    batch = Batch()
    for each in settlements:
        batch.settle(each)
    store.writer.commit(batch, store.now)


def found(store: Store, signature: bytes) -> Near | None:
    return nearest(signature, store.loader.originals_by_band(bands_of(signature)))


def changed(rng: random.Random, signature: bytes, places: int) -> bytes:
    out = bytearray(signature)
    for place in rng.sample(range(BINS), places):
        out[place] ^= rng.randrange(1, 256)
    return bytes(out)


def test_every_original_within_the_distance_is_found_and_no_other(store: Store) -> None:
    rng = random.Random(1)
    originals = {number: rng.randbytes(BINS) for number in range(1, 40)}
    commit(store, *(original(number, signature) for number, signature in originals.items()))

    for places in range(12):
        for number, signature in originals.items():
            asked = changed(rng, signature, places)
            apart = min((distance(asked, other), owner) for owner, other in originals.items())

            assert found(store, asked) == (Near(number, places) if apart[0] <= MAX_DISTANCE else None)


def test_a_near_duplicate_is_on_record_with_its_distance_and_is_no_original(store: Store) -> None:
    rng = random.Random(2)
    one = rng.randbytes(BINS)
    other = changed(rng, one, 4)

    commit(store, original(1, one), near_duplicate(2, other, Near(1, 4)))

    assert store.rows("SELECT near_duplicate_of, distance FROM signatures WHERE url_id = 2") == [(1, 4)]
    assert found(store, other) == Near(1, 4)
    assert store.loader.latest_originals(10) == [(1, one)]


def test_a_page_that_changed_is_found_by_what_it_is_now_and_not_by_what_it_was(store: Store) -> None:
    rng = random.Random(3)
    before, after = rng.randbytes(BINS), rng.randbytes(BINS)

    commit(store, original(1, before))
    commit(store, original(1, after))

    assert found(store, before) is None
    assert found(store, after) == Near(1, 0)


def test_a_page_that_has_no_text_any_more_is_not_found(store: Store) -> None:
    signature = random.Random(4).randbytes(BINS)

    commit(store, original(1, signature))
    commit(store, settlement(1, body=b"short"))

    assert found(store, signature) is None


def test_all_bands_are_told_in_chunks_however_many_share_one(store: Store) -> None:
    rng = random.Random(5)
    signature = rng.randbytes(BINS)
    others = [changed(rng, signature, 30) for _ in range(20)]
    commit(store, original(1, signature), *(original(n + 2, other) for n, other in enumerate(others)))

    told = [band for chunk in store.loader.bands(3) for band in chunk]

    assert sorted(told) == sorted(band for each in (signature, *others) for band in bands_of(each))
