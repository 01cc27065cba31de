"""What is said of single hosts: by their name, or by a domain above it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gossamer.errors import ConfigError
from gossamer.filter.patterns import UrlPattern
from gossamer.filter.scope import read_host
from gossamer.model.units import HostKey

T = TypeVar("T")


@dataclass(frozen=True)
class HostTable(Generic[T]):
    """Values by host key, or by `*.` and a domain for all names below it. Two of them are equal if their entries are.

    The most exact entry counts, alone: `www.example.org` before `*.example.org` before `*.org`. A domain is not below
    itself.
    """

    entries: tuple[tuple[str, T], ...] = ()
    _values: dict[str, T] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", dict(self.entries))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def of(self, host: HostKey) -> T | None:
        """What counts for `host`; None if nothing is said of it."""
        values = self._values
        if not values:
            return None
        if host in values:
            return values[host]
        rest = str(host)
        while True:
            _, dot, rest = rest.partition(".")
            if not dot:
                return None
            found = values.get("*." + rest)
            if found is not None:
                return found


def host_table(values: Mapping[str, T], key: str) -> HostTable[T]:
    """The table of what is said under names as people write them. Raises ConfigError with `key` and the name that is
    none, or that is there twice."""
    entries: dict[str, T] = {}
    for name, value in values.items():
        below = name.startswith("*.")
        host = read_host(name.removeprefix("*."))
        if host is None or "*" in host or (below and host.startswith("[")):
            raise ConfigError(key, f"{name!r} is neither a host nor *. and a domain")
        entry = f"*.{host}" if below else str(host)
        if entry in entries:
            raise ConfigError(key, f"{name!r} is there twice")
        entries[entry] = value
    return HostTable(tuple(entries.items()))


@dataclass(frozen=True, slots=True)
class HostPatterns:
    """Patterns for the URLs of one host: if there are any to include, one must match; of the others none may."""

    include: tuple[UrlPattern, ...] = ()
    exclude: tuple[UrlPattern, ...] = ()
