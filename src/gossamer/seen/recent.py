"""The exact memory of recent fingerprints, of bounded size. Hot: `benchmarks/bench_seen.py`."""

from collections.abc import Iterable, Sequence


class Recent:
    """A set that forgets what has not been met for a while.

    Two generations: additions go to the young one; when that is full it becomes the old one, and the former old one
    is forgotten. Whatever is met in the old one becomes young again, so the links that stand on every page stay.
    This costs two set look-ups, where a list of uses would cost an allocation for each.

    Invariants:
      * "yes" is always true: the fingerprint was added;
      * "no" means nothing: it may have been forgotten;
      * the last `limit // 2` additions are remembered; no more than `limit` plus one batch is held.
    """

    def __init__(self, limit: int) -> None:
        """`limit` is in fingerprints, at about 80 bytes each."""
        if limit < 2:
            raise ValueError(f"a memory of {limit} fingerprints")
        self._generation = limit // 2
        self._young: set[int] = set()
        self._old: set[int] = set()

    def __contains__(self, fingerprint: int) -> bool:
        return fingerprint in self._young or fingerprint in self._old

    def __len__(self) -> int:
        """Places taken; a fingerprint of the old generation that became young again takes two."""
        return len(self._young) + len(self._old)

    def add(self, fingerprint: int) -> None:
        self._young.add(fingerprint)
        self._turn_when_full()

    def update(self, fingerprints: Iterable[int]) -> None:
        self._young.update(fingerprints)
        self._turn_when_full()

    def clear(self) -> None:
        self._young.clear()
        self._old.clear()

    def admit(self, fingerprints: Sequence[int]) -> tuple[list[int], list[int]]:
        """Add them all, and sort their positions: those held before, and those met for the first time.

        A fingerprint that occurs twice in the batch counts as held the second time.
        """
        young, old = self._young, self._old
        remember = young.add
        held: list[int] = []
        fresh: list[int] = []
        for index, fingerprint in enumerate(fingerprints):
            if fingerprint in young:
                held.append(index)
                continue
            remember(fingerprint)
            if fingerprint in old:
                held.append(index)
            else:
                fresh.append(index)
        self._turn_when_full()
        return held, fresh

    def _turn_when_full(self) -> None:
        # Only between batches, never inside one: a batch then cannot forget what it has just added.
        if len(self._young) >= self._generation:
            self._old = self._young
            self._young = set()
