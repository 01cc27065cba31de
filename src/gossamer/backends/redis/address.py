"""The URL of a cache: its servers, its password, and how it is shown.

    redis://H:P/DB                   one server; rediss:// with TLS
    redis://H1:P1/DB,redis://H2:P2   several; the first that answers and accepts writes is used
    redis+sentinel://S1:P1,S2/NAME   the primary that these Sentinels name

A password comes from the URL, from GOSSAMER_CACHE_PASSWORD, or from the file that GOSSAMER_CACHE_PASSWORD_FILE names.
It is shown nowhere. Sentinels are asked without one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

from gossamer.errors import ConfigError

PASSWORD, PASSWORD_FILE = "GOSSAMER_CACHE_PASSWORD", "GOSSAMER_CACHE_PASSWORD_FILE"
FORMS = "redis://HOST:PORT/DB, rediss://HOST:PORT/DB or redis+sentinel://HOST,HOST,HOST/NAME"
_PORTS = {"redis": 6379, "rediss": 6379, "redis+sentinel": 26379}


class Server(NamedTuple):
    """A Redis server, or a Sentinel."""

    host: str
    port: int
    tls: bool = False
    database: int = 0

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class CacheAddress:
    """Where a cache is. `str` and `repr` of it have no password."""

    servers: tuple[Server, ...]
    primary: str | None = None  # the name by which Sentinels know it; `servers` are then Sentinels
    username: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.primary is not None:
            return f"redis+sentinel://{','.join(map(str, self.servers))}/{self.primary}"
        return ",".join(f"redis{'s' if each.tls else ''}://{each}/{each.database}" for each in self.servers)

    @property
    def login(self) -> tuple[str, ...]:
        """The words after AUTH; none without a password."""
        if self.password is None:
            return ()
        return (self.password,) if self.username is None else (self.username, self.password)


def parse_address(url: str, environment: Mapping[str, str] = os.environ) -> CacheAddress:
    """The cache that a URL names. Raises ConfigError, which does not show the URL: it may contain a password."""
    parts = [_Part.parse(each) for each in _split(url)]
    schemes = {part.scheme for part in parts}
    with_sentinels = "redis+sentinel" in schemes
    if with_sentinels and len(schemes) > 1:
        raise _bad("Sentinels and servers cannot be mixed")
    paths = [part.path for part in parts if part.path]
    path = paths[-1] if paths else ""
    if with_sentinels:
        if not path:
            raise _bad("the name of the primary is missing")
        servers, primary = tuple(part.server(0) for part in parts), path
    else:
        servers, primary = tuple(part.server(_database(part.path or path)) for part in parts), None
    username = next((part.username for part in parts if part.username), None)
    password = next((part.password for part in parts if part.password), None)
    return CacheAddress(servers, primary, username, password or _password_in(environment))


class _Part(NamedTuple):
    """One server of a URL."""

    scheme: str
    username: str | None
    password: str | None
    host: str
    port: int
    path: str

    @classmethod
    def parse(cls, url: tuple[str, str]) -> "_Part":
        scheme, rest = url
        before, _, place = rest.rpartition("@")
        authority, _, path = place.partition("/")
        username, _, password = before.partition(":")
        if authority.startswith("["):
            host, _, after = authority[1:].partition("]")
            port = after.removeprefix(":")
        else:
            host, _, port = authority.partition(":")
        if not host or (port and not (port.isdecimal() and 0 < int(port) < 65_536)):
            raise _bad("a host or port cannot be used")
        number = int(port) if port else _PORTS[scheme]
        return cls(scheme, unquote(username) or None, unquote(password) or None, host, number, path.partition("?")[0])

    def server(self, database: int) -> Server:
        return Server(self.host, self.port, self.scheme == "rediss", database)


def _split(url: str) -> list[tuple[str, str]]:
    """The scheme and the rest of each server. A server without a scheme has that of the one before."""
    found: list[tuple[str, str]] = []
    for piece in url.split(","):
        scheme, separator, rest = piece.strip().partition("://")
        if not separator:
            if not found:
                raise _bad("the scheme is missing")
            scheme, rest = found[-1][0], piece.strip()
        if scheme not in _PORTS:
            raise _bad("the scheme is unknown")
        found.append((scheme, rest))
    return found


def _database(path: str) -> int:
    if path and not path.isdecimal():
        raise _bad("the database must be a number")
    return int(path or 0)


def _password_in(environment: Mapping[str, str]) -> str | None:
    if PASSWORD in environment:
        return environment[PASSWORD] or None
    if PASSWORD_FILE not in environment:
        return None
    path = environment[PASSWORD_FILE]
    try:
        with open(path, encoding="utf-8") as file:
            return file.readline().rstrip("\r\n") or None
    except OSError as error:
        raise ConfigError("cache.url", f"{PASSWORD_FILE}: cannot read {path!r}: {error.strerror}") from error


def _bad(problem: str) -> ConfigError:
    return ConfigError(
        "cache.url", f"{problem}; give a URL of the form {FORMS}, with special characters of a password as %XX"
    )
