"""Every statement follows an index, on tables with some rows: with statistics, and as they are before any were
collected."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gossamer.backends.postgres.address import Connection
from gossamer.backends.postgres.driver import PostgresDatabase
from gossamer.backends.postgres.session import cluster_statements
from gossamer.backends.postgres.statements import Statement, statements
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.backends.sqlite.driver import table_statements
from gossamer.model.batch import Batch
from gossamer.model.states import UrlState
from gossamer.model.units import Instant
from tests.backends.postgres.postgres_databases import PostgresDatabases
from tests.backends.table_store import Store, candidate, links_of, settlement

LARGE = {
    *("urls", "queue", "retries", "due", "dead", "excluded", "visits", "failures", "contents", "captures", "links"),
    *("fronts", "domains", "host_counts"),
}
"""Tables with a row for every URL of some kind, or for every host. A plan for one that is empty says nothing."""
WHOLE = {
    # People list all dead letters.
    *("dead_reasons", "dead_ids_of"),
    # The whole queue is put in another order, or a policy is changed, before the crawl runs.
    *("clear_fronts", "rebuild_fronts", "count_queued", "forget_memories"),
    # `verify` counts everything, and looks for what nothing else asks for.
    *("count_hosts", "count_states", "count_urls_and_hosts", "hosts_counted_wrong", "hosts_without_front"),
    *("duplicates_of", "urls_named", "forget_contents_of"),
    # Asks whether there is any row at all.
    "finish_crawl",
}


@pytest.fixture(scope="module", params=["without statistics", "with statistics"])
def connection(request: pytest.FixtureRequest, postgres_databases: PostgresDatabases) -> Iterator[Connection]:
    with postgres_databases.blank() as url:  # a database that was used before has statistics of its tables
        store = Store(PostgresTables(url, unsafe=True))
        assert isinstance(store.database, PostgresDatabase)
        tables = store.database.connection.execute("SELECT relname FROM pg_stat_user_tables").fetchall()
        for (table,) in tables:  # or the server would collect statistics of some of them at some time
            store.database.connection.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
        found = [candidate(f"h{n % 400}.test", n, n % 3) for n in range(3000)]
        store.writer.commit(Batch(candidates=found), store.now)
        states = [state for state in UrlState for _ in range(300)]
        settled = [
            settlement(n, state, n % 400 + 1, body=b"%d" % n)._replace(
                available_at=Instant(store.now + n), reason="slow"
            )
            for n, state in enumerate(states, 1)
        ]
        links = [links_of(n, 1, ("h1.test", n + 1)) for n in range(1, 400)]
        store.writer.commit(Batch(settlements=settled, links=links), store.now)
        if request.param == "with statistics":
            store.writer_db.execute("ANALYZE")
        store.database.connection.execute("SET plan_cache_mode = force_generic_plan")
        yield store.database.connection
        store.close()


def test_the_statements_have_the_names_and_parameters_of_those_of_sqlite() -> None:
    ours, theirs = statements(), table_statements()

    assert ours.keys() - cluster_statements().keys() == theirs.keys()
    for name in theirs:
        statement = ours[name]
        numbers = {int(number) for number in re.findall(r"\$(\d+)", statement.sql)}
        assert numbers == set(range(1, len(numbers) + 1)), name
        assert len(numbers) - statement.in_parts - statement.by_epoch == _parameters(theirs[name]), name


def _parameters(sql: str) -> int:
    sql = re.sub(r"'[^']*'|--[^\n]*", "", sql)
    numbered = {int(number) for number in re.findall(r"\?(\d+)", sql)}
    return max(numbered) if numbered else sql.count("?")


def test_every_statement_follows_an_index(connection: Connection) -> None:
    large = {table for table in LARGE if _rows_of(connection, table) >= 300}
    assert large == LARGE

    scanned = {
        name: found
        for name, statement in statements().items()
        if (found := [table for table in whole_reads(plan_of(connection, name, statement)) if table in LARGE])
    }

    assert {name: found for name, found in scanned.items() if name not in WHOLE} == {}


def _rows_of(connection: Connection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return 0 if row is None else int(row[0])


def plan_of(connection: Connection, name: str, statement: Statement) -> dict[str, Any]:
    """The plan for any values."""
    number = len(set(re.findall(r"\$(\d+)", statement.sql)))
    values = f"({', '.join(['NULL'] * number)})" if number else ""
    connection.execute(f"PREPARE asked AS {statement.sql}")
    try:
        row = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE asked{values}").fetchone()
    finally:
        connection.execute("DEALLOCATE asked")
    assert row is not None, name
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


def whole_reads(step: dict[str, Any]) -> Iterator[str]:
    """The tables that a plan reads from one end to the other. One that stops at a limit does not, as long as the index
    has the order that is asked for."""
    kind = step["Node Type"]
    if kind == "Seq Scan" or (kind.startswith("Index") and "Index Cond" not in step):
        yield str(step["Relation Name"])
    if kind == "Bitmap Heap Scan" and any(
        below["Node Type"] == "Bitmap Index Scan" and "Index Cond" not in below for below in step["Plans"]
    ):
        yield str(step["Relation Name"])
    for below in step.get("Plans", ()):
        yield from whole_reads(below)
