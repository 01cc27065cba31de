"""Fingerprints back into ids: sixteen bytes of memory for each known URL, whatever the number of links."""

from array import array
from collections.abc import Sequence


class NodeTable:
    """Which URL has this fingerprint? By the fingerprint alone, though it is unique only within a domain: among 64 bits
    others do not meet either."""

    def __init__(self, ids: "array[int]", prints: "array[int]") -> None:
        import numpy  # heavy, and needed for the link graph alone

        found = numpy.frombuffer(prints, dtype=numpy.int64) if prints else numpy.empty(0, numpy.int64)
        order = numpy.argsort(found, kind="stable")
        self._numpy = numpy
        self._prints = found[order]
        self._ids = numpy.frombuffer(ids, dtype=numpy.int64)[order] if ids else numpy.empty(0, numpy.int64)

    def ids_of(self, prints: Sequence[int]) -> list[int]:
        """The ids of those that are known, in the same order."""
        if not len(self._ids):
            return []
        wanted = self._numpy.array(prints, dtype=self._numpy.int64)
        places = self._numpy.searchsorted(self._prints, wanted).clip(max=len(self._prints) - 1)
        known = self._prints[places] == wanted
        ids: list[int] = self._ids[places[known]].tolist()
        return ids
