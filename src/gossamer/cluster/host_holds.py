"""A worker that has to contact a host of another worker asks its owner to hold the host, that is, to leave it alone
meanwhile.

Needed when a robots.txt redirects to a host in a partition of another worker. The asker sends a message to the inbox of
that partition. When the host is idle and has rested, its owner deletes the message and moves the host's next contact
ahead, in one transaction; only the owner ever writes the row of a host. The asker sees both, and has a short time for
its request. Afterwards it returns the host, with the rest that the contact requires. The owner creates the row of a
host that has none, so that its hold lasts when the partition changes hands.
"""

import json
from typing import NamedTuple

from gossamer.cluster import inbox
from gossamer.cluster.inbox import Kind, Message
from gossamer.cluster.ports import Session
from gossamer.model.units import HostKey, Instant, Seconds

HELD_FOR = Seconds(120.0)
"""The owner does not contact the host for this long."""
START_WITHIN = Seconds(30.0)
"""The request starts at most this long after the message was last seen, so not longer after the hold began."""
LONGEST_REQUEST = Seconds(60.0)
"""A request for robots.txt ends sooner. What remains of the hold is the longest gap that a contact may require."""


def ask(session: Session, part: int, host: HostKey, now: float) -> "HostHold":
    """In a transaction behind the fence: ask the owner of a partition to hold a host. `now` was read before."""
    row = session.fetch_one("ask_for_hold", part, host.encode())
    assert row is not None, "the statement returns one row"
    message, next_contact = row
    return HostHold(part, host, message, (now, next_contact))


def host_of(message: Message) -> HostKey:
    """Which host a message asks for."""
    assert message.kind is Kind.HOLD
    return HostKey(message.body.decode())


def grant(session: Session, message: Message, now: Instant) -> None:
    """In a transaction behind the fence, by the owner of the host, which has a row, is idle and has rested."""
    inbox.delete(session, [message])
    session.execute("hold_host", host_of(message), now + HELD_FOR)


class Returned(NamedTuple):
    """A host that was contacted, and may be contacted again after a rest."""

    host: HostKey
    held_until: Instant
    rest: Seconds


def give_back(session: Session, part: int, returned: Returned) -> None:
    """In a transaction behind the fence, by the asker: the contact has ended."""
    inbox.send(session, [(part, Kind.RETURN, json.dumps(returned).encode())])


def returned_in(message: Message) -> Returned:
    """What a message returns."""
    assert message.kind is Kind.RETURN
    return Returned(*json.loads(message.body))


def take_back(session: Session, message: Message, returned: Returned, until: Instant) -> None:
    """In a transaction behind the fence, by the owner of the host: it rests `until` then."""
    inbox.delete(session, [message])
    session.execute("end_hold", returned.host, returned.held_until, until)


class HostHold:
    """The asker's side. Its clock is that of leases, and is compared with no other."""

    def __init__(self, part: int, host: HostKey, message: int, seen: tuple[float, float | None]) -> None:
        """`seen`: when the message was last seen in the inbox, and the date of the host at that time."""
        self.part = part
        self._host, self._message = host, message
        self._seen = seen
        self._granted = False
        self.held_until: Instant | None = None
        """The host's date, if it is held and has a row."""
        self.refused = False
        """It will not be granted any more: ask again."""

    def look(self, session: Session, now: float) -> None:
        """Look whether the owner has answered. `now` was read before. Raises StoreFailed."""
        row = session.fetch_one("hold_state", self.part, self._message, self._host)
        assert row is not None, "the statement returns one row"
        self._observe(row[0], row[1], now)

    def _observe(self, waiting: bool, next_contact: float | None, now: float) -> None:
        if waiting:
            self._seen = (now, next_contact)
        elif not self._granted:
            # A message that is gone although the host's date has not moved was not answered with a hold.
            before = self._seen[1]
            self._granted = next_contact is None or before is None or next_contact > before
            self.refused = not self._granted
            if self._granted and next_contact is not None:
                self.held_until = Instant(next_contact)

    @property
    def is_answered(self) -> bool:
        return self._granted or self.refused

    def may_start(self, now: float) -> bool:
        """Whether the request may start now."""
        return self._granted and now <= self._seen[0] + START_WITHIN

    def is_over(self, now: float) -> bool:
        """Whether it was refused, or granted and not used in time."""
        return self.refused or (self._granted and not self.may_start(now))
