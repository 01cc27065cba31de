"""Deadlines of exchanges: one decision for all phases, taken a few times a second from outside.

libcurl has timers for some of the phases only, and each request pays for them. A sweep over the open exchanges costs
less than a microsecond for each and distinguishes all phases; the price is that a missed deadline is noticed up to one
sweep late.
"""

from dataclasses import dataclass

from gossamer.fetch.ports import FetchLimits
from gossamer.model.outcome import Failure
from gossamer.model.units import Seconds

_SWEEPS_PER_DEADLINE = 8
_SLOWEST_SWEEP = 1.0
_FASTEST_SWEEP = 0.01


@dataclass(slots=True)
class SweepState:
    """What the sweep remembers of one exchange. Times are monotonic.

    Invariant: once set, `connected_at` stays; `grew_at` and `window_at` only move forward.
    """

    started: float
    connected_at: float = 0.0  # 0 until TCP is connected
    seen_bytes: int = 0
    grew_at: float = 0.0  # 0 until the head is complete
    window_bytes: int = 0
    window_at: float = 0.0
    checked_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an exchange has progressed."""

    secure: bool
    connected: bool  # TCP; libcurl reports no time for it during the TLS handshake
    sent_after: Seconds | None  # since the start: connection and TLS are ready, the request is sent
    head_complete: bool
    body_bytes: int


def sweep_interval(limits: FetchLimits) -> Seconds:
    """The interval between sweeps, such that no deadline is missed by more than an eighth of the shortest."""
    shortest = min(limits.connect, limits.tls, limits.head, limits.idle, limits.rate_window, limits.total)
    return Seconds(min(_SLOWEST_SWEEP, max(_FASTEST_SWEEP, shortest / _SWEEPS_PER_DEADLINE)))


def overdue(limits: FetchLimits, pace: SweepState, progress: Progress, now: float) -> Failure | None:
    """The deadline that has passed, or None. Updates `pace` with what was seen."""
    age = now - pace.started
    pace.checked_at = now
    if age > limits.total:
        return Failure.TOTAL_TIMEOUT
    if progress.head_complete:
        return _late_body(limits, pace, progress.body_bytes, now)
    if progress.sent_after is not None:
        return Failure.READ_TIMEOUT if age - progress.sent_after > limits.head else None
    if not progress.connected:
        return Failure.CONNECT_TIMEOUT if age > limits.connect else None
    if pace.connected_at == 0.0:
        pace.connected_at = now
    if progress.secure and now - pace.connected_at > limits.tls:
        return Failure.TLS_HANDSHAKE_TIMEOUT
    return None


def exclude_pause(pace: SweepState, body_bytes: int, now: float) -> None:
    """We did not read since the last sweep (the body was paused): exclude that time from all deadlines."""
    pace.started += now - max(pace.checked_at, pace.started)
    pace.checked_at = pace.grew_at = pace.window_at = now
    pace.seen_bytes = pace.window_bytes = body_bytes


def _late_body(limits: FetchLimits, pace: SweepState, body_bytes: int, now: float) -> Failure | None:
    if pace.grew_at == 0.0:
        pace.grew_at = pace.window_at = now
    if body_bytes > pace.seen_bytes:
        pace.seen_bytes, pace.grew_at = body_bytes, now
    elif now - pace.grew_at > limits.idle:
        return Failure.READ_TIMEOUT
    if now - pace.window_at > limits.rate_window:
        arrived = body_bytes - pace.window_bytes
        if arrived < limits.min_bytes_per_second * (now - pace.window_at):
            return Failure.TOO_SLOW
        pace.window_bytes, pace.window_at = body_bytes, now
    return None
