"""The watch over the other workers: which of them have fallen silent."""

from collections.abc import Mapping
from typing import NamedTuple

from gossamer.cluster.lease import LeaseTerms
from gossamer.model.units import Epoch


class Silent(NamedTuple):
    """A worker to be declared dead if its counter still has this value."""

    epoch: Epoch
    beat: int


class Watch:
    """Counters of heartbeats as one worker reads them, by its own clock only.

    A worker is silent when the same value was read for `LeaseTerms.silence`, in readings at most `LeaseTerms.reading`
    apart. After a longer break, in which the watcher itself may have been the one that was cut off, the watch begins
    again for all of them, so that all can renew first.
    """

    def __init__(self, terms: LeaseTerms) -> None:
        self._terms = terms
        self._read: float | None = None
        self._since: dict[Epoch, tuple[int, float]] = {}

    def restart(self) -> None:
        """Forget everything: there was an outage, or the server is another one."""
        self._read = None
        self._since.clear()

    def observe(self, beats: Mapping[Epoch, int], now: float) -> list[Silent]:
        """The counters of all other living workers have just been read. Returns those that are silent."""
        if self._read is not None and not 0 <= now - self._read <= self._terms.reading:
            self.restart()
        self._read = now
        since = self._since
        self._since = {
            epoch: since[epoch] if epoch in since and since[epoch][0] == beat else (beat, now)
            for epoch, beat in beats.items()
        }
        return [
            Silent(epoch, beat) for epoch, (beat, first) in self._since.items() if now - first >= self._terms.silence
        ]
