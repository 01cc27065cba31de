"""How many examples Hypothesis tries: a few, always the same, in `make test`; many, and others, in `make soak`."""

import os

from hypothesis import settings

_TIMES = int(os.environ.get("GOSSAMER_EXAMPLES") or 1)


def examples(number: int) -> settings:
    return settings(max_examples=number * _TIMES)
