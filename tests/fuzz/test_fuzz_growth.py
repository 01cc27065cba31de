"""Work grows with the size of an input, not with its square (docs/HOSTILE.md, G12)."""

import gc
import os

import pytest

from tests.effort import Cost, cpu_seconds, lines_run
from tests.fuzz.fuzz_targets import TARGETS, Target

_FACTOR = 8
_SLACK = 3.0  # linear work may be this much slower than linear: caches, allocation
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


def inputs_of(target: Target) -> list[tuple[bytes, bytes]]:
    """What each input begins with, and what is repeated after it."""
    starts = (b"", *(data[:60] for data in target.corpus[:2])) if _LONG else (b"",)
    units = (*_REPEATED, *target.tokens, *(data for data in target.corpus if 0 < len(data) < 500))
    return [(start, unit) for start in starts for unit in units]


def grows_too_fast(target: Target, start: bytes, unit: bytes, size: int, cost: Cost, noise: float) -> bool:
    """Whether more than `noise` is spent on an input, and more than in proportion to a smaller one."""
    small, large = (start + unit * (each // len(unit)) for each in (size, size * _FACTOR))
    spent = cost(lambda: target.check(large))
    return spent > noise and spent > _FACTOR * _SLACK * max(cost(lambda: target.check(small)), noise / _FACTOR)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_work_is_linear_in_the_size_of_the_input(target: Target) -> None:
    assert [pair for pair in inputs_of(target) if grows_too_fast(target, *pair, 500, lines_run, 1000)] == []


@pytest.mark.timed
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_time_is_linear_in_the_size_of_the_input(target: Target) -> None:
    gc.collect()

    too_fast = inputs_of(target)
    for _ in range(_TRIES):  # another process may have been in the way
        too_fast = [pair for pair in too_fast if grows_too_fast(target, *pair, 5_000, cpu_seconds, 0.004)]

    assert too_fast == []
