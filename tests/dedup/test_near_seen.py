"""The near-duplicate test finds what is within the distance of a recent original, and nothing else."""

import random
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.dedup import MAX_DISTANCE, Near, NearDuplicates, NearMode
from gossamer.sketch import BINS, distance


def random_signature(rng: random.Random) -> bytes:
    return rng.randbytes(BINS)


def changed(rng: random.Random, signature: bytes, places: int) -> bytes:
    """The signature with exactly so many bytes changed."""
    out = bytearray(signature)
    for place in rng.sample(range(len(out)), places):
        out[place] ^= rng.randrange(1, 256)
    return bytes(out)


def window_of(originals: int) -> NearDuplicates:
    return NearDuplicates(NearMode.MARK, originals)


class Oracle:
    """The obvious version: compares with each of the latest originals."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._learnt: list[tuple[int | None, bytes]] = []  # None: an original no more, which keeps its place

    def judge(self, url_id: int, signature: bytes) -> Near | None:
        kept = self._learnt[-self._window :]
        apart = [(distance(signature, other), owner) for owner, other in kept if owner not in (url_id, None)]
        self._learnt = [(None if owner == url_id else owner, other) for owner, other in self._learnt]
        near = min(((d, owner) for d, owner in apart if owner is not None), default=(BINS, 0))
        if near[0] <= MAX_DISTANCE:
            return Near(near[1], near[0])
        self._learnt.append((url_id, signature))
        return None


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12), st.integers(0, 40)), max_size=100),
    st.integers(1, 20),
)
def test_a_document_is_called_near_exactly_if_one_of_the_latest_originals_is_within_the_distance(
    seed: int, steps: list[tuple[int, int, int]], window: int
) -> None:
    rng = random.Random(seed)
    near, oracle = window_of(window), Oracle(window)
    made = [random_signature(rng)]

    for model, places, url_id in steps:
        # Every third document is a new one, so that the window is overwritten many times.
        signature = changed(rng, made[-1 - model % len(made)], places) if model % 3 else random_signature(rng)
        made.append(signature)

        assert near.judge(url_id, signature) == oracle.judge(url_id, signature)


def test_originals_are_found_until_as_many_later_ones_have_come_as_are_kept() -> None:
    rng = random.Random(1)
    near, window = window_of(50), 50
    made = [random_signature(rng) for _ in range(400)]

    for url_id, signature in enumerate(made):
        assert near.judge(url_id, signature) is None
        for back in (0, 1, window // 2, window - 1):
            if back <= url_id:
                copy = changed(rng, made[url_id - back], MAX_DISTANCE)
                assert near.judge(10_000, copy) == Near(url_id - back, MAX_DISTANCE)
    forgotten = made[400 - window - 1]
    assert near.judge(10_000, forgotten) is None


def test_of_many_originals_that_share_a_band_the_latest_are_compared() -> None:
    rng = random.Random(2)
    near, band = window_of(1000), random_signature(rng)[:8]
    made = [band + rng.randbytes(BINS - 8) for _ in range(1000)]

    assert all(near.judge(url_id, signature) is None for url_id, signature in enumerate(made))
    for url_id, signature in islice(enumerate(made), 800, None):
        assert near.judge(10_000, band + changed(rng, signature[8:], 7)) == Near(url_id, 7)


def test_the_closest_original_is_named_and_of_equals_the_first() -> None:
    rng = random.Random(3)
    one = random_signature(rng)
    near = window_of(10)
    for url_id, places in ((9, 5), (7, 2), (4, 2), (2, MAX_DISTANCE + 1)):
        near.add(url_id, changed(rng, one, places))

    assert near.judge(100, one) == Near(4, 2)


def test_a_document_that_differs_in_more_is_none() -> None:
    rng = random.Random(4)
    one = random_signature(rng)
    near = window_of(10)
    near.add(1, one)

    assert near.judge(2, changed(rng, one, MAX_DISTANCE + 1)) is None


def test_a_near_duplicate_of_a_near_duplicate_is_compared_with_the_original_alone() -> None:
    near = window_of(10)
    original = random_signature(random.Random(5))
    step = bytes(b ^ 1 if i < 6 else b for i, b in enumerate(original))
    far = bytes(b ^ 1 if 6 <= i < 12 else b for i, b in enumerate(step))

    assert near.judge(1, original) is None
    assert near.judge(2, step) == Near(1, 6)
    assert near.judge(3, far) is None


def test_a_page_is_not_a_near_duplicate_of_what_it_was_itself() -> None:
    rng = random.Random(6)
    near = window_of(10)
    before = random_signature(rng)
    after = changed(rng, before, 2)

    assert near.judge(1, before) is None
    assert near.judge(1, after) is None
    assert near.judge(2, before) == Near(1, 2)


def test_a_page_that_changed_or_became_a_near_duplicate_is_not_found_by_what_it_was() -> None:
    rng = random.Random(7)
    near = window_of(10)
    one, two, three = (random_signature(rng) for _ in range(3))
    near.add(1, one)
    near.add(2, two)

    assert near.judge(1, three) is None
    assert near.judge(2, three) == Near(1, 0)
    assert near.judge(3, one) is None
    assert near.judge(4, two) is None


def test_a_window_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 original, not 0"):
        window_of(0)
