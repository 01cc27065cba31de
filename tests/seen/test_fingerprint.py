"""URL fingerprints: 64 bits, signed, keyed, stable."""

from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from gossamer.seen import fingerprint, fingerprints

KEYS = st.integers(0, 2**64 - 1)


@given(st.lists(st.text(st.characters(codec="utf-8"))), KEYS)
def test_a_fingerprint_is_the_keyed_xxh3_of_the_url_as_a_signed_number(urls: list[str], key: int) -> None:
    found = fingerprints(urls, key)

    assert [value % 2**64 for value in found] == [xxh3_64_intdigest(url.encode(), key) for url in urls]
    assert all(-(2**63) <= value < 2**63 for value in found)


@given(st.text(st.characters(codec="utf-8")), KEYS)
def test_one_url_has_the_same_fingerprint_alone_and_in_a_batch(url: str, key: int) -> None:
    assert fingerprint(url, key) == fingerprints(["other", url], key)[1]


def test_fingerprints_are_stored_and_so_must_never_change() -> None:
    assert fingerprint("http://x.test/", 7) == -605998890291693714
    assert fingerprint("http://x.test/", 8) == -1865967334576928969
