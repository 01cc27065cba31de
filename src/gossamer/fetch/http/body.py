"""Decodes a received body into the document, and bounds the memory of bodies. Hot: benchmarks/bench_fetch.py.

The transfer coding is removed first, then content codings from the last applied to the first. Work is linear in the
bytes read and written, and both are capped, so a decompression bomb costs no more than an ordinary page of the largest
size. `payload` decodes in one go; bodies for which `decodes_slowly` is true go through `payload_in_slices`, which
yields to the event loop.

A single body is bounded by `fetch.max_body_bytes`, but hundreds may be arriving at the same time, so `BodyMemory`
bounds all of them together. When it is full, every body that has used its free share is paused: its socket is not read,
and TCP makes the host wait. One body may always continue, the first that found the memory full, so that memory is freed
again. Time spent paused is not counted against the host (`failures`).

Memory in use is at most the limit, one body, and the free share of each exchange in flight.
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
"""Encoded bytes that can be decoded in one go: the worst case takes some tens of milliseconds."""

_TURN = Seconds(0.02)  # how long the event loop is blocked at a time
_LONGEST = Seconds(2.0)  # of decoding one body, pauses not counted


class Payload(NamedTuple):
    """A body without its codings.

    `body` is the document; `entity` has only the transfer coding removed, as payload digests require. Without codings
    both are the bytes received. With `bad_encoding` the content coding was unknown, nested too deeply or not what the
    header said, and `body` equals `entity`; `unknown_coding` means that there is no decoder for it, so that the body
    cannot be interpreted. `truncated` means that `body` is only the beginning.
    """

    body: bytes
    entity: bytes
    truncated: Truncation | None = None
    bad_encoding: bool = False
    unknown_coding: bool = False


def decodes_slowly(response: Response) -> bool:
    """Whether decoding this response may block the event loop for long."""
    return len(response.wire_body) > LONG_WIRE_BODY and "content-encoding" in response.headers


def payload(response: Response, max_bytes: int = MAX_DECODED_BYTES) -> Payload:
    """The document in a response. Never raises for what the server sent.

    A stream that ends early or is corrupt gives the part decoded before the fault, as truncated; one that gives nothing
    at all is a bad encoding.
    """
    headers = response.headers
    if "content-encoding" not in headers and "transfer-encoding" not in headers:
        return Payload(response.wire_body, response.wire_body, response.truncated)
    opening = _decode(response, max_bytes)
    try:
        while True:
            next(opening)
    except StopIteration as end:
        opened: Payload = end.value
        return opened


async def payload_in_slices(response: Response, clock: Clock, max_bytes: int = MAX_DECODED_BYTES) -> Payload:
    """As `payload`, without blocking the event loop for more than about 20 ms at a time, nor working for more than 2 s.

    What is decoded by then is the document, truncated by `time`.
    """
    opening = _decode(response, max_bytes)
    worked = 0.0
    while True:
        began = clock.monotonic()
        turn = 0.0
        try:
            while turn < _TURN:
                opening.send(True if worked + turn > _LONGEST else None)  # the first value sent must be None
                turn = clock.monotonic() - began
        except StopIteration as end:
            opened: Payload = end.value
            return opened
        worked += turn
        await asyncio.sleep(0)


def _decode(response: Response, max_bytes: int) -> Generator[None, bool | None, Payload]:
    """Yields after every piece of work. If True is sent, it stops with what is decoded so far."""
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
        decoded, fault = yield from _remove_coding(name, body, max_bytes)
        if decoded is None:
            return Payload(entity, entity, truncated, bad_encoding=True)
        body = decoded
        if fault is not None and (truncated is None or fault is not Truncation.DISCONNECT):
            truncated = fault
    return Payload(body, entity, truncated)


def _codings_of(content_encoding: str) -> list[str]:
    names = (part.strip() for part in content_encoding.lower().split(","))
    return [name for name in names if name and name != "identity"]


def _remove_coding(
    coding: str, data: bytes, max_bytes: int
) -> Generator[None, bool | None, tuple[bytes | None, Truncation | None]]:
    """At most `max_bytes` of the decoded data, and why it is not all. None if the data is not in this coding."""
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
    """Whether chunked is the last transfer coding; only there does it frame the message."""
    return transfer_encoding.rpartition(",")[2].strip().lower() == "chunked"


BODY_MEMORY_BYTES: Final = 64 * 1024 * 1024
FREE_BYTES: Final = 128 * 1024
"""What every body may use however full the memory is. Most bodies are smaller and never paused."""
_RELIEF: Final = 0.75
"""When usage falls to this share, all paused bodies continue."""


class PausableBody(Protocol):
    """A body that can be paused."""

    def resume_reading(self) -> None:
        """Continue reading. Called from the event loop, never from within `must_wait`."""
        ...


class BodyMemory:
    """Counts the bytes of bodies in flight and decides which must pause. Belongs to one event loop.

    Invariants: `used` is the bytes of all bodies in flight; every body in `_held` is eventually continued or released.
    """

    __slots__ = ("_first", "_held", "_waking", "free", "limit", "used")

    def __init__(self, most: int = BODY_MEMORY_BYTES, free: int = FREE_BYTES) -> None:
        self.limit = most
        self.free = free
        self.used = 0
        self._first: PausableBody | None = None  # may continue although the memory is full
        self._held: dict[PausableBody, None] = {}  # in order of arrival
        self._waking = False

    @property
    def saturation(self) -> float:
        return self.used / self.limit

    @property
    def paused(self) -> int:
        """Number of paused bodies."""
        return len(self._held)

    def depth(self, under_way: int) -> QueueDepth:
        return QueueDepth(under_way, 0, self.used, self.limit)

    def must_wait(self, body: PausableBody, so_far: int) -> bool:
        """Whether a body with `so_far` bytes must pause until `resume_reading`. Call it when `used` exceeds `limit`."""
        if so_far <= self.free or self.used <= self.limit:
            return False
        if self._first is None:
            self._first = body
        if self._first is body:
            return False
        self._held[body] = None
        return True

    def release(self, body: PausableBody, size: int) -> None:
        """The body is complete, or no longer wanted."""
        self.used -= size
        if self._held or self._first is not None:
            self._held.pop(body, None)
            if self._first is body:
                self._first = None
            if self._held and not self._waking:
                self._waking = True
                asyncio.get_running_loop().call_soon(self._wake)

    def _wake(self) -> None:
        """Not from within `release`: a body that continues may receive bytes at once, while the caller of `release` is
        still in the middle of an operation."""
        self._waking = False
        if self.used <= _RELIEF * self.limit:
            going, self._held = list(self._held), {}
        elif self._first is None and self._held:
            going = [next(iter(self._held))]
            del self._held[going[0]]
        else:
            return
        for body in going:
            body.resume_reading()
