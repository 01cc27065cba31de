"""Fingerprints back into ids: 16 bytes of memory for each known URL, and about 100 while the table is built."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence


class NodeTable:
    """Which URL has this fingerprint? By the fingerprint alone, though it is unique only within a domain: among 64 bits
    others do not meet either."""

    def __init__(self, ids: "array[int]", prints: "array[int]") -> None:
        order = array("q", sorted(range(len(prints)), key=prints.__getitem__))
        self._prints = array("q", (prints[place] for place in order))
        self._ids = array("q", (ids[place] for place in order))

    def ids_of(self, prints: Sequence[int]) -> list[int]:
        """The ids of those that are known, in the same order."""
        known, ids = self._prints, []
        for wanted in prints:
            place = bisect_left(known, wanted)
            if place < len(known) and known[place] == wanted:
                ids.append(self._ids[place])
        return ids
