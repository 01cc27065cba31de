"""The tables of a crawl in one SQLite file: opens connections for the writer, the loader and reports."""

from pathlib import Path

from gossamer.backends.sqlite import crawl_reader
from gossamer.backends.sqlite.crawl_reader import SqliteCrawlEditor, SqliteCrawlReader
from gossamer.backends.sqlite.driver import SqliteDatabase, open_reader, open_writer

_SMALL_CACHE_KIB = 4_096


class SqliteTables:
    """`store.ports.Tables`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exist(self) -> bool:
        return self.path.exists()

    def open_writer(self) -> SqliteDatabase:
        return open_writer(self.path)

    def open_reader(self) -> SqliteDatabase:
        return open_reader(self.path)

    def open_crawl_reader(self, *, small: bool = False) -> SqliteCrawlReader:
        return crawl_reader.open_reader(self.path, cache_kib=_SMALL_CACHE_KIB if small else None)

    def open_crawl_editor(self) -> SqliteCrawlEditor:
        return crawl_reader.open_editor(self.path)

    def close(self) -> None:
        """Nothing to give back: the tables are in their file."""
