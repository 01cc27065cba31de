"""What users add to Gossamer from their own packages, found by entry points (docs/EXTENDING.md)."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points

from gossamer.errors import UsageError
from gossamer.frontier.orderings import ORDERINGS, Ordering

ORDERINGS_GROUP = "gossamer.orderings"
"""The group of entry points whose names are orderings and whose values are classes of them."""


def orderings() -> Mapping[str, Callable[[], Ordering]]:
    """How to make each ordering that is installed, ours and the users', by name. Our own names cannot be taken.

    A package of a user is imported when its ordering is made, so one that is broken is in nobody else's way: making it
    raises UsageError, which names it.
    """
    found = {entry.name: partial(_made, entry) for entry in entry_points(group=ORDERINGS_GROUP)}
    return {**found, **ORDERINGS}


def _made(entry: EntryPoint) -> Ordering:
    by = f" of {entry.dist.name}" if entry.dist is not None else ""
    where = f"the ordering {entry.name!r} ({entry.value}{by})"
    # Anything may go wrong in code that is not ours, and all of it means the same: this plugin cannot be used.
    try:
        maker = entry.load()
    except Exception as error:
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(maker, type) and issubclass(maker, Ordering)):
        raise UsageError(f"{where} is no subclass of gossamer.frontier.orderings.Ordering")
    try:
        ordering = maker()
    except Exception as error:
        raise UsageError(f"{where} cannot be made: {type(error).__name__}: {error}") from error
    if ordering.name != entry.name:
        raise UsageError(f"{where} calls itself {ordering.name!r}")
    return ordering
