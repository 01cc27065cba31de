"""The partitions that a worker owns: taking, resting, giving up."""

from collections.abc import Container, Iterable
from dataclasses import dataclass

from gossamer.cluster.handover import Released, RestPolicy
from gossamer.cluster.membership import Taken
from gossamer.cluster.ports import Session
from gossamer.model.units import Epoch, Instant, Seconds


@dataclass(slots=True)
class _Owned:
    released: Released
    taken: Instant
    rested: bool  # as long as the death of its last owner requires
    outlived: bool = False


class Partitions:
    """What this worker owns. Methods that take a session only run statements, in a transaction behind the fence; the
    `on_` methods are called once that is committed."""

    def __init__(self, epoch: Epoch, policy: RestPolicy, long_life: Seconds) -> None:
        self._epoch = epoch
        self._policy, self._long_life = policy, long_life
        self._owned: dict[int, _Owned] = {}

    def __contains__(self, part: int) -> bool:
        return part in self._owned

    def __len__(self) -> int:
        return len(self._owned)

    def numbers(self) -> list[int]:
        return sorted(self._owned)

    def taken(self, part: int) -> tuple[Released, Instant]:
        """How its last owner left a partition, and when this worker took it over: the arguments of
        `handover.first_contact`."""
        owned = self._owned[part]
        return owned.released, owned.taken

    def take(self, session: Session, count: int) -> list[Taken]:
        """Take free partitions, `count` at most."""
        return [Taken(part, Released(how)) for part, how in session.fetch_all("take_partitions", self._epoch, count)]

    def on_taken(self, taken: Iterable[Taken], now: Instant) -> None:
        """`now` is later than the commit."""
        for part, released in taken:
            self._owned[part] = _Owned(released, now, rested=released in (Released.NEW, Released.GIVEN))

    def give(self, session: Session, parts: Iterable[int], cut_off: Container[int] = ()) -> None:
        """Give partitions up, about which everything is committed with this transaction at the latest. Those that are
        `cut_off`, where contacts are on no record, rest as after a death."""
        given = list(parts)
        states = [self._left(self._owned[part], part in cut_off) for part in given]
        changed = session.execute("give_partitions", self._epoch, given, [how.value for how in states])
        assert changed == len(given), f"gave up {given}, of which this worker owns {changed}"

    def _left(self, owned: _Owned, cut_off: bool) -> Released:
        if not owned.rested:
            return owned.released
        return Released.DEAD if cut_off else Released.GIVEN

    def on_given(self, parts: Iterable[int]) -> None:
        for part in parts:
            del self._owned[part]

    def rested(self, now: Instant) -> list[int]:
        """Partitions of dead workers whose rest is over: the next process in this directory need not rest again."""
        none = Seconds(0.0)
        return [
            part
            for part, owned in self._owned.items()
            if not owned.rested and now >= owned.taken + self._policy.rest(owned.released, none)
        ]

    def long_lived(self, now: Instant) -> list[int]:
        """Partitions whose deaths can be forgotten."""
        return [
            part for part, owned in self._owned.items() if not owned.outlived and now >= owned.taken + self._long_life
        ]

    def mark(self, session: Session, *, rested: list[int], outlived: list[int]) -> None:
        if rested:
            session.execute("partitions_have_rested", self._epoch, rested)
        if outlived:
            session.execute("forget_deaths", self._epoch, outlived)

    def on_marked(self, *, rested: list[int], outlived: list[int]) -> None:
        """Those that were given up meanwhile are ignored."""
        for part in rested:
            if part in self._owned:
                self._owned[part].rested = True
        for part in outlived:
            if part in self._owned:
                self._owned[part].outlived = True
