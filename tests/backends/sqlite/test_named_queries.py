"""The files of SQL: every statement has a name, no name has two, and the names are those that the code calls."""

import ast
from pathlib import Path

import gossamer
from gossamer.backends.sqlite.driver import STATEMENTS, named_queries, table_statements
from gossamer.reports.records import HOST_SORTS

SOURCE = Path(gossamer.__file__).parent
CALLS = {"execute", "insert", "fetch_value", "fetch_one", "fetch_all", "fetch_each", "write_rows", "read_rows"}
ABOVE_THE_PORT = [*(SOURCE / "store" / "table").glob("*.py"), *(SOURCE / "reports" / "table").glob("*.py")]


SHARED = {
    *("send_to_inbox", "delete_from_inbox", "read_inbox", "tell_workers", "known_to_owners"),
    *("count_stored", "counters_of_others", "rules_version", "crawl_now", "raise_generation"),
    *("free_and_deaths", "share_crawl"),
}
"""Statements that run only where workers share a store (`backends/postgres/cluster.sql`)."""


def test_no_name_has_two_statements() -> None:
    folder = SOURCE / "backends" / "sqlite"
    for file in sorted(path.name for path in folder.glob("*.sql")):
        names = [line for line in (folder / file).read_text().splitlines() if line.startswith("-- name: ")]
        assert len(names) == len(set(names)) == len(named_queries(file)), file
    assert len(table_statements()) == sum(len(named_queries(file)) for file in STATEMENTS)


def test_every_statement_that_is_called_exists_and_none_is_left_over() -> None:
    called: set[str] = set()
    texts: set[str] = {f"hosts_by_{sort}" for sort in HOST_SORTS}
    for path in ABOVE_THE_PORT:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.add(node.value)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    called.add(first.value)

    assert len(called) > 100
    assert sorted(called - table_statements().keys() - SHARED) == []
    assert sorted(table_statements().keys() - texts) == []
