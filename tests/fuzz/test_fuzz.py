"""Any bytes whatever: nothing raises, nothing hangs, and what comes out keeps its promises.

The short run is part of every test run. `GOSSAMER_FUZZ=N` makes it N inputs over all targets (`make soak`).
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator
from types import FrameType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.fuzz_targets import TARGETS, Target
from tests.fuzz.mutations import Mutator

_SHORT_RUN = 12_000
_ALL_INPUTS = int(os.environ.get("GOSSAMER_FUZZ") or _SHORT_RUN)
_LONG = _ALL_INPUTS > _SHORT_RUN
_SHARES = sum(target.share for target in TARGETS)
_STALL = 60.0  # CPU seconds after which one input counts as a hang
_HOLD = 0.25  # CPU seconds for which the event loop may be held (docs/HOSTILE.md, G2)


class Stalled(Exception):
    """One input took longer than anything may."""


@contextlib.contextmanager
def stall_watch() -> Iterator[None]:
    """Raise Stalled in whatever runs when the CPU time set by `setitimer` is used up."""

    def on_alarm(_signal: int, _frame: FrameType | None) -> None:
        raise Stalled

    before = signal.signal(signal.SIGPROF, on_alarm)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def complaint(target: Target, seed: int, number: int, data: bytes) -> str:
    return f"{target.name}, seed {seed}, input {number}: {data[:2000]!r}{' …' if len(data) > 2000 else ''}"


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_mutated_inputs_neither_break_nor_stall_anything(target: Target) -> None:
    # A short run is the same every time; a long one looks elsewhere every time, and says where.
    seed = random.SystemRandom().getrandbits(32) if _LONG else 1
    mutator = Mutator(target.corpus, target.tokens, random.Random(seed))
    inputs = max(1, _ALL_INPUTS * target.share // _SHARES)
    check = target.check
    with stall_watch():
        for number in range(inputs):
            data = mutator.next()
            signal.setitimer(signal.ITIMER_PROF, _STALL)
            try:
                check(data)
            except Exception as error:
                error.add_note(complaint(target, seed, number, data))
                raise
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.mark.timed
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_input_holds_the_event_loop(target: Target) -> None:
    mutator = Mutator(target.corpus, target.tokens, random.Random(1))
    for number in range(max(1, _SHORT_RUN * target.share // _SHARES)):
        data = mutator.next()
        began = time.process_time()
        target.check(data)
        if time.process_time() - began > _HOLD:  # once more, if only because the collector may have run in it
            began = time.process_time()
            target.check(data)
            assert time.process_time() - began <= _HOLD, complaint(target, 1, number, data)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_corpus_itself_is_handled(target: Target) -> None:
    for data in target.corpus:
        target.check(data)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_inputs_from_hypothesis_break_nothing(target: Target) -> None:
    parts = st.sampled_from([*target.corpus, *target.tokens, b"\n"]) | st.binary(max_size=20)

    @settings(
        max_examples=1000 if _LONG else 25,
        deadline=None,
        database=None,
        derandomize=not _LONG,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(parts, max_size=8).map(b"".join))
    def any_input(data: bytes) -> None:
        target.check(data)

    any_input()
