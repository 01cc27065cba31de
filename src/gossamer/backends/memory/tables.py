"""The tables of a crawl in memory."""

from itertools import count

from gossamer.backends.sqlite.crawl_reader import SqliteCrawlReader
from gossamer.backends.sqlite.driver import SqliteDatabase, open_reader, open_writer

_numbers = count(1)


class MemoryTables:
    """A database in memory and the connections to it, which all see the same data, from any thread.

    Unlike a file with a write-ahead log it has one lock: who reads waits for a transaction that is under way, and a
    commit waits for who reads.
    """

    def __init__(self) -> None:
        self.name = f"gossamer-{next(_numbers)}"
        self._anchor = open_writer(self.name)  # the database lives as long as a connection to it is open

    def open_writer(self) -> SqliteDatabase:
        """A connection that writes. Raises StoreFailed."""
        return open_writer(self.name)

    def open_reader(self) -> SqliteDatabase:
        """A connection that reads only. Raises StoreFailed."""
        return open_reader(self.name)

    def open_crawl_reader(self) -> SqliteCrawlReader:
        """A connection for reports. Raises StoreFailed."""
        return SqliteCrawlReader(open_reader(self.name).connection)

    def close(self) -> None:
        """Drop the tables, once all other connections are closed."""
        self._anchor.close()
