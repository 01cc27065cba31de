"""What work costs, counted in lines of Python: the same on every machine and at every load.

What is done inside C is not counted. `by_cost` adds the same test in CPU seconds, which only `make soak` runs.
"""

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

Job = Callable[[], object]
Cost = Callable[[Job], float]


def lines_run(job: Job) -> float:
    """How many lines of Python are run. The first run is not counted: it fills caches."""
    job()
    count = 0

    def on_line(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return on_line

    before, collecting = sys.gettrace(), gc.isenabled()
    gc.disable()  # a collection may call Python
    sys.settrace(on_line)
    try:
        job()
    finally:
        sys.settrace(before)
        if collecting:
            gc.enable()
    return float(count)


def cpu_seconds(job: Job) -> float:
    """The least of three runs: what a collection or a neighbour adds is not its own."""
    found = []
    for _ in range(3):
        began = time.process_time()
        job()
        found.append(time.process_time() - began)
    return min(found)


by_cost = pytest.mark.parametrize(
    "cost", [pytest.param(lines_run, id="lines"), pytest.param(cpu_seconds, id="seconds", marks=pytest.mark.timed)]
)


def growth(cost: Cost, job: Callable[[int], object], size: int) -> float:
    """How many times as much eight times the size costs: 64 times, if it grew with the square."""
    return cost(lambda: job(8 * size)) / max(cost(lambda: job(size)), 1e-9)
