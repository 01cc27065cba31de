"""Orderings and recrawl policies of installed packages, found by their entry points (docs/EXTENDING.md)."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, TypeVar

from gossamer.errors import UsageError
from gossamer.frontier.orderings import ORDERINGS, Ordering

if TYPE_CHECKING:
    from gossamer.recrawl.policies import RecrawlPolicy


ORDERINGS_GROUP = "gossamer.orderings"
"""Entry point group: names of orderings, with their classes as values."""


RECRAWL_GROUP = "gossamer.recrawl"
"""Entry point group: names of recrawl policies, with their classes as values."""

T = TypeVar("T")


def orderings() -> Mapping[str, Callable[[], Ordering]]:
    """A factory for each ordering by name: the built-in ones and those of plugins, which cannot replace a built-in one.

    A plugin is imported when its factory is called, so a broken plugin does not affect the others. The factory then
    raises UsageError with the plugin's name.
    """
    found = {entry.name: partial(_make_ordering, entry) for entry in entry_points(group=ORDERINGS_GROUP)}
    return {**found, **ORDERINGS}


def _make_ordering(entry: EntryPoint) -> Ordering:
    where = f"the ordering {entry_label(entry)}"
    ordering = load_plugin(entry, Ordering, where, "gossamer.frontier.orderings.Ordering")
    if ordering.name != entry.name:
        raise UsageError(f"{where} has another name, {ordering.name!r}")
    return ordering


def recrawl_policies() -> "Mapping[str, Callable[[], RecrawlPolicy]]":
    """A factory for each recrawl policy by name; see `orderings`."""
    from gossamer.recrawl.policies import RECRAWL_POLICIES

    found = {entry.name: partial(_make_policy, entry) for entry in entry_points(group=RECRAWL_GROUP)}
    return {**found, **RECRAWL_POLICIES}


def _make_policy(entry: EntryPoint) -> "RecrawlPolicy":
    from gossamer.recrawl.policies import RecrawlPolicy

    where = f"the recrawl policy {entry_label(entry)}"
    policy = load_plugin(entry, RecrawlPolicy, where, "gossamer.recrawl.policies.RecrawlPolicy")
    if policy.name != entry.name:
        raise UsageError(f"{where} has another name, {policy.name!r}")
    return policy


def entry_label(entry: EntryPoint) -> str:
    by = f" of {entry.dist.name}" if entry.dist is not None else ""
    return f"{entry.name!r} ({entry.value}{by})"


def load_plugin(entry: EntryPoint, kind: type[T], where: str, kind_name: str, *arguments: object) -> T:
    """An instance of the plugin's class, made with these arguments. Raises UsageError, which begins with `where`."""
    # A plugin may raise anything, and the consequence is always the same: it cannot be used.
    try:
        maker = entry.load()
    except Exception as error:
        raise UsageError(f"{where} cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(maker, type) and issubclass(maker, kind)):
        raise UsageError(f"{where} is not a subclass of {kind_name}")
    try:
        return maker(*arguments)
    except Exception as error:
        raise UsageError(f"{where} cannot be constructed: {type(error).__name__}: {error}") from error
