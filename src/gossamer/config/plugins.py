"""What users add to Gossamer from their own packages, found by entry points (docs/EXTENDING.md)."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeVar

from gossamer.errors import UsageError
from gossamer.frontier.orderings import ORDERINGS, Ordering

if TYPE_CHECKING:
    from gossamer.recrawl.policies import RecrawlPolicy


ORDERINGS_GROUP = "gossamer.orderings"
"""The group of entry points whose names are orderings and whose values are classes of them."""


RECRAWL_GROUP = "gossamer.recrawl"
"""The group whose names are recrawl policies and whose values are classes of them."""

T = TypeVar("T")


def orderings() -> Mapping[str, Callable[[], Ordering]]:
    """How to make each ordering that is installed, ours and the users', by name. Our own names cannot be taken.

    A package of a user is imported when its ordering is made, so one that is broken is in nobody else's way: making it
    raises UsageError, which names it.
    """
    found = {entry.name: partial(_made, entry) for entry in entry_points(group=ORDERINGS_GROUP)}
    return {**found, **ORDERINGS}


def _made(entry: EntryPoint) -> Ordering:
    where = f"the ordering {entry_label(entry)}"
    ordering = load_plugin(entry, Ordering, where, "gossamer.frontier.orderings.Ordering")
    if ordering.name != entry.name:
        raise UsageError(f"{where} calls itself {ordering.name!r}")
    return ordering


def recrawl_policies() -> "Mapping[str, Callable[[], RecrawlPolicy]]":
    """How to make each recrawl policy that is installed, ours and the users', by name, as `orderings` does."""
    from gossamer.recrawl.policies import RECRAWL_POLICIES

    found = {entry.name: partial(_made_policy, entry) for entry in entry_points(group=RECRAWL_GROUP)}
    return {**found, **RECRAWL_POLICIES}


def _made_policy(entry: EntryPoint) -> "RecrawlPolicy":
    from gossamer.recrawl.policies import RecrawlPolicy

    where = f"the recrawl policy {entry_label(entry)}"
    policy = load_plugin(entry, RecrawlPolicy, where, "gossamer.recrawl.policies.RecrawlPolicy")
    if policy.name != entry.name:
        raise UsageError(f"{where} calls itself {policy.name!r}")
    return policy


def entry_label(entry: EntryPoint) -> str:
    by = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"{entry.name!r} ({entry.value}{by})"


def load_plugin(entry: EntryPoint, kind: type[T], where: str, kind_name: str) -> T:
    # Anything may go wrong in code that is not ours, and all of it means the same: this plugin cannot be used.
    try:
        maker = entry.load()
    except Exception as error:
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(maker, type) and issubclass(maker, kind)):
        raise UsageError(f"{where} is no subclass of {kind_name}")
    try:
        return maker()
    except Exception as error:
        raise UsageError(f"{where} cannot be made: {type(error).__name__}: {error}") from error
