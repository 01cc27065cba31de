"""The content-seen test: known, surely new, or a query of the store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.dedup import ContentSeen, Known, Unknown, payload_digest

A, B, C = (payload_digest(body) for body in (b"a", b"b", b"c"))


def warm_test(*, remember: int = 10) -> ContentSeen[int]:
    seen: ContentSeen[int] = ContentSeen(capacity=100, remember=remember)
    seen.finish_warming()
    return seen


def test_content_is_surely_new_until_learned_and_then_known_by_its_first_owner() -> None:
    seen = warm_test()

    assert seen.check(A) is Unknown.SURELY_NEW
    seen.learn(A, 1)
    seen.learn(A, 2)

    assert seen.check(A) == Known(1)


def test_looking_alone_does_not_make_content_known() -> None:
    seen = warm_test()
    seen.check(A)

    assert seen.check(A) is Unknown.SURELY_NEW


def test_before_the_filter_is_warm_the_store_is_asked() -> None:
    seen: ContentSeen[int] = ContentSeen(capacity=100)
    seen.warm([A])
    assert seen.check(B) is Unknown.ASK

    seen.learn(C, 3)
    seen.finish_warming()

    assert [seen.check(digest) for digest in (A, B, C)] == [Unknown.ASK, Unknown.SURELY_NEW, Known(3)]


def test_the_least_recently_used_content_is_evicted_and_asked() -> None:
    seen = warm_test(remember=2)
    seen.learn(A, 1)
    seen.learn(B, 2)
    seen.check(A)

    seen.learn(C, 3)

    assert [seen.check(digest) for digest in (A, B, C)] == [Known(1), Unknown.ASK, Known(3)]


def test_a_memory_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 document, not 0"):
        ContentSeen[int](capacity=10, remember=0)


@given(
    st.lists(st.integers(0, 30), max_size=150),
    st.integers(1, 8),
    st.sampled_from([0.5, 0.001]),
)
def test_no_document_is_ever_taken_for_another_or_for_known_when_it_is_not(
    contents: list[int], remember: int, error_rate: float
) -> None:
    seen: ContentSeen[int] = ContentSeen(capacity=4, error_rate=error_rate, remember=remember)
    seen.finish_warming()
    store: dict[int, int] = {}

    for owner, content in enumerate(contents):
        digest = payload_digest(str(content).encode())
        match seen.check(digest):
            case Known(first):
                assert store[content] == first
            case Unknown.SURELY_NEW:
                assert content not in store
                first = owner
            case Unknown.ASK:
                first = store.get(content, owner)
        seen.learn(digest, first)
        store.setdefault(content, first)
