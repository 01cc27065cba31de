"""Contacting a host of another worker once: its owner holds the host, that is, leaves it alone meanwhile.

Needed when a robots.txt redirects to a host in a partition of another worker. The asker sends a message to the inbox of
that partition. When the host is idle and has rested, its owner deletes the message and moves the host's next contact
ahead, in one transaction; only the owner ever writes the row of a host. The asker sees both, and has a short time for
its request.
"""

from gossamer.cluster import inbox
from gossamer.cluster.inbox import Kind, Message
from gossamer.cluster.ports import Session
from gossamer.model.units import HostId, Instant, Seconds

HELD_FOR = Seconds(120.0)
"""The owner does not contact the host for this long."""
START_WITHIN = Seconds(30.0)
"""The request starts at most this long after the message was last seen, so not longer after the hold began."""
LONGEST_REQUEST = Seconds(60.0)
"""Then it is cut off. What remains of the hold is the longest gap that a contact may require."""


def ask(session: Session, part: int, host: HostId) -> int:
    """In a transaction behind the fence: ask the owner of a partition to hold a host. Returns the id of the message."""
    number: int = session.fetch_value("ask_for_hold", part, host.to_bytes(8, "big"))
    return number


def host_of(message: Message) -> HostId:
    """Which host a message asks for."""
    assert message.kind is Kind.HOLD
    return HostId(int.from_bytes(message.body, "big"))


def grant(session: Session, message: Message, now: Instant) -> None:
    """In a transaction behind the fence, by the owner of the host, which is idle and has rested."""
    inbox.delete(session, [message])
    session.execute("hold_host", host_of(message), now + HELD_FOR)


class HostHold:
    """The asker's side. Its clock is that of leases, and is compared with no other."""

    def __init__(self, part: int, host: HostId, message: int) -> None:
        self._part, self._host, self._message = part, host, message
        self._seen: tuple[float, float | None] | None = None  # when the message was, and with which date of the host
        self._granted = False
        self.refused = False
        """It will not be granted any more: ask again."""

    def look(self, session: Session, now: float) -> None:
        """Look whether the owner has answered. `now` was read before. Raises StoreFailed."""
        row = session.fetch_one("hold_state", self._part, self._message, self._host)
        assert row is not None, "the statement returns one row"
        self._observe(row[0], row[1], now)

    def _observe(self, waiting: bool, next_contact: float | None, now: float) -> None:
        if waiting:
            self._seen = (now, next_contact)
        elif not self._granted:
            # A message that is gone although the host's date has not moved was not answered with a hold.
            before = None if self._seen is None else self._seen[1]
            moved = next_contact is not None and (before is None or next_contact > before)
            self._granted = self._seen is not None and moved
            self.refused = not self._granted

    def may_start(self, now: float) -> bool:
        """Whether the request may start now."""
        return self._granted and self._seen is not None and now <= self._seen[0] + START_WITHIN

    def is_over(self, now: float) -> bool:
        """Whether it was refused, or granted and not used in time."""
        return self.refused or (self._granted and not self.may_start(now))
