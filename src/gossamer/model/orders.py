"""What an operator ordered for a host through the service, for whoever tells of the host."""

from dataclasses import dataclass

from gossamer.model.units import Seconds


@dataclass(frozen=True, slots=True)
class HostOrder:
    """`paused`: not contacted until it is resumed. `dropped`: its URLs are excluded when their turn comes. `delay`: it
    is left alone for at least so long after each answer; None if nobody asked for that."""

    paused: bool = False
    dropped: bool = False
    delay: Seconds | None = None

    def __bool__(self) -> bool:
        """Whether anything was ordered."""
        return self.paused or self.dropped or self.delay is not None
