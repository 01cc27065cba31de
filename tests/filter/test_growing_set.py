"""A set that grows by being made anew holds what a plain one holds, and copies little."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.filter.scope import LayeredSet

LOTS = st.lists(st.lists(st.text("abc", max_size=3), max_size=10), max_size=20)


@given(LOTS)
def test_it_holds_every_name_once_and_earlier_sets_stay_as_they_were(lots: list[list[str]]) -> None:
    plain: set[str] = set()
    grown = LayeredSet[str]()
    before: list[tuple[LayeredSet[str], set[str]]] = []
    for lot in lots:
        before.append((grown, set(plain)))
        plain.update(lot)
        grown = grown.with_more(lot)

        assert set(grown) == plain and sorted(grown) == sorted(plain)
        assert all(name in grown for name in plain) and "d" not in grown
    assert all(set(earlier) == expected for earlier, expected in before)


def test_what_changes_nothing_gives_the_same_set() -> None:
    some = LayeredSet(["a", "b"])

    assert some.with_more(["b"]) is some


def test_many_small_lots_leave_few_layers() -> None:
    grown = LayeredSet[str]()
    for number in range(1000):
        grown = grown.with_more([str(number)])

    assert len(grown) == 1000 and len(grown._layers) <= 11
