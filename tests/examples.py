"""How many examples Hypothesis and random tests try: few, always the same, in `make test`; many in `make soak`."""

import os

from hypothesis import settings

_TIMES = int(os.environ.get("GOSSAMER_EXAMPLES") or 1)


def examples(number: int) -> settings:
    return settings(max_examples=number * _TIMES)


def random_seeds(number: int) -> range:
    """Of random tests."""
    return range(number * _TIMES)
