"""The facts of a URL as its row has them."""

from collections.abc import Sequence
from typing import Any

from gossamer.model.facts import UrlFacts

FACTS = len(UrlFacts._fields)
"""So many columns: all but the last are the facts, in order; the last says when it was modified, or nothing."""


def facts_from(row: Sequence[Any], now: float) -> UrlFacts:
    """The facts in the first columns of a row, as of now."""
    modified = row[FACTS - 1]
    return UrlFacts._make((*row[: FACTS - 1], None if modified is None else max(0.0, now - modified)))
