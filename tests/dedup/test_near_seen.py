"""The near-duplicate test: everything within the distance is found, however it is spread over memory and store."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.dedup.near import Ask, Near, NearSeen, nearest
from gossamer.sketch.bands import BANDS, MAX_DISTANCE, bands_of
from gossamer.sketch.minhash import BINS, distance


def random_signature(rng: random.Random) -> bytes:
    return rng.randbytes(BINS)


def changed(rng: random.Random, signature: bytes, places: int) -> bytes:
    """The signature with exactly so many bytes changed."""
    out = bytearray(signature)
    for place in rng.sample(range(BINS), places):
        out[place] ^= rng.randrange(1, 256)
    return bytes(out)


class Store:
    """The slow twin of the band table: every original, by owner."""

    def __init__(self) -> None:
        self.originals: dict[int, bytes] = {}

    def ask(self, bands: list[int]) -> list[tuple[int, bytes]]:
        return [each for each in self.originals.items() if set(bands) & set(bands_of(each[1]))]


def decide(seen: NearSeen, store: Store, signature: bytes, visitor: int) -> Near | None:
    """As the reading desk does it: look, ask, learn."""
    found = seen.look(signature, visitor)
    if isinstance(found, Ask):
        found = nearest(signature, [each for each in store.ask(found.bands) if each[0] != visitor])
    if found is None:
        seen.learn(signature, visitor)
        store.originals[visitor] = signature
    elif visitor in store.originals:
        del store.originals[visitor]
        seen.forget(visitor)
    return found


@given(
    st.integers(0, 2**32),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 40)), max_size=60),
    st.integers(1, 20),
)
def test_a_document_is_called_near_exactly_if_an_original_is_within_the_distance(
    seed: int, steps: list[tuple[int, int, int]], remember: int
) -> None:
    rng = random.Random(seed)
    seen, store = NearSeen(capacity=10, remember=remember), Store()
    seen.warmed(whole=True)
    made = [random_signature(rng)]

    for model, places, visitor in steps:
        signature = changed(rng, made[model % len(made)], places)
        made.append(signature)
        apart = [distance(signature, other) for owner, other in store.originals.items() if owner != visitor]
        found = decide(seen, store, signature, visitor)

        assert (found is not None) == (min(apart, default=BINS) <= MAX_DISTANCE)
        if found is not None:
            assert found.owner != visitor
            assert found.distance <= MAX_DISTANCE


@given(st.integers(0, 2**32), st.integers(0, MAX_DISTANCE))
def test_signatures_within_the_distance_share_a_band(seed: int, places: int) -> None:
    rng = random.Random(seed)
    one = random_signature(rng)

    assert set(bands_of(one)) & set(bands_of(changed(rng, one, places)))


@given(st.binary(min_size=BINS, max_size=BINS))
def test_a_band_is_eight_bytes_of_the_signature_with_its_number_in_the_lowest_bits(signature: bytes) -> None:
    parts = [int.from_bytes(signature[8 * n : 8 * n + 8], "little", signed=True) for n in range(8)]

    assert bands_of(signature) == [part - part % 8 + n for n, part in enumerate(parts)]


def test_bands_of_different_places_are_never_taken_for_one_another() -> None:
    bands = bands_of(b"\xff" * BINS)

    assert len(set(bands)) == BANDS
    assert all(-(2**63) <= band < 2**63 for band in bands)


def test_the_closest_original_is_named_and_of_equals_the_first() -> None:
    rng = random.Random(1)
    one = random_signature(rng)
    originals = [(9, changed(rng, one, 5)), (7, changed(rng, one, 2)), (4, changed(rng, one, 2))]

    assert nearest(one, originals) == Near(4, 2)
    assert nearest(one, [(1, changed(rng, one, MAX_DISTANCE + 1))]) is None


def test_before_the_filter_is_warm_the_store_is_asked_about_every_band() -> None:
    seen = NearSeen(capacity=10)
    signature = random_signature(random.Random(2))

    assert seen.look(signature, 1) == Ask(bands_of(signature))


def test_after_a_restart_the_store_is_asked_about_what_it_holds_and_about_nothing_else() -> None:
    rng = random.Random(3)
    held = [random_signature(rng) for _ in range(50)]
    seen = NearSeen(capacity=100)
    for signature in held:
        seen.warm(bands_of(signature))
    seen.warmed()

    assert all(isinstance(seen.look(changed(rng, signature, 3), 1), Ask) for signature in held)
    assert [seen.look(random_signature(rng), 1) for _ in range(50)].count(None) >= 48


def test_a_near_duplicate_of_a_near_duplicate_is_compared_with_the_original_alone() -> None:
    rng = random.Random(4)
    seen, store = NearSeen(capacity=10), Store()
    seen.warmed(whole=True)
    original = random_signature(rng)
    step = bytes(b ^ 1 if i < 6 else b for i, b in enumerate(original))
    far = bytes(b ^ 1 if 6 <= i < 12 else b for i, b in enumerate(step))

    assert decide(seen, store, original, 1) is None
    assert decide(seen, store, step, 2) == Near(1, 6)
    assert decide(seen, store, far, 3) is None


def test_a_page_is_not_a_near_duplicate_of_what_it_was_itself() -> None:
    rng = random.Random(5)
    seen = NearSeen(capacity=10)
    seen.warmed(whole=True)
    before = random_signature(rng)
    seen.learn(before, 1)
    after = changed(rng, before, 2)

    assert seen.look(after, 1) is None
    seen.learn(after, 1)
    assert seen.look(before, 2) == Near(1, 2)
    assert seen.statistics().remembered == 1


def test_memory_holds_no_more_than_it_may() -> None:
    rng = random.Random(6)
    seen = NearSeen(capacity=10, remember=5)
    seen.warmed(whole=True)
    signatures = [random_signature(rng) for _ in range(20)]

    for owner, signature in enumerate(signatures):
        seen.learn(signature, owner)

    assert seen.statistics().remembered == 5
    assert isinstance(seen.look(signatures[0], 99), Ask)
    assert seen.look(signatures[-1], 99) == Near(19, 0)


def test_a_memory_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="memory of 0"):
        NearSeen(capacity=10, remember=0)
