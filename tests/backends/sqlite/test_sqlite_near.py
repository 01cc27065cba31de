"""Signatures and bands in the store: committed with the visit, found by band, never out of date."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_store import Store, candidate, settlement

from gossamer.backends.sqlite.database import open_for_writing
from gossamer.backends.sqlite.near import Signatures, bands_in_segments, originals_by_band, originals_since_segments
from gossamer.backends.sqlite.near_merging import Source, to_be_merged
from gossamer.dedup.near import Near, nearest
from gossamer.sketch.bands import MAX_DISTANCE, bands_of
from gossamer.sketch.minhash import BINS, distance
from gossamer.store.changes import Batch, Settlement


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_for_writing(tmp_path / "crawl.db")) as db:
        yield db


def original(url_id: int, signature: bytes) -> Settlement:
    return settlement(url_id, body=b"body %d" % url_id)._replace(signature=signature)


def near_duplicate(url_id: int, signature: bytes, of: Near) -> Settlement:
    return original(url_id, signature)._replace(near_duplicate_of=of.owner, distance=of.distance)


def found(db: sqlite3.Connection, signature: bytes) -> Near | None:
    """As the crawl finds it: the latest in memory, the others by band."""
    return nearest(signature, [*originals_since_segments(db), *originals_by_band(db, bands_of(signature))])


def changed(rng: random.Random, signature: bytes, places: int) -> bytes:
    out = bytearray(signature)
    for place in rng.sample(range(BINS), places):
        out[place] ^= rng.randrange(1, 256)
    return bytes(out)


@pytest.mark.parametrize("segment", [1, 7, 13, 1000])
def test_every_original_within_the_distance_is_found_and_no_other(db: sqlite3.Connection, segment: int) -> None:
    rng = random.Random(1)
    signatures = Signatures(db, segment)
    originals = {number: rng.randbytes(BINS) for number in range(1, 40)}
    for number, signature in originals.items():
        signatures.save([original(number, signature)])

    assert len(originals_since_segments(db)) == len(originals) % segment
    for places in range(12):
        for number, signature in originals.items():
            asked = changed(rng, signature, places)
            apart = min((distance(asked, other), owner) for owner, other in originals.items())

            assert found(db, asked) == (Near(number, places) if apart[0] <= MAX_DISTANCE else None)


def test_bands_are_in_segments_all_together_or_not_at_all(db: sqlite3.Connection) -> None:
    rng = random.Random(2)
    made = [rng.randbytes(BINS) for _ in range(7)]
    signatures = Signatures(db, 3)
    for number, signature in enumerate(made, 1):
        signatures.save([original(number, signature)])

    told = [band for chunk in bands_in_segments(db, 5) for band in chunk]

    assert sorted(told) == sorted(band for each in made[:6] for band in bands_of(each))
    assert originals_since_segments(db) == [(7, made[6])]


def test_what_was_written_by_an_earlier_process_counts_for_the_next_segment(db: sqlite3.Connection) -> None:
    rng = random.Random(3)
    Signatures(db, 3).save([original(number, rng.randbytes(BINS)) for number in (1, 2)])

    Signatures(db, 3).save([original(3, rng.randbytes(BINS))])

    assert originals_since_segments(db) == []


@pytest.mark.parametrize("segment", [1, 1000])
def test_a_page_that_changed_is_found_by_what_it_is_now_and_not_by_what_it_was(
    db: sqlite3.Connection, segment: int
) -> None:
    rng = random.Random(4)
    before, after = rng.randbytes(BINS), rng.randbytes(BINS)
    signatures = Signatures(db, segment)

    signatures.save([original(1, before)])
    signatures.save([original(1, after)])

    assert found(db, before) is None
    assert found(db, after) == Near(1, 0)


@pytest.mark.parametrize("segment", [1, 1000])
def test_a_page_that_has_no_text_any_more_or_nearly_repeats_another_is_not_found(
    db: sqlite3.Connection, segment: int
) -> None:
    rng = random.Random(5)
    one, other = rng.randbytes(BINS), rng.randbytes(BINS)
    signatures = Signatures(db, segment)
    signatures.save([original(1, one), original(2, other)])

    signatures.save([settlement(1, body=b"short")])
    signatures.save([near_duplicate(2, changed(rng, other, 1), Near(9, 3))])

    assert found(db, one) is None
    assert found(db, other) is None


def test_signatures_are_committed_with_the_visit_or_not_at_all(tmp_path: Path) -> None:
    rng = random.Random(6)
    one, other = rng.randbytes(BINS), rng.randbytes(BINS)
    store = Store(tmp_path / "crawl.db")
    store.writer.commit(Batch(candidates=[candidate("a.test", n) for n in range(1, 5)]), store.now)
    batch = Batch()
    batch.settle(original(1, one))
    batch.settle(near_duplicate(2, changed(rng, one, 4), Near(1, 4)))
    store.writer.commit(batch, store.now)
    failing = Batch()
    failing.settle(original(3, other)._replace(url_id="no number"))  # type: ignore[arg-type]
    with pytest.raises(Exception, match="datatype mismatch"):
        store.writer.commit(failing, store.now)

    assert store.rows("SELECT url_id, near_duplicate_of, distance FROM signatures") == [(1, None, None), (2, 1, 4)]
    assert store.loader.latest_originals() == [(1, one)]
    store.close()


def segments(db: sqlite3.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM near_segments").fetchone()[0])


def rows_unlisted(db: sqlite3.Connection) -> int:
    query = "SELECT count(*) FROM near_bands WHERE segment NOT IN (SELECT id FROM near_segments)"
    return int(db.execute(query).fetchone()[0])


def idle(signatures: Signatures, db: sqlite3.Connection, commits: int = 200) -> None:
    """Commits that bring no original: what is under way comes to its end."""
    near = near_duplicate(1_000_000, bytes(BINS), Near(1, 3))
    for _ in range(commits):
        signatures.save([near])


def test_the_number_of_segments_is_bounded_and_nothing_is_lost_by_that(db: sqlite3.Connection) -> None:
    rng = random.Random(8)
    signatures = Signatures(db, 10, most=4)
    originals: dict[int, bytes] = {}
    most = 0
    for number in range(1, 1001):
        originals[number] = rng.randbytes(BINS)
        signatures.save([original(number, originals[number])])
        signatures.save([near_duplicate(10_000 + number, bytes(BINS), Near(1, 3))])
        most = max(most, segments(db))
        for asked in rng.sample(sorted(originals), min(3, number)):
            assert found(db, changed(rng, originals[asked], 7)) == Near(asked, 7)
    idle(signatures, db)

    assert most <= 4 + 3  # while it works more may come
    assert segments(db) <= 4
    assert rows_unlisted(db) == 0
    assert all(found(db, signature) == Near(number, 0) for number, signature in originals.items())
    told = sorted(band for chunk in bands_in_segments(db, 1000) for band in chunk)
    assert told == sorted(band for each in originals.values() for band in bands_of(each))


def test_what_stood_for_pages_that_changed_is_left_out_when_segments_are_merged(db: sqlite3.Connection) -> None:
    rng = random.Random(9)
    signatures = Signatures(db, 5, most=2)
    now: dict[int, bytes] = {}
    for _ in range(8):
        for number in range(1, 21):
            now[number] = rng.randbytes(BINS)
            signatures.save([original(number, now[number])])
        idle(signatures, db, 20)
    signatures.save([settlement(1, body=b"short")])
    del now[1]
    idle(signatures, db)

    told = [band for chunk in bands_in_segments(db, 1000) for band in chunk]

    assert (
        len(told) <= 3 * 20 * 8
    )  # of 160 signatures, 20 to a turn, only the latest segments hold any that are no more
    assert all(found(db, signature) == Near(number, 0) for number, signature in now.items())


@pytest.mark.parametrize("kept", [0, 1, 3, 7, 12, 20])
def test_a_merge_that_was_cut_off_is_begun_anew(tmp_path: Path, kept: int) -> None:
    """By a process that ends after so many commits, or by a transaction that was rolled back."""
    rng = random.Random(10)
    made = {number: rng.randbytes(BINS) for number in range(1, 401)}
    with closing(open_for_writing(tmp_path / "crawl.db")) as db:
        first = Signatures(db, 20, most=100)
        for number, signature in made.items():
            first.save([original(number, signature)])
        cut = Signatures(db, 20, most=4)
        idle(cut, db, kept)
        db.execute("BEGIN")
        idle(cut, db, 1)
        db.execute("ROLLBACK")
        cut.look()
        idle(cut, db, 2)

        assert all(found(db, signature) == Near(number, 0) for number, signature in made.items())

        again = Signatures(db, 20, most=4)
        idle(again, db)
        assert segments(db) <= 4 and rows_unlisted(db) == 0
        assert all(found(db, signature) == Near(number, 0) for number, signature in made.items())


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [([1, 1, 1], 0), ([1, 1, 1, 1], 4), ([9, 1, 1, 1], 3), ([4, 2, 1, 1], 2), ([3, 2, 1, 1], 4), ([8, 4, 2, 1], 2)],
)
def test_the_latest_segments_are_merged_back_to_the_first_that_is_larger_than_all_after_it(
    sizes: list[int], merged: int
) -> None:
    after, given = 0, []
    for number, size in enumerate(sizes):
        given.append(Source(number, after, after + size))
        after += size

    assert len(to_be_merged(given, 3)) == merged


def test_a_band_that_many_originals_share_leads_to_all_of_them(db: sqlite3.Connection) -> None:
    rng = random.Random(7)
    band = rng.randbytes(8)
    made = {number: band + rng.randbytes(BINS - 8) for number in range(1, 301)}
    Signatures(db, 300).save([original(number, signature) for number, signature in made.items()])

    assert dict(originals_by_band(db, bands_of(made[1])[:1])) == made
