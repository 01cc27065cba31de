"""A connection with a thread of its own: opened when it is needed, and again after it has failed."""

import asyncio
import threading
from pathlib import Path

import pytest

from gossamer.backends.sqlite.driver import SqliteTables
from gossamer.errors import StoreFailed
from gossamer.store.ports import Database
from gossamer.store.threads import ConnectionThread


def test_one_thread_uses_one_connection_until_that_fails(tmp_path: Path) -> None:
    tables = SqliteTables(tmp_path / "crawl.db")
    used: list[tuple[str, Database]] = []

    def use(db: Database) -> None:
        used.append((threading.current_thread().name, db))

    def fail(db: Database) -> None:
        use(db)
        raise StoreFailed("the disk is gone")

    async def main() -> None:
        connection = ConnectionThread(tables.open_steering, "orders")
        with pytest.raises(StoreFailed, match="no crawl here"):
            await connection.run(use)
        tables.open_writer().close()
        await connection.run(use)
        with pytest.raises(StoreFailed, match="the disk is gone"):
            await connection.run(fail)
        await connection.run(use)
        connection.close()

    asyncio.run(main())

    assert {name for name, _ in used} == {"orders_0"} and len(used) == 3
    assert used[0][1] is used[1][1] is not used[2][1]
    for _, db in used:
        with pytest.raises(StoreFailed, match="closed"):
            db.fetch_value("fact", "any")


def test_it_is_not_closed_while_it_is_in_use(tmp_path: Path) -> None:
    tables = SqliteTables(tmp_path / "crawl.db")
    tables.open_writer().close()
    begun, may_go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def use(db: Database) -> None:
        begun.set()
        may_go_on.wait(60)
        found.append(db.fetch_value("fact", "any"))

    async def main() -> None:
        connection = ConnectionThread(tables.open_steering, "orders")
        running = asyncio.create_task(connection.run(use))
        await asyncio.to_thread(begun.wait, 60)
        running.cancel()
        closing = asyncio.create_task(asyncio.to_thread(connection.close))
        may_go_on.set()
        await closing

    asyncio.run(main())

    assert found == [None]
