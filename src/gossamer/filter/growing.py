"""A set that never changes, of which a larger one is made without copying it."""

from collections.abc import Iterable, Iterator, Set
from typing import TypeVar

T = TypeVar("T", bound=str)


class GrowingSet(Set[T]):
    """Names in a few layers, each at least twice as large as the next: a million names in small lots are copied twenty
    times each, not thousands of times. Asking takes a look at every layer."""

    __slots__ = ("_layers",)

    def __init__(self, names: Iterable[T] = ()) -> None:
        first = frozenset(names)
        self._layers: tuple[frozenset[T], ...] = (first,) if first else ()

    def __contains__(self, name: object) -> bool:
        return any(name in layer for layer in self._layers)

    def __iter__(self) -> Iterator[T]:
        return (name for layer in self._layers for name in layer)

    def __len__(self) -> int:
        return sum(map(len, self._layers))

    def __hash__(self) -> int:
        return self._hash()

    def with_more(self, names: Iterable[T]) -> "GrowingSet[T]":
        """A set with these names too; itself if it has them all."""
        fresh = frozenset(name for name in names if name not in self)
        if not fresh:
            return self
        layers = list(self._layers)
        while layers and len(layers[-1]) < 2 * len(fresh):
            fresh |= layers.pop()
        grown: GrowingSet[T] = GrowingSet()
        grown._layers = (*layers, fresh)
        return grown
