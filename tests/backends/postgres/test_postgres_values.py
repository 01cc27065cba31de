"""Rows of values travel as arrays that are packed by the type of their column, and come back as they were."""

import math
import random

import psycopg
import pytest

from gossamer.backends.postgres.statements import pack_rows
from gossamer.backends.postgres.tables import PostgresTables
from gossamer.errors import StoreFailed
from gossamer.model.facts import QueuePosition
from gossamer.model.units import Instant
from gossamer.reports.table.reader import TableEditor
from tests.backends.postgres.postgres_databases import PostgresDatabases

CHANCE = random.Random(1)
VALUES: dict[str, list[object]] = {
    "smallint": [0, 1, -1, 2**15 - 1, -(2**15), True],
    "integer": [0, -1, 2**31 - 1, -(2**31)],
    "bigint": [0, -1, 2**63 - 1, -(2**63), 5 << 40 | 1],
    "float8": [0.0, 0.1 + 0.2, -1e300, math.inf, 7],
    "boolean": [True, False],
    "text": ["", "a", "ä\N{SNOWMAN}'\"\\{},NULL", "x" * 5000],
    "bytea": [b"", bytes(range(256)), b"\\x00"],
}


def test_every_type_of_column_comes_back_as_it_was_with_and_without_nulls(
    postgres_databases: PostgresDatabases,
) -> None:
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()
        for kind, values in VALUES.items():
            for number in (1, 2, 15, 16, 17, 300):
                for nulls in (0.0, 0.3, 1.0):
                    sent = [None if CHANCE.random() < nulls else CHANCE.choice(values) for _ in range(number)]
                    (packed,) = pack_rows([kind], [(value,) for value in sent])
                    found = db.connection.execute(f"SELECT unnest($1::{kind}[])", (packed,), binary=True).fetchall()
                    assert [value for (value,) in found] == sent, (kind, number, nulls)
        db.close()


def test_a_text_that_the_server_cannot_store_is_stored_without_what_it_cannot(
    postgres_databases: PostgresDatabases,
) -> None:
    """A page may have any characters in its title: a batch must not fail for ever because of it."""
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()
        db.write_rows("set_fact", [("in rows", "a\0b\ud800c")])
        db.write_rows("set_fact", [("with a NUL", "d\0"), ("with half a pair", "\udfffe"), ("with nothing", "f")])
        db.insert("add_suffix", "d\0e")
        assert db.fetch_value("fact", "in rows") == "a\N{REPLACEMENT CHARACTER}b?c"
        assert db.fetch_value("fact", "with a NUL") == "d\N{REPLACEMENT CHARACTER}"
        assert db.fetch_value("fact", "with half a pair") == "?e"
        assert db.fetch_value("fact", "with nothing") == "f"
        assert db.fetch_value("suffix_by_name", "d\N{REPLACEMENT CHARACTER}e") == 1
        db.close()


def test_a_value_that_no_column_of_its_type_takes_is_refused_before_it_is_sent() -> None:
    for kind, value in (("smallint", 2**15), ("integer", 2**31), ("bigint", 2**63), ("bigint", "one")):
        for number in (1, 100):
            with pytest.raises((OverflowError, ValueError)):
                pack_rows([kind], [(value,)] * number)
            with pytest.raises((OverflowError, ValueError)):
                pack_rows([kind], [*[(0,)] * number, (value,)])


def test_numbers_in_lists_have_one_type_whatever_was_sent_before(postgres_databases: PostgresDatabases) -> None:
    """Ids of messages begin small and grow: a list of them is deleted together with a list of partitions."""
    with postgres_databases.one() as url:
        db = PostgresTables(url, unsafe=True).open_writer()
        for number in (1, 2**15 - 1, 2**15, 2**31, 2**40, 5):
            found = db.connection.execute("SELECT $1::smallint[], $2::bigint[]", ([3], [number]), binary=True)
            assert found.fetchone() == ([3], [number])
        db.close()


def test_a_repair_voids_caches_in_its_own_transaction(postgres_databases: PostgresDatabases) -> None:
    generation = "SELECT generation FROM crawl"
    with postgres_databases.one() as url, psycopg.connect(url, autocommit=True) as server:
        editor = TableEditor(PostgresTables(url, unsafe=True).open_writer(), is_shared=True)
        with pytest.raises(StoreFailed), editor.repair(Instant(0.0), lambda facts: QueuePosition(0, 0.0)):
            server.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'sessions'::regclass")
        assert server.execute(generation).fetchone() == (1,)

        with editor.repair(Instant(0.0), lambda facts: QueuePosition(0, 0.0)):
            pass
        assert server.execute(generation).fetchone() == (2,)
        editor.close()
