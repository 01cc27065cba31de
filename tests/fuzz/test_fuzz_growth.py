"""Work grows with the size of an input, not with its square (HOSTILE_WEB, G12): CPU time of both in the same run."""

import gc
import os
import time

import pytest
from fuzz_targets import TARGETS, Target

_SMALL, _FACTOR = 5_000, 8
_SLACK = 3.0  # linear work may be this much slower than linear: caches, allocation
_NOISE = 0.004  # CPU seconds below which nothing is measured well
_ROUNDS = 3
_TRIES = 3
_LONG = bool(os.environ.get("GOSSAMER_FUZZ"))

_REPEATED = (
    *(b"a", b" ", b"\n", b"\r\n", b"\0", b"\xff", b"<", b"<a ", b"<!--", b"<p><", b"&", b"%", b"%2e", b"/", b"../"),
    *(
        b'"',
        b'\\"',
        b'a="',
        b"a=b;",
        b";",
        b", ",
        b"a/b,",
        b":",
        b"a:b\n",
        b"1\n",
        b"0\r\n",
        b"1\r\na\r\n",
        b"*a",
        b"a*$",
    ),
    *(
        b"User-agent: *\n",
        b"Disallow: /*a*b\n",
        b"220-\n",
        b"-rw 1 a\n",
        b"- ",
        b"a=b; \n",
        b"<meta charset=",
        b"<?",
        b"<![",
    ),
)


def cpu_seconds(target: Target, data: bytes, rounds: int) -> float:
    """The quickest of a few."""
    found = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        target.check(data)
        found = min(found, time.process_time() - began)
    return found


def inputs_of(target: Target) -> list[tuple[bytes, bytes]]:
    """What each input begins with, and what is repeated after it."""
    starts = (b"", *(data[:60] for data in target.corpus[:2])) if _LONG else (b"",)
    units = (*_REPEATED, *target.tokens, *(data for data in target.corpus if 0 < len(data) < 500))
    return [(start, unit) for start in starts for unit in units]


def grows_too_fast(target: Target, start: bytes, unit: bytes, rounds: int = 1) -> bool:
    small, large = (start + unit * (size // len(unit)) for size in (_SMALL, _SMALL * _FACTOR))
    took = cpu_seconds(target, large, rounds)
    return took > _NOISE and took > _FACTOR * _SLACK * max(cpu_seconds(target, small, rounds), _NOISE / _FACTOR)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_work_is_linear_in_the_size_of_the_input(target: Target) -> None:
    gc.collect()

    too_fast = [pair for pair in inputs_of(target) if grows_too_fast(target, *pair)]
    for _ in range(_TRIES):  # another process may have been in the way
        too_fast = [pair for pair in too_fast if grows_too_fast(target, *pair, rounds=_ROUNDS)]

    assert too_fast == []
