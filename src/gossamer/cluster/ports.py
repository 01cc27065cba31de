"""What the protocol needs from outside: a connection to its tables."""

from contextlib import AbstractContextManager
from typing import Any, Protocol


class Session(Protocol):
    """One connection, whose statements have names: the part of `store.ports.Database` that the protocol uses, so every
    database is one. A list is one value. Used from one thread at a time. Every method raises StoreFailed in place of
    the errors of its driver; the next call then uses a new connection if that one was lost.
    """

    def transaction(self) -> AbstractContextManager[None]:
        """All of the block is committed, or none of it if the block raises an error. Each statement sees everything
        that was committed before it. If the commit itself raises StoreFailed, it may be on record nevertheless."""
        ...

    def execute(self, name: str, *values: object) -> int:
        """Run a statement. Returns the number of rows changed."""
        ...

    def fetch_value(self, name: str, *values: object) -> Any:
        """The first column of the first row; None if there is no row."""
        ...

    def fetch_one(self, name: str, *values: object) -> tuple[Any, ...] | None: ...

    def fetch_all(self, name: str, *values: object) -> list[tuple[Any, ...]]: ...

    def close(self) -> None: ...
