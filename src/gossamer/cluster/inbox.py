"""The inboxes of partitions: what other workers, and operators, have for their owners."""

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from gossamer.cluster.ports import Session

MOST = 1_000
"""Rows read at a time."""


class Kind(Enum):
    """What a message is about; the body is packed accordingly."""

    URLS = "urls"
    GAINS = "gains"
    HINTS = "hints"
    NAMES = "names"  # of sitemaps
    ORDER = "order"
    HOLD = "hold"  # a host, see `host_holds`
    RETURN = "return"


class Message(NamedTuple):
    """A row of an inbox."""

    part: int
    id: int
    kind: Kind
    body: bytes
    rules_version: int = 0  # when it was read: not older than the rules under which it was sent


def send(session: Session, messages: Sequence[tuple[int, Kind, bytes]]) -> None:
    """In the transaction of what is reported: partition, kind and body of each message."""
    if messages:
        parts, kinds, bodies = zip(*messages, strict=True)
        session.execute("send_to_inbox", list(parts), [kind.value for kind in kinds], list(bodies))


def read(session: Session, parts: Sequence[int], most: int = MOST) -> list[Message]:
    """The messages for some partitions, in no particular order between partitions."""
    found = session.fetch_all("read_inbox", list(parts), most) if parts else []
    return [Message(part, number, Kind(kind), bytes(body), rules) for part, number, kind, body, rules in found]


def delete(session: Session, messages: Sequence[Message]) -> None:
    """In the transaction that takes these messages in, by the owner of their partitions.

    Exactly the rows that were read, never `id <= n`: ids are drawn before the commit, so a row that appears later may
    have a smaller one.
    """
    if messages:
        changed = session.execute(
            "delete_from_inbox", [message.part for message in messages], [message.id for message in messages]
        )
        assert changed == len(messages), f"{len(messages)} messages were read, {changed} of them are still there"
