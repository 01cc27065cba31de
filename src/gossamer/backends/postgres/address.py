"""The URL of a database: how it is shown, and how connections to it are opened.

A password is shown nowhere. It comes from the URL, from PGPASSWORD or from a password file, as in every program that
uses libpq.
"""

import os
from contextlib import suppress
from typing import Any, Final, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import psycopg
from psycopg import RawCursor
from psycopg.abc import PQGen
from psycopg.adapt import Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo, Format
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper

from gossamer.backends.postgres.statements import COLUMNS, Column, text_bytes
from gossamer.errors import ConfigError, ConnectionLost, StoreFailed
from gossamer.model.formats import did_you_mean

T = TypeVar("T")

PRIVATE: Final = "gossamer"
"""The database of a private server, and its owner."""
OLDEST_SERVER = 15
"""The oldest major version of PostgreSQL that has what the statements use."""

_CLIENT: dict[str, str | int] = {
    "connect_timeout": 10,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "client_encoding": "utf8",
}
"""What a connection is opened with, unless the URL says otherwise: a server that is gone is noticed within seconds."""
_OF_SEVERAL = {"target_session_attrs": "read-write"}
"""The same if the URL names several servers: the primary, also for readers. A crawl must read what it has just
committed."""

CONNECTIONS = 7
"""Of a worker, at most: one that commits, one for heartbeats, one for addresses, one for orders and the live status,
two that read, and one more that reads while limits or orders are applied."""

IDLE_SECONDS = 5.0
"""A transaction whose client does nothing for longer is ended by the server."""
_SESSION = """
SET default_transaction_isolation = 'read committed';
SET lock_timeout = '5s';
SET statement_timeout = '30s';
SET tcp_user_timeout = '10s';
SET tcp_keepalives_idle = 5;
SET tcp_keepalives_interval = 2;
SET tcp_keepalives_count = 3;
SET jit = off;
SET random_page_cost = 1.1;
SET enable_seqscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
"""A statement sees what was committed before it (in the end of a crawl, after it has waited for a lock), whatever the
role is set to. A session does not outlive its client, and a statement follows the indexes that it was written for,
whatever the statistics of a table say that was empty when they were collected."""


ANSWER_SECONDS = 35.0
"""A server that does not answer for longer is gone, though the connection looks open: it ends any statement sooner."""


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that does not wait for ever."""

    is_patient = False  # waits for a long statement after all

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        if timeout is None and not self.is_patient:
            timeout = ANSWER_SECONDS
        try:
            return super().wait(gen, interval, timeout)
        except psycopg.OperationalError as error:
            if error.sqlstate is None:  # not the server's own words: an answer may still be on its way
                self.pgconn.finish()
            raise


class _Text(Dumper):
    format = Format.BINARY
    oid = 25

    def dump(self, obj: str) -> bytes:
        return text_bytes(obj)


def _dumper_of(kind: type[Column]) -> type[Dumper]:
    def dump(self: Dumper, obj: bytes) -> bytes:
        return obj

    return type(f"{kind.__name__}Dumper", (Dumper,), {"format": Format.BINARY, "oid": kind.oid, "dump": dump})


_DUMPERS: tuple[tuple[type, type[Dumper]], ...] = (
    (int, Int8Dumper),  # in lists, whose type psycopg would otherwise choose by the values of the first one
    (int, Int8BinaryDumper),
    (str, _Text),
    *((kind, _dumper_of(kind)) for kind in COLUMNS),
)


class Address:
    """A database by its URL. `str` of it has no password."""

    def __init__(self, url: str) -> None:
        """Raises ConfigError for a URL that cannot be used."""
        try:
            self._parameters = conninfo_to_dict(url)
        except psycopg.Error:
            # The driver's message may show a part of the password.
            raise ConfigError(
                "store",
                _unknown_parameter(url)
                or "the URL is not of the form postgresql://USER@HOST:PORT/DATABASE; write special characters as %XX",
            ) from None
        for port in str(self._parameters.get("port") or "").split(","):
            if port and not (port.isdecimal() and 0 < int(port) < 65_536):
                raise ConfigError("store", f"the port must be a number from 1 to 65535, not {port!r}")
        self._password = str(self._parameters.get("password") or "")

    @property
    def database(self) -> str:
        return str(self._parameters.get("dbname") or self._parameters.get("user") or "")

    @property
    def is_private(self) -> bool:
        """Whether it is that of a private server, in the directory of a crawl."""
        return self.database == self._parameters.get("user") == PRIVATE and self.server.startswith("/")

    @property
    def server(self) -> str:
        """Where the server is, for people."""
        hosts = str(self._parameters.get("host") or self._parameters.get("hostaddr") or "localhost").split(",")
        ports = str(self._parameters.get("port") or "").split(",")
        ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
        return ",".join(f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=True))

    def __str__(self) -> str:
        user = self._parameters.get("user")
        before = f"{quote(str(user))}@" if user else ""
        host = str(self._parameters.get("host") or "")
        if "/" in host:
            port = self._parameters.get("port")
            return f"postgresql://{before}/{self.database}?host={host}" + (f"&port={port}" if port else "")
        return f"postgresql://{before}{self.server if host else ''}/{self.database}"

    def connect(self, application: str, *, read_only: bool) -> Connection:
        """Open a connection in autocommit mode. Raises ConnectionLost; StoreFailed for a server that is too old or has
        another encoding."""
        several = _OF_SEVERAL if "," in self.server else {}
        given: dict[str, Any] = {**_CLIENT, **several, **self._parameters, "application_name": application}
        try:
            opened = Connection.connect("", autocommit=True, cursor_factory=RawCursor, **given)
        except psycopg.Error as error:
            raise ConnectionLost(self._explained(error)) from None
        try:
            self._set_up(opened, read_only)
        except psycopg.Error as error:
            opened.close()
            raise ConnectionLost(f"{self}: {self.masked(str(error))}") from error
        except BaseException:
            opened.close()
            raise
        return opened

    def _set_up(self, opened: Connection, read_only: bool) -> None:
        version = opened.info.server_version // 10_000
        if version < OLDEST_SERVER:
            raise StoreFailed(
                f"{self}: PostgreSQL {OLDEST_SERVER} or newer is needed, and {self.server} runs {version}"
            )
        encoding = opened.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreFailed(
                f"{self}: the database has the encoding {encoding}; create one with `createdb --encoding=UTF8 "
                f"--template=template0 {self.database}`"
            )
        opened.prepared_max = 1_000
        for kind, dumper in _DUMPERS:
            opened.adapters.register_dumper(kind, dumper)
        opened.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_SECONDS:g}s'")
        opened.execute(_SESSION + ("; SET default_transaction_read_only = on" if read_only else ""))
        with suppress(psycopg.Error):  # the server's system may be unable to look whether a client is still there
            opened.execute("SET client_connection_check_interval = '2s'")

    def failure(self, error: psycopg.Error, lost: bool) -> StoreFailed:
        """What a statement has raised, as an error of ours. `lost`: the connection is closed."""
        said = f"{self}: {self.masked(str(error))}"
        return ConnectionLost(f"{said}; {self._reach()}") if lost else StoreFailed(said)

    def _reach(self) -> str:
        return f"is PostgreSQL running on {self.server}, and does it accept connections from here?"

    def masked(self, text: str) -> str:
        """A message without the password."""
        text = " ".join(text.split())
        return text.replace(self._password, "***") if self._password else text

    def _explained(self, error: psycopg.Error) -> str:
        """Why a connection could not be opened, and what can be done about it."""
        said = self.masked(str(error)).partition(" Is the server running")[0].removeprefix("connection failed: ")
        if self.is_private and " failed: FATAL" not in said:
            return f"the server in {self._parameters['host']} is not running"
        if "password authentication failed" in said or "no password supplied" in said:
            remedy = "set PGPASSWORD, or add a line to the password file ~/.pgpass"
        elif "does not exist" in said and "database" in said:
            remedy = f"create it with `createdb {self.database}`, or name another in the URL"
        elif "role" in said and "does not exist" in said:
            remedy = "create it with `createuser`, or name another in the URL"
        elif "starting up" in said or "shutting down" in said or "recovery mode" in said:
            remedy = "try again in a moment"
        elif "too many" in said or "reserved for" in said:
            remedy = f"raise max_connections of the server; a worker needs {CONNECTIONS} connections"
        elif "pg_hba.conf" in said:
            remedy = "allow this user and machine in the server's pg_hba.conf"
        else:
            remedy = self._reach()
        if not (self._parameters.get("user") or os.environ.get("PGUSER")) and ("auth" in said or "role" in said):
            remedy += (
                "; the user name is that of the operating system, because the URL has none: "
                "postgresql://USER@HOST/DATABASE"
            )
        return f"cannot open {self}: {said}; {remedy}"


def _unknown_parameter(url: str) -> str | None:
    """What is wrong with the parameters of a URL, if one is unknown."""
    known = {option.keyword.decode() for option in Conninfo.get_defaults()}
    for name, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True):
        if name not in known and name != "ssl":
            near = did_you_mean(name, known)
            return f"unknown parameter {name!r} in the URL" + (f". {near}" if near else "; see the manual of libpq")
    return None
