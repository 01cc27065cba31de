"""A table of values by host or domain, and URL patterns with `*` for any text.

Patterns are not regular expressions: one written by a user can take exponential time on a URL written by an attacker.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from gossamer.errors import ConfigError
from gossamer.filter.scope import read_host
from gossamer.model.units import HostKey

_MAX_CHARS = 2_083


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """A pattern that the whole URL must match. Case-sensitive, as URLs are."""

    text: str

    def __post_init__(self) -> None:
        if not self.text or len(self.text) > _MAX_CHARS:
            raise ConfigError("pattern", f"expected 1 to {_MAX_CHARS} characters, got {self.text[:80]!r}")

    def matches(self, url: str) -> bool:
        """Whether `url` matches. Each piece is searched once, from left to right: its leftmost match is always
        sufficient.

        So there is no backtracking, and the time is linear, except for what `str.find` needs on self-similar text.
        """
        first, *rest = self.text.split("*")
        if not rest:
            return url == first
        *middle, last = rest
        end = len(url) - len(last)
        if end < len(first) or not (url.startswith(first) and url.endswith(last)):
            return False
        at = len(first)
        for piece in middle:
            at = url.find(piece, at, end)
            if at < 0:
                return False
            at += len(piece)
        return True


T = TypeVar("T")


@dataclass(frozen=True)
class HostTable(Generic[T]):
    """Values by host key, or by `*.` and a domain for all names below it. Two tables are equal if their entries are.

    Only the most specific entry applies: `www.example.org` before `*.example.org` before `*.org`. A domain is not below
    itself.
    """

    entries: tuple[tuple[str, T], ...] = ()
    _values: dict[str, T] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", dict(self.entries))

    def __bool__(self) -> bool:
        return bool(self.entries)

    def for_host(self, host: HostKey) -> T | None:
        """The value that applies to `host`; None if there is none."""
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
    """Build the table from names as people write them. Raises ConfigError with `key` and the name that is invalid or
    repeated."""
    entries: dict[str, T] = {}
    for name, value in values.items():
        below = name.startswith("*.")
        host = read_host(name.removeprefix("*."))
        if host is None or "*" in host or (below and host.startswith("[")):
            raise ConfigError(key, f"{name!r} is neither a host nor *. followed by a domain")
        entry = f"*.{host}" if below else str(host)
        if entry in entries:
            raise ConfigError(key, f"{name!r} occurs twice")
        entries[entry] = value
    return HostTable(tuple(entries.items()))


@dataclass(frozen=True, slots=True)
class HostRules:
    """Entry rules of one host, in addition to the crawl's.

    A URL must match one of `include`, if there are any, and none of `exclude`. `trap_exempt`: its URLs are not cut as
    a trap.
    """

    include: tuple[UrlPattern, ...] = ()
    exclude: tuple[UrlPattern, ...] = ()
    trap_exempt: bool = False


def is_trap_exempt(rules: HostTable[HostRules], host: HostKey) -> bool:
    """Whether the URLs of a host are never cut as a trap."""
    own = rules.for_host(host)
    return own is not None and own.trap_exempt
