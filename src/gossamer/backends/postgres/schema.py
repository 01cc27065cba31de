"""Creates the tables, migrates them, and recognises those of another version."""

import psycopg

from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.statements import script
from gossamer.errors import NotThisCrawl, OldSchema
from gossamer.model.partition import PARTITIONS

VERSION = 2
"""Of the schema (table `schema_version`)."""
OLDEST = 2
"""The oldest version that is brought up to date."""


def version_of(connection: Connection) -> int | None:
    """The version of the tables; None if there are none."""
    found = connection.execute("SELECT to_regclass('schema_version') IS NOT NULL").fetchone()
    if not found or not found[0]:
        return None
    row = connection.execute("SELECT version FROM schema_version").fetchone()
    return None if row is None else int(row[0])


def check(connection: Connection, address: Address) -> int:
    """For a reader. Returns the number of partitions. Raises NotThisCrawl, and OldSchema for tables that `bring_up`
    migrates."""
    version = version_of(connection)
    if version is None:
        raise NotThisCrawl(f"there is no crawl in {address}; start one with gossamer crawl URL --store {address}")
    _check_known(version, address)
    if version < VERSION:
        raise OldSchema(
            f"{address} was written by an older Gossamer (schema {version}, now {VERSION}): resume the crawl, and it "
            "is brought up to date"
        )
    return _partitions_of(connection)


def bring_up(connection: Connection, address: Address) -> int:
    """For a writer: create the tables, or migrate them. Returns the number of partitions. Raises NotThisCrawl."""
    version = version_of(connection)
    if version is not None:
        _check_known(version, address)
    if version == VERSION:
        return _partitions_of(connection)
    scripts = (
        ["schema.sql", "cluster_schema.sql"]
        if version is None
        else [f"migration_{n}.sql" for n in range(version + 1, VERSION + 1)]
    )
    connection.is_patient = True  # a large crawl takes long to migrate
    connection.execute("SET statement_timeout = 0")
    try:
        with connection.transaction():
            for file in scripts:
                connection.execute(script(file))
            if version is None:
                for statement in first_rows(PARTITIONS):
                    connection.execute(statement)
            connection.execute("UPDATE schema_version SET version = $1", (VERSION,))
    except psycopg.errors.DuplicateTable as error:
        raise NotThisCrawl(
            f"{address} has other tables and no crawl ({address.masked(str(error))}); use a database of its own, as by "
            "`createdb crawl`"
        ) from error
    finally:
        connection.is_patient = False
        if not connection.closed:
            connection.execute("SET statement_timeout = '30s'")
    return _partitions_of(connection)


def first_rows(partitions: int) -> tuple[str, ...]:
    """Statements that write what the tables of a new crawl contain."""
    return (
        f"INSERT INTO schema_version (version, partitions) VALUES ({VERSION}, {partitions})",
        f"INSERT INTO crawl (partitions, due_by) VALUES ({partitions}, 0)",
        f"INSERT INTO partitions (part) SELECT generate_series(0, {partitions - 1})",
    )


def _partitions_of(connection: Connection) -> int:
    row = connection.execute("SELECT partitions FROM schema_version").fetchone()
    return PARTITIONS if row is None else int(row[0])


def _check_known(version: int, address: Address) -> None:
    if not OLDEST <= version <= VERSION:
        age, remedy = ("a newer", "install that version") if version > VERSION else ("an older", "use that version")
        known = f"{OLDEST} to {VERSION}" if OLDEST < VERSION else str(VERSION)
        raise NotThisCrawl(
            f"{address} was written by {age} Gossamer (schema {version}; this one knows {known}): {remedy}"
        )
