"""Hot: from the wire body to the document (benchmarks/bench_fetch.py measures the path around it).

Transfer coding off first, then content codings from the last applied to the first. Work is linear in the bytes
read and written, and both are capped, so a bomb costs no more than an honest page of the largest size. `payload` does
it in one go; bodies for which `decodes_slowly` is true go through `payload_in_slices`, which yields to the event loop.

`BodyMemory` bounds the memory of all bodies that are arriving at the same time.

A single body is bounded by `fetch.max_body_bytes`, but hundreds may be under way at the same time. So they share room.
When it is full, whoever has had its free share is held: its socket is not read, and the host waits like anybody whose
reader is slow. One body may always go on, so that the room empties: the first that found it full. Held time is not the
host's (`deadlines`).

What is in memory is at most the room, one body, and the free share of each exchange under way.
"""

import asyncio
from collections.abc import Generator
from typing import Final, NamedTuple, Protocol

from gossamer.clock import Clock
from gossamer.fetch.http.codings import DECODERS, Ending, dechunk
from gossamer.model.outcome import Response, Truncation
from gossamer.model.queue_depth import QueueDepth
from gossamer.model.units import Seconds

MAX_DECODED_BYTES = 10 * 1024 * 1024
MAX_CODINGS = 3
LONG_WIRE_BODY = 256 * 1024
"""Packed bytes that can be decoded at one go: their worst case is some tens of milliseconds."""

_TURN = Seconds(0.02)  # how long the event loop is held at a time
_LONGEST = Seconds(2.0)  # of work on one body, pauses not counted


class Payload(NamedTuple):
    """A body without its codings.

    `body` is the document; `entity` has only the transfer coding removed, as payload digests want it. Without
    codings both are the very bytes received. With `bad_encoding` the content coding was unknown, stacked too deep or
    not what the header said, and `body` equals `entity`; `unknown_coding` tells that we have no decoder for it, so
    that nothing is to be read in it. `truncated` tells that `body` is a beginning only.
    """

    body: bytes
    entity: bytes
    truncated: Truncation | None = None
    bad_encoding: bool = False
    unknown_coding: bool = False


def decodes_slowly(response: Response) -> bool:
    """Whether opening this response may hold the event loop for long."""
    return len(response.wire_body) > LONG_WIRE_BODY and "content-encoding" in response.headers


def payload(response: Response, max_bytes: int = MAX_DECODED_BYTES) -> Payload:
    """The document in a response. Never raises on what the server sent.

    A stream that breaks off or breaks gives the part decoded before the fault, as truncated; one that gives
    nothing at all is a bad encoding.
    """
    headers = response.headers
    if "content-encoding" not in headers and "transfer-encoding" not in headers:
        return Payload(response.wire_body, response.wire_body, response.truncated)
    opening = _opened(response, max_bytes)
    try:
        while True:
            next(opening)
    except StopIteration as end:
        opened: Payload = end.value
        return opened


async def payload_in_slices(response: Response, clock: Clock, max_bytes: int = MAX_DECODED_BYTES) -> Payload:
    """The same without holding the event loop for more than some 20 ms at a time, nor working for more than 2 s.

    What is decoded by then is the document, truncated by `time`.
    """
    opening = _opened(response, max_bytes)
    worked = 0.0
    while True:
        began = clock.monotonic()
        turn = 0.0
        try:
            while turn < _TURN:
                opening.send(True if worked + turn > _LONGEST else None)  # what is sent first must be None
                turn = clock.monotonic() - began
        except StopIteration as end:
            opened: Payload = end.value
            return opened
        worked += turn
        await asyncio.sleep(0)


def _opened(response: Response, max_bytes: int) -> Generator[None, bool | None, Payload]:
    """Pauses after every piece of work. Sent True, it makes do with what there is."""
    entity, truncated = response.wire_body, response.truncated
    headers = response.headers
    if "transfer-encoding" in headers and is_chunked(headers["transfer-encoding"]):
        taken = dechunk(entity)
        entity = taken.data
        if not taken.complete and truncated is None:
            truncated = Truncation.LENGTH if taken.cut else Truncation.DISCONNECT
    codings = _codings_of(headers.get("content-encoding", ""))
    if not codings or not entity:
        return Payload(entity, entity, truncated)
    if len(codings) > MAX_CODINGS:
        return Payload(entity, entity, truncated, bad_encoding=True)
    if any(name not in DECODERS for name in codings):
        return Payload(entity, entity, truncated, bad_encoding=True, unknown_coding=True)
    body = entity
    for name in reversed(codings):
        decoded, fault = yield from _without(name, body, max_bytes)
        if decoded is None:
            return Payload(entity, entity, truncated, bad_encoding=True)
        body = decoded
        if fault is not None and (truncated is None or fault is not Truncation.DISCONNECT):
            truncated = fault
    return Payload(body, entity, truncated)


def _codings_of(content_encoding: str) -> list[str]:
    names = (part.strip() for part in content_encoding.lower().split(","))
    return [name for name in names if name and name != "identity"]


def _without(
    coding: str, data: bytes, max_bytes: int
) -> Generator[None, bool | None, tuple[bytes | None, Truncation | None]]:
    """At most `max_bytes` of what the coding holds, and why it is not all. None if the coding does not fit."""
    pieces: list[bytes] = []
    room = max_bytes
    decoder = DECODERS[coding](data)
    try:
        while True:
            piece = next(decoder)
            if len(piece) > room:
                pieces.append(piece[:room])
                return b"".join(pieces), Truncation.LENGTH
            room -= len(piece)
            pieces.append(piece)
            if (yield):
                return b"".join(pieces), Truncation.TIME
    except StopIteration as end:
        ending: Ending = end.value
    finally:
        decoder.close()
    if ending is Ending.WRONG:
        return None, None
    body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return body, Truncation.DISCONNECT if ending is Ending.CUT else None


def is_chunked(transfer_encoding: str) -> bool:
    """Whether chunked is the last transfer coding, which is the only place where it frames the message."""
    return transfer_encoding.rpartition(",")[2].strip().lower() == "chunked"


BODY_MEMORY_BYTES: Final = 64 * 1024 * 1024
FREE_BYTES: Final = 128 * 1024
"""What every body may have, however full it is: most are smaller, and never held."""
_RELIEF: Final = 0.75
"""When no more than this share is taken, all that are held go on."""


class PausableBody(Protocol):
    """A body that can be held."""

    def go_on(self) -> None:
        """It is not held any more. Called from the event loop, never from within `must_wait`."""
        ...


class BodyMemory:
    """Counts the bytes of bodies under way, and says who must wait. Belongs to one event loop.

    Invariants: `taken` is the bytes of all bodies under way; whoever is in `_held` is told to go on, or leaves.
    """

    __slots__ = ("_first", "_held", "_waking", "free", "limit", "used")

    def __init__(self, most: int = BODY_MEMORY_BYTES, free: int = FREE_BYTES) -> None:
        self.limit = most
        self.free = free
        self.used = 0
        self._first: PausableBody | None = None  # may go on although the room is full
        self._held: dict[PausableBody, None] = {}  # in the order in which they came
        self._waking = False

    @property
    def saturation(self) -> float:
        return self.used / self.limit

    @property
    def paused(self) -> int:
        """Bodies that wait."""
        return len(self._held)

    def depth(self, under_way: int) -> QueueDepth:
        return QueueDepth(under_way, 0, self.used, self.limit)

    def must_wait(self, body: PausableBody, so_far: int) -> bool:
        """Whether a body that has come so far has to stop here until `go_on`. Ask when `taken` exceeds `most`."""
        if so_far <= self.free or self.used <= self.limit:
            return False
        if self._first is None:
            self._first = body
        if self._first is body:
            return False
        self._held[body] = None
        return True

    def release(self, body: PausableBody, size: int) -> None:
        """The body has arrived, or nobody wants it any more."""
        self.used -= size
        if self._held or self._first is not None:
            self._held.pop(body, None)
            if self._first is body:
                self._first = None
            if self._held and not self._waking:
                self._waking = True
                asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        """Not from within `leave`: whoever goes on may be handed bytes at once, and those who leave are in the middle
        of something."""
        self._waking = False
        if self.used <= _RELIEF * self.limit:
            going, self._held = list(self._held), {}
        elif self._first is None and self._held:
            going = [next(iter(self._held))]
            del self._held[going[0]]
        else:
            return
        for body in going:
            body.go_on()
