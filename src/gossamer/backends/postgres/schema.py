"""Creates the tables, migrates them, and recognises those of another version."""

from collections.abc import Callable

import psycopg

from gossamer.backends.postgres.address import Address, Connection
from gossamer.backends.postgres.statements import script
from gossamer.errors import NotThisCrawl, OldSchema
from gossamer.model.partition import DEFAULT_PARTITIONS

VERSION = 4
"""Of the schema (table `schema_version`). The file `migration_N.sql` leads from version N - 1 to N."""
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
    """For whoever uses the tables. Returns the number of partitions. Raises NotThisCrawl, and OldSchema for tables that
    `migrate` brings up to date."""
    version = version_of(connection)
    if version is None:
        raise NotThisCrawl(f"there is no crawl in {address}; start one with gossamer crawl URL --store {address}")
    if steps(version, address):
        raise OldSchema(
            f"{address} has schema {version}, of an older Gossamer, and this one uses schema {VERSION}: stop all "
            f"workers, then run gossamer migrate --store {address}"
        )
    return _partitions_of(connection)


def steps(version: int, address: Address) -> list[int]:
    """The migrations that tables of this version need, in their order. Raises NotThisCrawl if there are none for it."""
    if version > VERSION:
        raise NotThisCrawl(
            f"{address} has schema {version}, of a newer Gossamer, and this one uses schema {VERSION}: install the "
            "version that the other workers run"
        )
    if version < OLDEST:
        raise NotThisCrawl(
            f"{address} has schema {version}, of an older Gossamer, and this one migrates schema {OLDEST} and later: "
            "use a version between the two, or a new database"
        )
    return list(range(version + 1, VERSION + 1))


def create(connection: Connection, address: Address, partitions: int | None = None) -> int:
    """For a writer: create the tables, with this number of partitions, if there are none. Returns the number of
    partitions. Raises NotThisCrawl, also if there is a crawl with another number, and OldSchema."""
    if version_of(connection) is not None:
        return _check_partitions(check(connection, address), partitions, address)
    try:
        with connection.transaction():
            for file in ("schema.sql", "cluster_schema.sql"):
                connection.execute(script(file))
            for statement in first_rows(partitions or DEFAULT_PARTITIONS):
                connection.execute(statement)
    except psycopg.errors.DuplicateTable as error:
        if version_of(connection) is not None:  # another process was faster
            return _check_partitions(check(connection, address), partitions, address)
        raise NotThisCrawl(
            f"{address} has other tables and no crawl ({address.masked(str(error))}); use a database of its own, as by "
            "`createdb crawl`"
        ) from error
    return _partitions_of(connection)


def migrate(connection: Connection, address: Address, refuse_workers: Callable[[Connection], None]) -> list[int]:
    """Bring the tables up to date, in one transaction, in which no worker can join. Returns the migrations that were
    run. `refuse_workers` raises an error while workers are alive. Raises NotThisCrawl."""
    connection.is_patient = True  # a large crawl takes long to migrate
    connection.execute("SET statement_timeout = 0")
    try:
        with connection.transaction():
            if version_of(connection) is None:
                raise NotThisCrawl(f"there is no crawl in {address}")
            connection.execute("LOCK TABLE fence, schema_version IN ACCESS EXCLUSIVE MODE")
            found = steps(version_of(connection) or 0, address)
            if found:
                refuse_workers(connection)
            for number in found:
                connection.execute(script(f"migration_{number}.sql"))
            connection.execute("UPDATE schema_version SET version = $1", (VERSION,))
    finally:
        connection.is_patient = False
        if not connection.closed:
            connection.execute("SET statement_timeout = '30s'")
    return found


def first_rows(partitions: int) -> tuple[str, ...]:
    """Statements that write what the tables of a new crawl contain."""
    return (
        f"INSERT INTO schema_version (version, partitions) VALUES ({VERSION}, {partitions})",
        f"INSERT INTO crawl (partitions, due_by) VALUES ({partitions}, 0)",
        f"INSERT INTO partitions (part) SELECT generate_series(0, {partitions - 1})",
    )


def _partitions_of(connection: Connection) -> int:
    row = connection.execute("SELECT partitions FROM schema_version").fetchone()
    return DEFAULT_PARTITIONS if row is None else int(row[0])


def _check_partitions(known: int, wanted: int | None, address: Address) -> int:
    if wanted is not None and wanted != known:
        raise NotThisCrawl(
            f"{address} has a crawl with {known} partitions, and their number cannot be changed; leave "
            f"--partitions {wanted} out, or {'choose another --dir' if address.is_private else 'name another database'}"
        )
    return known
